"""A stage on a group of workers gives what it gives on one instance, for every number of rows."""

from __future__ import annotations

import pytest

from batchpact.contracts import WorkerGroup
from tests.contracts.workers.calls import CASES, ROWS, Case, assert_same
from tests.contracts.workers.critics import Critic


@pytest.mark.parametrize("dp", [1, 4])
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS.keys())
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_group_gives_what_one_instance_gives(case: Case, rows: int, dp: int) -> None:
    if rows >= case.least:
        assert_same(WorkerGroup(Critic, dp=dp), case, rows)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_ranks_of_a_data_parallel_group_change_nothing(case: Case) -> None:
    assert_same(WorkerGroup(Critic, dp=2, ranks_per_dp=2), case, 5)
