"""Fields: required or optional, their defaults, and what is wrong with a default."""

import math
from enum import Enum
from itertools import count
from typing import Annotated, Any

import pytest
from annotated_types import Ge
from jaxtyping import Float32
from pydantic import Field
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, FieldSpec, From, Meta, Name, NonTensor

from .support import refused

Scores = Float32[Tensor, "batch response"]


class Mode(Enum):
    GREEDY = "greedy"


def spec(schema: type[BatchSchema], key: str) -> FieldSpec:
    found = schema.__batchpact__.spec.field(key)
    assert found is not None
    return found


# --- required and optional --------------------------------------------------------------------------------------------


def test_a_default_makes_a_field_optional() -> None:
    class Reads(BatchSchema):
        scores: Scores
        values: Scores | None = None
        temperature: Meta[float] = 1.0
        coef: Arg[float] | None = None

    fields = {field.key: (field.required, field.nullable, field.default) for field in Reads.__batchpact__.spec.fields}
    assert fields == {
        "scores": (True, False, None),
        "values": (False, True, None),
        "temperature": (False, False, 1.0),
        "coef": (False, True, None),
    }


def test_none_inside_a_meta_type_means_none_outside() -> None:
    class Reads(BatchSchema):
        inside: Meta[float | None] = None
        outside: Meta[float] | None = None

    assert spec(Reads, "inside").nullable is spec(Reads, "outside").nullable is True


def test_a_cell_may_be_none_in_a_required_column() -> None:
    class Reads(BatchSchema):
        label: NonTensor[str | None]

    assert (spec(Reads, "label").required, spec(Reads, "label").nullable) == (True, False)


def test_a_field_of_two_placements_may_have_the_default_of_the_meta_value() -> None:
    class Reads(BatchSchema):
        temperature: Meta[float] | Float32[Tensor, "batch"] = 1.0

    assert spec(Reads, "temperature").default == 1.0


def test_field_may_stand_in_the_annotation_or_as_the_value() -> None:
    class Reads(BatchSchema):
        inside: Annotated[Meta[float], Field(ge=0, description="how warm")] = 1.0
        outside: Meta[float] = Field(1.0, ge=0, description="how warm")

    same = {"name": "", "key": ""}
    assert spec(Reads, "inside").model_copy(update=same) == spec(Reads, "outside").model_copy(update=same)
    assert spec(Reads, "outside").description == "how warm"


def test_name_gives_the_key_in_the_batch() -> None:
    class Reads(BatchSchema):
        num_turns: Annotated[NonTensor[int], Name("__num_turns__")]

    assert Reads.__batchpact__.spec.field("num_turns") is None
    assert spec(Reads, "__num_turns__").name == "num_turns"


# --- defaults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("default", "record"),
    [
        (1, 1),
        (0.5, 0.5),
        ("greedy", "greedy"),
        ([1, {"a": None}], [1, {"a": None}]),
        (math.inf, "inf"),
        ([{"a": -math.inf}, math.nan], [{"a": "-inf"}, "nan"]),
        (Mode.GREEDY, f"{__name__}.Mode"),
        (object(), "builtins.object"),
    ],
    ids=str,
)
def test_a_default_is_recorded_as_json_or_by_its_type(default: object, record: object) -> None:
    class Reads(BatchSchema):
        x: Arg[Any] = default

    assert spec(Reads, "x").default == record
    assert type(Reads().x) is type(default)


def test_a_default_that_can_be_changed_is_fresh_for_every_instance() -> None:
    class Reads(BatchSchema):
        stop: Arg[list[str]] = ["</s>"]  # noqa: RUF012
        nested: Arg[dict[str, list[int]]] = {"a": [1]}  # noqa: RUF012
        made: Arg[list[str]] = Field(default_factory=lambda: ["</s>"])

    first, second = Reads(), Reads()
    first.stop.append("x")
    first.nested["a"].append(2)
    first.made.append("x")

    assert (second.stop, second.nested, second.made) == (["</s>"], {"a": [1]}, ["</s>"])
    assert (Reads().stop, Reads().nested, Reads().made) == (["</s>"], {"a": [1]}, ["</s>"])


def test_a_default_factory_is_called_for_every_instance() -> None:
    numbers = count()

    class Reads(BatchSchema):
        run: Arg[int] = Field(default_factory=lambda: next(numbers))

    first, second = Reads(), Reads()
    assert second.run == first.run + 1


# --- wrong defaults ---------------------------------------------------------------------------------------------------

PER_ROW = "a field with one value per row cannot have a default value"
WRONG: dict[str, tuple[Any, Any, str]] = {
    "a trailing comma": (
        Meta[float],
        (Field(ge=0),),
        "the default is a tuple: a trailing comma after Field(...)?",
    ),
    "None that the type does not say": (
        Meta[float],
        None,
        "the default is None and the type does not say so; write '| None = None'",
    ),
    "None for a tensor": (
        Scores,
        None,
        "the default is None and the type does not say so; write '| None = None'",
    ),
    "a value for a tensor": (Scores, 0.0, f"{PER_ROW} (0.0); optional is '| None = None'"),
    "a value for a column": (NonTensor[str], "none", f"{PER_ROW} ('none'); optional is '| None = None'"),
    "a value for an optional tensor": (Scores | None, 0, f"{PER_ROW} (0); optional is '| None = None'"),
}


@pytest.mark.parametrize(("annotation", "value", "text"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_default_is_refused_with_what_to_write(annotation: Any, value: Any, text: str) -> None:
    with refused("test_a_wrong_default_is_refused_with_what_to_write.Reads", f"x  {text}"):

        class Reads(BatchSchema):
            x: annotation = value


def test_a_default_has_the_type_of_the_field() -> None:
    with refused(
        "test_a_default_has_the_type_of_the_field.Wrong",
        "steps  the default is str, and the type is int",
        "coef   the default is list of 0, and the type is float",
    ):

        class Wrong(BatchSchema):
            steps: Meta[int] = "1"  # type: ignore[assignment]
            coef: Arg[float] = Field(default_factory=list)
            fine: Arg[float] = 1


def test_the_bound_of_a_tensor_is_a_number() -> None:
    with refused(
        "test_the_bound_of_a_tensor_is_a_number.Wrong",
        "scores  Ge(ge='0') cannot be compared with the elements of a tensor",
    ):

        class Wrong(BatchSchema):
            scores: Annotated[Scores, Ge("0")]


@pytest.mark.parametrize("limit", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("annotation", [Scores, NonTensor[float], Meta[float]], ids=str)
def test_a_bound_is_finite(annotation: Any, limit: float) -> None:
    with refused(
        "test_a_bound_is_finite.Wrong",
        f"x  Gt(gt={limit}) is no limit; Finite() says that a value is finite",
    ):

        class Wrong(BatchSchema):
            x: Annotated[annotation, Field(gt=limit, le=1)]


def test_a_path_into_the_configuration_is_not_empty() -> None:
    with refused(
        "test_a_path_into_the_configuration_is_not_empty.Wrong",
        "gamma  From('') names nothing; it is a path such as From('algorithm.gamma')",
    ):

        class Wrong(BatchSchema):
            gamma: Annotated[Meta[float], From("")]
