"""The three stores of a batch, and the arguments of a call, as plain mappings: what every check looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from typing_extensions import Self

from batchpact.schemas.markers import PlacementName

Column: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.generic]]"

_NONE: Mapping[str, object] = {}


def store_of(placement: PlacementName) -> PlacementName:
    """Where a batch holds what is placed so: tags, which have no store of their own, stand among the columns."""
    return "non_tensor" if placement == "tag" else placement


class Stores(NamedTuple):
    """What a batch holds, by placement. Values are whatever stands there: checking them is the plan's work."""

    tensors: Mapping[str, object]
    columns: Mapping[str, object]
    meta: Mapping[str, object]
    args: Mapping[str, object] = _NONE

    def by_placement(self) -> Iterator[tuple[PlacementName, Mapping[str, object]]]:
        """Each store under the name of its placement."""
        yield "tensor", self.tensors
        yield "non_tensor", self.columns
        yield "meta", self.meta
        yield "arg", self.args

    def store(self, placement: PlacementName) -> Mapping[str, object]:
        """The store of a placement; tags stand among the columns where a carrier has no place for them."""
        if placement == "tensor":
            return self.tensors
        if placement == "meta":
            return self.meta
        return self.args if placement == "arg" else self.columns

    def find(self, key: str) -> tuple[PlacementName, object] | None:
        """Where a name stands, with its value."""
        for placement, store in self.by_placement():
            if key in store:
                return placement, store[key]
        return None

    def names(self) -> list[str]:
        """Every name, in the order of the stores."""
        return [name for _, store in self.by_placement() for name in store]

    @classmethod
    def empty(cls) -> Self:
        """Stores without a name in them."""
        return cls({}, {}, {})


def column(values: Iterable[object]) -> Column:
    """A column with one object per row.

    `np.array(rows, dtype=object)` makes a matrix of rows that happen to have equal lengths; this never does.

    Args:
        values: one object per row; they are taken as they are.

    Returns:
        A one-dimensional object array.
    """
    rows = values if isinstance(values, Sequence) else list(values)
    return np.fromiter(rows, dtype=object, count=len(rows))


def read_only(column: np.ndarray) -> np.ndarray:
    """A view of a column into which nobody can write."""
    view: np.ndarray = column.view()
    view.flags.writeable = False
    return view


def rows_of(stores: Stores) -> int | None:
    """The number of rows, from the first tensor or column; None where a batch has neither."""
    for tensor in stores.tensors.values():
        if isinstance(tensor, torch.Tensor):
            return int(tensor.size(0))
    for column in stores.columns.values():
        if isinstance(column, np.ndarray):
            return len(column)
    return None
