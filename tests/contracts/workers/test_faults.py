"""A thousand calls in which things go wrong at random: the right result or one clear error each, and nothing left."""

from __future__ import annotations

import asyncio
import copy
import gc
import random
import threading
import time
from typing import Any

import pytest
import torch

from batchpact.contracts import StageFuture, WorkerError, WorkerGroup
from batchpact.dataproto import DataProto
from batchpact.schemas import ContractError
from tests.contracts.workers.calls import FREE
from tests.contracts.workers.faulty import Faulty

CALLS = 1000
WORKERS = 3
ERRORS: dict[str, tuple[type[Exception], str]] = {
    "raise": (WorkerError, "ValueError: out of tokens"),
    "dtype": (ContractError, "BP005"),
    "shape": (ContractError, "BP011"),
    "rows": (ContractError, "BP012"),
    "undeclared": (ContractError, "BP004"),
    "missing": (ContractError, "BP001"),
    "place": (ContractError, "BP003"),
    "graph": (ContractError, "BP032"),
    "in place": (ContractError, "BP031"),
    "peek": (ContractError, "BP002"),
    "nothing": (ContractError, "BP035"),
}


def batch_of(rows: int, draw: random.Random) -> DataProto:
    values = torch.Generator().manual_seed(draw.randrange(2**31))
    return DataProto.from_dict(
        {
            "rewards": torch.randn(rows, 4, generator=values),
            "mask": torch.randint(0, 2, (rows, 4), generator=values),
            "unused": torch.ones(rows),
        },
        {"uid": [f"prompt {row}" for row in range(rows)], "images": [{"pixels": [row]} for row in range(rows)]},
        {"fault": "", "rank": 0, "steps": [1]},
    )


def expected(batch: DataProto) -> DataProto:
    assert batch.batch is not None
    row_sums = (batch.batch["rewards"] * batch.batch["mask"]).sum(-1)
    return DataProto.from_dict({"row_sums": row_sums}, {"who": [f"{uid}!" for uid in batch.non_tensor_batch["uid"]]})


def call(group: WorkerGroup, batch: DataProto, draw: random.Random) -> Any:
    """A call that waits, or one that does not."""
    if draw.random() < 0.5:
        return group.total(batch)
    future: StageFuture = group.total.remote(batch)
    return future.get()


def one_call(group: WorkerGroup, draw: random.Random, faults: list[str]) -> str:
    """Whatever goes wrong, the batch is bit-equal afterwards; the answer is the right one or the error of the fault."""
    rows = draw.randint(WORKERS, 9)
    batch = batch_of(rows, draw)
    fault = draw.choice(faults) if draw.random() < 0.4 else ""
    rank = draw.randrange(WORKERS)
    batch.meta_info.update(fault=fault, rank=rank)
    before = copy.deepcopy(batch)

    try:
        made = call(group, batch, draw)
    except WorkerError as error:
        assert batch == before
        if error.cause.startswith("the worker"):
            return "gone"
        assert (type(error), error.cause) == ERRORS[fault]
        assert error.rank == rank
    except ContractError as error:
        assert batch == before
        kind, code = ERRORS[fault]
        assert isinstance(error, kind)
        assert {violation.code for violation in error.violations} == {code}
        assert {violation.where.rank for violation in error.violations} == {rank}
    else:
        assert batch == before
        assert fault in ("", "die") and made == expected(batch)
    return fault


def leftovers() -> tuple[set[threading.Thread], int]:
    """The threads of this process, and its event loops."""
    gc.collect()
    loops = sum(issubclass(type(thing), asyncio.AbstractEventLoop) for thing in gc.get_objects())
    return set(threading.enumerate()), loops


def test_local_calls_give_the_right_result_or_one_error() -> None:
    """Case D6."""
    draw, before = random.Random(5), leftovers()
    with WorkerGroup(Faulty, dp=WORKERS) as group:
        seen = [one_call(group, draw, list(ERRORS)) for _ in range(CALLS)]

    assert set(seen) == {"", *ERRORS}
    threads, loops = leftovers()
    assert threads <= before[0] and loops <= before[1]


@pytest.mark.ray
@pytest.mark.slow
def test_calls_of_actors_give_the_right_result_or_one_error_and_leave_nothing(cluster: None) -> None:
    """Case D6. Actors die, too, and Ray starts them anew; until then a call says that one is not there."""
    ray = pytest.importorskip("ray")
    draw = random.Random(7)
    options = {**FREE, "max_restarts": -1}
    with WorkerGroup(Faulty, dp=WORKERS, backend="ray", ray_options=options) as group:
        one_call(group, draw, list(ERRORS))
        before, stored = leftovers(), objects()
        seen = [one_call(group, draw, [*ERRORS, *(["die"] if at % 100 < 5 else [])]) for at in range(CALLS)]
        actors = list(group._place._actors)  # type: ignore[union-attr]
        threads, loops = leftovers()
        assert threads <= before[0] and loops <= before[1]
        assert objects() <= stored

    assert {"", "die", "gone", *ERRORS} == set(seen) | {"die"}
    patience = time.monotonic() + 60
    for actor in actors:
        with pytest.raises(ray.exceptions.RayActorError):
            while time.monotonic() < patience:
                ray.get(actor.ready.remote())


def objects() -> int:
    """How many objects of Ray this process holds."""
    import ray

    gc.collect()
    return len(ray._private.worker.global_worker.core_worker.get_all_reference_counts())
