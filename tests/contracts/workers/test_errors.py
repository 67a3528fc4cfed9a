"""What goes wrong on a worker: one error, with the rank, its rows and the worker's own traceback."""

from __future__ import annotations

import copy
import pickle
import platform
from typing import Any

import pytest

from batchpact.contracts import WorkerError, WorkerGroup
from batchpact.contracts.workers.answers import Failure
from batchpact.contracts.workers.errors import worker_error
from batchpact.schemas import ContractError
from batchpact.schemas.errors import MissingFieldError, UndeclaredReadError
from tests.contracts.workers.calls import batch_of
from tests.contracts.workers.critics import Critic

ROWS = 7
NODE = platform.node()


def failing(method: str, kind: type[Exception], dp: int = 3) -> Any:
    """The error of a call, after which the batch is what it was and the group goes on."""
    group, batch = WorkerGroup(Critic, dp=dp), batch_of(ROWS)
    before = copy.deepcopy(batch)
    with pytest.raises(kind) as caught:
        getattr(group, method)(batch)
    assert type(caught.value) is kind
    assert batch == before
    assert group.values(batch) == Critic().values(batch_of(ROWS))
    return caught.value


def test_an_exception_of_a_worker_is_raised_once_with_its_place_and_traceback() -> None:
    error = failing("raises", WorkerError)

    assert (error.stage, error.rank, error.rows, error.node, error.others) == (
        "raises",
        1,
        (3, 5),
        NODE,
        (2,),
    )
    assert str(error).partition("\n")[0] == (
        f"stage 'raises' on rank 1, rows [3, 5), node {NODE}: KeyError: 'row of 0.5'; rank 2 failed, too"
    )
    assert 'raise KeyError(f"row of {self.bias}")' in str(error)
    assert "contracts/workers/worker.py" not in str(error)
    assert not isinstance(error, ContractError)


def test_a_broken_contract_stays_one_and_says_the_rank() -> None:
    error = failing("wrong_dtype", ContractError)

    assert str(error).partition("\n")[0] == (
        "1 problem where stage 'wrong_dtype' returns its result, on rank 1, rows [3, 5)"
    )
    assert [(v.code, v.field, v.where.rank, v.where.stage) for v in error.violations] == [
        ("BP005", "responses", 1, "wrong_dtype")
    ]


def test_a_part_with_other_rows_is_refused_by_its_worker() -> None:
    error = failing("loses_a_row", ContractError)

    assert "on rank 0, rows [0, 3)" in str(error)
    assert [violation.where.rank for violation in error.violations] == [0]


def test_an_undeclared_read_is_told_by_what_the_caller_holds() -> None:
    error = failing("peeks", UndeclaredReadError)

    assert str(error) == (
        "1 problem in stage 'peeks', which looked for a field it does not declare, on rank 0, rows [0, 3)\n\n"
        "  BP002 withheld  unused  the caller's batch holds tensor f32[7, 5]; "
        "the Reads of 'peeks' do not declare it; add unused to them"
    )


def test_a_write_into_an_input_is_a_violation_and_does_not_reach_the_caller() -> None:
    error = failing("writes_into_it", ContractError)

    assert [(v.code, v.field, v.where.rank) for v in error.violations] == [("BP031", "rewards", 0)]


def test_some_workers_without_a_result_are_refused() -> None:
    error = failing("sometimes_nothing", ContractError)

    assert str(error) == (
        "1 problem where stage 'sometimes_nothing' returns its result\n\n"
        "  BP035 result  result  None from rank 1, 2; a result for every part, or for none"
    )


def test_tuples_of_different_lengths_are_refused_with_the_rank() -> None:
    error = failing("tuples_that_differ", ContractError)

    assert str(error) == (
        "1 problem where stage 'tuples_that_differ' returns its result\n\n"
        "  BP035 result  result  2 values behind the batch, from rank 1; 1, as from rank 0"
    )


def test_what_is_wrong_with_the_batch_is_found_before_anything_is_sent() -> None:
    group, batch = WorkerGroup(Critic, dp=3), batch_of(ROWS)
    batch.meta_info.pop("gamma")

    with pytest.raises(MissingFieldError, match=r"where stage 'values' reads its batch\n\n  BP001 missing  gamma"):
        group.values(batch)
    assert group.call_all("firsts") == [[], [], []]


def test_a_class_that_cannot_be_made_is_one_error() -> None:
    with pytest.raises(WorkerError) as caught:
        WorkerGroup(Critic, dp=2, fails=True)

    assert str(caught.value).partition("\n")[0] == (
        f"making the worker on rank 0, node {NODE}: ValueError: no weights; rank 1 failed, too"
    )


def test_a_plain_method_that_raises_is_one_error() -> None:
    with pytest.raises(WorkerError, match=r"^method 'refuses' on rank 0, node .*: ValueError: not today\n\nTraceback"):
        WorkerGroup(Critic, dp=2).call_rank_zero("refuses")


def test_an_error_survives_pickling() -> None:
    error = WorkerError(
        "stage 'x'", 2, "ValueError: no", stage="x", rows=(4, 6), node="n1", traceback="T\n", others=(3, 5)
    )

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is WorkerError
    assert vars(again) == vars(error)
    assert str(again) == ("stage 'x' on rank 2, rows [4, 6), node n1: ValueError: no; ranks 3 and 5 failed, too\n\nT")


def test_the_first_rank_counts_and_the_others_are_named() -> None:
    failures = {4: Failure("A", "", "n"), 1: Failure("B", "", "n"), 6: Failure("C", "", "n")}

    error = worker_error("stage 'x'", failures)

    assert isinstance(error, WorkerError)
    assert (error.rank, error.cause, error.others, error.rows) == (1, "B", (4, 6), None)
