"""`BatchSchema`: names that cannot be fields, and instances that check nothing."""

import copy
from typing import Annotated, Any, ClassVar

import pytest
from jaxtyping import Float32
from pydantic import BaseModel, Field, PydanticUserError
from torch import Tensor

from batchpact.schemas import BatchSchema, Meta, NonTensor

from .support import floats, objects, refused

Scores = Float32[Tensor, "batch response"]


class Reads(BatchSchema):
    """What most tests here construct."""

    scores: Scores
    uid: NonTensor[str]
    temperature: Annotated[Meta[float], Field(gt=0)] = 1.0
    values: Scores | None = None


# --- instances --------------------------------------------------------------------------------------------------------


def test_constructing_keeps_every_value_as_it_is() -> None:
    scores, uid = floats(2, 3), objects("a", "b")

    made = Reads(scores=scores, uid=uid)

    assert made.scores is scores
    assert made.uid is uid
    assert (made.temperature, made.values) == (1.0, None)


def test_constructing_checks_and_converts_nothing() -> None:
    made = Reads(scores="no tensor", uid=3, temperature="-1")  # type: ignore[arg-type]

    assert (made.scores, made.uid, made.temperature) == ("no tensor", 3, "-1")


def test_a_field_may_be_left_out_and_is_then_missing() -> None:
    made = Reads(uid=objects("a"))  # type: ignore[call-arg]

    with pytest.raises(AttributeError) as caught:
        made.scores  # noqa: B018
    assert str(caught.value) == "Reads was made without 'scores'"


def test_a_name_that_is_not_declared_is_no_attribute() -> None:
    with pytest.raises(AttributeError) as caught:
        Reads(scores=floats(1, 1), uid=objects("a")).score  # type: ignore[attr-defined]  # noqa: B018
    assert str(caught.value) == "Reads declares no field 'score'"


def test_a_declared_field_can_be_set_and_no_other() -> None:
    made = Reads(scores=floats(1, 1), uid=objects("a"))
    made.temperature = "warm"  # type: ignore[assignment]

    assert made.temperature == "warm"
    with pytest.raises(AttributeError) as caught:
        made.tempreature = 0.7  # type: ignore[attr-defined]
    assert str(caught.value) == "Reads declares no field 'tempreature'"


def test_any_field_can_be_set_where_extra_is_allowed() -> None:
    class Open(BatchSchema, extra="allow"):
        uid: NonTensor[str]

    made: Any = Open(uid=objects("a"), label=1)
    made.note = 2

    assert (made.label, made.note) == (1, 2)


def test_an_instance_prints_kinds_and_sizes_and_no_values() -> None:
    made = Reads(scores=floats(2, 3), uid=objects("secret", "secret"))

    assert repr(made) == str(made) == "Reads(temperature=float 1.0, values=None, scores=f32[2, 3], uid=2 objects)"


def test_an_instance_can_be_copied() -> None:
    made = Reads(scores=floats(1, 1), uid=objects("a"))
    again = copy.copy(made)
    again.temperature = 0.5

    assert again.scores is made.scores
    assert made.temperature == 1.0


def test_a_schema_may_hold_methods_and_class_variables() -> None:
    class Wide(BatchSchema):
        limit: ClassVar[int] = 3
        scores: Scores

        def width(self) -> int:
            return self.scores.shape[1]

        @property
        def is_wide(self) -> bool:
            return self.width() > self.limit

        @classmethod
        def of(cls, scores: Tensor) -> "Wide":
            return cls(scores=scores)

    assert Wide.of(floats(2, 5)).is_wide
    assert [field.key for field in Wide.__batchpact__.spec.fields] == ["scores"]


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["copy", "json", "schema", "dict", "register", "model_fields"])
def test_a_name_of_pydantic_is_refused(name: str) -> None:
    with refused(
        "Taken",
        f'{name}  pydantic has an attribute of this name; choose a name such as {name}_ and mark it Name("{name}")',
    ):
        type(BatchSchema)("Taken", (BatchSchema,), {"__annotations__": {name: Meta[int]}, "__module__": __name__})


def test_leading_underscores_are_refused_rather_than_dropped() -> None:
    text = "names with leading underscores are private and would vanish"
    with refused(
        "test_leading_underscores_are_refused_rather_than_dropped.Turns",
        f'_turns         {text}; choose a name such as turns_ and mark it Name("_turns")',
        f'__num_turns__  {text}; choose a name such as num_turns_ and mark it Name("__num_turns__")',
    ):

        class Turns(BatchSchema):
            _turns: Meta[int]
            __num_turns__: NonTensor[int]


@pytest.mark.parametrize("value", [Scores, Meta[float], NonTensor[str], Meta[float] | None, float], ids=str)
def test_an_equals_sign_for_a_colon_is_guessed(value: object) -> None:
    with refused(
        "test_an_equals_sign_for_a_colon_is_guessed.Slip", "x  '=' where ':' belongs? A field is an annotation"
    ):

        class Slip(BatchSchema):
            x = value


def test_what_pydantic_refuses_is_a_declaration_error_with_its_words() -> None:
    with pytest.raises(PydanticUserError) as said:

        class Plain(BaseModel):
            x = 3

    with refused(
        "test_what_pydantic_refuses_is_a_declaration_error_with_its_words.Slip",
        f"Slip  {str(said.value).partition(chr(10))[0]}",
    ):

        class Slip(BatchSchema):
            x = 3


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        ("Meta[Nowhere]", "an annotation cannot be resolved: name 'Nowhere' is not defined"),
        ("Meta[float", "Forward reference must be an expression -- got 'Meta[float'"),
    ],
)
def test_an_annotation_that_cannot_be_evaluated_is_a_declaration_error(annotation: str, text: str) -> None:
    with refused("test_an_annotation_that_cannot_be_evaluated_is_a_declaration_error.Unread", f"Unread  {text}"):

        class Unread(BatchSchema):
            x: annotation  # type: ignore[valid-type]
