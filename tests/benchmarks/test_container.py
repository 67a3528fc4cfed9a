"""What the operations of the container cost, each beside verl's own on the same batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from batchpact.dataproto import DataProto, column
from tests.benchmarks.batches import FULL, thirteen_tensors, uids

pytestmark = [
    pytest.mark.bench,
    pytest.mark.benchmark(group="DataProto beside verl's: 13 tensors, 3 object columns, 124 MB"),
]

Operation: TypeAlias = Callable[[], Any]

SELECTED = ["responses", "response_mask", "old_log_probs"]
LEFT = ["prompts", "responses", "input_ids", "attention_mask", "position_ids", "response_mask"]


def columns() -> dict[str, np.ndarray]:
    return {
        "uid": uids(FULL.rows),
        "data_source": column(["arithmetic"] * FULL.rows),
        "reward_model": column([{"ground_truth": str(row)} for row in range(FULL.rows)]),
    }


def whole(batch: Any) -> Any:
    return batch.from_dict(thirteen_tensors(size=FULL), columns(), {"temperature": 1.0})


def from_dict(batch: Any) -> Operation:
    tensors, held = thirteen_tensors(size=FULL), columns()
    return lambda: batch.from_dict(tensors, held)


def select(batch: Any) -> Operation:
    data = whole(batch)
    return lambda: data.select(batch_keys=SELECTED, non_tensor_batch_keys=["uid"])


def index_with_an_int(batch: Any) -> Operation:
    data = whole(batch)
    return lambda: data[5]


def index_with_a_slice(batch: Any) -> Operation:
    data = whole(batch)
    return lambda: data[8:24]


def index_with_a_list(batch: Any) -> Operation:
    data = whole(batch)
    return lambda: data[[3, 1, 2, 40]]


def chunk_8(batch: Any) -> Operation:
    data = whole(batch)
    return lambda: data.chunk(8)


def concat_8(batch: Any) -> Operation:
    parts = whole(batch).chunk(8)
    return lambda: batch.concat(parts)


def repeat_4(batch: Any) -> Operation:
    data = whole(batch)
    return lambda: data.repeat(4)


def union_made_first(batch: Any) -> Operation:
    tensors = thirteen_tensors(size=FULL)
    left = {key: tensors[key] for key in LEFT}
    right = {key: tensor for key, tensor in tensors.items() if key not in LEFT}
    return lambda: batch.from_dict(left).union(batch.from_dict(right))


def pop_of_a_slice(batch: Any) -> Operation:
    data = whole(batch)
    return lambda: data[8:24].pop(batch_keys=SELECTED)


OPERATIONS = {
    "from_dict": from_dict,
    "select": select,
    "index with an int": index_with_an_int,
    "index with a slice": index_with_a_slice,
    "index with a list": index_with_a_list,
    "chunk(8)": chunk_8,
    "concat of 8": concat_8,
    "repeat(4)": repeat_4,
    "union of 6 and 7 tensors, made first": union_made_first,
    "pop of 3 keys, of a slice": pop_of_a_slice,
}


def warm(operation: Operation) -> Operation:
    """Run it a few times: the first results go into memory that was never touched, at several times the cost."""
    for _ in range(5):
        operation()
    return operation


@pytest.mark.parametrize("operation", OPERATIONS)
def test_verl(benchmark: BenchmarkFixture, operation: str) -> None:
    verl = pytest.importorskip("verl.protocol")
    benchmark.extra_info["what"] = f"verl: {operation}"
    benchmark(warm(OPERATIONS[operation](verl.DataProto)))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_ours(benchmark: BenchmarkFixture, operation: str) -> None:
    benchmark.extra_info |= {"what": f"batchpact: {operation}", "against": f"test_verl[{operation}]", "goal": "<= 1 x"}
    benchmark(warm(OPERATIONS[operation](DataProto)))
