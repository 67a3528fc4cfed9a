"""Whatever a batch holds, what arrives is equal, and the batch that was sent is as it was."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import LazyStackedTensorDict, NonTensorData, NonTensorStack, TensorDict

from batchpact.dataproto import DataProto, DataProtoItem, column, difference, transport
from batchpact.dataproto.row_marks import RowMarks
from batchpact.schemas import BatchError
from tests.dataproto.nested_layouts import LAYOUTS, LENGTHS
from tests.dataproto.support import batches, jagged, law, plain, says, small
from tests.dataproto.wire.resident import MB, linux, peak_of, resident
from tests.dataproto.wire.ways import WAYS, loads, memory, overlap, tensors_of, travelled, untouched

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
way = pytest.mark.parametrize("way", WAYS)


def large() -> DataProto:
    """Fields of each kind that are too large to stand in a pickle."""
    return DataProto.from_dict(
        {
            "ids": torch.arange(2**15).reshape(8, -1),
            "bf16": torch.linspace(-1, 1, 2**16).to(torch.bfloat16).reshape(8, 2, -1),
            "mask": torch.arange(2**17).reshape(8, -1) % 3 == 0,
            "tokens": jagged(*([row] * 4000 for row in range(8))),
        },
        {"score": np.arange(2**13, dtype=np.float32).reshape(8, -1), "uid": [f"row {row}" for row in range(8)]},
        {"temperature": 0.7},
    )


# --- every kind of batch ----------------------------------------------------------------------------------------------


@law
@given(batches(), st.sampled_from(list(WAYS)))
def test_what_arrives_is_equal_and_the_sender_is_untouched(data: DataProto, way: str) -> None:
    with untouched(data):
        received = travelled(data, way)

    assert plain(received) == plain(data)
    assert received == data
    assert type(received) is DataProto
    assert len(received) == len(data)


@law
@given(batches(), st.sampled_from(list(WAYS)))
def test_what_arrives_shares_nothing_and_can_be_written_on(data: DataProto, way: str) -> None:
    received, before = travelled(data, way), plain(data)

    for tensor in tensors_of(received):
        tensor.zero_()
    for cells in received.non_tensor_batch.values():
        cells[:] = cells[::-1].copy()

    assert plain(data) == before


@way
def test_large_fields_arrive_in_memory_of_their_own(way: str) -> None:
    data = large()
    sent = WAYS[way](data)

    with untouched(data):
        received, again = (pickle.loads(sent[0], buffers=sent[1]) for _ in range(2))

    assert plain(received) == plain(again) == plain(data)
    owners = [data, received, again]
    places = [[memory(t) for t in tensors_of(owner)] + [memory(owner.non_tensor_batch["score"])] for owner in owners]
    buffers = [memory(np.frombuffer(buffer, dtype=np.uint8)) for buffer in sent[1]]
    for mine in places[1]:
        assert not any(overlap(mine, theirs) for theirs in [*places[0], *places[2], *buffers])
    received.non_tensor_batch["score"][:] = 0


@way
def test_each_field_has_a_version_counter_of_its_own(way: str) -> None:
    received = travelled(large(), way)

    received.batch["ids"].add_(1)

    assert [tensor._version for tensor in tensors_of(received)] == [1, 0, 0, 0, 0]


@way
@pytest.mark.parametrize("name", LAYOUTS)
def test_nested_tensors_arrive_with_their_ragged_axis(name: str, way: str) -> None:
    """Case J2: the ragged axis is in the header."""
    for lengths in LENGTHS:
        data = LAYOUTS[name].batch(lengths)

        with untouched(data):
            received = travelled(data, way)

        assert plain(received) == plain(data)
        x, twin = received.batch["x"], received.batch["twin"]
        assert x.layout is data.batch["x"].layout
        if x.layout is torch.jagged:
            assert x.offsets() is twin.offsets()
            assert x.offsets().dtype is data.batch["x"].offsets().dtype
            assert torch.equal((x.detach() + twin).values(), x.detach().values() * 3)


# --- what cannot be told from a few kinds -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        DataProto(),
        DataProto(meta_info={"k": [1]}),
        DataProto(TensorDict({}, batch_size=[3])),
        DataProto(TensorDict({}, batch_size=[3]), {"x": column("ab")}),
        DataProto(TensorDict({}, batch_size=[2, 3], device="cpu")),
        DataProto.from_dict({"x": torch.ones(0, 3), "y": torch.ones(0)}, {"u": []}),
        DataProto.from_dict({"x": torch.ones(3, 0)}),
        small()[:0],
    ],
)
@way
def test_nothing_is_legal(data: DataProto, way: str) -> None:
    """Case S6: a batch without tensors, without rows or without fields is sent like any other."""
    received = travelled(data, way)

    assert plain(received) == plain(data)
    assert (received.batch is None) is (data.batch is None)
    if data.batch is not None:
        assert (received.batch.batch_size, received.batch.device) == (data.batch.batch_size, data.batch.device)


@way
def test_several_batch_axes_arrive(way: str) -> None:
    data = DataProto(TensorDict({"x": torch.arange(24).reshape(2, 3, 4)}, batch_size=[2, 3]))

    received = travelled(data, way)

    assert received.batch.batch_size == (2, 3)
    assert plain(received) == plain(data)


@way
def test_a_tensordict_as_a_value_arrives(way: str) -> None:
    inner = TensorDict({"a": torch.arange(4000).reshape(2, -1), "b": {"c": torch.ones(2, 3)}}, batch_size=[2])
    inner["b"].batch_size = [2, 3]
    data = DataProto(TensorDict({"inner": inner, "x": torch.ones(2)}, batch_size=[2]))

    with untouched(data):
        received = travelled(data, way)

    assert difference(received.batch, data.batch) is None
    assert received.batch["inner"].batch_size == (2,)
    assert received.batch["inner", "b"].batch_size == (2, 3)
    assert type(received.batch["inner"]) is TensorDict


@pytest.mark.parametrize("value", [NonTensorData("x", batch_size=[2]), NonTensorStack("a", "b")])
def test_what_is_no_tensor_in_a_tensordict_arrives(value: Any) -> None:
    received = travelled(DataProto(TensorDict({"odd": value}, batch_size=[2])))

    assert type(received.batch.get("odd")) is type(value)
    assert received.batch["odd"] == (value.data if isinstance(value, NonTensorData) else value.tolist())


def test_a_lazy_stack_arrives_as_what_it_holds() -> None:
    parts = [TensorDict({"x": torch.full((3,), row)}, batch_size=[]) for row in range(2)]
    data = DataProto(LazyStackedTensorDict(*parts))  # type: ignore[arg-type]

    assert travelled(data).batch["x"].tolist() == [[0, 0, 0], [1, 1, 1]]


ODD = {
    "sparse": lambda: torch.eye(3).to_sparse(),
    "sparse rows": lambda: torch.eye(3).to_sparse_csr(),
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(3, 2), 0.1, 0, torch.quint8),
    "on the meta device": lambda: torch.ones(3, 2, device="meta"),
}


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning")
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")
@pytest.mark.parametrize("name", ODD)
def test_tensors_that_are_more_than_their_elements_are_pickled_by_torch(name: str) -> None:
    value = ODD[name]()

    received = travelled(DataProto(TensorDict({"odd": value}, batch_size=[3]))).batch["odd"]

    assert (received.layout, received.dtype, received.shape) == (value.layout, value.dtype, value.shape)
    assert received.is_quantized is value.is_quantized
    assert received.device == value.device
    if not value.is_meta:
        dense = [side.dequantize() if side.is_quantized else side.to_dense() for side in (received, value)]
        assert torch.equal(*dense)


@way
def test_a_tensor_that_stands_twice_is_sent_once_and_arrives_as_one(way: str) -> None:
    x = torch.arange(2**14).reshape(2, -1)

    pickled = WAYS[way](DataProto.from_dict({"x": x, "y": x}))
    received = pickle.loads(pickled[0], buffers=pickled[1])

    assert len(pickled[0]) + sum(memoryview(buffer).nbytes for buffer in pickled[1]) < 1.6 * x.nbytes
    assert received.batch["x"] is received.batch["y"]


# --- gradients --------------------------------------------------------------------------------------------------------


@way
def test_gradients_and_graphs_stay_behind(way: str) -> None:
    """Case W6: what a worker sends has no graph, also where the worker forgot to leave it out."""
    leaf = torch.ones(3, 2, requires_grad=True)
    data = DataProto(TensorDict({"leaf": leaf, "result": leaf * 2, "odd": (leaf * 3).to_sparse()}, batch_size=[3]))

    with untouched(data.select(["leaf", "result"])):
        received = travelled(data, way)

    assert not any(value.requires_grad for value in received.batch.values())
    assert received.batch["result"].tolist() == [[2, 2]] * 3
    assert received.batch["odd"].to_dense().tolist() == [[3, 3]] * 3


# --- what is carried unseen -------------------------------------------------------------------------------------------


class Tagged(DataProto):
    """A team's own kind of batch."""

    tag = ""


