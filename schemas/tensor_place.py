"""A declared tensor placement, ready to be checked: dims parsed, dtypes as torch's own objects."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from batchpact.schemas.axes import is_dense, is_jagged, ragged_axis
from batchpact.schemas.dtypes import torch_dtypes
from batchpact.schemas.record import PlaceSpec
from batchpact.schemas.shapes import Dim, parse_dims


class _EveryDtype(frozenset[torch.dtype]):
    """The dtypes of `Shaped`: all of them."""

    def __contains__(self, _dtype: object) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """What a tensor must be like; `ragged` is the axis that is declared ragged, or None where it is dense."""

    dims: tuple[Dim, ...]
    dtypes: frozenset[torch.dtype]
    ragged: int | None

    @classmethod
    def of(cls, place: PlaceSpec) -> TensorPlace:
        """Read a placement's dims and dtypes."""
        dims = parse_dims(place.dims or "")
        ragged = next((at for at, dim in enumerate(dims) if dim.text == place.ragged), None)
        return cls(dims, torch_dtypes(place.dtypes) if place.dtypes else _EveryDtype(), ragged)

    def layout_fits(self, tensor: Tensor) -> bool:
        """Whether the tensor is dense, or ragged on the declared axis."""
        if self.ragged is None:
            return is_dense(tensor)
        return is_jagged(tensor) and ragged_axis(tensor) == self.ragged
