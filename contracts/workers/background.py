"""The one event loop of this process for the coroutines of workers: no call makes a thread or a loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextvars import Context
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def in_background(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the loop; nothing of the caller's context reaches it, as in another process."""
    return Context().run(asyncio.run_coroutine_threadsafe, coroutine, _loop())


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The loop, on a daemon thread that ends with the process."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="batchpact workers", daemon=True).start()
    return loop
