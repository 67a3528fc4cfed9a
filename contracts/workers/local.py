"""Workers in this process: one instance after the other, with parts of their own, as if they had been sent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Any

from batchpact.contracts.workers.places import Call
from batchpact.contracts.workers.worker import Worker
from batchpact.dataproto.container import DataProto


class LocalWorkers:
    """Workers that need nothing.

    Args:
        count: how many.
        make: makes one.
    """

    def __init__(self, count: int, make: Callable[[], Worker]) -> None:
        self._workers = [make() for _ in range(count)]

    def share(self, value: object) -> object:
        """The value itself: every worker copies a batch when it gets one."""
        return value

    def ask(self, calls: Mapping[int, Call]) -> dict[int, object]:
        """Call one after the other; nothing of the caller's context reaches them, as in another process."""
        return {rank: self._ask(self._workers[rank], call) for rank, call in calls.items()}

    @staticmethod
    def _ask(worker: Worker, call: Call) -> object:
        args: tuple[Any, ...] = tuple(map(_sent, call.args))
        return _sent(Context().run(getattr(worker, call.method), *args))

    def stop(self) -> None:
        """Let the instances go."""
        self._workers = []


def _sent(value: object) -> object:
    """A batch with values of its own, whoever writes into it; anything else as it is."""
    return copy.deepcopy(value) if isinstance(value, DataProto) else value
