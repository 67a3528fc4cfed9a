"""Rules across fields: a healthy batch keeps to them, and a planted wrong value is found in its row."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from torch import Tensor

from batchpact.schemas import BatchSchema, Jagged
from batchpact.schemas.batch import fill
from batchpact.schemas.diagnose import diagnose
from batchpact.schemas.jagged import like
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl import rules
from batchpact.schemas.rl.fields import jagged as j
from batchpact.schemas.rules import broken_rows, makers_of
from batchpact.schemas.stores import Stores
from batchpact.schemas.values import check_values, instance_for_rules

from ..support import objects
from .batches import PROMPT, PROMPT_LENGTHS, RESPONSE_LENGTHS, ROWS, TOOL, dense, jagged, per_token, texts


class JaggedOldLogProbs(rules.OldLogProbsSpeak):
    old_log_probs: j.OldLogProbs
    response_mask: j.ResponseMask


class JaggedAdvantages(rules.MaskedAdvantages):
    advantages: j.Advantages
    response_mask: j.ResponseMask


DENSE = [
    rules.WholeTexts,
    rules.CountedTexts,
    rules.GroupsShareTheirPrompt,
    rules.RolloutLogProbsSpeak,
    rules.OldLogProbsSpeak,
    rules.RefLogProbSpeaks,
    rules.ScoresOnRealTokens,
    rules.MaskedAdvantages,
]
JAGGED = [rules.JaggedTexts, JaggedOldLogProbs, JaggedAdvantages]


def found(schema: type[BatchSchema], stores: Stores) -> list[str]:
    """The problems of a batch, once its structure is healthy."""
    assert diagnose(schema.__batchpact__.plan, stores).violations == []
    return [f"{violation.field}: {violation.actual}" for violation in check_values(schema, stores)]


def planted(name: str, at: tuple[int, ...], value: float) -> dict[str, Tensor]:
    """A tensor of the batch with one element changed."""
    tensor = {**texts(), **per_token()}[name].clone()
    tensor[at] = value
    return {name: tensor}


@pytest.mark.parametrize("schema", DENSE)
def test_a_healthy_batch_keeps_to_them(schema: type[BatchSchema]) -> None:
    assert found(schema, dense()) == []


@pytest.mark.parametrize("schema", JAGGED)
def test_a_healthy_jagged_batch_keeps_to_them(schema: type[BatchSchema]) -> None:
    assert found(schema, jagged()) == []


@pytest.mark.parametrize("schema", [*DENSE, *JAGGED])
def test_a_rule_says_in_words_what_must_hold(schema: type[BatchSchema]) -> None:
    assert schema.__batchpact__.spec.rules
    assert all(rule.description for rule in schema.__batchpact__.spec.rules)


@pytest.mark.parametrize(
    ("schema", "changes", "problem"),
    [
        (rules.WholeTexts, planted("input_ids", (2, PROMPT), 3), "input_ids_are_prompts_then_responses: row 2"),
        (rules.WholeTexts, planted("position_ids", (1, 4), 0), "position_ids_follow_the_mask: row 1"),
        (rules.WholeTexts, planted("response_mask", (2, 4), 1), "response_mask_stays_inside_the_text: row 2"),
        (rules.CountedTexts, planted("response_mask", (0, 1), 0), "response_mask_is_the_tail_in_one_turn: row 0"),
        (rules.OldLogProbsSpeak, planted("old_log_probs", (1,), 0.0), "old_log_probs_are_not_all_zero: row 1"),
        (rules.RefLogProbSpeaks, planted("ref_log_prob", (3,), 0.0), "ref_log_prob_is_not_all_zero: row 3"),
        (
            rules.RolloutLogProbsSpeak,
            planted("rollout_log_probs", (0,), 0.0),
            "rollout_log_probs_are_not_all_zero: row 0",
        ),
        (
            rules.ScoresOnRealTokens,
            planted("token_level_scores", (2, 4), 1.0),
            "token_level_scores_stand_on_real_tokens: row 2",
        ),
        (rules.MaskedAdvantages, planted("advantages", TOOL, 0.5), "advantages_are_zero_outside_the_mask: row 3"),
    ],
)
def test_a_wrong_value_is_found_in_its_row(schema: type[BatchSchema], changes: Any, problem: str) -> None:
    name, _, row = problem.partition(": ")
    (text,) = found(schema, dense(**changes))

    assert text.startswith(f"{name}: it does not hold in {row}")


def test_rows_that_were_shuffled_without_their_group() -> None:
    shuffled = dense(prompts=texts()["prompts"][[0, 2, 1, 3]])

    (text,) = found(rules.GroupsShareTheirPrompt, shuffled)

    assert text == "rows_of_one_uid_have_one_prompt: it does not hold in rows 1 (uid 'a'), 3 (uid 'b')"


def test_a_padded_place_may_hold_anything() -> None:
    """verl counts on through padding on the right, and leaves zeros at log-probs there."""
    assert found(rules.WholeTexts, dense(**planted("position_ids", (2, 7), 99))) == []


def test_several_axes_of_places_follow_the_mask_with_the_first() -> None:
    places = texts()["position_ids"][:, None].repeat(1, 4, 1)
    places[:, 1:] = 5

    assert found(rules.WholeTexts, dense(position_ids=places)) == []
    places[1, 0, 4] = 0
    assert len(found(rules.WholeTexts, dense(position_ids=places))) == 1


def test_what_a_tool_answered_is_outside_the_mask() -> None:
    """Row 3 has several turns: its mask is no tail. With one turn it would have to be."""
    stores = dense()
    counted = stores._replace(columns={**stores.columns, "__num_turns__": objects(2, 2, 2, 2)})

    assert found(rules.WholeTexts, counted) == []
    (text,) = found(rules.CountedTexts, counted)
    assert text == "response_mask_is_the_tail_in_one_turn: it does not hold in row 3"


def test_a_row_without_a_token_that_counts_has_nothing_to_say() -> None:
    nothing = planted("response_mask", (1,), 0) | planted("old_log_probs", (1,), 0.0)

    assert found(rules.OldLogProbsSpeak, dense(**nothing)) == []


@pytest.mark.parametrize(
    ("schema", "name", "row", "rule"),
    [
        (rules.JaggedTexts, "input_ids", 2, "input_ids_are_prompts_then_responses"),
        (rules.JaggedTexts, "position_ids", 1, "position_ids_count_the_tokens"),
        (rules.JaggedTexts, "loss_mask", 3, "loss_mask_is_response_mask"),
        (JaggedOldLogProbs, "old_log_probs", 0, "old_log_probs_are_not_all_zero"),
    ],
)
def test_a_wrong_value_is_found_in_a_jagged_row(schema: type[BatchSchema], name: str, row: int, rule: str) -> None:
    tensor = jagged().tensors[name]
    changed = torch.nested.as_nested_tensor(
        [torch.zeros_like(part) if at == row else part for at, part in enumerate(tensor.unbind())], layout=torch.jagged
    )
    (text,) = found(schema, jagged(**{name: changed}))

    assert text.startswith(f"{rule}: it does not hold in row {row}")


class VisionTexts(rules.JaggedTexts):
    """The texts of a vision model."""

    position_ids: j.MultiAxisPositionIds


def test_several_jagged_axes_of_places_count_the_tokens_with_the_first() -> None:
    texts = jagged().tensors["position_ids"].unbind()
    places = [torch.stack([row, *[torch.full_like(row, 5)] * 3]) for row in texts]

    def ragged() -> Tensor:
        return torch.nested.as_nested_tensor(places, layout=torch.jagged)

    assert found(VisionTexts, jagged(position_ids=ragged())) == []
    places[2] = places[2].flip(0)
    (text,) = found(VisionTexts, jagged(position_ids=ragged()))
    assert text.startswith("position_ids_count_the_tokens: it does not hold in row 2")


def test_jagged_advantages_are_zero_outside_the_mask() -> None:
    advantages = jagged().tensors["advantages"]
    changed = torch.nested.as_nested_tensor([part + 1 for part in advantages.unbind()], layout=torch.jagged)

    (text,) = found(JaggedAdvantages, jagged(advantages=changed))

    assert text == "advantages_are_zero_outside_the_mask: it does not hold in row 3"


@pytest.mark.parametrize("name", ["response_mask", "attention_mask"])
def test_masks_are_binary(name: str) -> None:
    (text,) = found(rules.WholeTexts, dense(**planted(name, (1, 0), 2)))

    assert text == f"{name}: 1 element in row 1; the extreme is 2"


def test_log_probs_are_at_most_zero() -> None:
    (text,) = found(rules.OldLogProbsSpeak, dense(**planted("old_log_probs", (2, 0), 0.5)))

    assert text == "old_log_probs: 1 element in row 2; the extreme is 0.5"


def test_rewards_and_advantages_are_finite() -> None:
    (text,) = found(rules.MaskedAdvantages, dense(**planted("advantages", (1, 0), float("nan"))))

    assert text == "advantages: 1 element in row 1; 1 NaN, 0 infinite"


def test_a_jagged_field_of_a_schema_of_ones_own() -> None:
    """A rule does not mind by which of its declarations a field came."""

    class Own(rules.OldLogProbsSpeak):
        old_log_probs: Annotated[f.OldLogProbs, Jagged("response")]
        response_mask: j.ResponseMask

    assert found(Own, jagged()) == []


def test_the_batches_are_what_they_say() -> None:
    assert jagged().tensors["prompts"].offsets().diff().tolist() == list(PROMPT_LENGTHS)
    assert jagged().tensors["responses"].offsets().diff().tolist() == list(RESPONSE_LENGTHS)


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (schema, name)
        for schema in vars(rules).values()
        if isinstance(schema, type) and issubclass(schema, BatchSchema) and schema.__module__ == rules.__name__
        for name, rule in schema.__batchpact__.rules.items()
        if makers_of(rule)
    ],
)
def test_makers_bring_a_batch_of_other_rows_to_keep_to_their_rule(schema: type[BatchSchema], name: str) -> None:
    """The fields that they make come from the rows of others, and all other ones stay."""
    ragged = schema.__batchpact__.plan.tensor_places.get("input_ids")
    stores = jagged() if ragged is not None and ragged.ragged else dense()
    rule = schema.__batchpact__.rules[name]
    instance = instance_for_rules(schema, stores)
    for attribute, make in makers_of(rule).items():
        value = vars(instance)[attribute]
        fill(
            instance,
            {**vars(instance), attribute: like(value, value.values().flip(0)) if value.is_nested else value.flip(0)},
        )
        fill(instance, {**vars(instance), attribute: make(instance)})

    assert broken_rows(rule, instance, ROWS) == []
