"""Statements between stages under contract: the block that `StageSchema.on` opens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from tensordict import TensorDictBase

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.dump.saving import Broken
from batchpact.contracts.passage import Passage
from batchpact.contracts.reporting import settle
from batchpact.contracts.variants import Variants
from batchpact.dataproto.carriers import Carrier, carrier_of
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError
from batchpact.schemas.stage import StageSchema, blocks_are_opened_by, reads_of, writes_of
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation

B = TypeVar("B")


@contextmanager
def opened(stage: type[StageSchema], batch: B, args: Mapping[str, Any], /) -> Iterator[B]:
    """`StageSchema.on`: check the reads, let the block work on the caller's own batch, check what it did to it."""
    spec, carrier = stage.__batchpact__, carrier_of(batch)
    if carrier is None:
        expected = "a block works on a DataProto, a TensorDict or verl's DataProto"
        raise _wrong_block(spec.name, "batch", f"opened on {describe(batch)}", expected)
    if spec.rows.kind != "same":
        expected = "a block writes into the rows that are there; put a function under @stage"
        raise _wrong_block(spec.name, "batch", f"it declares rows = '{spec.rows}'", expected)
    unknown = next((name for name in args if name not in _arguments(stage)), None)
    if unknown is not None:
        raise _wrong_block(spec.name, unknown, "given to a block", "its Reads declare no such argument")
    variants, kwargs = _contract(stage), dict(args)  # type: ignore[arg-type]  # a class is hashable
    boundary = variants.of(batch, (batch,), kwargs) if variants.conditional else variants.whole
    source = carrier.stores(batch)
    passage = boundary.enter(batch, (batch,), kwargs, lambda: source)
    block: _Block = _Watched(carrier, passage) if isinstance(batch, TensorDictBase) else _Exchanged(passage)
    names = carrier.stores(batch).names()
    try:
        yield batch
    except BaseException:
        block.end()
        raise
    passage.handed = block.end()
    _check_taken_out(boundary, passage, names, carrier.stores(passage.handed))
    boundary.leave(passage, passage.handed, whole=isinstance(batch, TensorDictBase))


class _Block(Protocol):
    """How the caller's batch is lent to a block."""

    def end(self) -> Any:
        """Give the batch back what it held before; returns a batch of the same kind with what it held at the end."""


class _Exchanged:
    """A `DataProto`, ours or verl's: for the length of the block it holds what would be handed to a stage."""

    def __init__(self, passage: Passage) -> None:
        self._lent, self._handed = passage.batch, passage.handed
        self._kept = dict(vars(self._lent))
        # Ours makes its stores when somebody first looks at them, from the batch as it is then.
        _ = self._handed.batch, self._handed.non_tensor_batch, self._handed.meta_info
        _become(self._lent, vars(self._handed))

    def end(self) -> Any:
        _become(self._handed, vars(self._lent))
        _become(self._lent, self._kept)
        return self._handed


class _Watched:
    """A `TensorDict`, which has no stores that could be exchanged: it is compared with what it was."""

    def __init__(self, carrier: Carrier, passage: Passage) -> None:
        self._carrier, self._lent = carrier, passage.batch
        self._kept = dict(self._lent.items())
        given = passage.filled.together()
        if given:
            carrier.put(self._lent, Stores({}, {}, given), ())

    def end(self) -> Any:
        held = self._carrier.copy(self._lent)
        now = dict(self._lent.items())
        if list(now) != list(self._kept) or any(now[key] is not value for key, value in self._kept.items()):
            for key in now:
                self._lent.pop(key)
            for key, value in self._kept.items():
                self._lent.set(key, value)
        return held


def _become(batch: Any, state: Mapping[str, Any]) -> None:
    """Give a batch the state of another; it stays the object that it is."""
    state = dict(state)
    vars(batch).clear()
    vars(batch).update(state)


def _check_taken_out(boundary: Boundary, passage: Passage, before: list[str], now: Stores) -> None:
    """A field that was taken out would be back: what leaves the batch is declared."""
    given = passage.filled.together()
    gone = [key for key in before if now.find(key) is None and key not in {*given, *boundary.spec.drops}]
    if gone and passage.level != "off":
        found = [
            Violation(
                code="BP031",
                field=key,
                actual="taken out of the batch",
                expected="the drops of the stage do not name it",
                hint=f"declare drops = ({key!r},)",
            )
            for key in gone
        ]
        saving = Broken(boundary, passage, "writes", now).saving()
        passage.found += settle(boundary.on_writes, boundary.ending, found, [], passage.settings, saving)


@lru_cache(maxsize=1024)
def _contract(stage: type[StageSchema]) -> Variants:
    """The contract of the blocks of a stage, compiled once."""
    spec, reads, writes = stage.__batchpact__, reads_of(stage), writes_of(stage)
    boundary = Boundary(spec, reads, writes, stage, typed=False, parameters={}, level=None, project="on")
    boundary.ending = f"where the block of stage '{spec.name}' ends"
    return Variants(boundary)


def _arguments(stage: type[StageSchema]) -> set[str]:
    return {field.name for field in stage.__batchpact__.reads.fields if field.place("arg") is not None}


def _wrong_block(stage: str, field: str, actual: str, expected: str) -> ContractError:
    violation = Violation(code="BP036", field=field, actual=actual, expected=expected)
    return ContractError(f"where a block of stage '{stage}' begins", [violation])


blocks_are_opened_by(opened)
