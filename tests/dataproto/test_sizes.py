"""Bytes of fields: of the elements, not of the pointers or of the storage behind a view (W8)."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import column
from batchpact.dataproto.sizes import Size, column_bytes, deep_bytes, deep_size, readable, tensor_bytes
from tests.dataproto.support import jagged


@pytest.mark.parametrize(
    ("tensor", "size"),
    [
        (torch.ones(3, 2), 24),
        (torch.ones(3, 2).bfloat16(), 12),
        (torch.ones(100)[:2], 8),
        (torch.ones(1, 1).expand(3, 2), 24),
        (torch.ones(0, 5), 0),
        (jagged([1, 2], [3]), 3 * 8 + 3 * 8),
        (torch.ones(2, device="meta"), 8),
    ],
)
def test_a_tensor_has_the_bytes_of_its_elements(tensor: torch.Tensor, size: int) -> None:
    assert tensor_bytes({"x": tensor}) == size
    assert tensor_bytes({"x": tensor, "y": tensor, "no tensor": "text"}) == 2 * size


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
def test_a_strided_nested_tensor_has_the_bytes_of_its_rows() -> None:
    assert tensor_bytes({"x": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])}) == 20


def test_nothing_takes_no_bytes() -> None:
    assert tensor_bytes({}) == 0


def test_a_tensordict_among_the_tensors_has_the_bytes_of_its_tensors() -> None:
    assert tensor_bytes({"n": TensorDict({"x": torch.ones(2), "y": torch.ones(2, 2)}, batch_size=[2])}) == 24


# --- columns ----------------------------------------------------------------------------------------------------------


def test_a_numeric_column_has_the_bytes_of_its_elements() -> None:
    assert column_bytes(np.ones(3, dtype=np.float32)) == 12
    assert column_bytes(np.ones(100, dtype=np.float32)[:2]) == 8


def test_an_object_column_has_the_bytes_of_what_its_cells_hold() -> None:
    text = "x" * 1024**2

    assert column_bytes(column([text, text + "y"])) == 2 * 8 + sys.getsizeof(text) + sys.getsizeof(text + "y")
    assert column_bytes(column([torch.ones(5), np.ones(5)])) == 2 * 8 + 20 + 40


def test_an_object_in_several_cells_counts_once() -> None:
    image = np.zeros((100, 100), dtype=np.uint8)

    assert column_bytes(column([image] * 4)) == 4 * 8 + 10_000
    assert column_bytes(column([{"image": image}, {"image": image}])) < 11_000


class Slotted:
    __slots__ = ("left", "payload")

    def __init__(self, payload: Any) -> None:
        self.payload = payload


class Plain:
    def __init__(self, payload: Any) -> None:
        self.payload = payload


HOLDERS: dict[str, Any] = {
    "list": lambda x: [x],
    "tuple": lambda x: (x,),
    "value": lambda x: {"k": x},
    "key": lambda x: {x: 1},
    "set": lambda x: {x},
    "deque": lambda x: deque([x]),
    "slots": Slotted,
    "attributes": Plain,
    "array": lambda x: column([x]),
    "TensorDict": lambda x: TensorDict({"x": torch.ones(len(x) // 4)}),
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_whatever_holds_it_counts_what_is_in_it(holder: Any) -> None:
    payload = b"x" * 1_000_000

    assert 1_000_000 <= deep_bytes(holder(payload)) < 1_002_000


def test_a_value_that_holds_itself_is_measured() -> None:
    loop: list[Any] = []
    loop.append(loop)

    assert deep_bytes(loop) == sys.getsizeof(loop)


def test_a_deep_value_is_measured() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert deep_bytes(deep) > 100_000


def test_classes_and_functions_are_not_counted() -> None:
    assert deep_bytes(Plain) == deep_bytes(len) == deep_bytes(sys) == deep_bytes(deep_bytes) == 0


def test_an_image_counts_its_pixels() -> None:
    """Known by its module, so that Pillow is not needed."""
    kind = type("Image", (), {"__module__": "PIL.Image", "size": (100, 50), "mode": "RGB"})

    assert 20_000 <= deep_bytes(kind()) < 21_000
    kind.mode = "L"  # type: ignore[attr-defined]
    assert 5_000 <= deep_bytes(kind()) < 6_000


# --- as far as one looks ----------------------------------------------------------------------------------------------


def test_a_size_is_a_lower_bound_where_there_was_more_to_look_at() -> None:
    text, other = "x" * 1000, "y" * 2000
    cells = column([text, other])

    assert deep_size(cells, 3) == Size(deep_bytes(cells))
    assert deep_size(cells, 2) == Size(2 * 8 + sys.getsizeof(text), whole=False)
    assert deep_size(cells, 0) == Size(0, whole=False)


def test_the_same_object_in_many_cells_is_looked_at_each_time() -> None:
    """Else a column of a million times the same object would take as long as it likes."""
    cells = column(["x"] * 10)

    assert not deep_size(cells, 10).whole
    assert deep_size(cells, 11) == Size(deep_bytes(cells))


def test_sizes_are_whole_if_all_of_them_are() -> None:
    assert Size.total([]) == Size(0)
    assert Size.total([Size(1), Size(2)]) == Size(3)
    assert Size.total(iter([Size(1), Size(2, whole=False)])) == Size(3, whole=False)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (1536 * 1024, "1.5 MB"),
        (3 * 1024**3, "3.0 GB"),
        (5000 * 1024**4, "5000.0 TB"),
    ],
)
def test_a_size_reads_in_the_unit_that_fits(size: int, text: str) -> None:
    assert readable(size) == str(Size(size)) == text
    assert str(Size(size, whole=False)) == f"at least {text}"
