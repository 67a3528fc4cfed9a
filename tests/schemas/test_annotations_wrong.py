"""Every annotation that cannot be right, and what is said of it."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
from jaxtyping import Float32, Int64
from jaxtyping import Key as PrngKey
from pydantic import Field
from torch import Tensor

from batchpact.schemas import (
    Arg,
    BatchSchema,
    Binary,
    Fill,
    Finite,
    From,
    Group,
    Jagged,
    Key,
    Merge,
    Meta,
    Name,
    NonTensor,
    Pad,
    SameAs,
    When,
    config,
)
from batchpact.schemas.markers import MARKERS

from .support import refused

ALIAS = 'alias= renames the constructor\'s argument; the key in the batch is Name("...")'
NO_WAY = "says no placement; write Meta[T], NonTensor[T], Arg[T] or a jaxtyping type of torch.Tensor"

WRONG: dict[str, tuple[Any, str]] = {
    "a bare tensor": (Tensor, 'a bare Tensor has no dtype and shape; write Float32[Tensor, "batch ..."]'),
    "a bare array": (np.ndarray, "a bare numpy array has no placement; one value per row is NonTensor[T]"),
    "a typed array": (np.ndarray[Any, Any], "a bare numpy array has no placement; one value per row is NonTensor[T]"),
    "a trailing comma": ((Meta[float],), "the annotation is a tuple: a comma too many?"),
    "a plain type": (float, "float says no placement; write Meta[float], NonTensor[float] or Arg[float]"),
    "a plain generic": (list[str], f"list[str] {NO_WAY}"),
    "a plain type with a marker": (
        Annotated[int, Binary()],
        "int says no placement; write Meta[int], NonTensor[int] or Arg[int]",
    ),
    "non-tensor of nothing": (NonTensor, "NonTensor needs the type of one row, as in NonTensor[str]"),
    "meta of nothing": (Meta, "Meta needs the type of its value, as in Meta[float]"),
    "an argument of nothing": (Arg, "Arg needs the type of its value, as in Arg[float]"),
    "one placement twice": (Meta[int] | Meta[str], "the placement meta stands there twice"),
    # tensors
    "an array of another library": (
        Float32[np.ndarray, "batch"],
        'Float32[ndarray, ...] is an array of another library; a tensor field is Float32[Tensor, "..."]',
    ),
    "two tensor types": (
        Float32[Tensor, "batch"] | Int64[Tensor, "batch"],
        "two tensor types for one field; declare a family such as Float[Tensor, ...] instead",
    ),
    "a dim string that cannot be read": (
        Float32[Tensor, "batch response+"],
        "the dims 'batch response+' cannot be read: 'response+': it ends too early",
    ),
    "dims of jaxtyping only": (
        Float32[Tensor, "batch #response"],
        "the dims 'batch #response' cannot be read: '#response' is not supported: '#' allows broadcasting; "
        "a contract wants the exact size",
    ),
    "no axis": (
        Float32[Tensor, ""],
        'a tensor has a batch axis, as in "batch"; one value for the whole batch is Meta[...]',
    ),
    "a fixed batch axis": (
        Float32[Tensor, "4 response"],
        "axis 0 is the batch axis and needs a name, as in \"batch 4 response\"; '4' is none",
    ),
    "an unnamed batch axis": (
        Float32[Tensor, "_ response"],
        "axis 0 is the batch axis and needs a name, as in \"batch _ response\"; '_' is none",
    ),
    "many batch axes": (
        Float32[Tensor, "... response"],
        "axis 0 is the batch axis and needs a name, as in \"batch ... response\"; '...' is none",
    ),
    "a dtype that torch lacks": (PrngKey[Tensor, "batch"], "torch has no dtype prng_key"),
    # layout
    "a ragged dim that is not there": (
        Annotated[Int64[Tensor, "batch length"], Jagged("lenght")],
        "Jagged('lenght') names no dim of 'batch length'",
    ),
    "a ragged batch axis": (
        Annotated[Int64[Tensor, "batch length"], Jagged("batch")],
        "Jagged('batch'): the batch axis cannot be ragged",
    ),
    "a ragged axis among many": (
        Annotated[Int64[Tensor, "batch length ..."], Jagged("length")],
        "a jagged tensor needs every axis by name; '...' and '*name' hide which is ragged",
    ),
    "a jagged meta value": (Annotated[Meta[list], Jagged("length")], "Jagged(...) belongs on a tensor"),
    # markers and metadata
    "a class for a policy": (
        Annotated[NonTensor[str], Group],
        "Group is a class where an instance belongs: Group(...)",
    ),
    "a class for an instance": (
        Annotated[Int64[Tensor, "batch"], Binary],
        "Binary is a class where an instance belongs: Binary(...)",
    ),
    "a function for an instance": (
        Annotated[Meta[float], Merge.close],
        "Merge.close is a function where what it makes belongs: Merge.close(...)",
    ),
    "a marker inside the type of a cell": (
        NonTensor[Annotated[str, Key()]],
        "Key(...) inside the type of a value is not read; write Annotated[..., Key(...)] around it",
    ),
    "a marker deep inside a type": (
        Meta[dict[str, list[Annotated[float, Finite()]]]],
        "Finite(...) inside the type of a value is not read; write Annotated[..., Finite(...)] around it",
    ),
    "rows from the configuration": (
        Annotated[NonTensor[str], From("data.source")],
        "From(...) fills arguments and meta fields; rows do not come from the configuration",
    ),
    "an alias": (Annotated[Meta[float], Field(alias="y")], ALIAS),
    "a bound that nothing checks": (
        Annotated[Int64[Tensor, "batch"], Field(multiple_of=2)],
        "MultipleOf(multiple_of=2) would not be checked; the bounds are ge, gt, le and lt",
    ),
    # None
    "optional without a default": (
        Meta[float] | None,
        "'| None' without '= None' is still required; give it a default, or leave '| None' out",
    ),
    "optional inside": (
        Meta[float | None],
        "'| None' without '= None' is still required; give it a default, or leave '| None' out",
    ),
    "nothing but None": (None, "it has no placement beside None"),
}


@pytest.mark.parametrize(("annotation", "text"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_annotation_is_refused_with_what_to_write(annotation: Any, text: str) -> None:
    with refused("test_a_wrong_annotation_is_refused_with_what_to_write.Reads", f"x  {text}"):

        class Reads(BatchSchema):
            x: annotation


TWICE: dict[type, Any] = {
    Jagged: Annotated[Int64[Tensor, "batch length"], Jagged("length"), Jagged("length")],
    Finite: Annotated[Annotated[Float32[Tensor, "batch"], Finite()], Finite()],
    Binary: Annotated[Int64[Tensor, "batch"], Binary(), Field(ge=0), Binary()],
    Name: Annotated[Annotated[Meta[int], Name("a")] | Float32[Tensor, "batch"], Name("b")],
    From: Annotated[Meta[int], From("a"), From("b"), From("c")],
    Merge: Annotated[Meta[int], Merge("max"), Merge("sum")],
    Pad: Annotated[Int64[Tensor, "batch"], Pad(0), Pad(1)],
    Fill: Annotated[Annotated[Int64[Tensor, "batch"], Fill(0)] | None, Fill(0)],
    Key: Annotated[NonTensor[str], Key()] | Annotated[Int64[Tensor, "batch"], Key()],
    Group: Annotated[Annotated[NonTensor[str], Group()] | Int64[Tensor, "batch"], Group()],
    When: Annotated[Meta[int], When(config("a")), When(config("b"))],
    SameAs: Annotated[Meta[int], SameAs("a"), SameAs("b")],
}


def test_every_marker_is_tried_twice() -> None:
    assert set(TWICE) == set(MARKERS)


@pytest.mark.parametrize(("marker", "annotation"), TWICE.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_marker_that_stands_there_twice_is_refused(marker: type, annotation: Any) -> None:
    with refused(
        "test_a_marker_that_stands_there_twice_is_refused.Reads", f"x  {marker.__name__}(...) stands there twice"
    ):

        class Reads(BatchSchema):
            x: annotation = None if marker is Fill else ...


@pytest.mark.parametrize("declare", MARKERS, ids=lambda marker: marker.__name__)
def test_every_marker_is_refused_as_a_class(declare: Callable[..., object]) -> None:
    with refused(
        "test_every_marker_is_refused_as_a_class.Reads",
        f"x  {declare.__name__} is a class where an instance belongs: {declare.__name__}(...)",
    ):

        class Reads(BatchSchema):
            x: Annotated[Meta[float], declare]


def test_an_alias_is_refused_wherever_it_is_spelt() -> None:
    with refused("test_an_alias_is_refused_wherever_it_is_spelt.Reads", f"assigned  {ALIAS}", f"optional  {ALIAS}"):

        class Reads(BatchSchema):
            assigned: Meta[float] = Field(alias="a")
            optional: Annotated[Meta[float], Field(alias="b")] | None = None


def test_an_array_type_of_two_libraries_is_refused_for_the_one() -> None:
    with refused(
        "test_an_array_type_of_two_libraries_is_refused_for_the_one.Reads",
        'x  Float32[ndarray, ...] is an array of another library; a tensor field is Float32[Tensor, "..."]',
    ):

        class Reads(BatchSchema):
            x: Float32[Tensor | np.ndarray, "batch"]


def test_every_mistake_of_a_schema_is_listed_in_the_order_of_declaration() -> None:
    with refused(
        "test_every_mistake_of_a_schema_is_listed_in_the_order_of_declaration.Reads",
        'scores  a bare Tensor has no dtype and shape; write Float32[Tensor, "batch ..."]',
        "mask    Binary is a class where an instance belongs: Binary(...)",
        "mask    Jagged('length') names no dim of 'batch response'",
        "step    int says no placement; write Meta[int], NonTensor[int] or Arg[int]",
    ):

        class Reads(BatchSchema):
            scores: Tensor
            mask: Annotated[Int64[Tensor, "batch response"], Binary, Jagged("length")]
            uid: NonTensor[str]
            step: int
