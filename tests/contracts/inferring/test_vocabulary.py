"""The words that may be meant by a key, and what the data has against them."""

from __future__ import annotations

import pytest
import torch

from batchpact.contracts.inferring.seen import Seen, Unread, seen_in
from batchpact.contracts.inferring.vocabulary import words_for
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.rl import fields
from tests.schemas.rl.batches import columns, dense, jagged, meta

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("old_log_probs", ["OldLogProbs", "jagged.OldLogProbs"]),
        ("attention_mask", ["AttentionMask", "WholeAttentionMask"]),
        ("__num_turns__", ["NumTurns"]),
        ("global_steps", ["GlobalSteps", "tags.SampledAt"]),
        ("n", ["ResponsesPerPrompt"]),
        ("norm_adv_by_std_in_grpo", ["NormAdvByStd"]),
        ("enable", []),
        ("my_own", []),
    ],
)
def test_the_words_of_a_key(key: str, names: list[str]) -> None:
    assert [word.name for word in words_for(key)] == names


def test_the_word_that_admits_any_rank_is_the_last_of_the_dense_ones() -> None:
    names = [word.name for word in words_for("position_ids")]

    assert names[-1] == "AnyPositionIds" and set(names[:2]) == {"MultiAxisPositionIds", "PositionIds"}


def test_every_word_can_be_found() -> None:
    keys = [*dense().names(), *jagged().names(), *columns(), *meta()]

    assert [key for key in keys if not words_for(key)] == []
    assert {word.name for word in words_for("uid")} < set(fields.__all__)


def seen(key: str, value: object, placement: PlacementName = "tensor") -> Seen:
    found = Seen(key)
    found.add(0, placement, value)
    return found


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (torch.full((2, 3), -1.0), ""),
        (torch.zeros(2, 3, dtype=torch.float64), "f64, declared f32"),
        (torch.ones(2, 3), "6 elements in rows 0, 1; the extreme is 1; declared <= 0.0001"),
        (Unread(), "its values were not read"),
    ],
)
def test_what_the_data_has_against_a_word(value: object, expected: str) -> None:
    (word, _) = words_for("old_log_probs")

    assert word.disagreement(seen("old_log_probs", value)) == expected


def test_an_optional_value_of_meta_is_none() -> None:
    (word,) = words_for("temperature")

    assert word.disagreement(seen("temperature", None, "meta")) == ""
    assert words_for("uid")[0].disagreement(seen("uid", None, "meta")) != ""


def test_every_field_of_a_batch_is_seen_once() -> None:
    found = seen_in([dense(), jagged()])

    assert [field.key for field in found][:2] == ["prompts", "responses"]
    assert {field.key: field.optional for field in found if field.optional} == {
        "attention_mask": "in 1 of 2 batches",
        "reward_baselines": "in 1 of 2 batches",
        "loss_mask": "in 1 of 2 batches",
    }
