"""Workers that are Ray actors: the same results, the same errors, and nothing that is left behind."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from batchpact.contracts import WorkerError, WorkerGroup
from batchpact.dataproto import DataProto
from batchpact.schemas import ContractError
from batchpact.schemas.errors import UndeclaredReadError
from tests.contracts.workers.calls import CASES, FREE, Case, assert_same, batch_of
from tests.contracts.workers.critics import Critic

pytestmark = [pytest.mark.ray, pytest.mark.slow]
ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def group(cluster: None) -> Iterator[WorkerGroup]:
    with WorkerGroup(Critic, dp=2, backend="ray", ray_options=FREE) as made:
        yield made


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_group_gives_what_one_instance_gives(group: WorkerGroup, case: Case) -> None:
    for rows in (4, 5, 1, 0):
        if rows >= case.least:
            assert_same(group, case, rows)


def test_only_declared_fields_travel(group: WorkerGroup) -> None:
    """Case W5: a cell that cannot be pickled stays behind, and a worker that looks for a field is told so."""
    batch = batch_of(4)
    batch.non_tensor_batch["images"][0] = threading.Lock()

    assert group.generate(batch) == Critic().generate(batch_of(4))
    with pytest.raises(UndeclaredReadError, match=r"the caller's batch holds tensor f32\[4, 5\]; the Reads of 'peeks'"):
        group.peeks(batch)


def test_a_part_holds_its_own_rows_only(group: WorkerGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    put: list[Any] = []
    monkeypatch.setattr(ray, "put", lambda value, put=put, store=ray.put: (put.append(value), store(value))[1])

    group.generate(batch_of(5))

    parts = [value for value in put if isinstance(value, DataProto)]
    assert len(put) == 2, "a part for each group; what all are told is little and goes along with the calls"
    assert [(list(part.batch.keys()), len(part), part.non_tensor_batch, part.meta_info) for part in parts] == [
        (["rewards"], 3, {}, {}),
        (["rewards"], 2, {}, {}),
    ]


def test_an_error_says_rank_rows_and_the_traceback_of_the_worker(group: WorkerGroup) -> None:
    batch = batch_of(6)
    before = copy.deepcopy(batch)

    with pytest.raises(WorkerError) as caught:
        group.raises(batch)

    assert (caught.value.stage, caught.value.rank, caught.value.rows) == ("raises", 1, (3, 6))
    assert 'raise KeyError(f"row of {self.bias}")' in str(caught.value)
    assert str(caught.value).count("KeyError: 'row of 0.5'") == 2, "in the first line, and at the end"
    assert batch == before
    assert group.generate(batch) == Critic().generate(batch)


def test_a_wrong_write_is_a_broken_contract_of_its_rank(group: WorkerGroup) -> None:
    with pytest.raises(ContractError, match=r"on rank 1, rows \[3, 6\)\n\n  BP005 dtype  responses") as caught:
        group.wrong_dtype(batch_of(6))

    assert caught.value.violations[0].where.rank == 1


def test_plain_methods_are_called_on_all_or_on_the_first(group: WorkerGroup) -> None:
    assert group.call_all("shows", factor=2.0) == [1.0, 1.0]
    assert group.call_rank_zero("shows") == 0.5


def test_the_ranks_of_a_data_parallel_group_share_one_part(cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case D4."""
    put: list[Any] = []
    monkeypatch.setattr(ray, "put", lambda value, put=put, store=ray.put: (put.append(value), store(value))[1])
    with WorkerGroup(Critic, dp=1, ranks_per_dp=2, backend="ray", ray_options=FREE) as pair:
        made = pair.values(batch_of(3))

        assert sum(isinstance(value, DataProto) for value in put) == 1
        assert pair.call_all("firsts") == [[[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]]]
    assert torch.equal(made.batch["values"], Critic().values(batch_of(3)).batch["values"])


def test_a_worker_that_dies_is_one_error_and_the_end_leaves_nothing(cluster: None) -> None:
    threads = set(threading.enumerate())
    batch = batch_of(6)
    before = copy.deepcopy(batch)
    with WorkerGroup(Critic, dp=2, backend="ray", ray_options=FREE) as group:
        actors = list(group._place._actors)  # type: ignore[union-attr]
        for method in ("dies", "generate"):
            with pytest.raises(WorkerError, match=r"^stage '\w+' on rank 1, rows \[3, 6\): the worker died") as caught:
                getattr(group, method)(batch)
            assert caught.value.rank == 1
        assert batch == before
        assert group.call_rank_zero("shows") == 0.5, "the others are there"

    # Ray kills in its own time: what an actor is asked before its end is still answered.
    patience = time.monotonic() + 60
    for actor in actors:
        with pytest.raises(ray.exceptions.RayActorError):
            while time.monotonic() < patience:
                ray.get(actor.ready.remote())
    assert set(threading.enumerate()) <= threads


def test_a_worker_that_ray_restarts_is_made_anew(cluster: None) -> None:
    options = {**FREE, "max_restarts": 1}
    with WorkerGroup(Critic, 2.0, dp=2, backend="ray", ray_options=options) as group:
        with pytest.raises(
            WorkerError, match=r"^stage 'dies' on rank 1, rows \[3, 6\): the worker (is not reachable|died)"
        ):
            group.dies(batch_of(6))

        patience = time.monotonic() + 60
        while True:
            try:
                made = group.values(batch_of(6))
                break
            except WorkerError:
                assert time.monotonic() < patience
    assert made == Critic(2.0).values(batch_of(6))


def test_a_worker_that_cannot_be_placed_is_named_with_the_resources(cluster: None) -> None:
    with pytest.raises(WorkerError) as caught:
        WorkerGroup(Critic, dp=2, backend="ray", ray_options={"num_cpus": 100}, start_timeout=0.5)

    assert (caught.value.rank, caught.value.others) == (0, (1,))
    assert str(caught.value).startswith(
        "making the worker on rank 0: not started after 0.5 seconds; "
        "each worker asks for {'num_cpus': 100}, and free are {"
    )
    assert "'CPU': 1.0" in str(caught.value)


def test_a_class_that_cannot_be_made_leaves_no_actor(cluster: None) -> None:
    with pytest.raises(WorkerError, match=r"^making the worker on rank 0, node .*: ValueError: no weights"):
        WorkerGroup(Critic, dp=1, backend="ray", ray_options=FREE, fails=True)
