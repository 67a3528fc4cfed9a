"""What a stage returned, and what its caller gets once everything was checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batchpact.contracts.passage import Passage
from batchpact.dataproto.carriers import OURS, Carrier, carrier_of
from batchpact.dataproto.rows import Index, Rows
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError
from batchpact.schemas.instances import instance_stores
from batchpact.schemas.record import StageSpec
from batchpact.schemas.stores import Stores, rows_of
from batchpact.schemas.violations import Violation, Where

_NONE: frozenset[str] = frozenset()


def fields_of(result: Any, writes: type[BatchSchema], subject: str, where: Where) -> tuple[Stores, Index | None]:
    """The fields of a result and, where its container knows it, the origin of its rows.

    Raises:
        ContractError: if the result is no batch, whatever the severity: there is nothing to carry on with.
    """
    if isinstance(result, writes):
        return instance_stores(result), None
    carrier = carrier_of(result)
    if carrier is not None:
        return carrier.stores(result), carrier.origin(result)
    hint = f"return {writes.__qualname__}(...)" if isinstance(result, BatchSchema) else ""
    actual = f"returned {describe(result)}"
    expected = "a stage returns its Writes, a batch, None, or a tuple that starts with one"
    violation = Violation(code="BP035", field="result", actual=actual, expected=expected, hint=hint, where=where)
    raise ContractError(subject, [violation])


def outcome(
    spec: StageSpec, rewrites: frozenset[str], passage: Passage, result: Any, fields: Stores, origin: Index | None
) -> Any:
    """The result of a call, in the kind of the caller's batch.

    A function that returned its input has the caller's own batch updated; a stage with other rows gives the whole batch
    in its new rows, as a union could not join it; every other stage gives a batch of what it wrote.
    """
    carrier, batch = passage.carrier, passage.batch
    if carrier is None:
        return result
    writers = {key: spec.name for store in fields[:3] for key in store}
    if spec.rows.kind == "new":
        return _made(carrier, batch, fields, writers, _NONE)
    if spec.rows.kind != "same" and origin is not None:
        whole = carrier.take(batch, Rows(index=origin))
        return _updated(carrier, whole, spec, passage.source, fields, writers)
    if result is passage.handed:
        return _updated(carrier, batch, spec, passage.source, fields, writers)
    if carrier is OURS and _is_what_was_written(result, batch, fields):
        carrier.mark(result, writers=writers, rewrites=rewrites)
        return result
    return _made(carrier, batch, fields, writers, rewrites)


def _made(carrier: Carrier, like: Any, fields: Stores, writers: Mapping[str, str], rewrites: frozenset[str]) -> Any:
    made = carrier.make(like, fields, rows_of(fields))
    carrier.mark(made, writers=writers, rewrites=rewrites)
    return made


def _updated(
    carrier: Carrier, batch: Any, spec: StageSpec, source: Stores, fields: Stores, writers: Mapping[str, str]
) -> Any:
    carrier.put(batch, fields, [*spec.drops, *_moved(source, fields)])
    carrier.mark(batch, writers=writers, rewrites=_NONE)
    return batch


def _moved(source: Stores, fields: Stores) -> list[str]:
    """Fields that were rewritten into another store than the one they stood in."""
    moved = []
    for placement, store in fields.by_placement():
        for key in store:
            before = source.find(key)
            if before is not None and before[0] != placement:
                moved.append(key)
    return moved


def _is_what_was_written(result: Any, batch: Any, fields: Stores) -> bool:
    """Whether a result can be given to the caller as it is: a batch of its own that holds what was written only."""
    if type(result) is not type(batch) or result._handed is not None:
        return False
    if result._marks.origin is not None or result._marks.absent:  # what a stage writes is there in every row
        return False
    held = 0 if result.batch is None else len(result.batch.keys())
    return held + len(result.non_tensor_batch) + len(result.meta_info) == sum(len(store) for store in fields[:3])
