"""The vocabulary: every field can be declared, and says what it means and where it comes from."""

import re
from types import ModuleType
from typing import Any

import pytest

from batchpact.schemas import BatchSchema, FieldSpec
from batchpact.schemas.rl import fields
from batchpact.schemas.rl.fields import jagged, tags

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


def spec(annotation: Any) -> FieldSpec:
    class Reads(BatchSchema):
        x: annotation

    return Reads.__batchpact__.spec.fields[0]


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


def test_an_argument_is_filled_from_the_configuration_or_by_the_trainer() -> None:
    arguments = [spec(annotation) for annotation in VOCABULARY.values()]
    sources = {field.source for field in arguments if field.places[0].placement == "arg"}

    assert "algorithm.gamma" in sources
    assert all(source is None or "." in source for source in sources)


@pytest.mark.parametrize("name", ["RolloutLogProbs", "OldLogProbs", "RefLogProb", "TeacherLogprobs"])
def test_a_missing_log_prob_has_no_silent_zero(name: str) -> None:
    """0 would be probability one."""
    assert spec(VOCABULARY[name]).pad is None
    assert spec(VOCABULARY[name]).fill is None


def test_what_is_padded_on_the_left_says_so() -> None:
    sides = {name: pad.side for name in ("Prompts", "Responses", "InputIds") if (pad := spec(VOCABULARY[name]).pad)}

    assert sides == {"Prompts": "left", "Responses": "right", "InputIds": {"prompt": "left"}}


def test_the_loss_mask_is_the_twin_of_the_response_mask() -> None:
    assert spec(VOCABULARY["LossMask"]).same_as == "response_mask"
    assert spec(JAGGED["LossMask"]).same_as == "response_mask"


def test_the_roles_of_rows() -> None:
    roles = {name: spec(value).role for name, value in VOCABULARY.items()}

    assert {name: role for name, role in roles.items() if role} == {"Uid": "group", "BatchKeys": "key"}


def test_the_public_names_are_what_is_declared() -> None:
    assert set(fields.__all__) == {*VOCABULARY, "jagged", "tags"}
    assert fields.__all__ == sorted(fields.__all__)


def test_the_vocabulary_holds_the_fields_of_verl() -> None:
    """A guard for the tests above: they look at what they mean to look at."""
    assert {"Prompts", "ResponseMask", "OldLogProbs", "Advantages", "Uid", "KlCoef", "SumPiSquared"} <= set(VOCABULARY)
    assert {"ResponseMask", "WholeLogProbs"} <= set(JAGGED)
    assert {"SeqLen", "IsPadding"} <= set(TAGS)
