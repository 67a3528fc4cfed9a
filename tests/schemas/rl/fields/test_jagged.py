"""The fields without padding."""

from batchpact.schemas.rl.fields import jagged

from ..specs import spec


def test_what_an_engine_says_is_about_the_whole_text() -> None:
    for field in (jagged.WholeLogProbs, jagged.WholeEntropy, jagged.WholeValues):
        assert spec(field).places[0].ragged == "prompt+response"


def test_several_axes_of_places_are_ragged_in_the_last() -> None:
    assert spec(jagged.MultiAxisPositionIds).places[0].dims == "batch 4 prompt+response"
