"""Open columns whose names a result tells: the contract that counts for it.

What the batch, the call and the configuration say about names, `variants.py` asks before the stage runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from batchpact.contracts.origins import FromRows
from batchpact.contracts.passage import Passage
from batchpact.schemas.columns import look_up_names, names_in
from batchpact.schemas.condition_specs import SubjectSpec
from batchpact.schemas.narrowing import narrowed
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation

if TYPE_CHECKING:
    from batchpact.contracts.boundary import Boundary


def settled(boundary: Boundary, passage: Passage, result: Any, *, guess: bool = False) -> Boundary:
    """The contract that counts for a result, which may say what the open columns that it has are called.

    Args:
        boundary: the contract of the call.
        passage: the call.
        result: what the stage returned.
        guess: where nobody says it, the columns are what the contract does not declare, if they are of one kind.

    Raises:
        ContractError: if the result is no batch.
    """
    if not boundary.unnamed or result is None:
        return boundary
    returned = result.result if isinstance(result, FromRows) else result
    fields, _ = boundary.returned_fields(passage, returned)
    own = [key for key in fields.names() if key not in boundary.read_keys and key not in boundary.writers]
    meta = {**passage.source.meta, **fields.meta}
    return under_names(boundary, meta, own if guess and len(boundary.unnamed) == 1 else None)


def under_names(boundary: Boundary, meta: Mapping[str, object], otherwise: Sequence[str] | None = None) -> Boundary:
    """The contract where this meta says what the open columns of the result are called; or `otherwise` does."""

    def look_up(source: SubjectSpec) -> object:
        found = look_up_names(meta, source)
        return otherwise if found is None else found

    names = names_in(boundary.spec.writes, boundary.unnamed, look_up)
    told = tuple(names.values())
    made = boundary.named.get(told)
    if made is None:
        writes = narrowed(boundary.writes, {}, names)
        wrong = [found for found in told if isinstance(found, Violation)]
        made = boundary.named[told] = boundary.narrowed(boundary.reads, writes, misnamed=(), wrong_names=wrong)
    return made


def rewritten(boundary: Boundary, held: Stores, gained: Stores) -> frozenset[str]:
    """The keys that a stage has rewritten: what it wrote of what it read, open columns among it.

    Args:
        boundary: the contract of the stage.
        held: the batch that it read.
        gained: what it wrote.
    """
    columns = boundary.spec.reads.columns
    if not (columns or boundary.spec.writes.columns):
        return boundary.rewrites
    names = names_in(boundary.spec.reads, columns, partial(look_up_names, boundary.arguments.meta(held)))
    read = {field.key for field in narrowed(boundary.reads, {}, names).__batchpact__.spec.fields}
    return frozenset(read.intersection(gained.names()))
