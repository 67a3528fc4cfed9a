"""The vocabulary: every field can be declared, and says what it means and where it comes from."""

import re
from typing import Any

import pytest

from batchpact.schemas import BatchSchema, FieldSpec
from batchpact.schemas.rl import fields

VOCABULARY: dict[str, Any] = {
    name: value
    for name, value in vars(fields).items()
    if hasattr(value, "__metadata__") and name not in ("Arg", "Meta")
}


def spec(annotation: Any) -> FieldSpec:
    class Reads(BatchSchema):
        x: annotation

    return Reads.__batchpact__.spec.fields[0]


@pytest.mark.parametrize("name", VOCABULARY)
def test_a_field_says_what_it_means(name: str) -> None:
    field = spec(VOCABULARY[name])

    assert re.match(r"[A-Z0-9].*\.$", field.description)
    assert len(field.places) == 1
    if field.places[0].placement != "arg":
        assert re.search(r"Source: [^.]+", field.description), "and where it comes from"


@pytest.mark.parametrize("name", VOCABULARY)
def test_the_dims_of_a_field_are_those_of_the_page(name: str) -> None:
    dims = spec(VOCABULARY[name]).places[0].dims

    assert dims in (None, "batch", "batch prompt", "batch response", "batch prompt+response")


def test_an_argument_is_filled_from_the_configuration() -> None:
    arguments = [spec(annotation) for annotation in VOCABULARY.values()]
    sources = [field.source for field in arguments if field.places[0].placement == "arg"]

    assert sources
    assert all(source and "." in source for source in sources)


def test_the_vocabulary_holds_the_fields_of_grpo() -> None:
    """A guard for the tests above: they look at what they mean to look at."""
    assert {"Prompts", "Responses", "ResponseMask", "OldLogProbs", "Advantages", "Uid", "KlCoef"} <= set(VOCABULARY)
