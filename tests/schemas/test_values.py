"""Rules on the values of tensors: how many elements are wrong, in which rows, and the extreme."""

from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Bool, Float, Float32, Int64
from pydantic import Field
from torch import Tensor

from batchpact.schemas import BatchSchema, Binary, Finite, Group, Jagged, Key, Meta, NonTensor
from batchpact.schemas.text import sentence
from batchpact.schemas.values import check_values

from .support import floats, objects, stores


def said(schema: type[BatchSchema], sample: int | None = None, **tensors: Tensor) -> list[str]:
    """Every violation as `code field sentence`."""
    found = check_values(schema, stores(tensors), sample)
    return [f"{wrong.code} {wrong.field} {sentence(wrong)}" for wrong in found]


def one_field(annotation: Any) -> type[BatchSchema]:
    class Made(BatchSchema):
        x: annotation

    return Made


nan, inf = float("nan"), float("inf")


# --- the rules --------------------------------------------------------------------------------------------------------


def test_healthy_values_break_no_rule() -> None:
    class Reads(BatchSchema):
        log_probs: Annotated[Float32[Tensor, "batch response"], Finite(), Field(le=0)]
        mask: Annotated[Int64[Tensor, "batch response"], Binary()]
        flags: Annotated[Bool[Tensor, "batch"], Binary()]
        free: Float32[Tensor, "batch"]

    assert (
        said(
            Reads,
            log_probs=-floats(3, 4).abs(),
            mask=torch.randint(0, 2, (3, 4)),
            flags=floats(3) > 0,
            free=torch.tensor([nan, inf, -1.0]),
        )
        == []
    )


def test_nan_and_infinity_are_counted_apart() -> None:
    schema = one_field(Annotated[Float32[Tensor, "batch response"], Finite()])
    x = torch.tensor([[0.5, nan], [1.5, 2.5], [inf, nan], [-inf, 3.5]])

    assert said(schema, x=x) == ["BP021 x 4 elements in rows 0, 2, 3; 2 NaN, 2 infinite; declared finite"]


def test_binary_is_zero_or_one() -> None:
    schema = one_field(Annotated[Int64[Tensor, "batch response"], Binary()])

    assert said(schema, x=torch.tensor([[0, 1], [1, 2], [0, -1]])) == [
        "BP021 x 2 elements in rows 1, 2; the extreme is 2; declared binary"
    ]


@pytest.mark.parametrize(
    ("bound", "extreme"),
    [
        ({"ge": 0}, "2 elements in rows 1, 2; the extreme is -2.5; declared >= 0"),
        ({"gt": 0}, "3 elements in rows 0, 1, 2; the extreme is -2.5; declared > 0"),
        ({"le": 1}, "1 element in row 2; the extreme is 4.25; declared <= 1"),
        ({"lt": 1}, "2 elements in rows 1, 2; the extreme is 4.25; declared < 1"),
    ],
    ids=str,
)
def test_a_bound_holds_for_every_element(bound: dict[str, Any], extreme: str) -> None:
    schema = one_field(Annotated[Float32[Tensor, "batch response"], Field(**bound)])

    assert said(schema, x=torch.tensor([[0.5, 0.0], [-0.5, 1.0], [4.25, -2.5]])) == [f"BP021 x {extreme}"]


def test_every_broken_rule_of_every_field_is_said_in_the_order_of_declaration() -> None:
    class Reads(BatchSchema):
        x: Annotated[Float32[Tensor, "batch"], Finite(), Field(ge=0, lt=1)]
        y: Annotated[Int64[Tensor, "batch"], Binary()]

    assert said(Reads, y=torch.tensor([0, 5]), x=torch.tensor([-1.0, inf])) == [
        "BP021 x 1 element in row 1; 0 NaN, 1 infinite; declared finite",
        "BP021 x 1 element in row 0; the extreme is -1; declared >= 0",
        "BP021 x 1 element in row 1; the extreme is inf; declared < 1",
        "BP021 y 1 element in row 1; the extreme is 5; declared binary",
    ]


