"""What parts must have in common, and in words, with the parts by number, what they do not."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float
from tensordict import TensorDict
from torch import Tensor

from batchpact.dataproto import DataProto
from batchpact.dataproto.parts import alike, by_kind, row_kind, same_fields
from batchpact.schemas import BatchSchema, Pad
from batchpact.schemas.stores import Stores
from tests.dataproto.support import jagged, jagged_on_2, plain, refuses

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


def part(x: Any = None, **columns: Any) -> DataProto:
    return DataProto.from_dict({} if x is None else {"x": x}, columns)


# --- fields -----------------------------------------------------------------------------------------------------------


def test_a_missing_field_is_named_with_part_and_producer() -> None:
    """Case M4."""
    parts = [part(torch.ones(2), uid=["a", "b"]) for _ in range(4)]
    for one in parts:
        one._writers = {"x": "score", "uid": "rollout"}
    parts[1].pop(["x"])
    parts[2].pop(["x"])
    parts[0].pop([], ["uid"])

    with refuses(
        "concat",
        "BP042 parts  x    missing in parts 1, 2, present in parts 0, 3 (written by 'score'); every part has the same "
        "fields; the producer must write it for every part, or the field be left out of all",
        "BP042 parts  uid  missing in part 0, present in parts 1, 2, 3 (written by 'rollout'); every part has the same "
        "fields; the producer must write it for every part, or the field be left out of all",
    ):
        DataProto.concat(parts)


def test_a_part_that_has_a_field_too_many_is_named() -> None:
    with refuses(
        "concat",
        "BP042 parts  extra  missing in parts 0, 1, 2, 3, 4, 5 and 2 more, present in part 8; every part has the same "
        "fields; the producer must write it for every part, or the field be left out of all",
    ):
        DataProto.concat([part(torch.ones(1))] * 8 + [part(torch.ones(1), extra=["e"])])


def test_a_field_has_one_place_in_all_parts() -> None:
    with refuses(
        "concat",
        "BP045 store  x  in batch of parts 0, 2 and in non_tensor_batch of part 1; one place for one name",
    ):
        DataProto.concat([part(torch.ones(1)), DataProto.from_dict(non_tensors={"x": [1.0]}), part(torch.ones(1))])


# --- kinds ------------------------------------------------------------------------------------------------------------

MISMATCHES: dict[str, tuple[list[Any], str]] = {
    "dtype": (
        [torch.ones(2, 3), torch.ones(2, 3).double(), torch.ones(1, 3)],
        "f32 rows of [3] in parts 0, 2, f64 rows of [3] in part 1",
    ),
    "unequal lengths": (
        [torch.ones(4, 17), torch.ones(4, 21)],
        "f32 rows of [17] in part 0, f32 rows of [21] in part 1",
    ),
    "rank": ([torch.ones(2), torch.ones(2, 1)], "f32 rows of [] in part 0, f32 rows of [1] in part 1"),
    "layout": (
        [jagged([1], [2, 3]), torch.ones(2, 3, dtype=torch.int64)],
        "i64 jagged on axis 1, [] in part 0, i64 rows of [3] in part 1",
    ),
    "ragged axis": (
        [jagged_on_2([[1], [2]]), jagged([1], [2, 3])],
        "i64 jagged on axis 2, [2] in part 0, i64 jagged on axis 1, [] in part 1",
    ),
    "size beside the ragged axis": (
        [jagged_on_2([[1], [2]]), jagged_on_2([[1], [2], [3]])],
        "i64 jagged on axis 2, [2] in part 0, i64 jagged on axis 2, [3] in part 1",
    ),
}


@pytest.mark.parametrize(("tensors", "actual"), MISMATCHES.values(), ids=MISMATCHES.keys())
def test_tensors_have_one_dtype_layout_and_row_shape(tensors: list[torch.Tensor], actual: str) -> None:
    with refuses("concat", f"BP042 parts  x  {actual}; one dtype, layout and row shape"):
        DataProto.concat([part(tensor) for tensor in tensors])


@pytest.mark.parametrize(
    ("columns", "actual"),
    [
        ([np.ones(2), np.ones(2, dtype=np.float32)], "float64 rows of [] in part 0, float32 rows of [] in part 1"),
        ([np.ones(2), [1.0, 1.0]], "float64 rows of [] in part 0, object rows of [] in part 1"),
        ([np.ones((2, 3)), np.ones((2, 4))], "float64 rows of [3] in part 0, float64 rows of [4] in part 1"),
        ([np.array(["ab"]), [1]], "U rows of [] in part 0, object rows of [] in part 1"),
    ],
)
def test_columns_have_one_kind_of_rows(columns: list[Any], actual: str) -> None:
    with refuses("concat", f"BP042 parts  c  {actual}; one kind of rows"):
        DataProto.concat([part(c=cells) for cells in columns])


def test_text_columns_of_different_widths_join() -> None:
    joined = DataProto.concat([part(c=np.array(["a"])), part(c=np.array(["long"]))])

    assert joined.non_tensor_batch["c"].tolist() == ["a", "long"]


def test_every_field_that_differs_is_named() -> None:
    parts = [
        DataProto.from_dict({"a": torch.ones(1), "ok": torch.ones(1), "b": torch.ones(1)}, {"c": ["x"]}, {"k": 1}),
        DataProto.from_dict(
            {"a": torch.ones(1, 2), "ok": torch.ones(1), "b": torch.ones(1).bool()}, {"c": np.ones(1)}, {"k": 1}
        ),
    ]

    with refuses(
        "concat",
        "BP042 parts  a  f32 rows of [] in part 0, f32 rows of [2] in part 1; one dtype, layout and row shape",
        "BP042 parts  b  f32 rows of [] in part 0, bool rows of [] in part 1; one dtype, layout and row shape",
        "BP042 parts  c  object rows of [] in part 0, float64 rows of [] in part 1; one kind of rows",
    ):
        DataProto.concat(parts)


def test_what_is_refused_leaves_the_parts_alone() -> None:
    parts = [part(torch.ones(2, 3)), part(torch.ones(2, 4))]
    before = [plain(one) for one in parts]

    with refuses(
        "concat",
        "BP042 parts  x  f32 rows of [3] in part 0, f32 rows of [4] in part 1; one dtype, layout and row shape",
    ):
        DataProto.concat(parts)

    assert [plain(one) for one in parts] == before


def test_tensors_are_on_one_device() -> None:
    with refuses("concat", "BP042 parts  x  cpu in parts 0, 2, meta in part 1; one device"):
        DataProto.concat([part(torch.ones(2)), part(torch.ones(2, device="meta")), part(torch.ones(1))])


def test_a_strided_nested_tensor_and_an_inner_tensordict_are_no_dense_tensors() -> None:
    nested = torch.nested.as_nested_tensor([torch.ones(1), torch.ones(2)])
    inner = TensorDict({"y": torch.ones(2)}, batch_size=[2])

    with refuses(
        "concat",
        "BP042 parts  x  f32 rows of [] in part 0, f32 strided nested in part 1, TensorDict in part 2; one dtype, "
        "layout and row shape",
    ):
        DataProto.concat([part(torch.ones(2)), part(nested), part(inner)])


# --- the hint ---------------------------------------------------------------------------------------------------------


class Padded(BatchSchema):
    x: Annotated[Float[Tensor, "batch ..."], Pad(0)]


@pytest.mark.parametrize(
    ("one", "two", "hinted"),
    [
        (torch.ones(1, 2), torch.ones(1, 3), True),
        (torch.ones(1, 2), torch.ones(1, 3).double(), False),
        (torch.ones(1, 2), torch.ones(1, 2).double(), False),
        (torch.ones(1, 2), torch.ones(1, 3, 1), False),
    ],
    ids=["length", "length and dtype", "dtype", "rank"],
)
def test_padding_is_a_way_out_where_lengths_alone_differ(one: torch.Tensor, two: torch.Tensor, hinted: bool) -> None:
    parts = [part(one).bind(Padded), part(two).bind(Padded)]

    with pytest.raises(Exception, match="one dtype, layout and row shape") as caught:
        DataProto.concat(parts)

    assert str(caught.value).endswith("; concat(parts, pad=True) makes rows equally long") is hinted


# --- pieces -----------------------------------------------------------------------------------------------------------


def test_tensors_are_alike_where_cat_gives_what_they_are() -> None:
    one = torch.ones(2, 3)

    assert alike([one])
    assert alike([one, torch.zeros(5, 3)])
    assert not alike([one, torch.ones(2, 4)])
    assert not alike([one, torch.ones(2)])
    assert not alike([one, one.double()])
    assert not alike([one, torch.ones(2, 3, device="meta")])
    assert not alike([one, torch.nn.Parameter(one)])
    assert not alike([jagged([1], [2])])
    assert not alike([one, jagged([1], [2])])
    assert not alike([one, one.to_sparse()])
    assert not alike([TensorDict({}, batch_size=[2])])


def test_parts_have_the_same_fields_in_any_order() -> None:
    one, two = Stores({"a": 1, "b": 1}, {"c": 1}, {"k": 1}), Stores({"b": 1, "a": 1}, {"c": 1}, {})

    assert same_fields([(0, one), (3, two)])
    assert same_fields([])
    assert not same_fields([(0, one), (1, two._replace(columns={}))])
    assert not same_fields([(0, one), (1, two._replace(tensors={"a": 1, "c": 1}))])


def test_parts_are_listed_by_kind() -> None:
    assert by_kind([(0, "a"), (1, "b"), (4, "a")]) == "a in parts 0, 4, b in part 1"
    assert by_kind([(0, "a"), (1, "b")], "rank") == "a in rank 0, b in rank 1"
    assert by_kind([(at, "a") for at in range(9)]) == "a in parts 0, 1, 2, 3, 4, 5 and 3 more"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.ones(2, 3).bfloat16(), "bf16 rows of [3]"),
        (torch.ones(2), "f32 rows of []"),
        (jagged([1], [2]), "i64 jagged on axis 1, []"),
        (jagged_on_2([[1], [2]]), "i64 jagged on axis 2, [2]"),
        (TensorDict({}, batch_size=[2]), "TensorDict"),
    ],
    ids=repr,
)
def test_rows_of_one_kind_can_be_joined(value: Any, text: str) -> None:
    assert row_kind(value) == text
