"""Async stages, slow answers, and what is left behind."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest
import torch

from batchpact.contracts import Event, observe, stage
from batchpact.contracts.queue import QueueTimeoutError, timeout
from batchpact.dataproto import DataProto
from tests.contracts.queue.support import Scale, everything, put, scale, scaled

pytestmark = [pytest.mark.peers, pytest.mark.ray, pytest.mark.slow]


@stage
async def scale_later(batch: Scale.Reads) -> Scale.Writes:
    await asyncio.sleep(0)
    return Scale.Writes(**scaled(batch.ids, list(batch.priority), batch.temperature))


async def test_an_async_stage_gives_what_a_plain_one_does(queue: Any, partition: str) -> None:
    keys = put(queue, everything(), partition)
    events: list[Event] = []

    with observe(events.append):
        made = await scale_later(keys)

    assert made == scale(keys)
    assert [(event.stage, event.shipped) for event in events] == [("scale_later", {"ids": 96})]


async def test_async_stages_wait_side_by_side(queue: Any, partition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fetch waits for the other one: neither holds up the loop of the caller, nor the one that asks."""
    client = queue.get_client()
    plain, both = client.async_get_data, threading.Barrier(2)
    arrived = 0

    async def together(metadata: Any) -> Any:
        nonlocal arrived
        arrived += 1
        while arrived < 2:
            await asyncio.sleep(0.001)
        return await plain(metadata)

    monkeypatch.setattr(client, "async_get_data", together)
    keys = put(queue, everything(), partition)

    first, second = await asyncio.gather(scale_later(keys), scale_later(keys))

    assert first == second
    assert both.n_waiting == 0


async def test_an_async_stage_may_have_no_result(queue: Any, partition: str) -> None:
    @stage(Scale)
    async def nothing(data: DataProto) -> tuple[None, int]:
        return None, 7

    assert await nothing(put(queue, everything(), partition)) == (None, 7)


@pytest.mark.parametrize(
    ("request_", "doing"),
    [
        ("async_kv_retrieve_meta", "asks what is there"),
        ("async_get_data", "fetches its batch"),
        ("async_put", "puts its result"),
    ],
)
def test_no_request_waits_for_ever(
    queue: Any, partition: str, monkeypatch: pytest.MonkeyPatch, request_: str, doing: str
) -> None:
    keys = put(queue, everything(), partition)

    async def never(*args: Any, **kwargs: Any) -> None:
        await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr(queue.get_client(), request_, never)
        with timeout(0.1), pytest.raises(QueueTimeoutError, match=f"stage 'scale' {doing}: no answer from Transfer"):
            scale(keys)

    assert scale(keys).fields == [*keys.fields, "scaled"]


def test_calls_leave_no_thread_no_loop_and_no_task_behind(queue: Any, partition: str) -> None:
    """D6."""
    keys = put(queue, everything(), partition)
    scale(keys)
    asyncio.run(scale_later(keys))
    gc.collect()

    def held() -> tuple[int, int, int]:
        gc.collect()
        objects = gc.get_objects()
        loops = sum(issubclass(type(found), asyncio.AbstractEventLoop) for found in objects)
        tensors = sum(type(found) is torch.Tensor for found in objects)
        return threading.active_count(), loops, tensors

    before = held()
    for _ in range(50):
        scale(keys)

    assert held() == before
