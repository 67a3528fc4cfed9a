"""Log-probabilities: how likely a policy finds the response tokens."""

import copy

import torch
from torch import Tensor

from batchpact.contracts import stage
from batchpact.schemas.rl.grpo import ComputeOldLogProb, ComputeRefLogProb
from grpo_arithmetic.model import CausalTransformer
from grpo_arithmetic.policy import Policy


class ActorWorker:
    """The policy as it is at the moment: the one that has just sampled."""

    def __init__(self, policy: Policy) -> None:
        """Look at this policy."""
        self.policy = policy

    @stage
    def compute_old_log_prob(self, batch: ComputeOldLogProb.Reads) -> ComputeOldLogProb.Writes:
        """Take the log-probabilities of the responses under the policy that starts the update."""
        log_probs = compute_log_probs(self.policy.model, batch)
        return ComputeOldLogProb.Writes(old_log_probs=log_probs)


class ReferenceWorker:
    """The policy as it was before GRPO, frozen."""

    def __init__(self, policy: Policy) -> None:
        """Copy the policy's weights, so that training it later does not move the reference."""
        self.model = copy.deepcopy(policy.model).requires_grad_(False)

    @stage
    def compute_ref_log_prob(self, batch: ComputeRefLogProb.Reads) -> ComputeRefLogProb.Writes:
        """Take the log-probabilities of the responses under the frozen reference policy."""
        log_probs = compute_log_probs(self.model, batch)
        return ComputeRefLogProb.Writes(ref_log_prob=log_probs)


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
def compute_log_probs(model: CausalTransformer, batch: ComputeOldLogProb.Reads | ComputeRefLogProb.Reads) -> Tensor:
    """The log-probability that a policy gives to each response token, without a gradient.

    Args:
        model: the policy, an actor or a reference.
        batch: the responses, what they answer, and the temperature of the rollout.

    Returns:
        float32 `[batch, response]`, in nats; at padded columns a number without meaning.
    """
    logits = response_logits(
        model,
        batch.input_ids,
        batch.attention_mask,
        batch.position_ids,
        batch.responses.shape[1],
        batch.temperature,
    )
    return token_log_probs(logits, batch.responses)
