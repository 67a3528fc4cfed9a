"""Tensors and arrays inside cells and meta."""

from __future__ import annotations

import pickle
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from batchpact.dataproto import DataProto, column, difference, transport
from batchpact.dataproto.wire.inner import hold_arrays, receive_inner
from batchpact.schemas import BatchError
from tests.dataproto.support import says
from tests.dataproto.wire.ways import WAYS, loads, memory, travelled

way = pytest.mark.parametrize("way", WAYS)


def pixels(row: int) -> torch.Tensor:
    return torch.full((3, 4000), row, dtype=torch.bfloat16)


def images() -> list[dict[str, Any]]:
    """What a processor makes of the images of each row."""
    return [
        {"pixel_values": pixels(row), "grid": np.array([[1, 2, row]]), "names": ("a", [str(row)])} for row in range(3)
    ]


@way
def test_they_arrive_wherever_they_stand(way: str) -> None:
    cells = column(images())
    meta = {"weights": torch.arange(3.0), "nested": [{"a": (np.arange(2), {"b": torch.ones(2, 2)})}], "plain": {"x": 1}}
    data = DataProto(None, {"mm": cells, "array": column(list(np.arange(6).reshape(3, 2)))}, meta)

    received = travelled(data, way)

    assert difference(received.non_tensor_batch, data.non_tensor_batch) is None
    assert difference(received.meta_info, meta) is None
    assert type(received.meta_info["nested"][0]["a"]) is tuple
    assert received.non_tensor_batch["mm"][1]["pixel_values"].dtype is torch.bfloat16


def test_the_sender_keeps_its_own() -> None:
    cells, meta = images(), {"nested": [{"a": torch.ones(2)}]}
    data = DataProto(None, {"mm": column(cells)}, dict(meta))
    parts = [value for cell in cells for value in cell.values()]

    pickle.dumps(data)

    assert data.non_tensor_batch["mm"].tolist() == cells
    assert all(one is two for one, two in zip(parts, [v for cell in cells for v in cell.values()], strict=True))
    assert data.meta_info["nested"] is meta["nested"]
    assert type(meta["nested"][0]["a"]) is torch.Tensor


def test_their_bytes_are_sent_without_a_copy() -> None:
    """Case W2: no file of torch's in memory, pickled again."""
    cells = images()

    pickled = WAYS["its own memory"](DataProto(None, {"mm": column(cells)}))

    assert [memory(np.frombuffer(buffer, np.uint8)) for buffer in pickled[1]] == [
        memory(cell["pixel_values"]) for cell in cells
    ]
    assert len(pickled[0]) < 3000


@way
def test_what_stands_in_several_places_is_sent_once_and_is_one_object_there(way: str) -> None:
    """Case W4: the pixels of a prompt are in each of its rollouts."""
    cell = images()[1]
    data = DataProto(
        None, {"mm": column([cell] * 8), "alone": column([cell["pixel_values"]] * 8)}, {"first": [cell["pixel_values"]]}
    )

    pickled = WAYS[way](data)
    received = loads(pickled)

    sent = len(pickled[0]) + sum(memoryview(buffer).nbytes for buffer in pickled[1])
    assert sent < 1.2 * 24_000 * (1.6 if way == "protocol 2" else 1)  # which knows no bytes
    first = received.non_tensor_batch["mm"][0]
    assert all(found is first for found in received.non_tensor_batch["mm"])
    assert all(found is first["pixel_values"] for found in received.non_tensor_batch["alone"])
    assert received.meta_info["first"][0] is first["pixel_values"]


@way
def test_they_can_be_written_on_and_share_nothing(way: str) -> None:
    cells = images()

    received = travelled(DataProto(None, {"mm": column(cells)}), way).non_tensor_batch["mm"]
    for cell in received:
        cell["pixel_values"].zero_()
        cell["grid"][:] = 0
        cell["names"][1].append("late")

    assert difference(cells, images()) is None


