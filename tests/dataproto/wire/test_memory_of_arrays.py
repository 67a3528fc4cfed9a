"""The memory of numpy arrays: columns of every dtype, however they lie in memory."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from batchpact.dataproto import DataProto
from batchpact.dataproto.wire.memory import FEW, buffer_of_array
from batchpact.dataproto.wire.packing import is_bytes
from tests.dataproto.wire.ways import WAYS, memory, overlap, travelled

way = pytest.mark.parametrize("way", WAYS)

ARRAYS: dict[str, Callable[[], np.ndarray]] = {
    "numbers": lambda: np.arange(6, dtype=np.int16).reshape(3, 2),
    "other byte order": lambda: np.arange(3, dtype=">i4"),
    "half precision": lambda: np.array([0.5, np.nan, -0.0], np.float16),
    "long double": lambda: np.array([1, 2, 3], np.longdouble) / 3,
    "complex": lambda: np.array([1j, 2, 3], np.complex64),
    "booleans": lambda: np.array([True, False, True]),
    "text": lambda: np.array(["a", "\udce4", "\0b"], "U5"),
    "bytes": lambda: np.array([b"a", b"", b"\0b"], "S5"),
    "dates": lambda: np.array(["2024-02-29", "NaT", "1969-12-31"], "M8[D]"),
    "durations": lambda: np.array([1, 2, 3], "m8[ms]"),
    "records": lambda: np.array([(1, 2.5, "x"), (2, 0, "y"), (3, -1, "")], [("a", "i2"), ("b", "f8"), ("c", "U3")]),
    "aligned records": lambda: np.zeros(3, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    "void": lambda: np.zeros(3, "V3"),
    "read-only": lambda: read_only(np.arange(3)),
    "Fortran order": lambda: np.asfortranarray(np.arange(6).reshape(3, 2)),
    "backwards": lambda: np.arange(6)[::-2],
    "broadcast": lambda: np.broadcast_to(np.arange(2), (3, 2)),
    "no columns": lambda: np.zeros((3, 0), np.float32),
    "text of no length": lambda: np.zeros(3, "U0"),
    "masked": lambda: np.ma.masked_array([1, 2, 3], [False, True, False]),
    "records with an object": lambda: np.array([(1, "x"), (2, [3]), (3, None)], [("a", "i2"), ("b", "O")]),
}


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@way
@pytest.mark.parametrize("repeated", [1, 6000], ids=["few", "many"])
@pytest.mark.parametrize("name", ARRAYS)
def test_columns_of_every_dtype_arrive(name: str, repeated: int, way: str) -> None:
    column = np.concatenate([ARRAYS[name]()] * repeated) if repeated > 1 else ARRAYS[name]()
    before, writeable = elements(column), column.flags.writeable
    data = DataProto(None, {"x": column})

    received = travelled(data, way).non_tensor_batch["x"]

    assert (received.dtype, received.shape, type(received)) == (column.dtype, column.shape, type(column))
    assert elements(received) == before == elements(column)
    assert data.non_tensor_batch["x"] is column
    assert column.flags.writeable is writeable
    if is_bytes(column):
        assert received.flags.writeable
        assert not overlap(memory(received), memory(np.ascontiguousarray(column)))


def elements(array: np.ndarray) -> object:
    return array.tolist() if array.dtype.names or np.ma.isMaskedArray(array) else array.tobytes()


def test_a_contiguous_array_is_not_copied() -> None:
    for array in (np.zeros(FEW + 1, np.uint8), np.zeros((FEW, 2), "M8[s]"), read_only(np.zeros(FEW))):
        buffer = buffer_of_array(array, apart=True)
        assert isinstance(buffer, pickle.PickleBuffer)
        assert memory(np.frombuffer(buffer, np.uint8)) == memory(array)
