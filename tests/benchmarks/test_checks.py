"""What a check costs: against a loop written by hand, and against the shape checks that people use today."""

from __future__ import annotations

import pytest
from beartype import beartype
from jaxtyping import Float32, Int64, jaxtyped
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor

from batchpact.schemas.diagnose import diagnose
from batchpact.schemas.stores import Stores
from tests.benchmarks.batches import Thirteen, thirteen_tensors

pytestmark = [pytest.mark.bench, pytest.mark.benchmark(group="Structure check of 13 fields")]


def test_bare_loop(benchmark: BenchmarkFixture) -> None:
    tensors = thirteen_tensors()
    expected = [(key, tensor.dtype, tensor.dim()) for key, tensor in tensors.items()]

    def check() -> None:
        """What somebody would write by hand: dtype, rank and first size; nothing about the other axes."""
        rows = None
        for key, dtype, rank in expected:
            tensor = tensors[key]
            if tensor.dtype is not dtype or tensor.dim() != rank:
                raise ValueError(key)
            size = tensor.shape[0]
            if rows is None:
                rows = size
            elif size != rows:
                raise ValueError(key)

    benchmark.extra_info["what"] = "bare loop: dtype, rank, first size"
    benchmark(check)


def test_plan(benchmark: BenchmarkFixture) -> None:
    plan = Thirteen.__batchpact__.plan
    stores = Stores(thirteen_tensors(), {}, {})
    benchmark.extra_info |= {
        "what": "batchpact: dtype, layout, every axis",
        "against": "test_bare_loop",
        "goal": "<= 2 x",
    }

    sizes = benchmark(plan.sizes, stores)

    assert sizes == {"batch": 64, "prompt": 32, "response": 96}


def test_jaxtyped_beartype(benchmark: BenchmarkFixture) -> None:
    tensors = thirteen_tensors()

    @jaxtyped(typechecker=beartype)
    def check(
        prompts: Int64[Tensor, "batch prompt"],
        responses: Int64[Tensor, "batch response"],
        input_ids: Int64[Tensor, "batch prompt+response"],
        attention_mask: Int64[Tensor, "batch prompt+response"],
        position_ids: Int64[Tensor, "batch prompt+response"],
        response_mask: Int64[Tensor, "batch response"],
        old_log_probs: Float32[Tensor, "batch response"],
        ref_log_prob: Float32[Tensor, "batch response"],
        token_level_scores: Float32[Tensor, "batch response"],
        token_level_rewards: Float32[Tensor, "batch response"],
        advantages: Float32[Tensor, "batch response"],
        returns: Float32[Tensor, "batch response"],
        values: Float32[Tensor, "batch response"],
    ) -> None:
        """Nothing: the decorator checks the arguments."""

    benchmark.extra_info |= {"what": "jaxtyped + beartype, the same fields", "against": "test_plan", "goal": ">= 15 x"}
    benchmark(check, **tensors)


def test_diagnosis_of_a_broken_batch(benchmark: BenchmarkFixture) -> None:
    plan = Thirteen.__batchpact__.plan
    tensors = thirteen_tensors()
    tensors["values"] = tensors["values"][:, :-1]
    stores = Stores(tensors, {}, {})
    benchmark.extra_info |= {"what": "batchpact: the whole diagnosis of a broken batch", "against": "test_bare_loop"}

    found = benchmark(diagnose, plan, stores)

    assert [violation.field for violation in found.violations] == ["values"]
