"""What one call of a function did to its batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor

from batchpact.dataproto.carriers import carrier_of
from batchpact.schemas.equality import same_memory
from batchpact.schemas.record import RowsSpec
from batchpact.schemas.stores import Stores


@dataclass
class Call:
    """A call.

    Attributes:
        name: the name of the function.
        home: its module and name.
        before: what it was given: its batch, or plain values under the names of their fields.
        held: what the batch held from which it was given that.
        looked: the names that it looked for, in their order.
        written: what it wrote.
        drops: names that are gone afterwards.
        rows: what happened to the batch axis.
        unpacked: whether it is a function of plain values.
        names: the field of a parameter that is called otherwise, for a function of plain values.
        defaults: the defaults of its arguments, where they are plain.
        more_batches: the parameters with which it was given more batches; what it does with these is not seen.
        loose: what it returned and nobody has put into a batch yet.
    """

    name: str
    home: str
    before: Stores
    held: Stores
    looked: list[str] = field(default_factory=list)
    written: Stores = field(default_factory=lambda: Stores({}, {}, {}))
    drops: tuple[str, ...] = ()
    rows: RowsSpec = field(default_factory=RowsSpec)
    unpacked: bool = False
    names: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, object] = field(default_factory=dict)
    more_batches: list[str] = field(default_factory=list)
    loose: list[object] = field(default_factory=list)

    @property
    def read(self) -> list[str]:
        """The fields that it looked at and that were there."""
        return [name for name in self.looked if self.before.find(name) is not None]

    @property
    def shape(self) -> object:
        """What tells calls apart of which one is like the other."""
        written = [tuple(store) for store in self.written[:3]]
        return self.home, tuple(self.read), *written, self.drops, self.rows

    def add_looks(self, names: Iterable[str], tensors: Mapping[str, object]) -> None:
        """What a function of plain values has looked up in a store that it was given."""
        for name in names:
            if name in tensors and name not in self.looked:
                self.looked.append(name)
                self.before.tensors[name] = tensors[name]  # type: ignore[index]  # a dict of this call's own

    def find_loose(self, stores: Stores) -> None:
        """What was returned and stands in a batch now was written by this call, under the names that it has there."""
        for value in list(self.loose):
            for placement, store in stores.by_placement():
                before = self.held.store(placement)
                keys = [
                    key for key, now in store.items() if is_same(now, value) and not is_same(before.get(key), value)
                ]
                for key in keys:
                    self.written.store(placement)[key] = value  # type: ignore[index]  # a dict of this call's own
                if keys:
                    self.loose = [other for other in self.loose if other is not value]


def is_same(left: object, right: object) -> bool:
    """Whether two values are one, or the same memory."""
    if left is right:
        return left is not None and not isinstance(left, (bool, int, float, str))
    return isinstance(left, Tensor) and isinstance(right, Tensor) and left.numel() > 0 and same_memory(left, right)


def batch_in(result: object) -> list[Any]:
    """The batch that a function returned, alone or in a tuple; an empty list where there is none."""
    values = result if isinstance(result, tuple) else (result,)
    return [value for value in values if carrier_of(value) is not None][:1]


def values_in(result: object) -> list[object]:
    """The tensors and columns that a function returned by themselves, or in a tuple, a list or a dict."""
    found = (
        [*result] if isinstance(result, (tuple, list)) else [*result.values()] if isinstance(result, dict) else [result]
    )
    return [value for value in found if isinstance(value, (Tensor, np.ndarray))]
