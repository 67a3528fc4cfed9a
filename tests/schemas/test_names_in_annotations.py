"""Names in annotations resolve where the class stands, without `from __future__ import annotations`."""

from typing import Annotated

from jaxtyping import Float32
from pydantic import Field
from torch import Tensor

from batchpact.schemas import BatchSchema, Meta, NonTensor, StageSchema

from .support import refused

Scores = Annotated[Float32[Tensor, "batch response"], Field(description="of the module")]
Shadowed = Annotated[Meta[int], Field(description="of the module")]


def description(schema: type[BatchSchema], key: str = "x") -> str:
    field = schema.__batchpact__.spec.field(key)
    assert field is not None
    return field.description


def test_names_of_the_module_and_of_the_function_resolve() -> None:
    Local = Annotated[NonTensor[str], Field(description="of the function")]
    Shadowed = Annotated[Meta[str], Field(description="of the function")]

    class Reads(BatchSchema):
        module: Scores
        local: Local
        optional: Local | None = None
        shadowed: Shadowed

    assert {key: description(Reads, key) for key in ("module", "local", "optional", "shadowed")} == {
        "module": "of the module",
        "local": "of the function",
        "optional": "of the function",
        "shadowed": "of the function",
    }


def test_names_resolve_in_an_annotation_that_is_written_as_a_string() -> None:
    Local = Annotated[NonTensor[str], Field(description="of the function")]
    Shadowed = Annotated[Meta[str], Field(description="of the function")]  # noqa: F841

    class Reads(BatchSchema):
        local: "Local"
        optional: "Local | None" = None
        shadowed: "Shadowed"

    assert {description(Reads, key) for key in ("local", "optional", "shadowed")} == {"of the function"}


def test_names_resolve_inside_a_stage() -> None:
    Local = Annotated[NonTensor[str], Field(description="of the function")]

    class Score(StageSchema):
        class Reads(BatchSchema):
            x: Local
            y: "Scores"

    assert (description(Score.Reads, "x"), description(Score.Reads, "y")) == ("of the function", "of the module")


def test_a_string_with_a_name_that_is_nowhere_is_refused() -> None:
    with refused(
        "test_a_string_with_a_name_that_is_nowhere_is_refused.Reads",
        "Reads  an annotation cannot be resolved: name 'Missing' is not defined",
    ):

        class Reads(BatchSchema):
            x: "Missing"  # type: ignore[name-defined]
