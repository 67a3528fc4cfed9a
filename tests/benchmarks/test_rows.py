"""What rows that are born one at a time cost: the check of one, and a batch of 1,024."""

from __future__ import annotations

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from tests.schemas.rows import Rollout, row

pytestmark = [pytest.mark.bench, pytest.mark.benchmark(group="Rows born one at a time, 10 fields")]


def test_check_row(benchmark: BenchmarkFixture) -> None:
    healthy = row(rollout_log_probs=torch.zeros(3))
    benchmark.extra_info |= {"what": "check_row, structure", "goal": "< 50 us"}

    benchmark(Rollout.check_row, healthy)


def test_check_row_with_values(benchmark: BenchmarkFixture) -> None:
    healthy = row(rollout_log_probs=torch.zeros(3))
    benchmark.extra_info["what"] = "check_row, values"

    benchmark(Rollout.check_row, healthy, level="values")


def test_collate(benchmark: BenchmarkFixture) -> None:
    rows = [row(f"{number}", rollout_log_probs=torch.zeros(3)) for number in range(1024)]
    benchmark.extra_info["what"] = "collate 1,024 rows, each checked"

    made = benchmark(Rollout.collate, rows)

    assert len(made.score) == 1024
