"""Names in annotations resolve where the class stands, with `from __future__ import annotations`: all are strings."""

from __future__ import annotations

from typing import Annotated

from jaxtyping import Float32
from pydantic import Field
from torch import Tensor

from batchpact.schemas import BatchSchema, Meta, NonTensor, StageSchema
from batchpact.schemas.batch import BatchSchema as Schema

from .support import refused

Scores = Annotated[Float32[Tensor, "batch response"], Field(description="of the module")]
Shadowed = Annotated[Meta[int], Field(description="of the module")]


def description(schema: type[BatchSchema], key: str = "x") -> str:
    field = schema.__batchpact__.spec.field(key)
    assert field is not None
    return field.description


class AtTheTop(BatchSchema):
    x: Scores


def test_a_name_of_the_module_resolves_at_the_top_and_in_a_function() -> None:
    class Reads(BatchSchema):
        x: Scores

    assert description(AtTheTop) == description(Reads) == "of the module"


def test_a_name_of_the_function_resolves() -> None:
    Local = Annotated[NonTensor[str], Field(description="of the function")]

    class Reads(BatchSchema):
        x: Local
        y: Local | None = None

    assert description(Reads, "x") == description(Reads, "y") == "of the function"


def test_a_name_of_the_function_counts_before_the_same_name_of_the_module() -> None:
    Shadowed = Annotated[Meta[str], Field(description="of the function")]  # noqa: F841

    class Reads(BatchSchema):
        x: Shadowed

    assert description(Reads) == "of the function"
    assert Reads.__batchpact__.spec.fields[0].places[0].type == "str"


def test_names_of_all_enclosing_functions_resolve_the_innermost_first() -> None:
    Outer = Annotated[Meta[int], Field(description="outer")]
    Both = Annotated[Meta[int], Field(description="outer")]  # noqa: F841

    def inner() -> type[BatchSchema]:
        Both = Annotated[Meta[int], Field(description="inner")]

        class Reads(BatchSchema):
            x: Outer
            y: Both

        return Reads

    assert (description(inner(), "x"), description(inner(), "y")) == ("outer", "inner")


def test_a_name_of_the_function_resolves_inside_a_stage() -> None:
    Local = Annotated[NonTensor[str], Field(description="of the function")]

    class Score(StageSchema):
        class Reads(BatchSchema):
            x: Local

        class Writes(BatchSchema):
            x: Local
            y: Scores

    assert description(Score.Reads) == description(Score.Writes) == "of the function"


def test_a_name_of_the_stage_resolves_inside_it() -> None:
    class Score(StageSchema):
        Own = Annotated[NonTensor[str], Field(description="of the stage")]

        class Reads(BatchSchema):
            x: Own

    assert description(Score.Reads) == "of the stage"


class Builder:
    def build(self) -> type[BatchSchema]:
        Local = Annotated[NonTensor[str], Field(description="of the method")]

        class Reads(BatchSchema):
            x: Local

        return Reads


def test_a_name_of_the_method_resolves() -> None:
    assert description(Builder().build()) == "of the method"


def declared_elsewhere() -> type[BatchSchema]:
    class Reads(BatchSchema):
        x: OnlyInTheCaller  # type: ignore[name-defined]

    return Reads


def test_names_of_a_caller_do_not_resolve() -> None:
    OnlyInTheCaller = Meta[int]

    with refused(
        "declared_elsewhere.Reads", "Reads  an annotation cannot be resolved: name 'OnlyInTheCaller' is not defined"
    ):
        declared_elsewhere()
    assert OnlyInTheCaller == Meta[int]


def test_names_of_the_library_do_not_leak_in() -> None:
    """pydantic takes the frame that calls its metaclass for the one around the class; here that is our own."""
    with refused(
        "test_names_of_the_library_do_not_leak_in.Reads",
        "Reads  an annotation cannot be resolved: name 'namespace' is not defined",
    ):

        class Reads(BatchSchema):
            x: namespace  # type: ignore[name-defined]


def test_a_schema_keeps_no_names_of_its_function_alive() -> None:
    Local = Annotated[Meta[int], Field(description="of the function")]

    class Reads(BatchSchema):
        x: Local

    assert Reads.__pydantic_parent_namespace__ is None


def test_a_subclass_resolves_its_own_names() -> None:
    Base = Annotated[Meta[int], Field(description="base")]

    class Parent(Schema):
        x: Base

    def child() -> type[BatchSchema]:
        Own = Annotated[Meta[int], Field(description="own")]

        class Child(Parent):
            y: Own

        return Child

    assert (description(child(), "x"), description(child(), "y")) == ("base", "own")
