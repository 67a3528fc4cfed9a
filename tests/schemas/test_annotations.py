"""What an annotation says: placement, dtype, dims, layout, and everything that hangs on it."""

from typing import Annotated, Any, Literal

import pytest
import torch
from annotated_types import Interval
from jaxtyping import Bool, Float, Float32, Int64, Num, Shaped
from pydantic import BaseModel, Field, PositiveInt
from torch import Tensor
from typing_extensions import TypeAliasType

from batchpact.schemas import Arg, BatchSchema, Binary, FieldSpec, Finite, From, Jagged, Meta, Name, NonTensor, RuleSpec
from batchpact.schemas.annotations import type_name
from batchpact.schemas.record import PlaceSpec


class Image(BaseModel):
    width: int


Advantages = Annotated[
    Float32[Tensor, "batch response"], Finite(), Field(ge=-10, lt=10, description="how much better than the group")
]
Named = TypeAliasType("Named", Meta[int])


def field(annotation: Any, default: object = ...) -> FieldSpec:
    """The record of one field with this annotation; it is required unless a default is given."""

    class Reads(BatchSchema):
        x: annotation = default

    return Reads.__batchpact__.spec.fields[0]


def tensor(dtype: str, dims: str, dtypes: tuple[str, ...] | None = None, **rest: Any) -> PlaceSpec:
    admitted = (dtype,) if dtypes is None else dtypes
    return PlaceSpec(placement="tensor", dtype=dtype, dtypes=admitted, dims=dims, **{"layout": "dense", **rest})


# --- placements -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "place"),
    [
        (Float32[Tensor, "batch response"], tensor("float32", "batch response")),
        (Bool[torch.Tensor, "batch"], tensor("bool", "batch")),
        (Float32[Tensor, " batch   response "], tensor("float32", "batch response")),
        (Int64[Tensor, "batch*n prompt+1"], tensor("int64", "batch*n prompt+1")),
        (NonTensor[str], PlaceSpec(placement="non_tensor", type="str")),
        (NonTensor[list[dict[str, int]]], PlaceSpec(placement="non_tensor", type="list[dict[str, int]]")),
        (Meta[float], PlaceSpec(placement="meta", type="float")),
        (Arg[bool], PlaceSpec(placement="arg", type="bool")),
        (Meta[PositiveInt], PlaceSpec(placement="meta", type="int")),
        (Named, PlaceSpec(placement="meta", type="int")),
    ],
    ids=str,
)
def test_the_annotation_alone_decides_the_placement(annotation: object, place: PlaceSpec) -> None:
    assert field(annotation).places == (place,)


def test_two_placements_can_be_allowed_at_once() -> None:
    assert field(Meta[float] | Float32[Tensor, "batch"]).places == (
        PlaceSpec(placement="meta", type="float"),
        tensor("float32", "batch"),
    )


def test_a_family_admits_every_dtype_of_it_that_torch_has() -> None:
    (place,) = field(Float[Tensor, "batch"]).places

    assert place.dtype == "float"
    assert {"float16", "bfloat16", "float32", "float64"} <= set(place.dtypes)
    assert all(getattr(torch, name).is_floating_point for name in place.dtypes)
    assert {"int8", "float32"} <= set(field(Num[Tensor, "batch"]).places[0].dtypes)


def test_shaped_admits_every_dtype() -> None:
    assert field(Shaped[Tensor, "batch"]).places == (tensor("any", "batch", dtypes=()),)


def test_jagged_says_which_dim_is_ragged() -> None:
    on_1 = Annotated[Int64[Tensor, "batch length"], Jagged("length")]
    on_2 = Annotated[Int64[Tensor, "batch 4 prompt+response"], Jagged("prompt+response")]

    assert field(on_1).places == (tensor("int64", "batch length", layout="jagged", ragged="length"),)
    assert field(on_2).places[0].ragged == "prompt+response"


# --- what hangs on it -------------------------------------------------------------------------------------------------


def test_markers_and_bounds_become_rules() -> None:
    assert field(Advantages).rules == (
        RuleSpec(kind="finite"),
        RuleSpec(kind="ge", value=-10),
        RuleSpec(kind="lt", value=10),
    )
    assert field(Annotated[Int64[Tensor, "batch"], Binary()]).rules == (RuleSpec(kind="binary"),)
    assert field(Annotated[Meta[float], Interval(gt=0, le=1)]).rules == (
        RuleSpec(kind="gt", value=0),
        RuleSpec(kind="le", value=1),
    )
    assert field(Meta[PositiveInt]).rules == (RuleSpec(kind="gt", value=0),)


def test_an_alias_that_is_optional_keeps_its_description_bounds_and_markers() -> None:
    plain, optional = field(Advantages), field(Advantages | None, None)

    assert optional == plain.model_copy(update={"required": False, "nullable": True})
    assert optional.description == "how much better than the group"
    assert len(optional.rules) == 3


def test_an_alias_can_be_annotated_further() -> None:
    further = field(Annotated[Advantages, Name("adv"), Field(gt=-5)])

    assert further.key == "adv"
    assert further.description == "how much better than the group"
    assert [(rule.kind, rule.value) for rule in further.rules] == [
        ("finite", None),
        ("ge", -10),
        ("lt", 10),
        ("gt", -5),
    ]


def test_the_outer_description_counts() -> None:
    assert field(Annotated[Advantages, Field(description="after whitening")]).description == "after whitening"


def test_a_description_is_kept_in_one_line() -> None:
    text = """One sentence
        and another."""

    assert field(Annotated[Meta[float], Field(description=text)]).description == "One sentence and another."


def test_an_argument_names_the_path_that_fills_it() -> None:
    assert field(Annotated[Arg[float], From("algorithm.gamma")], 0.99).source == "algorithm.gamma"


def test_markers_inside_a_union_count_as_outside() -> None:
    inside = field(Annotated[Float32[Tensor, "batch"], Name("t"), Finite()] | Meta[float])
    outside = field(Annotated[Float32[Tensor, "batch"] | Meta[float], Name("t"), Finite()])

    assert inside == outside


# --- types in words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("live", "text"),
    [
        (str, "str"),
        (None, "None"),
        (Any, "Any"),
        (list[str], "list[str]"),
        (dict[str, list[int]], "dict[str, list[int]]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (int | None, "int | None"),
        (Literal["a", 1], "Literal['a', 1]"),
        (Annotated[int, "note"], "int"),
        (Image, f"{__name__}.Image"),
        (list[Image], f"list[{__name__}.Image]"),
    ],
    ids=str,
)
def test_a_type_as_text_has_no_addresses_and_no_module_paths_of_the_standard_library(live: object, text: str) -> None:
    assert type_name(live) == text
