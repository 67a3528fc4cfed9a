"""Waiting for TransferQueue: with a timeout, on one event loop, and without holding up the caller's."""

from __future__ import annotations

import asyncio
import contextvars
import pickle
import threading
import time
from typing import Any

import pytest

from batchpact.contracts.queue import QueueTimeoutError, timeout
from batchpact.contracts.queue.waiting import run, wait
from batchpact.schemas import SettingError


async def answer(value: Any, seconds: float = 0.0) -> Any:
    await asyncio.sleep(seconds)
    return value


async def failure(error: Exception) -> Any:
    raise error


def test_an_answer_is_waited_for() -> None:
    assert run(answer(7), "a test waits") == 7
    assert asyncio.run(wait(answer(7), "a test waits")) == 7


def test_what_takes_too_long_is_cancelled_and_told() -> None:
    cancelled = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with timeout(0.05), pytest.raises(QueueTimeoutError) as caught:
        run(slow(), "stage 'score' fetches its batch")

    assert str(caught.value) == (
        "stage 'score' fetches its batch: no answer from TransferQueue in 0.05 s; is its controller alive? "
        "`with contracts.queue.timeout(seconds):` waits longer"
    )
    assert cancelled.wait(5)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_coroutine_is_cancelled_and_told_too() -> None:
    cancelled = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    async def main() -> None:
        with timeout(0.05):
            await wait(slow(), "a test waits")

    with pytest.raises(QueueTimeoutError, match=r"a test waits: no answer from TransferQueue in 0.05 s"):
        asyncio.run(main())
    assert cancelled.wait(5)


def test_a_caller_that_is_cancelled_cancels_its_request() -> None:
    cancelled, started = threading.Event(), threading.Event()

    async def slow() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    async def main() -> None:
        task = asyncio.ensure_future(wait(slow(), "a test waits"))
        while not started.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled.wait(5)


@pytest.mark.parametrize("error", [ValueError("no"), TimeoutError("its own")])
def test_the_error_of_a_request_stays_what_it_is(error: Exception) -> None:
    for waited in (lambda: run(failure(error), "x"), lambda: asyncio.run(wait(failure(error), "x"))):
        with pytest.raises(type(error)) as caught:
            waited()
        assert (type(caught.value), str(caught.value)) == (type(error), str(error))


def test_waiting_does_not_hold_up_the_callers_loop() -> None:
    async def main() -> list[str]:
        order: list[str] = []

        async def other() -> None:
            order.append("other")

        async def waiting() -> None:
            await wait(answer(1, 0.05), "x")
            order.append("answer")

        await asyncio.gather(waiting(), other())
        return order

    assert asyncio.run(main()) == ["other", "answer"]


def test_a_request_sees_the_context_of_its_caller() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")

    async def told() -> str:
        return name.get()

    name.set("caller")

    assert run(told(), "x") == "caller"


def test_all_requests_share_one_thread() -> None:
    """D6: no thread and no event loop for each call."""
    run(answer(None), "x")
    before = threading.active_count()

    async def where() -> tuple[int, int]:
        return threading.get_ident(), id(asyncio.get_running_loop())

    found = {run(where(), "x") for _ in range(20)}
    found |= {asyncio.run(wait(where(), "x")) for _ in range(20)}
    threads = [threading.Thread(target=lambda: found.add(run(where(), "x"))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 1
    assert threading.active_count() == before


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_timeout_is_a_time(seconds: float) -> None:
    with pytest.raises(SettingError) as caught, timeout(seconds):
        pass

    assert str(caught.value) == (
        f"1 problem in contracts.queue.timeout\n\n  BP052 setting  seconds  {seconds!r} is no time; more than 0 is one"
    )


def test_a_timeout_ends_with_its_block() -> None:
    started = time.monotonic()
    with timeout(0.01):
        with timeout(30):
            assert run(answer(1, 0.05), "x") == 1
        with pytest.raises(QueueTimeoutError):
            run(answer(1, 5), "x")
    assert run(answer(1, 0.05), "x") == 1
    assert time.monotonic() - started < 5
