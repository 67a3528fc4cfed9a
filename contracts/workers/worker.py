"""What runs beside each instance of a team's class: it makes the instance, and calls it."""

from __future__ import annotations

import platform
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.configuration import use_config
from batchpact.contracts.decorator import contract_of
from batchpact.contracts.late_names import settled
from batchpact.contracts.passage import Passage
from batchpact.contracts.settings import Level, Settings, using
from batchpact.contracts.variants import Answers, Variants
from batchpact.contracts.workers.answers import Failure, Written
from batchpact.dataproto.carriers import OURS
from batchpact.dataproto.container import DataProto
from batchpact.schemas.errors import ContractError
from batchpact.schemas.stores import Stores, rows_of

Part: TypeAlias = "DataProto | Written | Failure"
"""What a stage runs on: a part of a batch, or the answer of the worker that made it."""


@dataclass(frozen=True, slots=True)
class Order:
    """What all workers are told of one call of a stage.

    Attributes:
        method: the name of the stage's method.
        answers: what the conditions of its contract come to.
        kwargs: the keyword arguments, those of the contract among them.
        config: the configuration in use.
        settings: the settings that count.
        level: what is checked of a part; values and their rules are the controller's, which sees all rows.
        kept_back: what the caller's batch holds and the stage does not declare, in words; None where nobody is told.
    """

    method: str
    answers: Answers
    kwargs: Mapping[str, Any]
    config: object
    settings: Settings
    level: Level
    kept_back: Stores | None


class WorkerRank(NamedTuple):
    """Which worker of its group somebody is.

    Attributes:
        rank: its number among all workers.
        world_size: how many there are.
        dp_rank: the number of its data-parallel group, which says which rows it gets.
        dp: how many groups there are.
    """

    rank: int
    world_size: int
    dp_rank: int
    dp: int


_THIS: ContextVar[WorkerRank] = ContextVar("batchpact_worker")


def this_worker() -> WorkerRank:
    """Which worker this is; for the methods of a class that a `WorkerGroup` has made, `__init__` among them.

    Raises:
        RuntimeError: anywhere else.
    """
    try:
        return _THIS.get()
    except LookupError:
        message = "this_worker() is asked outside a WorkerGroup: nobody here is one of several"
        raise RuntimeError(message) from None


class Worker:
    """One worker: an instance of a team's class, which is made when it is first needed, also after a restart.

    Nothing is raised: what goes wrong is returned as a `Failure`, so that it arrives whole from another process.

    Args:
        place: which one it is.
        cls: the class.
        args: its arguments.
        kwargs: its keyword arguments.
    """

    def __init__(
        self, place: WorkerRank, cls: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self._place = place
        self._make: Callable[[], object] = partial(cls, *args, **kwargs)
        self._made: Any = None
        self._variants: dict[str, Variants] = {}

    def ready(self) -> None:
        """Answer at all: the worker has a place."""

    def start(self) -> Failure | None:
        """Make the instance."""
        try:
            self._instance()
        except Exception as error:
            return _failure(error)
        return None

    def call(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
        """Call a plain method."""
        try:
            return getattr(self._instance(), name)(*args, **kwargs)
        except Exception as error:
            return _failure(error)

    def run(self, order: Order, part: Part, collect: bool) -> Written | Failure:
        """Run a stage on a part of a batch, or on what another worker wrote.

        Returns:
            What was written, where it is to be collected.
        """
        try:
            with _around(order):
                boundary, passage, args, kwargs = self._let_in(order, part)
                written = _let_out(boundary, passage, boundary.function(*args, **kwargs))
        except Exception as error:
            return _failure(error)
        return written if collect else Written()

    def _let_in(self, order: Order, part: Part) -> tuple[Boundary, Passage, tuple[Any, ...], dict[str, Any]]:
        """The contract that counts, the passage, and the arguments of the bare function."""
        method = getattr(self._instance(), order.method)
        owner = getattr(method, "__self__", None)
        boundary = self._variants_of(order.method, method).under(order.answers)
        kwargs, kept_back = dict(order.kwargs), order.kept_back
        batch = part.batch if isinstance(part, Written) else part
        if not isinstance(batch, DataProto):
            raise RuntimeError("the stage before wrote nothing here")
        whole = None if kept_back is None else lambda: kept_back
        passage = boundary.enter(batch, (batch,), kwargs, whole)
        return boundary, passage, (passage.handed,) if owner is None else (owner, passage.handed), kwargs

    def _instance(self) -> Any:
        _THIS.set(self._place)  # every call has a context of its own
        if self._made is None:
            self._made = self._make()
        return self._made

    def _variants_of(self, name: str, method: object) -> Variants:
        if name not in self._variants:
            contract = contract_of(method)
            if contract is None:
                raise TypeError(f"{name} is a stage on the controller and is none here")
            self._variants[name] = Variants(contract)
        return self._variants[name]


class AsyncWorker(Worker):
    """A worker whose class has async stages. As an actor it takes further calls while one of them waits."""

    async def run_async(self, order: Order, part: Part, collect: bool) -> Written | Failure:
        """Run an async stage, as `run` does a plain one."""
        try:
            with _around(order):
                boundary, passage, args, kwargs = self._let_in(order, part)
                written = _let_out(boundary, passage, await boundary.function(*args, **kwargs))
        except Exception as error:
            return _failure(error)
        return written if collect else Written()


@contextmanager
def _around(order: Order) -> Iterator[None]:
    """The configuration and the settings of the caller."""
    # All rows are sampled on the controller, or none: a worker sees a part of them.
    with use_config(order.config), using(replace(order.settings, level=order.level, sample=None)):
        yield


def _let_out(boundary: Boundary, passage: Passage, result: Any) -> Written:
    """What a stage returned, once it was checked."""
    first, *more = result if type(result) is tuple and result else (result,)
    if first is None:
        boundary.leave(passage, None)
        return Written(None, tuple(more))
    boundary = settled(boundary, passage, first)
    fields, origin = boundary.judge(passage, first)
    made: DataProto = OURS.make(passage.batch, fields, rows_of(fields))
    OURS.mark(made, writers=boundary.writers, rewrites=frozenset())
    if boundary.spec.rows.kind not in ("same", "new"):
        made._marks = made._marks._replace(origin=origin)
    return Written(made, tuple(more))


def _failure(error: Exception) -> Failure:
    """What is told of an exception, without the frames of this module above the team's own."""
    own = error.__traceback__
    while own is not None and own.tb_frame.f_globals.get("__name__") == __name__:
        own = own.tb_next
    text = "".join(traceback.format_exception(type(error), error, own or error.__traceback__))
    cause = traceback.format_exception_only(type(error), error)[-1].strip()
    return Failure(cause, text, platform.node(), error if isinstance(error, ContractError) else None)