@way
def test_a_subclass_arrives_with_its_attributes(way: str) -> None:
    data = Tagged.from_dict({"x": torch.ones(2)})
    data.tag = "mine"

    received = travelled(data, way)

    assert type(received) is Tagged
    assert received.tag == "mine"
    assert received == data


@way
def test_what_a_batch_remembers_arrives(way: str) -> None:
    data = small()
    data._writers, data._reads = {"ids": "rollout"}, {"score": ("reward",)}
    data._rewrites = frozenset({"ids"})
    data._marks = RowMarks(
        np.array([3, 1, 0, 2]), np.array([False, False, False, True]), {"reward": np.array([True, False, False, False])}
    )

    received = travelled(data, way)

    assert received.history() == {"ids": "written by 'rollout'", "reward": "last read by 'score'"}
    assert received._rewrites == {"ids"}
    assert received._marks.origin.tolist() == [3, 1, 0, 2]
    assert received._marks.pads.tolist() == [False, False, False, True]
    assert {key: mask.tolist() for key, mask in received._marks.absent.items()} == {
        "reward": [True, False, False, False]
    }


def test_what_a_batch_remembers_does_not_hold_the_memory_in_which_it_came() -> None:
    data = DataProto.from_dict({"x": torch.zeros(5000)})
    data._marks = RowMarks(np.arange(5000), np.zeros(50_000, bool)[::10], {"x": np.ones(5000, bool)})

    pickled = WAYS["read-only bytes"](data)
    received = loads(pickled)

    marks = received._marks
    arrays = [marks.origin, marks.pads, marks.absent["x"]]
    assert [array.tolist() for array in arrays] == [list(range(5000)), [False] * 5000, [True] * 5000]
    given = [memory(np.frombuffer(buffer, np.uint8)) for buffer in pickled[1]]
    assert not any(overlap(memory(array), buffer) for array in arrays for buffer in given)
    assert type(marks) is RowMarks


