"""Tensors as plain values: exact forms, every layout, memory of one's own, and one error for whatever is malformed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from tensordict import NonTensorData, TensorDict

from batchpact.dataproto import (
    DataProto,
    deserialize_single_tensor,
    deserialize_tensordict,
    serialize_single_tensor,
    serialize_tensordict,
)
from tests.dataproto.support import batches, function_refuses, jagged, jagged_on_2, law, plain

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

F = "float32"


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32).view(np.uint8)


def words(encoded: Any) -> Any:
    """An encoded value in which bytes are `bytes`, so that it can be compared."""
    if isinstance(encoded, np.ndarray):
        assert (encoded.dtype, encoded.ndim) == (np.uint8, 1)
        return encoded.tobytes()
    if isinstance(encoded, dict):
        return {key: words(value) for key, value in encoded.items()}
    return type(encoded)(map(words, encoded)) if isinstance(encoded, (tuple, list)) else encoded


def as_lists(encoded: Any) -> Any:
    """What a message format makes of it that knows neither tuples nor arrays."""
    if isinstance(encoded, dict):
        return {key: as_lists(value) for key, value in encoded.items()}
    return [as_lists(each) for each in encoded] if isinstance(encoded, (tuple, list)) else words(encoded)


def encoded_field(value: torch.Tensor) -> Any:
    return words(serialize_tensordict(TensorDict({"x": value}, batch_size=[value.size(0)]))[2]["x"])


def there_and_back(value: torch.Tensor) -> torch.Tensor:
    found = deserialize_tensordict(serialize_tensordict(TensorDict({"x": value}, batch_size=[value.size(0)])))["x"]
    assert isinstance(found, torch.Tensor)
    return found


# --- the form ---------------------------------------------------------------------------------------------------------


def test_a_dense_tensor_is_dtype_shape_and_bytes() -> None:
    assert words(serialize_single_tensor(torch.tensor([[1.0], [2.0]]))) == (F, (2, 1), floats(1, 2).tobytes())
    assert words(serialize_single_tensor(torch.tensor(True))) == ("bool", (), b"\x01")
    assert words(serialize_single_tensor(torch.ones(0, 3, dtype=torch.bfloat16))) == ("bfloat16", (0, 3), b"")


def test_a_batch_is_its_size_its_device_and_its_tensors() -> None:
    batch = TensorDict({"x": torch.ones(2, 3), "y": torch.zeros(2, 3, 1)}, batch_size=[2, 3])

    assert words(serialize_tensordict(batch)) == (
        (2, 3),
        None,
        {"x": (F, (2, 3), floats(*[1] * 6).tobytes()), "y": (F, (2, 3, 1), bytes(24))},
    )
    assert serialize_tensordict(batch.to("cpu"))[1] == "cpu"
    assert serialize_tensordict(TensorDict({}, batch_size=[4])) == ((4,), None, {})


NESTED: dict[str, tuple[Callable[[], torch.Tensor], Any]] = {
    "ragged on the first axis": (
        lambda: jagged([1, 2], [], dtype=torch.uint8),
        ("jagged", [("uint8", (2,), b"\1\2"), ("uint8", (0,), b"")]),
    ),
    "ragged on another axis": (
        lambda: jagged_on_2([[1, 2], [3, 4]], [[5], [6]]).to(torch.uint8),
        ("jagged", [("uint8", (2, -1), b"\1\2\3\4"), ("uint8", (2, -1), b"\5\6")]),
    ),
    "no rows": (lambda: jagged(dtype=torch.bfloat16), ("jagged", [], "bfloat16", (-1,))),
    "no rows on another axis": (
        lambda: torch.nested.nested_tensor_from_jagged(torch.ones(2, 0), torch.tensor([0]), jagged_dim=2),
        ("jagged", [], F, (2, -1)),
    ),
    "no element": (
        lambda: torch.nested.nested_tensor_from_jagged(torch.ones(0, 3), torch.tensor([0, 2, 3]), jagged_dim=2),
        ("jagged", [(F, (0, 2), b""), (F, (0, 1), b"")], F, (0, -1)),
    ),
    "strided": (
        lambda: torch.nested.nested_tensor([torch.tensor([[1, 2]]), torch.tensor([[3], [4]])], dtype=torch.uint8),
        ("strided", [("uint8", (1, 2), b"\1\2"), ("uint8", (2, 1), b"\3\4")]),
    ),
    "strided without rows": (lambda: torch.nested.nested_tensor([], dtype=torch.int64), ("strided", [], "int64", ())),
}


@pytest.mark.parametrize(("make", "form"), NESTED.values(), ids=NESTED.keys())
def test_a_nested_tensor_is_its_layout_and_its_rows(make: Callable[[], torch.Tensor], form: Any) -> None:
    tensor = make()

    assert encoded_field(tensor) == form

    back = there_and_back(tensor)

    assert (back.layout, back.dtype, back.dim()) == (tensor.layout, tensor.dtype, tensor.dim())
    assert getattr(back, "_ragged_idx", None) == getattr(tensor, "_ragged_idx", None)
    assert [row.tolist() for row in back.unbind(0)] == [row.tolist() for row in tensor.unbind(0)]


def test_rows_of_equal_length_keep_their_ragged_axis() -> None:
    """Cases J2 and J3: the axis is never told from the data."""
    for tensor in (jagged_on_2([[1, 2], [3, 4]]), jagged([1, 2], [3, 4])):
        assert there_and_back(tensor)._ragged_idx == tensor._ragged_idx  # type: ignore[attr-defined]


def test_a_jagged_tensor_with_holes_arrives_without_them() -> None:
    tensor = torch.nested.nested_tensor_from_jagged(
        torch.arange(6), torch.tensor([0, 3, 6]), lengths=torch.tensor([1, 2])
    )

    assert [row.tolist() for row in there_and_back(tensor).unbind(0)] == [[0], [3, 4]]


@law
@given(batches())
def test_every_batch_goes_there_and_back(data: DataProto) -> None:
    if data.batch is not None:
        before = plain(data)

        back = deserialize_tensordict(serialize_tensordict(data.batch))

        assert plain(DataProto(back, data.non_tensor_batch, data.meta_info)) == before == plain(data)
        assert plain(DataProto(deserialize_tensordict(as_lists(serialize_tensordict(data.batch))))) == plain(
            DataProto(back)
        )


# --- memory -----------------------------------------------------------------------------------------------------------


def test_bytes_share_the_memory_of_the_tensor() -> None:
    tensor = torch.ones(3)

    data = serialize_single_tensor(tensor)[2]

    assert data.ctypes.data == tensor.data_ptr()


def test_the_tensor_stays_as_it_is() -> None:
    """Also in that its memory can grow: it could not any more if numpy had been given it."""
    tensor = torch.ones(3)

    serialize_single_tensor(tensor)
    serialize_tensordict(TensorDict({"x": tensor}, batch_size=[3]))

    assert tensor.resize_(1000).shape == (1000,)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, np.uint8)])
def test_what_was_read_has_memory_of_its_own(kind: Any) -> None:
    given = bytearray(floats(1, 2).tobytes())

    tensor = deserialize_single_tensor((F, (2,), kind(given)))
    given[:] = bytes(8)
    tensor += 1

    assert tensor.tolist() == [2.0, 3.0]
    assert bytes(given) == bytes(8)


def test_rows_that_were_read_have_memory_of_their_own() -> None:
    given = bytearray(floats(1, 2).tobytes())

    for layout in ("jagged", "strided"):
        back = deserialize_tensordict(((1,), "cpu", {"x": (layout, [(F, (2,), given)])}))
        back["x"].unbind(0)[0].add_(1)
        assert back["x"].unbind(0)[0].tolist() == [2.0, 3.0]
        assert back.device == torch.device("cpu")

    assert bytes(given) == floats(1, 2).tobytes()


# --- what cannot be written -------------------------------------------------------------------------------------------


def test_a_single_tensor_is_dense_and_has_its_values() -> None:
    for odd, words in (
        (jagged([1]), "i64[1, jagged]"),
        (torch.ones(2).to_sparse(), "f32[2]"),
        (torch.ones(2, device="meta"), "f32[2]"),
        ([1.0], "list of 1"),
    ):
        with function_refuses(
            "serialize_single_tensor",
            f"BP045 store  obj  {words}; a dense tensor with its values; "
            "serialize_tensordict takes nested tensors, in a TensorDict",
        ):
            serialize_single_tensor(odd)  # type: ignore[arg-type]


def test_a_batch_of_something_else_is_refused_by_name() -> None:
    odd = TensorDict(
        {
            "ok": torch.ones(2),
            "meta": NonTensorData(data={"a": 1}, batch_size=[2]),
            "inner": TensorDict({"x": torch.ones(2)}, batch_size=[2]),
            "sparse": torch.ones(2).to_sparse(),
        },
        batch_size=[2],
    )

    with function_refuses(
        "serialize_tensordict",
        "BP045 store  meta    NonTensorData; tensors alone, dense or nested, with their values",
        "BP045 store  inner   TensorDict; tensors alone, dense or nested, with their values",
        "BP045 store  sparse  f32[2]; tensors alone, dense or nested, with their values",
    ):
        serialize_tensordict(odd)
    with function_refuses("serialize_tensordict", "BP045 store  batch  dict of 1; a TensorDict"):
        serialize_tensordict({"x": torch.ones(2)})  # type: ignore[arg-type]
