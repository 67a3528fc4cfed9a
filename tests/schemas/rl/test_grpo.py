"""The stages of a GRPO step fit together: what one writes, the next can read."""

import pytest
import torch

from batchpact.schemas import StageSchema
from batchpact.schemas.diagnose import diagnose
from batchpact.schemas.rl import grpo
from batchpact.schemas.stores import Stores
from batchpact.schemas.values import check_values

from ..support import objects

STAGES: list[type[StageSchema]] = [
    value
    for value in vars(grpo).values()
    if isinstance(value, type) and issubclass(value, StageSchema) and value is not StageSchema
]
ROWS, PROMPT, RESPONSE = 4, 3, 5


def whole_batch() -> Stores:
    """Everything that a GRPO step ever holds, for two prompts with two responses each."""
    response = (ROWS, RESPONSE)
    whole = (ROWS, PROMPT + RESPONSE)
    floats = ("token_level_scores", "token_level_rewards", "advantages", "returns")
    return Stores(
        tensors={
            "prompts": torch.randint(0, 50, (ROWS, PROMPT)),
            "responses": torch.randint(0, 50, response),
            "input_ids": torch.randint(0, 50, whole),
            "attention_mask": torch.randint(0, 2, whole),
            "position_ids": torch.randint(0, 8, whole),
            "response_mask": torch.randint(0, 2, response),
            **{name: torch.randn(response) for name in floats},
            **{name: -torch.rand(response) for name in ("old_log_probs", "ref_log_prob")},
        },
        columns={"uid": objects(*"aabb"), "data_source": objects(*["math"] * ROWS), "ground_truth": objects(*"1122")},
        meta={"temperature": 1.0, "global_steps": 1, "metrics": {"loss": 0.5}},
        args={"n": 2, "kl_coef": 0.001, "clip_ratio": 0.2, "kl_loss_coef": 0.001},
    )


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
@pytest.mark.parametrize("side", ["Reads", "Writes"])
def test_a_whole_batch_is_healthy_at_every_boundary(stage: type[StageSchema], side: str) -> None:
    schema = getattr(stage, side)

    assert diagnose(schema.__batchpact__.plan, whole_batch()).violations == []
    assert check_values(schema, whole_batch()) == []


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
def test_a_stage_says_in_a_sentence_what_it_does(stage: type[StageSchema]) -> None:
    assert stage.__batchpact__.description.endswith(".")


def test_every_required_read_is_in_the_input_or_written_by_a_stage() -> None:
    held = {field.key for field in grpo.PromptBatch.__batchpact__.spec.fields}
    held |= {field.key for stage in STAGES for field in stage.__batchpact__.writes.fields}
    read = {
        field.key
        for stage in STAGES
        for field in stage.__batchpact__.reads.fields
        if field.required and field.places[0].placement != "arg"
    }

    assert read - held == set()


def test_a_field_is_declared_the_same_by_all_who_read_and_write_it() -> None:
    declared: dict[str, set[str]] = {}
    for stage in STAGES:
        record = stage.__batchpact__
        for field in (*record.reads.fields, *record.writes.fields):
            declared.setdefault(field.key, set()).add(str(field.places))

    assert {key: places for key, places in declared.items() if len(places) > 1} == {}
