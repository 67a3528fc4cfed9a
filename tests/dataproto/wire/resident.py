"""The memory of this process, without what it sees of Ray's object store."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

MB = 1 << 20
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def resident() -> int:
    """The bytes that belong to this process alone, now."""
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:")) << 10


def peak_of(call: Callable[[], Any]) -> int:
    """How many bytes more than before there were at any time during a call, as a thread beside it sees them."""
    before, highest, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.is_set():
            highest = max(highest, resident())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        result = call()
    finally:
        done.set()
        thread.join()
    highest = max(highest, resident())
    del result
    return highest - before
