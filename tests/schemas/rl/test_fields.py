"""The vocabulary: every field can be declared, and says what it means and where it comes from."""

import re
from types import ModuleType
from typing import Any

import pytest

from batchpact.schemas.rl import fields
from batchpact.schemas.rl.fields import jagged, tags

from .specs import spec

TOKENS = {"prompt", "response", "prompt+response", "length"}
DIMS = TOKENS | {"...", "1", "4", "layer", "expert", "candidate"}
PLACEMENTS = ("Arg", "Meta", "NonTensor", "Tag")


def declared(module: ModuleType) -> dict[str, Any]:
    return {
        name: value for name, value in vars(module).items() if hasattr(value, "__metadata__") and name not in PLACEMENTS
    }


VOCABULARY = declared(fields)
JAGGED = declared(jagged)
TAGS = declared(tags)
EVERY = [
    pytest.param(value, id=f"{module}.{name}")
    for module, found in (("fields", VOCABULARY), ("jagged", JAGGED), ("tags", TAGS))
    for name, value in found.items()
]


@pytest.mark.parametrize("annotation", EVERY)
def test_a_field_says_what_it_means(annotation: Any) -> None:
    field = spec(annotation)

    assert re.match(r"[A-Z0-9].*\.$", field.description)
    assert len(field.places) == 1
    if field.places[0].placement != "arg":
        assert re.search(r"Source: [^.]+", field.description), "and where it comes from"


@pytest.mark.parametrize("name", VOCABULARY)
def test_a_tensor_is_dense_over_prompts_and_responses(name: str) -> None:
    place = spec(VOCABULARY[name]).places[0]
    dims = (place.dims or "batch").split()

    assert place.layout in (None, "dense")
    assert dims[0] == "batch"
    assert set(dims[1:]) <= DIMS


@pytest.mark.parametrize("name", JAGGED)
def test_a_jagged_field_is_ragged_in_its_tokens(name: str) -> None:
    place = spec(JAGGED[name]).places[0]

    assert place.layout == "jagged"
    assert place.ragged in ("prompt", "response", "prompt+response")


@pytest.mark.parametrize("name", sorted(set(VOCABULARY) & set(JAGGED)))
def test_a_field_means_the_same_in_both_layouts(name: str) -> None:
    dense, ragged = spec(VOCABULARY[name]), spec(JAGGED[name])
    places = [place.model_copy(update={"layout": "dense", "ragged": None}) for place in ragged.places]

    assert ragged.model_copy(update={"places": tuple(places)}) == dense


def test_the_public_names_are_what_is_declared() -> None:
    assert set(fields.__all__) == {*VOCABULARY, "jagged", "tags"}
    assert fields.__all__ == sorted(fields.__all__)


def test_the_vocabulary_holds_the_fields_of_verl() -> None:
    """A guard for the tests above: they look at what they mean to look at."""
    assert {"Prompts", "ResponseMask", "OldLogProbs", "Advantages", "Uid", "KlCoef", "SumPiSquared"} <= set(VOCABULARY)
    assert {"ResponseMask", "WholeLogProbs"} <= set(JAGGED)
    assert {"SeqLen", "IsPadding"} <= set(TAGS)
