"""Requests to TransferQueue: all run on the event loop in the background, and each only for so long."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from batchpact.contracts.event_loop import in_background
from batchpact.schemas.errors import SettingError
from batchpact.schemas.violations import Violation

T = TypeVar("T")

_SECONDS: ContextVar[float] = ContextVar("batchpact_queue_timeout", default=300.0)


class QueueTimeoutError(TimeoutError):
    """TransferQueue has not answered in time. The keys that a stage was called with are what they were."""


@contextmanager
def timeout(seconds: float) -> Iterator[None]:
    """Change how long a stage that is called with keys waits for TransferQueue, for a block.

    It counts for each request: what is there, the columns that are fetched, the columns that are put. Without it a
    request may take five minutes.

    Args:
        seconds: more than 0.

    Raises:
        SettingError: for anything else.
    """
    if not seconds > 0:
        wrong = Violation(
            code="BP052", field="seconds", actual=f"{seconds!r} is no time", expected="more than 0 is one"
        )
        raise SettingError("in contracts.queue.timeout", [wrong])
    token = _SECONDS.set(seconds)
    try:
        yield
    finally:
        _SECONDS.reset(token)


def run(request: Coroutine[Any, Any, T], doing: str) -> T:
    """Run a request and wait for it.

    Args:
        request: what is asked of TransferQueue.
        doing: what the wait is for, in words.

    Raises:
        QueueTimeoutError: if it takes too long; it is cancelled then.
    """
    future, seconds = in_background(request), _SECONDS.get()
    try:
        return future.result(seconds)
    except BaseException as error:
        if future.done() and not future.cancelled():
            return future.result()  # its own error, or it came in after all
        future.cancel()
        if isinstance(error, FutureTimeoutError):  # Python 3.10 has one of its own for futures
            raise _late(doing, seconds) from None
        raise


async def wait(request: Coroutine[Any, Any, T], doing: str) -> T:
    """Run a request and await it, on whatever event loop the caller has.

    Args:
        request: what is asked of TransferQueue.
        doing: what the wait is for, in words.

    Raises:
        QueueTimeoutError: if it takes too long; it is cancelled then.
    """
    future, seconds = in_background(request), _SECONDS.get()
    answer = asyncio.wrap_future(future)
    try:
        finished, _ = await asyncio.wait((answer,), timeout=seconds)
    except asyncio.CancelledError:
        answer.cancel()
        raise
    if finished:
        return answer.result()
    answer.cancel()
    raise _late(doing, seconds)


def _late(doing: str, seconds: float) -> QueueTimeoutError:
    hint = "is its controller alive? `with contracts.queue.timeout(seconds):` waits longer"
    return QueueTimeoutError(f"{doing}: no answer from TransferQueue in {seconds:g} s; {hint}")
