"""What the whole of a stage call costs around a function that does nothing: ten fields read, three written."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from batchpact.contracts import checking, stage
from batchpact.dataproto import DataProto
from tests.benchmarks.batches import TenInThreeOut, batch, thirteen_tensors, uids

pytestmark = [
    pytest.mark.bench,
    pytest.mark.benchmark(group="A whole stage call: 10 reads, 3 writes, an empty function"),
]

READS = TenInThreeOut.Reads.__batchpact__.spec.fields
TENSORS = [field.key for field in READS if field.places[0].placement == "tensor"]
COMPARED = {"against": "test_verl_select_and_from_dict"}
WRITTEN = {key: tensor for key, tensor in thirteen_tensors(seed=1).items() if key in TenInThreeOut.Writes.model_fields}
RESULT = DataProto.from_dict(WRITTEN)
WRITES = TenInThreeOut.Writes(**WRITTEN)


@stage(TenInThreeOut)
def of_carriers(data: DataProto) -> DataProto:
    return RESULT


@stage
def typed(batch: TenInThreeOut.Reads) -> TenInThreeOut.Writes:
    return WRITES


def reads() -> TenInThreeOut.Reads:
    tensors = thirteen_tensors()
    return TenInThreeOut.Reads(**{key: tensors[key] for key in TENSORS}, uid=uids())


def test_verl_select(benchmark: BenchmarkFixture) -> None:
    verl = pytest.importorskip("verl.protocol")
    held = batch()
    theirs = verl.DataProto(batch=held.batch, non_tensor_batch=held.non_tensor_batch)
    benchmark.extra_info["what"] = "verl: select the same 10 fields, nothing checked"
    benchmark(theirs.select, batch_keys=TENSORS, non_tensor_batch_keys=["uid"])


def test_verl_from_dict(benchmark: BenchmarkFixture) -> None:
    verl = pytest.importorskip("verl.protocol")
    benchmark.extra_info["what"] = "verl: from_dict of the same 3 fields"
    benchmark(verl.DataProto.from_dict, WRITTEN)


def test_verl_select_and_from_dict(benchmark: BenchmarkFixture) -> None:
    verl = pytest.importorskip("verl.protocol")
    held = batch()
    theirs = verl.DataProto(batch=held.batch, non_tensor_batch=held.non_tensor_batch)

    def both() -> Any:
        theirs.select(batch_keys=TENSORS, non_tensor_batch_keys=["uid"])
        return verl.DataProto.from_dict(WRITTEN)

    benchmark.extra_info["what"] = "verl: both"
    benchmark(both)


@pytest.mark.parametrize("level", ["structure", "off"])
def test_dataproto(benchmark: BenchmarkFixture, level: Any) -> None:
    held = batch()
    benchmark.extra_info |= {"what": f"DataProto in, DataProto out, level {level}"}
    benchmark.extra_info |= COMPARED if level == "structure" else {"goal": "< 1 us"}
    with checking(level):
        benchmark(of_carriers, held)


@pytest.mark.parametrize("level", ["structure", "off"])
def test_reads(benchmark: BenchmarkFixture, level: Any) -> None:
    given = reads()
    benchmark.extra_info |= {"what": f"Reads in, Writes out, level {level}"}
    benchmark.extra_info |= COMPARED if level == "structure" else {"goal": "< 1 us"}
    with checking(level):
        benchmark(typed, given)


def test_typed_function_called_with_a_dataproto(benchmark: BenchmarkFixture) -> None:
    held = batch()
    benchmark.extra_info |= {"what": "DataProto in, through a typed function, level structure"}
    benchmark.extra_info |= COMPARED
    with checking("structure"):
        benchmark(typed, held)
