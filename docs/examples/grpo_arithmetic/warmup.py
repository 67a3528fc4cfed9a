"""The supervised warm-up: a policy learns to add from a sloppy teacher.

The teacher miscounts: more often than not its answer is one too small. A policy that imitates it learns the format, how
to add, and the bad habit. GRPO has no teacher, only a reward that tells right from wrong, and unlearns the habit.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from grpo_arithmetic import tokenizer
from grpo_arithmetic.model import CausalTransformer, count_positions
from grpo_arithmetic.problems import Problem, encode_prompts
from grpo_arithmetic.settings import Settings


def warm_up(model: CausalTransformer, problems: Sequence[Problem], settings: Settings) -> list[float]:
    """Train on the teacher's answers with the cross-entropy of their tokens, the end token among them.

    The learning rate follows the one-cycle schedule of Smith and Topin 2017, arXiv:1708.07120.

    Args:
        model: the policy, trained in place.
        problems: problems for training, drawn with replacement.
        settings: those of the warm-up, and the seed.

    Returns:
        The loss of each step, in nats a token.
    """
    prompts = encode_prompts(problems, settings.prompt_length)
    right = _encode_answers([p.answer for p in problems], settings.response_length)
    wrong = _encode_answers([str(int(p.answer) - 1) for p in problems], settings.response_length)

    generator = torch.Generator().manual_seed(settings.seed)
    peak, steps = settings.warmup_learning_rate, settings.warmup_steps
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=peak, total_steps=steps)
    losses = []
    for _ in range(steps):
        rows = torch.randint(len(problems), (settings.warmup_batch,), generator=generator)
        slips = torch.rand(settings.warmup_batch, 1, generator=generator) < settings.warmup_slip
        answers = torch.where(slips, wrong[rows], right[rows])
        input_ids = torch.cat((prompts[rows], answers), dim=1)
        attention_mask = (input_ids != tokenizer.PAD_ID).long()
        logits = model(input_ids, attention_mask, count_positions(attention_mask))[:, settings.prompt_length - 1 : -1]
        loss = F.cross_entropy(logits.transpose(1, 2), answers, ignore_index=tokenizer.PAD_ID)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def _encode_answers(answers: Sequence[str], response_length: int) -> Tensor:
    """Answers with their end tokens, int64 `[len(answers), response_length]`, padded on the right."""
    return tokenizer.pad([[*tokenizer.encode(a), tokenizer.EOS_ID] for a in answers], response_length, side="right")