def test_the_first_rows_are_listed_and_the_rest_counted() -> None:
    schema = one_field(Annotated[Int64[Tensor, "batch"], Field(ge=0)])

    assert said(schema, x=torch.tensor([-1, 2, -3, -4, -5, -6])) == [
        "BP021 x 5 elements in rows 0, 2, 3 and 2 more; the extreme is -6; declared >= 0"
    ]


def test_a_large_id_is_printed_in_full() -> None:
    schema = one_field(Annotated[Int64[Tensor, "batch"], Field(lt=151936)])

    assert said(schema, x=torch.tensor([1, 12345678])) == [
        "BP021 x 1 element in row 1; the extreme is 12345678; declared < 151936"
    ]


def test_rows_of_tensors_with_more_axes_are_found() -> None:
    schema = one_field(Annotated[Float32[Tensor, "batch a b"], Finite()])
    x = floats(3, 2, 2)
    x[1, 0, 1] = x[1, 1, 0] = nan

    assert said(schema, x=x) == ["BP021 x 2 elements in row 1; 2 NaN, 0 infinite; declared finite"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_every_float_can_be_looked_at(dtype: torch.dtype) -> None:
    schema = one_field(Annotated[Float[Tensor, "batch"], Finite(), Field(le=1)])

    assert said(schema, x=torch.tensor([0.5, 2.0, nan], dtype=dtype)) == [
        "BP021 x 1 element in row 2; 1 NaN, 0 infinite; declared finite",
        "BP021 x 2 elements in rows 1, 2; the extreme is nan; declared <= 1",
    ]


def test_a_tensor_with_a_graph_is_looked_at_and_keeps_it() -> None:
    schema = one_field(Annotated[Float32[Tensor, "batch"], Field(ge=0)])
    x = torch.tensor([1.0, -1.0], requires_grad=True)

    assert said(schema, x=x) == ["BP021 x 1 element in row 1; the extreme is -1; declared >= 0"]
    assert x.requires_grad


def test_no_rows_and_no_elements_break_no_rule() -> None:
    schema = one_field(Annotated[Float32[Tensor, "batch response"], Finite(), Field(ge=0)])

    assert said(schema, x=floats(0, 3)) == said(schema, x=floats(3, 0)) == []


def test_an_absent_optional_field_breaks_no_rule() -> None:
    class Reads(BatchSchema):
        x: Annotated[Float32[Tensor, "batch"], Finite()] | None = None

    assert said(Reads) == []


def test_an_optional_field_keeps_its_rules() -> None:
    class Reads(BatchSchema):
        x: Annotated[Float32[Tensor, "batch"], Finite()] | None = None

    assert said(Reads, x=torch.tensor([nan])) == ["BP021 x 1 element in row 0; 1 NaN, 0 infinite; declared finite"]


def test_a_field_of_two_placements_is_held_to_its_bound_in_either() -> None:
    schema = one_field(Annotated[Meta[float] | Float32[Tensor, "batch"], Field(gt=0)])

    (tensor,) = check_values(schema, stores({"x": torch.tensor([1.0, -1.0])}))
    (meta,) = check_values(schema, stores(meta={"x": -1.0}))

    assert (tensor.placement, sentence(tensor)) == ("tensor", "1 element in row 1; the extreme is -1; declared > 0")
    assert (meta.placement, sentence(meta)) == ("meta", "Input should be greater than 0; declared float > 0")


# --- jagged tensors ---------------------------------------------------------------------------------------------------


def test_the_rows_of_a_jagged_tensor_are_its_rows_and_not_its_values() -> None:
    schema = one_field(Annotated[Float32[Tensor, "batch length"], Jagged("length"), Finite()])
    values = torch.tensor([0.5, nan, 1.0, 2.0, inf, nan])
    x = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 2, 4, 6]))

    assert said(schema, x=x) == ["BP021 x 3 elements in rows 0, 3; 2 NaN, 1 infinite; declared finite"]


