"""Memory as buffers and back: every dtype, every way in which a tensor can lie in memory, and no copy too many."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from batchpact.dataproto import DataProto, transport
from batchpact.dataproto.wire.memory import DTYPES, FEW, array_of, buffer_of, tensor_of
from tests.dataproto.support import law
from tests.dataproto.wire.ways import WAYS, memory, tensors_of, travelled

way = pytest.mark.parametrize("way", WAYS)
HUGE_PAGE = 2 << 20


def of_dtype(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Elements of any kind, NaNs and signed zeros among them."""
    size = int(np.prod(shape)) * dtype.itemsize
    found = torch.from_numpy(np.random.default_rng(0).integers(0, 2 if dtype is torch.bool else 256, size, np.uint8))
    return found.view(dtype).view(shape) if size else of_dtype(dtype, 1)[:0].view(shape)


def bits(tensor: torch.Tensor) -> bytes:
    """Its elements as they lie in memory; most of these dtypes know no equality, and a NaN is not equal to itself."""
    whole = tensor.resolve_conj().resolve_neg().contiguous()
    return whole.unsqueeze(-1).view(torch.uint8).clone().numpy().tobytes()


# --- tensors ----------------------------------------------------------------------------------------------------------


@way
@pytest.mark.parametrize("name", DTYPES)
def test_tensors_of_every_dtype_arrive(name: str, way: str) -> None:
    """Case W9: bf16 and its relatives, which numpy does not know."""
    dtype = DTYPES[name][0]
    shapes = {"few": (4, 3, 2), "many": (4, FEW // 4 + 1), "none": (4, 0)}
    data = DataProto.from_dict({key: of_dtype(dtype, *shape) for key, shape in shapes.items()})

    received = travelled(data, way)

    for key, value in data.batch.items():
        assert received.batch[key].dtype is dtype
        assert received.batch[key].shape == value.shape
        assert bits(received.batch[key]) == bits(value)


def test_every_dtype_of_torch_is_known_but_for_quantized_ones() -> None:
    every = {str(value).removeprefix("torch.") for value in vars(torch).values() if isinstance(value, torch.dtype)}

    assert every - DTYPES.keys() == {"qint8", "qint32", "quint8", "quint4x2", "quint2x4"}


def grid(*shape: int) -> torch.Tensor:
    return torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape)


COMPLEX = torch.complex(grid(300, 40), -grid(300, 40))

LYING: dict[str, Callable[[], torch.Tensor]] = {
    "contiguous": lambda: grid(300, 40),
    "transposed": lambda: grid(40, 300).T,
    "permuted": lambda: grid(5, 40, 300).permute(2, 0, 1),
    "expanded": lambda: torch.arange(40.0).expand(300, 40),
    "every second column": lambda: grid(300, 80)[:, ::2],
    "the last columns": lambda: grid(300, 80)[:, -40:],
    "rows in the middle of a buffer": lambda: grid(900, 40)[300:600],
    "one column": lambda: grid(9000, 2)[:, 1],
    "conjugated": lambda: COMPLEX.conj(),
    "with the negative bit": lambda: COMPLEX.conj().imag,
    "the real part": lambda: COMPLEX.real,
    "a parameter": lambda: torch.nn.Parameter(grid(300, 40)),
    "in shared memory": lambda: grid(300, 40).share_memory_(),
    "an inference tensor": lambda: inference(grid(300, 40)),
    "no rows": lambda: grid(0, 40),
    "no columns": lambda: grid(300, 0),
    "one element on a strange stride": lambda: torch.as_strided(grid(300, 40), (1, 1), (7, 5)),
}


def inference(tensor: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return tensor.clone()


@way
@pytest.mark.parametrize("name", LYING)
def test_tensors_arrive_however_they_lie_in_memory(name: str, way: str) -> None:
    value = LYING[name]()
    before = value.tolist()

    received = travelled(DataProto.from_dict({"x": value}), way).batch["x"]

    assert received.tolist() == before == value.tolist()
    assert (received.dtype, received.is_contiguous(), type(received)) == (value.dtype, True, torch.Tensor)
    assert received.shape == value.shape
    received += 1  # neither is anything else the same memory
    assert value.tolist() == before


def test_a_contiguous_tensor_is_not_copied() -> None:
    whole = grid(1000, 400)

    for value in (whole, whole[300:500], whole.to(torch.bfloat16), whole > 3, torch.nn.Parameter(whole)):
        buffer = buffer_of(value, apart=True)
        assert isinstance(buffer, pickle.PickleBuffer)
        assert memory(np.frombuffer(buffer, np.uint8)) == memory(value)


def test_few_bytes_stand_in_the_pickle() -> None:
    few, many = torch.zeros(FEW, dtype=torch.uint8), torch.zeros(FEW + 1, dtype=torch.uint8)

    assert type(buffer_of(few, apart=True)) is bytearray
    assert type(buffer_of(many, apart=True)) is pickle.PickleBuffer
    assert type(buffer_of(many, apart=False)) is bytearray


def test_a_tensor_that_is_a_buffer_can_still_be_resized() -> None:
    """Not so after `Tensor.numpy()`, which is a change that pickling must not make."""
    value = torch.zeros(FEW + 1, dtype=torch.uint8)

    del_later = buffer_of(value, apart=True)

    assert value.untyped_storage().resizable()
    del del_later
    assert value.resize_(2 * FEW).shape == (2 * FEW,)


def test_a_buffer_holds_the_memory_that_it_shows() -> None:
    value = torch.full((FEW + 1,), 7, dtype=torch.uint8)
    storage = weakref.ref(value.untyped_storage())
    buffer = buffer_of(value, apart=True)

    del value
    gc.collect()
    assert set(bytes(buffer)) == {7}

    del buffer
    gc.collect()
    assert storage() is None


@pytest.mark.parametrize("size", [FEW + 1, 100_003, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 5])
def test_what_is_copied_starts_where_a_cache_line_or_a_huge_page_does(size: int) -> None:
    value = torch.arange(size, dtype=torch.int64).to(torch.uint8)

    made = tensor_of("uint8", (size,), buffer_of(value, apart=True), copied=True)

    assert torch.equal(made, value)
    assert made.data_ptr() % (HUGE_PAGE if size >= HUGE_PAGE else 64) == 0


# --- views ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("kept", [bytes, bytearray], ids=["read-only", "writable"])
def test_a_view_is_the_memory_that_was_given(name: str, kept: Any) -> None:
    value = of_dtype(DTYPES[name][0], 4, FEW)
    given = kept(bits(value))

    made = tensor_of(name, (4, FEW), given, copied=False)

    assert memory(made) == memory(np.frombuffer(given, np.uint8))
    assert made.dtype is value.dtype
    assert bits(made) == bits(value)


def test_a_view_holds_what_it_is_a_view_of() -> None:
    class Given(bytearray):
        """A bytearray that can be watched."""

    given = Given(b"\x07" * 100)
    watched = weakref.ref(given)
    made = tensor_of("uint8", (100,), memoryview(given).toreadonly(), copied=False)

    del given
    gc.collect()
    assert made.tolist() == [7] * 100

    del made
    gc.collect()
    assert watched() is None


def test_what_is_not_aligned_is_copied_also_for_a_view() -> None:
    given = memoryview(b"?" + bits(grid(4)))[1:]

    made = tensor_of("float32", (4,), given, copied=False)

    assert made.tolist() == [0, 1, 2, 3]
    assert made.data_ptr() % 4 == 0


# --- what is not the bytes of such a tensor ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "buffer"),
    [
        ("float32", (4,), bytes(15)),
        ("float32", (4,), bytes(17)),
        ("float32", (-1,), bytes(4)),
        ("float32", (2**62, 4), bytes(16)),
        ("float32", (2**40,), bytes(16)),
        ("float32", ("4",), bytes(16)),
        ("float32", (4,), "text"),
        ("float32", (4,), None),
        ("float32", (8,), memoryview(bytes(64))[::2]),
        ("float33", (4,), bytes(16)),
        (["float32"], (4,), bytes(16)),
        ("qint8", (16,), bytes(16)),
    ],
)
@pytest.mark.parametrize("copied", [True, False])
def test_other_bytes_than_those_of_the_tensor_are_refused(name: Any, shape: Any, buffer: Any, copied: bool) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, BufferError)):
        tensor_of(name, shape, buffer, copied=copied)


def test_bytes_are_never_read_as_references() -> None:
    for dtype in ("O", [("a", "i4"), ("b", "O")]):
        with pytest.raises(TypeError, match=r"^references are no bytes$"):
            array_of(np.dtype(dtype), (1,), bytes(12), copied=False)


@law
@given(st.lists(st.integers(0, 5), max_size=4), st.sampled_from(list(DTYPES)), st.booleans())
def test_any_shape_arrives(shape: list[int], name: str, copied: bool) -> None:
    value = of_dtype(DTYPES[name][0], *shape)

    made = tensor_of(name, tuple(shape), buffer_of(value, apart=True), copied=copied)

    assert made.shape == value.shape
    assert bits(made) == bits(value)


def test_zero_copy_of_the_sender_is_its_memory() -> None:
    data = DataProto.from_dict({"x": grid(300, 40)})

    with transport(zero_copy=True):
        received = travelled(data)

    assert [memory(tensor) for tensor in tensors_of(received)] == [memory(tensor) for tensor in tensors_of(data)]
