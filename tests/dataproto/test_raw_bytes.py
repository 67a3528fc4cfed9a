"""A dense tensor as its bytes: every dtype, every stride, no copy where none is needed."""

from __future__ import annotations

import pytest
import torch

from batchpact.dataproto.raw_bytes import from_bytes, to_bytes

DTYPES = sorted({found for name in dir(torch) if isinstance(found := getattr(torch, name), torch.dtype)}, key=str)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_keeps_its_bytes(dtype: torch.dtype) -> None:
    data = torch.arange(6 * dtype.itemsize).to(torch.uint8) % 2

    tensor = from_bytes(data, dtype, (2, 3))

    assert (tensor.dtype, tensor.shape) == (dtype, (2, 3))
    assert torch.equal(to_bytes(tensor), data)


def matrix() -> torch.Tensor:
    return torch.arange(12, dtype=torch.float32).reshape(3, 4)


STRIDES = {
    "contiguous": matrix(),
    "transposed": matrix().t(),
    "expanded": matrix()[:, :1].expand(3, 5),
    "every other": matrix()[::2, 1],
    "one element of a large stride": matrix().flatten()[::5][1:2],
    "one element, no axis": matrix()[1, 2],
    "no element": matrix()[:0],
    "no element, strides of 0": matrix()[:0, :1].expand(0, 5),
    "conjugated": torch.complex(matrix(), matrix()).conj(),
    "negated": torch.complex(matrix(), matrix()).conj().imag,
    "negated, one element": torch.tensor([1 + 2j]).conj().imag,
    "with a graph": matrix().requires_grad_() * 2,
}


@pytest.mark.parametrize("tensor", STRIDES.values(), ids=STRIDES.keys())
def test_every_stride_keeps_its_values(tensor: torch.Tensor) -> None:
    data = to_bytes(tensor)

    assert (data.dtype, data.dim(), data.requires_grad) == (torch.uint8, 1, False)
    assert from_bytes(data, tensor.dtype, tensor.shape).tolist() == tensor.tolist()


def test_contiguous_memory_is_shared_both_ways() -> None:
    tensor = matrix()

    from_bytes(to_bytes(tensor), torch.float32, (12,))[0] = 7

    assert tensor[0, 0] == 7
