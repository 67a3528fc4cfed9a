"""Bytes of fields: of the elements, not of the pointers or of the storage behind a view."""

from __future__ import annotations

import pytest
import torch

from batchpact.dataproto.sizes import tensor_bytes
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
