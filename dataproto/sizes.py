"""How many bytes fields take."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from batchpact.schemas.axes import is_jagged, offsets_of


def tensor_bytes(tensors: Mapping[str, object]) -> int:
    """The bytes of the elements of these tensors; an expanded tensor counts as what it would be when written out."""
    return sum(_bytes(tensor) for tensor in tensors.values() if isinstance(tensor, torch.Tensor))


def _bytes(tensor: torch.Tensor) -> int:
    if is_jagged(tensor):
        return _bytes(tensor.values()) + _bytes(offsets_of(tensor))
    if tensor.is_nested:
        return sum(_bytes(part) for part in tensor.unbind(0))
    return tensor.numel() * tensor.element_size()
