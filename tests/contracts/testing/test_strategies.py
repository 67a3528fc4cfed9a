"""Samples for hypothesis: every manner comes up, each one is valid, and failures shrink to the plainest one."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated

import pytest
import torch
from hypothesis import HealthCheck, find, given, settings
from jaxtyping import Float, Int64
from torch import Tensor

from batchpact.contracts.testing import SampleError, batches, samples
from batchpact.contracts.testing.sampler import Sample
from batchpact.dataproto import DataProto
from batchpact.schemas import Arg, BatchSchema, Finite, Jagged, Meta, NonTensor
from batchpact.schemas.rl.dense.rollout import Generate

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck))


class Awkward(BatchSchema):
    ids: Annotated[Int64[Tensor, "batch length"], Jagged("length")]
    x: Annotated[Float[Tensor, "batch width"], Finite()]
    word: NonTensor[str] | None = None
    note: Meta[str] | None = None
    scale: Arg[float]


def lengths(batch: DataProto) -> set[int]:
    return set(batch.batch["ids"].offsets().diff().tolist())


@QUIET
@given(samples(Awkward))
def test_every_sample_is_valid(drawn: Sample) -> None:
    stores = drawn.batch.consistent_stores()
    assert drawn.args.keys() == {"scale"}
    assert {"ids", "x"} <= set(stores.tensors)


@pytest.mark.parametrize(
    "awkward",
    [
        lambda batch: len(batch) == 1,
        lambda batch: len(batch) == 0,
        lambda batch: len(batch) > 2 and len(lengths(batch)) == 1,
        lambda batch: len(lengths(batch)) > 1,
        lambda batch: "word" not in batch.non_tensor_batch,
        lambda batch: "word" in batch.non_tensor_batch and "note" not in batch.meta_info,
        lambda batch: batch.batch["x"].dtype is torch.bfloat16,
        lambda batch: len(batch) > 1 and not batch.batch["x"].is_contiguous(),
        lambda batch: [*batch.batch.keys()] == ["x", "ids"],
    ],
    ids=["one row", "no row", "even", "uneven", "no optional", "some optional", "bf16", "strided", "reordered"],
)
def test_every_manner_comes_up(awkward: object) -> None:
    find(batches(Awkward), awkward, settings=QUIET)  # type: ignore[arg-type]


def test_the_first_one_and_what_a_failure_shrinks_to_is_one_row_without_anything_optional() -> None:
    batch = find(batches(Awkward), lambda _: True, settings=QUIET)

    assert len(batch) == 1
    assert [*batch.batch.keys()] == ["ids", "x"]
    assert not batch.non_tensor_batch and not batch.meta_info
    assert batch.batch["x"].dtype is torch.float32


def test_a_failure_shrinks_to_what_it_needs() -> None:
    batch = find(batches(Awkward), lambda batch: len(batch) > 2 and "word" in batch.non_tensor_batch, settings=QUIET)

    assert len(batch) == 3
    assert len(lengths(batch)) == 1
    assert "note" not in batch.meta_info


@settings(QUIET, max_examples=40)
@given(batches(Generate.Writes))
def test_a_schema_of_the_vocabulary_is_valid_in_every_manner(batch: DataProto) -> None:
    batch.bind(Generate.Writes)


def test_rows_that_are_given_leave_no_choice_and_an_unknown_dim_is_refused_at_once() -> None:
    batch = find(batches(Awkward, overrides={"word": ["a", "b"]}), lambda _: True, settings=QUIET)

    assert batch.non_tensor_batch["word"].tolist() == ["a", "b"]
    with pytest.raises(SampleError, match="it has no dim len"):
        batches(Awkward, dims={"len": 3})


def test_sampling_does_not_import_hypothesis() -> None:
    code = (
        "import sys; from batchpact.contracts.testing import sample; from batchpact.schemas.rl.grpo import KlInReward;"
        "sample(KlInReward.Reads); assert 'hypothesis' not in sys.modules"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr
