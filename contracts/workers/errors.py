"""What a worker could not do: one error for a call, with the rank, its rows, its node and its own traceback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from batchpact.contracts.workers.answers import Failure
from batchpact.schemas.errors import ContractError
from batchpact.schemas.text import join_names
from batchpact.schemas.violations import Where

Span: TypeAlias = "tuple[int, int]"
"""The rows `[start, stop)` of the caller's batch."""


class WorkerError(RuntimeError):
    """A worker raised, died or never started. No contract was broken, and the caller's batch is what it was.

    Attributes:
        doing: what was called, in words.
        stage: the stage that was called; None for a plain method, and where the worker was to be made.
        rank: the worker.
        rows: the rows `[start, stop)` of the caller's batch that it had; None where it had none.
        node: the machine of the worker, where it is known.
        cause: the worker's exception in one line.
        traceback: the worker's own traceback, as text.
        others: further ranks that failed in the same call.
    """

    def __init__(
        self,
        doing: str,
        rank: int,
        cause: str,
        *,
        stage: str | None = None,
        rows: Span | None = None,
        node: str = "",
        traceback: str = "",
        others: Sequence[int] = (),
    ) -> None:
        super().__init__(doing, rank, cause)
        self.doing = doing
        self.stage = stage
        self.rank = rank
        self.cause = cause
        self.rows = rows
        self.node = node
        self.traceback = traceback
        self.others = tuple(others)

    def __str__(self) -> str:
        place = _place(self.rank, self.rows) + (f", node {self.node}" if self.node else "")
        noun = "rank" if len(self.others) == 1 else "ranks"
        also = f"; {noun} {join_names([str(rank) for rank in self.others])} failed, too" if self.others else ""
        text = f"{self.doing} on {place}: {self.cause}{also}"
        return f"{text}\n\n{self.traceback.rstrip()}" if self.traceback else text

    def __reduce__(self) -> tuple[type[WorkerError], tuple[str, int, str], dict[str, object]]:
        return type(self), (self.doing, self.rank, self.cause), dict(self.__dict__)


def worker_error(
    doing: str, failures: Mapping[int, Failure], *, stage: str | None = None, rows: Mapping[int, Span] | None = None
) -> ContractError | WorkerError:
    """One error for a call in which ranks failed, of the first of them.

    A broken contract stays a `ContractError`, with the rank in `where` and in its message.
    """
    rank, failure = min(failures.items())
    span = None if rows is None else rows.get(rank)
    broken = failure.contract
    if broken is not None:
        violations = [violation.at(Where(rank=rank)) for violation in broken.violations]
        return type(broken)(f"{broken.subject}, on {_place(rank, span)}", violations, broken.dims, broken.note)
    others = sorted(set(failures) - {rank})
    node, traceback = failure.node, failure.traceback
    return WorkerError(
        doing, rank, failure.cause, stage=stage, rows=span, node=node, traceback=traceback, others=others
    )


def _place(rank: int, rows: Span | None) -> str:
    return f"rank {rank}" if rows is None else f"rank {rank}, rows [{rows[0]}, {rows[1]})"
