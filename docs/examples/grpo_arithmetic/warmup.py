"""The supervised warm-up: teaches the format and some arithmetic, and stops before the arithmetic is right."""

import random
from collections.abc import Sequence

import torch
from torch.nn import functional as F

from grpo_arithmetic import tokenizer
from grpo_arithmetic.model import CausalTransformer, count_positions
from grpo_arithmetic.problems import Problem


def warm_up(
    model: CausalTransformer,
    problems: Sequence[Problem],
    *,
    prompt_length: int,
    response_length: int,
    steps: int,
    batch: int,
    learning_rate: float,
    seed: int,
) -> list[float]:
    """Train on right answers with the cross-entropy of the answer tokens, the end token among them.

    Args:
        model: the policy, trained in place.
        problems: problems for training.
        prompt_length: prompts are padded to this many tokens.
        response_length: answers are padded to this many tokens.
        steps: optimiser steps.
        batch: problems in a step, drawn with replacement.
        learning_rate: peak of the one-cycle schedule (Smith and Topin 2017, arXiv:1708.07120).
        seed: seed of the draws.

    Returns:
        The loss of each step, in nats a token.
    """
    prompts = tokenizer.pad([tokenizer.encode(p.prompt) for p in problems], prompt_length, side="left")
    answers = [[*tokenizer.encode(p.answer), tokenizer.EOS_ID] for p in problems]
    sequences = torch.cat((prompts, tokenizer.pad(answers, response_length, side="right")), dim=1)

    draws = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=learning_rate, total_steps=steps)
    losses = []
    for _ in range(steps):
        input_ids = sequences[draws.choices(range(len(problems)), k=batch)]
        attention_mask = (input_ids != tokenizer.PAD_ID).long()
        logits = model(input_ids, attention_mask, count_positions(attention_mask))[:, prompt_length - 1 : -1]
        loss = F.cross_entropy(logits.transpose(1, 2), input_ids[:, prompt_length:], ignore_index=tokenizer.PAD_ID)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses
