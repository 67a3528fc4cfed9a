"""A schema under other keys, and with arguments that have one value."""

from __future__ import annotations

from typing import Annotated

from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, From, Pad, SameAs, When, arg, config, meta, present
from batchpact.schemas.condition_specs import words
from batchpact.schemas.renaming import renamed

PerToken = Float32[Tensor, "batch response"]


class Fields(BatchSchema):
    scores: Annotated[PerToken, Pad(0.0)]
    twin: Annotated[PerToken, SameAs("scores")]
    where_there: Annotated[PerToken, When(present("scores") & meta("scores"))]
    entropys: Annotated[PerToken, When(arg("entropy"))]
    either: Annotated[PerToken, When(arg("entropy") | config("scores"))]
    entropy: Annotated[Arg[bool], From("actor.entropy")] = True


def test_keys_change_and_attributes_stay() -> None:
    made, off = renamed(Fields, {"scores": "rewards"}, {})
    spec = made.__batchpact__.spec

    assert off == {}
    assert issubclass(made, Fields)
    assert [(field.name, field.key) for field in spec.fields[:2]] == [("scores", "rewards"), ("twin", "twin")]
    assert spec.fields[1].same_as == "rewards"
    assert list(made.__batchpact__.policies) == ["rewards"]
    assert made.__batchpact__.homes["scores"][0].key == "rewards"


def test_conditions_ask_for_the_new_keys_but_not_of_the_configuration() -> None:
    made, _ = renamed(Fields, {"scores": "rewards"}, {})
    whens = [words(field.when) for field in made.__batchpact__.spec.fields if field.when is not None]

    assert whens == ["rewards in the batch and meta rewards", "arg entropy", "arg entropy or scores"]


def test_an_argument_with_one_value_is_its_default_and_decides_conditions() -> None:
    made, off = renamed(Fields, {}, {"entropy": False})
    compiled = made.__batchpact__

    assert {key: words(condition) for key, condition in off.items()} == {"entropys": "arg entropy"}
    assert [field.key for field in compiled.spec.fields] == ["scores", "twin", "where_there", "either", "entropy"]
    assert compiled.spec.fields[-1].source is None
    assert compiled.new_defaults() == {"entropy": False}
    assert compiled.off == {"entropys"}


def test_a_condition_that_holds_makes_a_field_required() -> None:
    made, off = renamed(Fields, {}, {"entropy": True})

    assert off == {}
    assert [field.key for field in made.__batchpact__.spec.fields if field.when is not None] == ["where_there"]


def test_a_schema_of_which_nothing_changes_is_itself() -> None:
    assert renamed(Fields, {"other": "name"}, {"more": 1}) == (Fields, {})
