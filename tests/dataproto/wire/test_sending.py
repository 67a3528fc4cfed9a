"""What is sent of columns: every text and every object once."""

from __future__ import annotations

import pickle
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchpact.dataproto import DataProto, column
from tests.dataproto.support import law
from tests.dataproto.wire.ways import WAYS, loads, travelled

way = pytest.mark.parametrize("way", WAYS)
Point = namedtuple("Point", "x y")


def of(cells: Any) -> DataProto:
    return DataProto(None, {"c": column(cells)})


def size(data: DataProto) -> int:
    return len(pickle.dumps(data))


# --- texts ------------------------------------------------------------------------------------------------------------


@way
@pytest.mark.parametrize(
    "texts",
    [
        ["a", "b", "c"],
        ["same"] * 5,
        ["", "ä", "日本", "🎲", "\0", "\udce4 alone", "\ud83c", ""],
        ["x" * 100_000, "y" * 300, "x" * 100_000],
        [],
    ],
)
def test_texts_arrive(texts: list[str], way: str) -> None:
    received = travelled(of(texts), way).non_tensor_batch["c"]

    assert received.dtype == object
    assert received.tolist() == texts
    assert all(type(cell) is str for cell in received)


@law
@given(st.lists(st.text(st.characters(), max_size=5), max_size=12), st.sampled_from(list(WAYS)))
def test_any_texts_arrive(texts: list[str], way: str) -> None:
    assert travelled(of(texts), way).non_tensor_batch["c"].tolist() == texts


def test_equal_texts_are_sent_once_whichever_objects_they_are() -> None:
    long = "prompt " * 1000
    equal = ["".join([long, str(row % 4)]) for row in range(64)]

    assert size(of(equal)) - size(of(equal[:4])) < 64 * 4
    assert travelled(of(equal)).non_tensor_batch["c"].tolist() == equal


def test_texts_take_little_more_than_their_bytes() -> None:
    texts = [f"{row:08d}" for row in range(1000)]

    assert size(of(texts)) - size(of([])) < 1000 * (8 + 4)


def test_a_text_that_is_more_than_one_stays_what_it_is() -> None:
    class Tagged(str):
        pass

    cells = ["a", np.str_("a"), "a"]

    received = travelled(of(cells)).non_tensor_batch["c"]

    assert [type(cell) for cell in received] == [str, np.str_, str]
    assert isinstance(Tagged("a"), str)


# --- objects ----------------------------------------------------------------------------------------------------------


@way
def test_cells_arrive_with_the_types_that_went_in(way: str) -> None:
    """Case P3: a list stays a list, a number of numpy stays one."""
    cells = [
        None,
        True,
        1,
        10**30,
        0.5,
        1j,
        b"bytes",
        "text",
        [],
        [0.5],
        [1, 2],
        (1, [2]),
        {"a": {"b": [None]}},
        {1, 2},
        frozenset({3}),
        range(3),
        np.int64(7),
        np.float32(0.5),
        np.bool_(True),
        OrderedDict(a=1),
        Point(1, 2),
        Ellipsis,
    ]

    received = travelled(of(cells), way).non_tensor_batch["c"].tolist()

    assert received == cells
    assert [type(cell) for cell in received] == [type(cell) for cell in cells]


@pytest.mark.parametrize("cells", [[[1, 2], [3, 4]], [[1]], [(1, 2)], [[]], [[1], [2, 3]]])
def test_a_column_of_lists_has_one_axis(cells: Any) -> None:
    """Cases P1 and P2, on the wire."""
    received = travelled(of(cells)).non_tensor_batch["c"]

    assert received.shape == (len(cells),)
    assert received.tolist() == cells


def test_a_column_with_more_axes_keeps_them() -> None:
    cells = np.empty((2, 3), dtype=object)
    cells[:] = [["a", 1, None], [[], "b", {}]]
    texts = np.array([["a", "b"], ["b", "a"]], dtype=object)

    received = travelled(DataProto(None, {"c": cells, "t": texts, "none": cells[:, :0]})).non_tensor_batch

    assert {key: (found.dtype, found.shape) for key, found in received.items()} == {
        "c": (object, (2, 3)),
        "t": (object, (2, 2)),
        "none": (object, (2, 0)),
    }
    assert received["c"].tolist() == cells.tolist()
    assert received["t"].tolist() == texts.tolist()


@way
def test_an_object_in_several_cells_is_sent_once_and_is_one_object_there(way: str) -> None:
    """Case W4: the image of a prompt is in each of its rollouts."""
    images = [{"image": bytes([row]) * 50_000, "size": [row, 2]} for row in range(2)]
    data = DataProto(None, {"image": column(images * 8), "again": column([[image] for image in images] * 8)})

    pickled = WAYS[way](data)
    received = loads(pickled)

    assert len(pickled[0]) < 2.5 * 50_000 * (2 if way == "protocol 2" else 1)  # which knows no bytes
    assert received == data
    cells = received.non_tensor_batch["image"]
    assert all(cells[row] is cells[row % 2] is received.non_tensor_batch["again"][row][0] for row in range(16))


def test_an_object_that_columns_and_meta_share_is_shared_there() -> None:
    shared = {"k": [1]}

    received = travelled(DataProto(None, {"c": column([shared])}, {"m": [shared]}))

    assert received.non_tensor_batch["c"][0] is received.meta_info["m"][0]
