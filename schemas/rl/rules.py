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
from batchpact.schemas.jagged import like, of_rows
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

    @rule(
        make={
            "input_ids": lambda self: torch.cat([self.prompts, self.responses], dim=1),
            "prompts": lambda self: self.input_ids[:, : self.prompts.shape[1]],
            "responses": lambda self: self.input_ids[:, self.prompts.shape[1] :],
        }
    )
    def input_ids_are_prompts_then_responses(self) -> Tensor:
        """The input_ids are prompts followed by responses."""
        return (self.input_ids == torch.cat([self.prompts, self.responses], dim=1)).all(dim=1)

    @rule(make={"position_ids": lambda self: _counted(self.attention_mask, self.position_ids)})
    def position_ids_follow_the_mask(self) -> Tensor:
        """The position_ids count the real tokens of a row from 0."""
        real = self.attention_mask.bool()
        places = self.position_ids if self.position_ids.dim() == 2 else self.position_ids[:, 0]
        return ((places == real.cumsum(dim=1) - 1) | ~real).all(dim=1)

    @rule(
        make={
            "response_mask": lambda self: self.response_mask * self.attention_mask[:, self.prompts.shape[1] :],
            "attention_mask": lambda self: _with_tail(self.attention_mask, self.response_mask),
        }
    )
    def response_mask_stays_inside_the_text(self) -> Tensor:
        """The response_mask is 0 where attention_mask is."""
        return (self.response_mask <= self.attention_mask[:, self.prompts.shape[1] :]).all(dim=1)


class CountedTexts(WholeTexts):
    """Texts with the number of their turns: in a single answer every token is the policy's own."""

    num_turns: f.NumTurns

    @rule(
        make={
            "response_mask": lambda self: self.attention_mask[:, self.prompts.shape[1] :],
            "attention_mask": lambda self: _with_tail(self.attention_mask, self.response_mask),
        }
    )
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

    @rule(
        make={
            "input_ids": lambda self: _joined(self.prompts, self.responses),
            "prompts": lambda self: _parted(self.input_ids, self.prompts, self.responses)[0],
            "responses": lambda self: _parted(self.input_ids, self.prompts, self.responses)[1],
        }
    )
    def input_ids_are_prompts_then_responses(self) -> Tensor:
        """The input_ids are prompts followed by responses."""
        texts, prompts, responses = (x.unbind() for x in (self.input_ids, self.prompts, self.responses))
        rows = zip(texts, prompts, responses, strict=True)
        return torch.tensor(
            [torch.equal(text, torch.cat([prompt, answer])) for text, prompt, answer in rows], dtype=torch.bool
        )

    @rule(make={"position_ids": lambda self: like(self.position_ids, _places_on_axes(self.position_ids))})
    def position_ids_count_the_tokens(self) -> Tensor:
        """The position_ids count the tokens of a row from 0."""
        held = self.position_ids.values()
        counted = held if held.dim() == 1 else held[0]  # of several axes the first counts the tokens
        return ~_any_in(self.position_ids, counted != _places_in(self.position_ids))

    @rule(make={"loss_mask": lambda self: self.response_mask, "response_mask": lambda self: self.loss_mask})
    def loss_mask_is_response_mask(self) -> Tensor:
        """The loss_mask has the values of response_mask."""
        return ~_any_in(self.response_mask, self.response_mask.values() != self.loss_mask.values())


class GroupsShareTheirPrompt(BatchSchema):
    """Prompts and the groups that they make: rows that were shuffled without their uid are in the wrong one."""

    prompts: f.Prompts
    uid: f.Uid

    @rule(make={"prompts": lambda self: self.prompts[_first_rows(self.uid)]})
    def rows_of_one_uid_have_one_prompt(self) -> Tensor:
        """Rows with the same uid have the same prompt."""
        return (self.prompts == self.prompts[_first_rows(self.uid)]).all(dim=1)


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

    @rule(make={"token_level_scores": lambda self: self.token_level_scores * _tail(self)})
    def token_level_scores_stand_on_real_tokens(self) -> Tensor:
        """The token_level_scores are 0 where the response is padding."""
        tail = _tail(self)
        return ((self.token_level_scores == 0) | tail.bool()).all(dim=1)


class MaskedAdvantages(BatchSchema):
    """Advantages of an estimator that multiplies by the mask at last: every registered one but GAE."""

    advantages: f.Advantages
    response_mask: f.ResponseMask

    @rule(make={"advantages": lambda self: _masked(self.advantages, self.response_mask)})
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


def _counted(mask: Tensor, position_ids: Tensor) -> Tensor:
    """Places that count the real tokens of a row from 0, in the shape of others."""
    places = (mask.cumsum(dim=1) - 1).clamp(min=0)
    return places if position_ids.dim() == 2 else places[:, None].expand_as(position_ids)


def _with_tail(mask: Tensor, tail: Tensor) -> Tensor:
    return torch.cat([mask[:, : mask.shape[1] - tail.shape[1]], tail], dim=1)


def _tail(scored: ScoresOnRealTokens) -> Tensor:
    """The part of attention_mask that is about the response."""
    start = scored.attention_mask.shape[1] - scored.token_level_scores.shape[1]
    return scored.attention_mask[:, start:]


def _masked(values: Tensor, mask: Tensor) -> Tensor:
    return like(values, values.values() * mask.values()) if is_jagged(values) else values * mask


def _first_rows(uid: np.ndarray) -> list[int]:
    """For each row, the first one of the same uid."""
    first: dict[object, int] = {}
    return [first.setdefault(each, row) for row, each in enumerate(uid.tolist())]


def _joined(prompts: Tensor, responses: Tensor) -> Tensor:
    """Jagged texts of their two parts."""
    rows = zip(prompts.unbind(), responses.unbind(), strict=True)
    return of_rows([torch.cat(parts) for parts in rows], 1)


def _parted(texts: Tensor, prompts: Tensor, responses: Tensor) -> tuple[Tensor, Tensor]:
    """Jagged texts in the two parts of others."""
    rows = zip(texts.unbind(), prompts.unbind(), responses.unbind(), strict=True)
    parts = [(text[: len(prompt)], text[len(text) - len(answer) :]) for text, prompt, answer in rows]
    return of_rows([prompt for prompt, _ in parts], 1), of_rows([answer for _, answer in parts], 1)


def _places_in(texts: Tensor) -> Tensor:
    """The place of each token in its jagged text."""
    rows, offsets = _rows_of(texts), offsets_of(texts)
    return torch.arange(len(rows), device=rows.device) - offsets[rows]


def _places_on_axes(texts: Tensor) -> Tensor:
    """The places of tokens as jagged position ids hold them: on each axis, where there are several."""
    return _places_in(texts).expand(texts.values().shape)


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
