"""A function of plain values under `@stage(..., unpack=True)`, called by somebody who knows nothing of the contract."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch

from batchpact.contracts import Event, checking, observe, stage, use_config
from batchpact.dataproto import column
from tests.contracts.stages import refusal, rewards, scored
from tests.contracts.test_unpacking import Doubled, Summed, advantage, staged, total

MASK = torch.ones(4, 3, dtype=torch.int64)
UID = column(["a", "a", "b", "b"])


def test_it_returns_what_the_function_returns() -> None:
    found = staged(rewards(), MASK, index=UID, gamma=0.5, scale=2.0, epsilon=1.0)

    expected = advantage(rewards(), MASK, UID, 0.5, 2.0, epsilon=1.0)
    assert type(found) is tuple
    assert all(map(torch.equal, found, expected))


def test_what_it_is_given_is_checked_as_a_batch_would_be() -> None:
    assert refusal(lambda: staged(rewards(), MASK[:, :2], index=UID, gamma=0.5, scale=2.0)) == (
        "1 problem where stage 'advantage' reads its batch\n\n"
        "  BP013 dims  response  3 in rewards, 2 in response_mask; all must agree, and no size is in the majority\n\n"
        "  dims  batch=4 (rewards, response_mask)  response=3 (rewards) 2 (response_mask)"
    )


def test_what_it_returns_is_checked_too() -> None:
    assert "BP011 rank  doubled  f32[4]" in refusal(
        lambda: stage(Doubled, unpack=True)(lambda rewards: rewards[:, 0])(rewards=rewards())
    )


def test_a_column_of_the_wrong_kind_is_named() -> None:
    numbers = np.arange(3)

    assert "uid" in refusal(lambda: staged(rewards(), MASK, index=numbers, gamma=0.5, scale=2.0))


def test_what_the_call_gives_counts_before_the_configuration_and_what_it_leaves_open_is_filled() -> None:
    with use_config({"algorithm": {"scale": 4.0}}):
        given, _ = staged(rewards(), MASK, UID, 1.0, 1.0)
        filled, _ = staged(rewards(), MASK, UID, 1.0)

    assert torch.equal(given, rewards())
    assert torch.equal(filled, 4 * rewards())


def test_whole_stores_give_the_fields_that_no_parameter_has() -> None:
    batch = scored()
    summed = stage(Summed, unpack=True)(total)

    found = summed(rewards(), batch=batch.batch, non_tensor_batch=batch.non_tensor_batch)

    assert torch.equal(found, torch.zeros(4, 3))


def test_keywords_that_the_function_does_not_know_are_a_type_error_as_before() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'value'"):
        staged(rewards(), MASK, index=UID, gamma=0.5, value=rewards())


def test_it_is_observed() -> None:
    events: list[Event] = []
    with observe(events.append):
        staged(rewards(), MASK, UID, 1.0, 1.0)

    assert [(event.stage, event.fields_written) for event in events] == [("advantage", 2)]


def test_at_level_off_nothing_is_checked() -> None:
    with checking("off"):
        assert torch.equal(stage(Doubled, unpack=True)(lambda rewards: rewards[0])(rewards()), rewards()[0])


def test_it_can_be_called_with_anything_that_the_function_or_a_stage_takes() -> None:
    assert str(inspect.signature(staged)) == "(*args, **kwargs)"