@way
def test_cells_that_hold_themselves_arrive(way: str) -> None:
    knot: dict[str, Any] = {"x": torch.ones(2)}
    knot["me"] = knot
    knot["tuple"] = ([knot],)
    knot["tuple"][0].append(knot["tuple"])

    (received,) = travelled(DataProto(None, {"c": column([knot])}), way).non_tensor_batch["c"]

    assert received["me"] is received
    assert received["tuple"][0][0] is received
    assert received["tuple"][0][1] is received["tuple"]
    assert received["x"].tolist() == [1, 1]


Pair = namedtuple("Pair", "image size")


def test_named_tuples_are_looked_into() -> None:
    pair = Pair(pixels(1), ([np.arange(2)],))

    pickled = WAYS["read-only bytes"](DataProto(None, {"c": column([pair, pair])}))
    one, two = loads(pickled).non_tensor_batch["c"]

    assert one is two
    assert type(one) is Pair
    assert difference(tuple(one), tuple(pair)) is None
    assert memory(one.image) != memory(np.frombuffer(pickled[1][0], np.uint8))


def test_what_pickle_knows_best_is_left_to_it() -> None:
    cells = [
        SimpleNamespace(x=torch.ones(2)),
        {"sparse": torch.eye(2).to_sparse(), "objects": np.array([None, [1]], dtype=object)},
        [np.ma.masked_array([1, 2], [True, False]), torch.ones(1)],
        {1: torch.ones(1), (2, 3): None, torch.float32: torch.int64},
    ]

    received = travelled(DataProto(None, {"c": column(cells)})).non_tensor_batch["c"]

    assert received[0].x.tolist() == [1, 1]
    assert received[1]["sparse"].to_dense().tolist() == [[1, 0], [0, 1]]
    assert received[1]["objects"].tolist() == [None, [1]]
    assert received[2][0].mask.tolist() == [True, False]
    assert list(received[3]) == list(cells[3])


def test_gradients_and_graphs_stay_behind() -> None:
    leaf = torch.ones(2, requires_grad=True)

    received = travelled(DataProto(None, {}, {"k": [leaf, leaf * 2]})).meta_info["k"]

    assert [(value.tolist(), value.requires_grad) for value in received] == [([1, 1], False), ([2, 2], False)]


# --- the search -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([], False),
        (["a", 1, None], False),
        ([{"a": [(1, {"b": 2})]}], False),
        ([torch.ones(1)], True),
        ([np.ones(1)], True),
        ([1, {"a": [(1, {"b": np.ones(1)})]}], True),
        ([SimpleNamespace(x=torch.ones(1))], False),
        ([np.int64(1)], False),
    ],
)
def test_it_is_known_whether_there_are_any(value: list[object], found: bool) -> None:
    assert hold_arrays(value) is found


def test_the_search_ends_in_a_knot_and_looks_at_each_object_once() -> None:
    knot: list[Any] = []
    knot.append(knot)
    assert not hold_arrays(knot)

    wide: list[Any] = []
    for _ in range(60):  # 2 to the power of 60 paths
        wide = [wide, wide]
    assert not hold_arrays(wide)


# --- views ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_views_are_received_where_somebody_asks(side: str) -> None:
    data = DataProto(None, {"mm": column(images())}, {"m": np.arange(5000)})
    with transport(zero_copy=side == "sender"):
        pickled = WAYS["read-only bytes"](data)
    with transport(zero_copy=True if side == "receiver" else None):
        received = loads(pickled)

    given = [memory(np.frombuffer(buffer, np.uint8)) for buffer in pickled[1]]
    assert [memory(cell["pixel_values"]) for cell in received.non_tensor_batch["mm"]] == given[:3]
    assert memory(received.meta_info["m"]) == given[3]


def test_a_form_that_is_none_is_refused() -> None:
    for form, what, expected in (
        (("dense", "float32", (2,), bytes(7)), "7 bytes", "those of float32 (2,)"),
        (("array", "<f4", (2,), bytes(7)), "7 bytes", "those of <f4 (2,)"),
        (("array", "O", (1,), bytes(8)), "8 bytes", "those of O (1,)"),
        (("other",), "tuple of 1", "the form of a tensor"),
        ((), "tuple of 0", "the form of a tensor"),
    ):
        with says(BatchError, "in pickle.loads; nothing was changed", f"BP047 encoding  a value  {what}; {expected}"):
            receive_inner(form, None)
