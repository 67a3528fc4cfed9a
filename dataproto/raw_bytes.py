"""A dense tensor as its bytes, and back: neither numpy nor every collective knows all of torch's dtypes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def to_bytes(tensor: Tensor) -> Tensor:
    """The bytes of a dense tensor on its device, `[bytes]`; they share its memory where it is contiguous."""
    whole = tensor.detach().resolve_conj().resolve_neg().contiguous()
    # The further axis has a stride of 1; the last one of a contiguous tensor may have any, if it has one element.
    return whole.unsqueeze(-1).view(torch.uint8).reshape(-1)


def from_bytes(data: Tensor, dtype: torch.dtype, shape: Sequence[int]) -> Tensor:
    """The dense tensor of these bytes, in the same memory."""
    return data.view(dtype).view(tuple(shape))
