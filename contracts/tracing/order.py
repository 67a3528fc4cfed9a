"""The stages of several runs in one order, and what the loop itself writes between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeVar

from torch import Tensor

from batchpact.contracts.tracing.calls import Call
from batchpact.schemas.axes import is_jagged
from batchpact.schemas.stores import Stores

T = TypeVar("T")


class Step(NamedTuple):
    """A call, or what the loop wrote before one.

    Attributes:
        name: the name of the stage.
        home: where its function is; empty for the loop.
        call: the call; for the loop one that may have read any tensor.
    """

    name: str
    home: str
    call: Call


def steps(calls: Sequence[Call], read: Collection[str]) -> tuple[Stores, list[Step]]:
    """What a run starts with, and its steps.

    Args:
        calls: the calls of the run, in their order.
        read: the fields that any stage reads: no others are looked for between calls.
    """
    found: list[Step] = []
    start = calls[0].held if calls else Stores({}, {}, {})
    known = _kinds(start)
    for call in calls:
        new = {key for key, kind in _kinds(call.held).items() if key in read and known.get(key) != kind}
        if new:
            written = Stores(*({key: store[key] for key in store if key in new} for store in call.held[:3]))
            name = f"before_{call.name}"
            there = {key: value for key, value in call.held.tensors.items() if key in known and key not in new}
            before = Stores(there, {}, {})
            found.append(Step(name, "", Call(name, "", before, before, looked=list(there), written=written)))
            known.update(_kinds(written))
        found.append(Step(call.name, call.home, call))
        if call.rows.kind == "new":
            known.clear()
        known.update(_kinds(call.written))
        for key in call.drops:
            known.pop(key, None)
    return start, found


def _kinds(stores: Stores) -> dict[str, object]:
    return {key: _kind(value) for _, store in stores.by_placement() for key, value in store.items()}


def _kind(value: object) -> object:
    """What must not change between a stage that writes a field and one that reads it."""
    return (value.dtype, value.dim(), is_jagged(value)) if isinstance(value, Tensor) else "column or meta"


def in_order(runs: Sequence[Sequence[T]]) -> list[T]:
    """Names in the order of the runs: what only later runs have comes in front of what follows it there."""
    found: list[T] = []
    for names in runs:
        firsts = list(dict.fromkeys(names))
        for at, name in enumerate(firsts):
            if name not in found:
                place = next((found.index(other) for other in firsts[at:] if other in found), len(found))
                found.insert(place, name)
    return found
