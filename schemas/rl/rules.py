"""Rules across fields: schemas that hold a few fields and say what must be true of them together.

A stage inherits from them, beside or instead of declaring the fields itself:

    class Reads(OldLogProbsSpeak, MaskedAdvantages):
        input_ids: InputIds

They read values, so they run at level `values`. A rule takes dense tensors and jagged ones; a schema that has a field
jagged declares it again.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from batchpact.schemas.axes import is_jagged, offsets_of
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.fields import jagged as j
from batchpact.schemas.rules import rule


class WholeTexts(BatchSchema):
    """Prompts and responses, one after the other, with their masks and places."""

    prompts: f.Prompts
    responses: f.Responses
    input_ids: f.InputIds
    attention_mask: f.AttentionMask
    position_ids: f.AnyPositionIds
    response_mask: f.ResponseMask

    @rule
    def input_ids_are_prompts_then_responses(self) -> Tensor:
        """The input_ids are prompts followed by responses."""
        return (self.input_ids == torch.cat([self.prompts, self.responses], dim=1)).all(dim=1)

    @rule
    def position_ids_follow_the_mask(self) -> Tensor:
        """The position_ids count the real tokens of a row from 0."""
        real = self.attention_mask.bool()
        places = self.position_ids if self.position_ids.dim() == 2 else self.position_ids[:, 0]
        return ((places == real.cumsum(dim=1) - 1) | ~real).all(dim=1)

    @rule
    def response_mask_stays_inside_the_text(self) -> Tensor:
        """The response_mask is 0 where attention_mask is."""
        return (self.response_mask <= self.attention_mask[:, self.prompts.shape[1] :]).all(dim=1)


class CountedTexts(WholeTexts):
    """Texts with the number of their turns: in a single answer every token is the policy's own."""

    num_turns: f.NumTurns

    @rule
    def response_mask_is_the_tail_in_one_turn(self) -> Tensor:
        """The response_mask is the tail of attention_mask where there is one turn."""
        tail = self.attention_mask[:, self.prompts.shape[1] :]
        several = torch.from_numpy(np.asarray(self.num_turns.tolist(), dtype=np.int64) > ONE_TURN).to(tail.device)
        return several | (self.response_mask == tail).all(dim=1)


class JaggedTexts(BatchSchema):
    """Prompts and responses without padding, as the newer trainer's agent loop puts them into TransferQueue."""

    prompts: j.Prompts
    responses: j.Responses
    input_ids: j.InputIds
    position_ids: j.PositionIds
    response_mask: j.ResponseMask
    loss_mask: j.LossMask

    @rule
    def input_ids_are_prompts_then_responses(self) -> Tensor:
        """The input_ids are prompts followed by responses."""
        texts, prompts, responses = (x.unbind() for x in (self.input_ids, self.prompts, self.responses))
        rows = zip(texts, prompts, responses, strict=True)
        return torch.tensor(
            [torch.equal(text, torch.cat([prompt, answer])) for text, prompt, answer in rows], dtype=torch.bool
        )

    @rule
    def position_ids_count_the_tokens(self) -> Tensor:
        """The position_ids count the tokens of a row from 0."""
        rows, offsets = _rows_of(self.position_ids), offsets_of(self.position_ids)
        places = torch.arange(len(rows), device=rows.device) - offsets[rows]
        held = self.position_ids.values()
        return ~_any_in(self.position_ids, (held if held.dim() == 1 else held[0]) != places)

    @rule
    def loss_mask_is_response_mask(self) -> Tensor:
        """The loss_mask has the values of response_mask."""
        return ~_any_in(self.response_mask, self.response_mask.values() != self.loss_mask.values())


class GroupsShareTheirPrompt(BatchSchema):
    """Prompts and the groups that they make: rows that were shuffled without their uid are in the wrong one."""

    prompts: f.Prompts
    uid: f.Uid

    @rule
    def rows_of_one_uid_have_one_prompt(self) -> Tensor:
        """Rows with the same uid have the same prompt."""
        first: dict[object, int] = {}
        rows = [first.setdefault(uid, row) for row, uid in enumerate(self.uid.tolist())]
        return (self.prompts == self.prompts[rows]).all(dim=1)


class RolloutLogProbsSpeak(BatchSchema):
    """Log-probabilities of the rollout that are not a tensor of zeros."""

    rollout_log_probs: f.RolloutLogProbs
    response_mask: f.ResponseMask

    @rule
    def rollout_log_probs_are_not_all_zero(self) -> Tensor:
        """The rollout_log_probs are not 0 on all tokens that count."""
        return _speaks(self.rollout_log_probs, self.response_mask)


class OldLogProbsSpeak(BatchSchema):
    """Log-probabilities of the old policy that are not a tensor of zeros."""

    old_log_probs: f.OldLogProbs
    response_mask: f.ResponseMask

    @rule
    def old_log_probs_are_not_all_zero(self) -> Tensor:
        """The old_log_probs are not 0 on all tokens that count."""
        return _speaks(self.old_log_probs, self.response_mask)


class RefLogProbSpeaks(BatchSchema):
    """Log-probabilities of the reference that are not a tensor of zeros."""

    ref_log_prob: f.RefLogProb
    response_mask: f.ResponseMask

    @rule
    def ref_log_prob_is_not_all_zero(self) -> Tensor:
        """The ref_log_prob is not 0 on all tokens that count."""
        return _speaks(self.ref_log_prob, self.response_mask)


class ScoresOnRealTokens(BatchSchema):
    """Scores that no sum over real tokens misses."""

    token_level_scores: f.TokenLevelScores
    attention_mask: f.AttentionMask

    @rule
    def token_level_scores_stand_on_real_tokens(self) -> Tensor:
        """The token_level_scores are 0 where the response is padding."""
        tail = self.attention_mask[:, -self.token_level_scores.shape[1] :]
        return ((self.token_level_scores == 0) | tail.bool()).all(dim=1)


class MaskedAdvantages(BatchSchema):
    """Advantages of an estimator that multiplies by the mask at last: every registered one but GAE."""

    advantages: f.Advantages
    response_mask: f.ResponseMask

    @rule
    def advantages_are_zero_outside_the_mask(self) -> Tensor:
        """The advantages are 0 where response_mask is 0."""
        if is_jagged(self.advantages):
            return ~_any_in(self.response_mask, (self.advantages.values() != 0) & (self.response_mask.values() == 0))
        return ((self.advantages == 0) | self.response_mask.bool()).all(dim=1)


ONE_TURN = 2
"""A question and its answer: verl counts both."""


def _speaks(log_probs: Tensor, mask: Tensor) -> Tensor:
    """Whether a row has a log-probability other than 0 on a token that counts, or no such token."""
    if is_jagged(log_probs):
        counts = mask.values() != 0
        return _any_in(mask, counts & (log_probs.values() != 0)) | ~_any_in(mask, counts)
    counts = mask.bool()
    return (counts & (log_probs != 0)).any(dim=1) | ~counts.any(dim=1)


def _any_in(jagged: Tensor, elements: Tensor) -> Tensor:
    """Which rows of a jagged tensor have an element of these."""
    rows = _rows_of(jagged)
    found = torch.zeros(len(jagged), dtype=torch.bool, device=elements.device)
    found[rows[elements]] = True
    return found


def _rows_of(jagged: Tensor) -> Tensor:
    """The row of each element of a jagged tensor."""
    lengths = offsets_of(jagged).diff()
    return torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)
