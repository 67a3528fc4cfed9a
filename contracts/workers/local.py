"""Workers in this process: one instance after the other, with parts of their own, as if they had been sent."""

from __future__ import annotations

import copy
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextvars import Context
from typing import Any

from batchpact.contracts.event_loop import in_background
from batchpact.contracts.workers.answers import Written
from batchpact.contracts.workers.places import Call, Ref
from batchpact.contracts.workers.worker import Worker
from batchpact.dataproto.container import DataProto


class LocalWorkers:
    """Workers that need nothing. A plain stage has run when its call was sent; coroutines run in the background.

    Args:
        workers: the workers, by rank.
    """

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = list(workers)

    def share(self, value: object) -> Ref:
        """The value itself: every worker copies a batch when it gets one."""
        return value

    def send(self, calls: Mapping[int, Call]) -> dict[int, Ref]:
        """Call one after the other; nothing of the caller's context reaches them, as in another process."""
        return {rank: self._send(self._workers[rank], call) for rank, call in calls.items()}

    @staticmethod
    def _send(worker: Worker, call: Call) -> Ref:
        args: tuple[Any, ...] = tuple(_sent(_come(arg)) for arg in call.args)
        nothing_of_the_caller = Context()
        answer = nothing_of_the_caller.run(getattr(worker, call.method), *args)
        if isinstance(answer, Coroutine):
            return nothing_of_the_caller.run(in_background, answer)
        return _sent(answer)

    def gather(self, sent: Mapping[int, Ref]) -> dict[int, object]:
        """The answers; what a coroutine answers may still be to come."""
        return {rank: _come(answer) for rank, answer in sent.items()}

    def stop(self) -> None:
        """Let the instances go."""
        self._workers = []


def _come(answer: Ref) -> Any:
    return answer.result() if isinstance(answer, Future) else answer


def _sent(value: object) -> object:
    """A batch with values of its own, whoever writes into it; anything else as it is."""
    if isinstance(value, Written):
        return value._replace(batch=copy.deepcopy(value.batch))
    return copy.deepcopy(value) if isinstance(value, DataProto) else value
