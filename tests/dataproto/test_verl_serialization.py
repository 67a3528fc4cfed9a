"""What verl's four functions and ours make of each other's work; where they differ on purpose, a test says so."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import TensorDict

from batchpact import dataproto
from batchpact.dataproto import DataProto
from tests.dataproto.support import batches, jagged, jagged_on_2, law, plain_tensor
from tests.dataproto.test_raw_bytes import DTYPES

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage"),
]


@pytest.fixture(scope="module")
def verl() -> Any:
    """verl's module of the container, which also has the functions."""
    return pytest.importorskip("verl.protocol")


def passed_on(value: torch.Tensor, writer: Any, reader: Any) -> torch.Tensor:
    batch = TensorDict({"x": value}, batch_size=[value.size(0)])
    found = reader.deserialize_tensordict(writer.serialize_tensordict(batch))["x"]
    assert isinstance(found, torch.Tensor)
    return found


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if not str(dtype).startswith("torch.q")], ids=str)
def test_either_reads_every_dtype_of_the_other(verl: Any, dtype: torch.dtype) -> None:
    data = torch.arange(6 * dtype.itemsize).to(torch.uint8) % 2
    tensor = data.view(dtype).view(2, 3)

    for writer, reader in ((dataproto, verl), (verl, dataproto)):
        found = reader.deserialize_single_tensor(writer.serialize_single_tensor(tensor))
        assert (found.dtype, found.shape) == (dtype, (2, 3))
        assert torch.equal(found.flatten().view(torch.uint8), data)


LAYOUTS = {
    "strides": lambda: torch.arange(6.0).reshape(2, 3).t(),
    "expanded": lambda: torch.arange(2.0).reshape(2, 1).expand(2, 3),
    "jagged": lambda: jagged([1, 2], [3]),
    "jagged, equal lengths": lambda: jagged([1, 2], [3, 4]),
    "jagged, three axes": lambda: torch.nested.nested_tensor_from_jagged(torch.ones(3, 2), torch.tensor([0, 1, 3])),
    "jagged on axis 2": lambda: jagged_on_2([[1, 2], [3, 4]], [[5], [6]]),
    "strided": lambda: torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(2, 1)], dtype=torch.bfloat16),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_either_reads_every_layout_of_the_other(verl: Any, name: str) -> None:
    value = LAYOUTS[name]()

    assert plain_tensor(passed_on(value, dataproto, verl)) == plain_tensor(value)
    assert plain_tensor(passed_on(value, verl, dataproto)) == plain_tensor(value)


@law
@given(batches(least=1))
def test_the_form_is_verls_where_verl_has_one(verl: Any, data: DataProto) -> None:
    batch = data.batch if data.batch is not None else TensorDict({}, batch_size=[1])
    kept = batch.exclude("jagged_on_2")  # its rows are marked

    ours, theirs = dataproto.serialize_tensordict(kept), verl.serialize_tensordict(copy.deepcopy(kept))

    assert ours[:2] == theirs[:2]
    assert list(ours[2]) == list(theirs[2])
    for key, encoded in ours[2].items():
        assert as_lists(encoded) == as_lists(theirs[2][key])


def as_lists(encoded: Any) -> Any:
    if isinstance(encoded, (tuple, list)):
        return [as_lists(each) for each in encoded]
    return encoded.tolist() if hasattr(encoded, "tolist") else encoded


def test_differs_verl_forgets_the_ragged_axis_of_rows_of_one_length(verl: Any) -> None:
    value = jagged_on_2([[1, 2], [3, 4]])

    assert passed_on(value, dataproto, dataproto)._ragged_idx == 2  # type: ignore[attr-defined]
    for writer, reader in ((verl, verl), (dataproto, verl), (verl, dataproto)):
        found = passed_on(value, writer, reader)
        assert found._ragged_idx == 1  # type: ignore[attr-defined]
        assert found.unbind(0)[0].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("value", [torch.ones(0, 3), torch.ones(2, 0), jagged([1], [])], ids=["rows", "row", "jagged"])
def test_differs_verl_cannot_read_a_tensor_or_row_without_elements(verl: Any, value: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="buffer length"):
        passed_on(value, verl, verl)

    assert plain_tensor(passed_on(value, verl, dataproto)) == plain_tensor(value)
    assert plain_tensor(passed_on(value, dataproto, dataproto)) == plain_tensor(value)


def test_differs_a_nested_tensor_without_rows_is_read_only_where_its_dtype_is_said(verl: Any) -> None:
    value = jagged(dtype=torch.bfloat16)

    with pytest.raises(RuntimeError, match="empty tensor list"):
        passed_on(value, verl, verl)
    with pytest.raises(ValueError, match="without rows, of unknown dtype"):
        passed_on(value, verl, dataproto)
    with pytest.raises(ValueError, match="expected length 2 or 3, got 4"):
        passed_on(value, dataproto, verl)
    assert plain_tensor(passed_on(value, dataproto, dataproto)) == plain_tensor(value)


@law
@given(device=st.sampled_from([None, "cpu"]), rows=st.integers(0, 3))
def test_device_and_batch_size_are_read_by_either(verl: Any, device: str | None, rows: int) -> None:
    batch = TensorDict({}, batch_size=[rows, 2], device=device)

    for writer, reader in ((dataproto, verl), (verl, dataproto)):
        found = reader.deserialize_tensordict(writer.serialize_tensordict(batch))
        assert (found.batch_size, found.device) == (batch.batch_size, batch.device)
