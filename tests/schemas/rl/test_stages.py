"""The stages of both trainers together: one key is one field, and every stage says what it does."""

from __future__ import annotations

from typing import Any

import pytest

from batchpact.schemas import StageSchema

from .stages import DENSE, QUEUE, names


@pytest.mark.parametrize("stage", [*DENSE, *QUEUE], ids=names)
def test_a_stage_says_in_a_sentence_what_it_does(stage: type[StageSchema]) -> None:
    assert stage.__batchpact__.description.endswith(".")


@pytest.mark.parametrize("stages", [DENSE, QUEUE], ids=["dense", "queue"])
def test_a_key_has_one_placement_and_dtype_in_all_stages(stages: list[type[StageSchema]]) -> None:
    found: dict[str, set[tuple[Any, ...]]] = {}
    for stage in stages:
        for field in (*stage.__batchpact__.reads.fields, *stage.__batchpact__.writes.fields):
            found.setdefault(field.key, set()).add((field.places[0].placement, field.places[0].dtype))

    several = {key for key, kinds in found.items() if len(kinds) > 1}
    assert several == ({"no_lora_adapter"} if stages is QUEUE else set()), "an argument that verl leaves in the batch"


def test_the_stages_are_found() -> None:
    """A guard for the tests above."""
    assert {"Generate", "UpdateActor", "Gae", "CorrectRollout"} <= {stage.__name__ for stage in DENSE}
    assert {"Generate", "UpdateActor", "CutValues"} <= {stage.__name__ for stage in QUEUE}