def test_a_tensor_that_is_ragged_on_axis_2_is_looked_at_row_by_row() -> None:
    schema = one_field(Annotated[Int64[Tensor, "batch 2 length"], Jagged("length"), Field(ge=0)])
    values = torch.tensor([[0, 1, 2, -3, 4], [5, 6, -7, 8, 9]])
    x = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 1, 3, 5]), jagged_dim=2)

    assert said(schema, x=x) == ["BP021 x 2 elements in rows 1, 2; the extreme is -7; declared >= 0"]


# --- rows that have names ---------------------------------------------------------------------------------------------


def test_rows_are_named_by_their_key() -> None:
    class Reads(BatchSchema):
        index: Annotated[Int64[Tensor, "batch"], Key()]
        x: Annotated[Float32[Tensor, "batch response"], Finite()]
        length: Annotated[Int64[Tensor, "batch length"], Jagged("length"), Field(ge=0)]

    x = floats(3, 2)
    x[2, 1] = nan
    length = torch.nested.nested_tensor_from_jagged(torch.tensor([1, -2, 3, -4]), torch.tensor([0, 2, 2, 4]))

    assert said(Reads, index=torch.tensor([70, 80, 90]), x=x, length=length) == [
        "BP021 x 1 element in row 2 (index 90); 1 NaN, 0 infinite; declared finite",
        "BP021 length 2 elements in rows 0 (index 70), 2 (index 90); the extreme is -4; declared >= 0",
    ]


def test_rows_are_named_by_all_fields_of_their_key_or_else_by_their_group() -> None:
    class Reads(BatchSchema):
        uid: Annotated[NonTensor[str], Group()]
        index: Annotated[Int64[Tensor, "batch"], Key()] | None = None
        turn: Annotated[Int64[Tensor, "batch"], Key()] | None = None
        x: Annotated[Float32[Tensor, "batch"], Finite()]

    def rows(**keys: Tensor) -> str:
        batch = stores({"x": torch.tensor([0.5, nan, 0.5]), **keys}, {"uid": objects("a", "a", "b")})
        (wrong,) = check_values(Reads, batch)
        return wrong.actual.partition("in ")[2].partition(";")[0]

    index, turn = torch.tensor([7, 7, 8]), torch.tensor([0, 1, 0])
    assert rows(index=index, turn=turn) == "row 1 (index, turn (7, 1))"
    assert rows(turn=torch.tensor([0, 1, 2])) == "row 1 (uid 'a')", "half a key names no row"


def test_a_tensor_that_is_a_key_is_unique() -> None:
    class Reads(BatchSchema):
        index: Annotated[Int64[Tensor, "batch"], Key()]

    assert said(Reads, index=torch.tensor([3, 1, 2])) == []
    assert said(Reads, index=torch.tensor([3, 1, 3])) == [
        "BP023 index 3 in rows 0, 2; one row for one key; where rows may be copies of one another, it is a Group()"
    ]


# --- samples ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "rows"), [(None, "0, 1, 2 and 6 more"), (9, "0, 1, 2 and 6 more"), (3, "0, 4, 8"), (2, "0, 8"), (1, "0")]
)
def test_a_sample_looks_at_rows_that_are_evenly_spread(sample: int | None, rows: str) -> None:
    dense = one_field(Annotated[Int64[Tensor, "batch"], Field(ge=0)])
    ragged = one_field(Annotated[Int64[Tensor, "batch length"], Jagged("length"), Field(ge=0)])
    values = torch.arange(-9, 0)
    jagged = torch.nested.nested_tensor_from_jagged(values, torch.arange(10))
    count = {None: 9, 1: 1}.get(sample, sample)
    elements = "1 element in row" if count == 1 else f"{count} elements in rows"

    expected = [f"BP021 x {elements} {rows}; the extreme is -9; declared >= 0"]
    assert said(dense, sample, x=values) == said(ragged, sample, x=jagged) == expected


def test_a_sample_does_not_see_other_rows() -> None:
    schema = one_field(Annotated[Float32[Tensor, "batch"], Finite()])

    assert said(schema, 2, x=torch.tensor([0.5, nan, nan, 1.5])) == []
