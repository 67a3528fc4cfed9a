"""`WorkerGroup`: a class of a team's, once for each rank."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal

from typing_extensions import Self

from batchpact.contracts import decorator
from batchpact.contracts.decorator import contract_of
from batchpact.contracts.settings import checked
from batchpact.contracts.workers.actors import RayWorkers
from batchpact.contracts.workers.answers import Failure
from batchpact.contracts.workers.errors import worker_error
from batchpact.contracts.workers.local import LocalWorkers
from batchpact.contracts.workers.places import Call, Place
from batchpact.contracts.workers.stage_call import StageCall
from batchpact.contracts.workers.worker import AsyncWorker, Worker, WorkerRank
from batchpact.schemas.errors import DeclarationError, SettingError
from batchpact.schemas.violations import Violation


class WorkerGroup:
    """Workers of one class, and its stages run by all of them.

        with WorkerGroup(Critic, config, dp=4, backend="ray", ray_options={"num_gpus": 1}) as critics:
            batch.union(critics.compute_values(batch))

    A method under `@stage` is called on the group as on an instance, with a batch and keyword arguments. The batch is
    checked once, here; each data-parallel group of workers gets the declared fields of its rows, and what its first
    rank wrote is checked and joined. A stage that is `pad_safe` gets equal parts, by neutral rows that are removed
    again; others get parts that differ by a row, or by what it takes to keep the rows of a declared `Group()`
    together. A worker without rows is not called; a batch without rows goes to the first group. A stage sees the rows
    of its part only, also where it puts them into another order.

    Args:
        cls: the class; it is made with `*args` and `**kwargs` in each worker, which gets copies of them.
        dp: the number of data-parallel groups, between which the rows of a batch are shared.
        backend: `"local"`, in this process, one worker after the other; or `"ray"`, each worker an actor.
        ranks_per_dp: the workers of each data-parallel group, which all get the same rows.
        ray_options: Ray's own options for each actor.
        start_timeout: the seconds within which Ray has to find a place for every worker.

    Raises:
        SettingError: for a number below 1, or a backend that is not known.
        ContractError: where the class raised one when it was made.
        WorkerError: where it raised another exception, or a worker did not start in time.
    """

    def __init__(
        self,
        cls: Callable[..., object],
        /,
        *args: Any,
        dp: int,
        backend: Literal["local", "ray"] = "local",
        ranks_per_dp: int = 1,
        ray_options: Mapping[str, Any] | None = None,
        start_timeout: float = 300.0,
        **kwargs: Any,
    ) -> None:
        checked("backend", backend, ("local", "ray"))
        for name, value in (("dp", dp), ("ranks_per_dp", ranks_per_dp)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                violation = Violation(
                    code="BP052", field=name, actual=repr(value), expected="a whole number, 1 or more"
                )
                raise SettingError("in WorkerGroup", [violation])
        self._cls = cls
        self._dp = dp
        self._ranks_per_dp = ranks_per_dp
        self._stages: dict[str, StageCall] = {}
        ranks = dp * ranks_per_dp
        team = [WorkerRank(rank, ranks, rank // ranks_per_dp, dp) for rank in range(ranks)]
        kind = AsyncWorker if _has_async_stages(cls) else Worker
        self._place: Place | None
        if backend == "local":
            self._place = LocalWorkers([kind(which, cls, *copy.deepcopy((args, kwargs))) for which in team])
        else:
            made_with = [(which, cls, args, kwargs) for which in team]
            self._place = RayWorkers(kind, made_with, ray_options or {}, start_timeout)
        made = False
        try:
            self._ask("making the worker", "start", (), range(ranks))
            made = True
        finally:
            if not made:
                self.shutdown()

    @property
    def world_size(self) -> int:
        """The number of workers."""
        return self._dp * self._ranks_per_dp

    def __getattr__(self, name: str) -> StageCall:
        if name.startswith("_"):
            raise AttributeError(name)
        known = self._stages.get(name)
        if known is not None:
            return known
        method = getattr(self._cls, name, None)
        contract = contract_of(method)
        if method is None or contract is None:
            kind = getattr(self._cls, "__qualname__", repr(self._cls))
            hint = "" if method is None else f"; call_all('{name}') calls a plain method on every worker"
            raise AttributeError(f"{name} is no stage of {kind}{hint}")
        _check_callable(name, method)
        made = StageCall(contract, name, self._running, self._dp, self._ranks_per_dp)
        self._stages[name] = made
        return made

    def call_all(self, name: str, /, *args: Any, **kwargs: Any) -> list[Any]:
        """Call a plain method on every worker, with the same arguments.

        Returns:
            What each returned, by rank.

        Raises:
            WorkerError: where a worker raised or died.
        """
        return self._ask(f"method '{name}'", "call", (name, args, kwargs), range(self.world_size))

    def call_rank_zero(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call a plain method on the first worker only.

        Raises:
            WorkerError: where the worker raised or died.
        """
        return self._ask(f"method '{name}'", "call", (name, args, kwargs), range(1))[0]

    def shutdown(self) -> None:
        """End the workers; the group can be called no more."""
        place, self._place = self._place, None
        if place is not None:
            place.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown()

    def _running(self) -> Place:
        if self._place is None:
            raise RuntimeError("this WorkerGroup was shut down")
        return self._place

    def _ask(self, doing: str, method: str, args: tuple[Any, ...], ranks: range) -> list[Any]:
        place = self._running()
        answers = place.gather(place.send({rank: Call(method, args) for rank in ranks}))
        failures = {rank: answer for rank, answer in answers.items() if isinstance(answer, Failure)}
        if failures:
            raise worker_error(doing, failures)
        return [answers[rank] for rank in ranks]


def _has_async_stages(cls: object) -> bool:
    contracts = (contract_of(getattr(cls, name, None)) for name in dir(cls))
    return any(contract is not None and inspect.iscoroutinefunction(contract.function) for contract in contracts)


def _check_callable(name: str, method: object) -> None:
    """A worker runs the bare function, so nothing may stand around the stage.

    Raises:
        DeclarationError: if something does.
    """
    if getattr(method, "__globals__", {}).get("__name__") != decorator.__name__:
        actual = "a decorator stands above @stage, and workers would not run it: put @stage on top"
        raise DeclarationError(f"in the stage {name}", [Violation(code="BP051", field=name, actual=actual)])
