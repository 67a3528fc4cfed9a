"""Reward: the generated text is compared with the right answer."""

from collections.abc import Iterable

import torch
from torch import Tensor

from batchpact.contracts import stage
from batchpact.schemas.rl.grpo import ScoreAnswers
from grpo_arithmetic import tokenizer


@stage
def score_answers(batch: ScoreAnswers.Reads) -> ScoreAnswers.Writes:
    """Score each response 1 if its text is the right answer, and 0 if not."""
    return ScoreAnswers.Writes(token_level_scores=score(batch.responses, batch.response_mask, batch.ground_truth))


def is_right(response: list[int], ground_truth: str) -> bool:
    """Whether a response is the right answer, written out in full and ended."""
    return tokenizer.EOS_ID in response and tokenizer.decode(response) == ground_truth


def score(responses: Tensor, response_mask: Tensor, ground_truth: Iterable[str]) -> Tensor:
    """Score each response 1 if it is right and 0 if not, on its last token.

    Args:
        responses: int64 `[batch, response]`.
        response_mask: int64 `[batch, response]`, 1 up to and with the end token.
        ground_truth: the right answer of each row.

    Returns:
        token_level_scores, float32 `[batch, response]`; zero except on the last valid token.
    """
    right = [is_right(row, answer) for row, answer in zip(responses.tolist(), ground_truth, strict=True)]
    last_token = (response_mask.sum(dim=1, keepdim=True) - 1).clamp(min=0)  # an empty response ends nowhere
    token_level_scores = torch.zeros(responses.shape, dtype=torch.float32)
    return token_level_scores.scatter_(1, last_token, torch.tensor(right, dtype=torch.float32)[:, None])