def test_a_row_can_be_pickled() -> None:
    row = small()[1]

    received = pickle.loads(pickle.dumps(row))

    assert type(received) is DataProtoItem
    assert received.batch["ids"].tolist() == [2, 3]
    assert received.non_tensor_batch == {"uid": "b", "score": np.float32(2.5)}
    assert received.meta_info == row.meta_info


# --- memory -----------------------------------------------------------------------------------------------------------


@linux
def test_neither_side_takes_more_memory_than_it_has_to() -> None:
    """Case W3: no copy that nobody asked for."""
    data = DataProto.from_dict({key: torch.ones(1024, 2048) for key in "abcdefgh"})
    bytes_of_data = 8 * 1024 * 2048 * 4
    pickled = WAYS["its own memory"](data)

    def zero_copy() -> DataProto:
        with transport(zero_copy=True):
            return loads(pickled)

    assert peak_of(lambda: WAYS["its own memory"](data)) < 0.05 * bytes_of_data
    assert 0.9 * bytes_of_data < peak_of(lambda: loads(pickled)) < 1.1 * bytes_of_data
    assert peak_of(zero_copy) < 0.05 * bytes_of_data


@linux
@pytest.mark.parametrize("way", ["protocol 5", "its own memory"])
def test_round_trips_leave_memory_as_it_was(way: str) -> None:
    data = large()

    def trips(number: int) -> None:
        for _ in range(number):
            travelled(data, way)
            with transport(zero_copy=True):
                travelled(data, way)
        gc.collect()

    trips(30)
    before = resident()
    trips(200)

    assert resident() - before < 10 * MB  # all of them are 200 times 2 MB


# --- refused ----------------------------------------------------------------------------------------------------------


def test_a_batch_that_is_not_consistent_is_refused_where_it_is_sent() -> None:
    data = small()
    data.meta_info["ids"] = 1

    with says(
        BatchError,
        "in pickle.dumps; nothing was changed",
        "BP045 store  ids  in batch and in meta_info; one place for one name",
    ):
        pickle.dumps(data)
