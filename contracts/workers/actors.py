"""Workers that are Ray actors. An existing session of Ray is joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from batchpact.contracts.workers.answers import Failure
from batchpact.contracts.workers.errors import WorkerError
from batchpact.contracts.workers.places import Call, Ref
from batchpact.contracts.workers.worker import Worker
from batchpact.dataproto.container import DataProto


class RayWorkers:
    """Workers in processes of their own.

    Args:
        kind: the class of the workers, a `Worker` or an `AsyncWorker`.
        made_with: the arguments of each, by rank.
        options: Ray's own options for each actor (`num_cpus`, `num_gpus`, `resources`, `max_restarts`, ...).
        start_timeout: the seconds within which Ray has to find a place for every worker.

    Raises:
        WorkerError: naming the first worker that did not start, with what was asked for and what is free.
    """

    def __init__(
        self,
        kind: type[Worker],
        made_with: Sequence[tuple[Any, ...]],
        options: Mapping[str, Any],
        start_timeout: float,
    ) -> None:
        ray = _ray()
        if not ray.is_initialized():
            ray.init()
        make = ray.remote(kind)
        make = make.options(**options) if options else make
        self._actors: list[Any] = [make.remote(*arguments) for arguments in made_with]
        ready = [actor.ready.remote() for actor in self._actors]
        _, waiting = ray.wait(ready, num_returns=len(ready), timeout=start_timeout)
        if waiting:
            late = [rank for rank, ref in enumerate(ready) if ref in set(waiting)]
            asked = {name: value for name, value in options.items() if name in _RESOURCES} or "Ray's default"
            free = {name: value for name, value in ray.available_resources().items() if ":" not in name}
            self.stop()
            cause = f"not started after {start_timeout:g} seconds; each worker asks for {asked}, and free are {free}"
            raise WorkerError("making the worker", late[0], cause, others=late[1:])

    def share(self, value: object) -> Ref:
        """Put a value into the object store; little that is no batch goes along with each call, which is faster."""
        ray = _ray()
        if not isinstance(value, DataProto) and len(ray.cloudpickle.dumps(value)) < _LITTLE:
            return value
        return ray.put(value)

    def send(self, calls: Mapping[int, Call]) -> dict[int, Ref]:
        """Call all at the same time."""
        return {rank: getattr(self._actors[rank], call.method).remote(*call.args) for rank, call in calls.items()}

    def gather(self, sent: Mapping[int, Ref]) -> dict[int, object]:
        """Wait for the answers; where one has died, nobody waits for the others, who may be waiting for it."""
        from ray.exceptions import ActorUnavailableError, RayActorError, RayError

        ray = _ray()
        ranks = {ref: rank for rank, ref in sent.items()}
        answers: dict[int, object] = {}
        waiting = list(ranks)
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            rank = ranks[done[0]]
            try:
                answers[rank] = ray.get(done[0])
            except RayActorError as error:
                gone = "is not reachable" if isinstance(error, ActorUnavailableError) else "died"
                answers[rank] = Failure(f"the worker {gone}", str(error), "")
                break
            except RayError as error:  # what was sent to it, or what it answers, does not travel
                answers[rank] = Failure(str(error).strip().splitlines()[-1], str(error), "")
        return answers

    def stop(self) -> None:
        """End all actors, those that wait for a place among them."""
        for actor in self._actors:
            _ray().kill(actor, no_restart=True)
        self._actors = []


def _ray() -> Any:
    """Ray, which is optional; its own types do not know what the options of an actor are."""
    import ray

    return ray


_LITTLE = 100_000
"""Bytes up to which Ray sends an argument with its call and does not put it into the object store itself."""

_RESOURCES = ("num_cpus", "num_gpus", "memory", "resources", "accelerator_type")
