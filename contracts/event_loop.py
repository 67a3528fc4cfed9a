"""The one event loop of this process for what runs in the background: no call makes a thread or a loop of its own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_running: tuple[int, asyncio.AbstractEventLoop] | None = None


def in_background(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the loop; it runs in a copy of the caller's context."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


def _loop() -> asyncio.AbstractEventLoop:
    """The loop, on a daemon thread; a process that was forked has no thread of its parent's."""
    global _running
    with _lock:
        if _running is None or _running[0] != os.getpid():
            _running = os.getpid(), asyncio.new_event_loop()
            threading.Thread(target=_running[1].run_forever, name="batchpact", daemon=True).start()
        return _running[1]
