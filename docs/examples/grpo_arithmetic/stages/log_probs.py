"""Log-probabilities: how likely a policy finds the response tokens."""

import torch
from torch import Tensor

from grpo_arithmetic.model import CausalTransformer


def response_logits(
    model: CausalTransformer,
    input_ids: Tensor,
    attention_mask: Tensor,
    position_ids: Tensor,
    response_length: int,
    temperature: float,
) -> Tensor:
    """The logits from which the response tokens were drawn.

    Args:
        model: the policy.
        input_ids: int64 `[batch, prompt+response]`.
        attention_mask: int64 `[batch, prompt+response]`.
        position_ids: int64 `[batch, prompt+response]`.
        response_length: tokens of a response, padding included.
        temperature: divides the logits; the same as in the rollout.

    Returns:
        float32 `[batch, response, vocab]`.
    """
    logits: Tensor = model(input_ids, attention_mask, position_ids)
    # The logits at one column predict the token of the next.
    return logits[:, -response_length - 1 : -1] / temperature


def token_log_probs(logits: Tensor, responses: Tensor) -> Tensor:
    """The log-probability of each response token, in nats.

    Args:
        logits: float32 `[batch, response, vocab]`.
        responses: int64 `[batch, response]`.

    Returns:
        float32 `[batch, response]`; at padded columns a number without meaning.
    """
    return logits.log_softmax(dim=-1).gather(-1, responses[..., None]).squeeze(-1)


@torch.no_grad()
def compute_log_probs(
    model: CausalTransformer,
    responses: Tensor,
    input_ids: Tensor,
    attention_mask: Tensor,
    position_ids: Tensor,
    *,
    temperature: float,
) -> Tensor:
    """The log-probability that a policy gives to each response token, without a gradient.

    Args:
        model: the policy, an actor or a reference.
        responses: int64 `[batch, response]`.
        input_ids: int64 `[batch, prompt+response]`.
        attention_mask: int64 `[batch, prompt+response]`.
        position_ids: int64 `[batch, prompt+response]`.
        temperature: divides the logits; the same as in the rollout.

    Returns:
        float32 `[batch, response]`, in nats; at padded columns a number without meaning.
    """
    logits = response_logits(model, input_ids, attention_mask, position_ids, responses.shape[1], temperature)
    return token_log_probs(logits, responses)
