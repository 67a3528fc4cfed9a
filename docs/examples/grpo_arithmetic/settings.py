"""Every number of the run in one place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Hyperparameters of the demo. Lengths count tokens, and a token is a byte.

    Attributes:
        seed: seeds the split, the weights, the order of the problems and the sampling.
        threads: CPU threads of torch. One, because on so small a model a second one gains little on an idle machine
            and costs a factor of ten on a busy one, where each waits for the other.
        largest_operand: operands go from 0 to this number.
        held_out: problems kept out of all training, for evaluation.
        prompt_length: prompts are padded to this length on the left.
        response_length: responses are padded to this length on the right; the end token is part of them.
        width: size of the residual stream.
        layers: number of transformer blocks.
        heads: attention heads of a block.
        warmup_steps: supervised steps before GRPO.
        warmup_batch: problems in a supervised step.
        warmup_learning_rate: peak learning rate of the supervised steps.
        warmup_slip: how often the teacher of the warm-up is wrong; see `warmup`.
        grpo_steps: number of GRPO steps, each with fresh responses.
        prompts_per_step: problems in a GRPO step.
        responses_per_prompt: size of a group.
        temperature: divides the logits, when sampling and when log-probs are computed.
        learning_rate: learning rate of the policy update.
        mini_batch: responses in one optimiser step.
        epochs: passes over the responses of one GRPO step.
        clip_ratio: the policy ratio is clipped to 1 - clip_ratio .. 1 + clip_ratio.
        max_grad_norm: gradients are scaled down to this global norm.
        use_kl_in_reward: subtract the KL penalty from the token-level scores.
        use_kl_loss: add the KL divergence to the policy loss.
        kl_coef: reward that one nat of the KL penalty costs.
        kl_loss_coef: loss that one nat of the KL divergence costs.
    """

    seed: int = 0
    threads: int = 1

    largest_operand: int = 49
    held_out: int = 300
    prompt_length: int = 6
    response_length: int = 4

    width: int = 48
    layers: int = 2
    heads: int = 4

    warmup_steps: int = 800
    warmup_batch: int = 64
    warmup_learning_rate: float = 3e-3
    warmup_slip: float = 0.6

    grpo_steps: int = 150
    prompts_per_step: int = 32
    responses_per_prompt: int = 8
    temperature: float = 1.0
    learning_rate: float = 3e-4
    mini_batch: int = 128
    epochs: int = 1
    clip_ratio: float = 0.2
    max_grad_norm: float = 1.0

    use_kl_in_reward: bool = False
    use_kl_loss: bool = True
    kl_coef: float = 0.001
    kl_loss_coef: float = 0.001

    def config(self) -> dict[str, object]:
        """The part that the contracts fill arguments and meta from, laid out as verl's configuration is."""
        return {
            "algorithm": {"kl_ctrl": {"kl_coef": self.kl_coef}},
            "actor_rollout_ref": {
                "rollout": {"n": self.responses_per_prompt, "temperature": self.temperature},
                "actor": {
                    "clip_ratio": self.clip_ratio,
                    "kl_loss_coef": self.kl_loss_coef if self.use_kl_loss else 0.0,
                },
            },
        }
