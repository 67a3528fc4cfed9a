"""Whether what one group writes can go to another one as it lies, without the controller."""

from __future__ import annotations

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.workers.cutting import group_fields
from batchpact.schemas.condition_specs import subjects_in
from batchpact.schemas.merging import DEFAULTS
from batchpact.schemas.narrowing import conditions_of
from batchpact.schemas.record import FieldSpec


def passes(writer: Boundary, reader: Boundary) -> bool:
    """Whether a stage finds in each part of another's result what it would find there if the parts had been joined.

    Not where it looks at the whole batch (groups that stay together, conditions on what the batch holds), reads more
    than the other wrote, or where joining changes a value that it reads: meta that is merged, rows that are filled up.

    Args:
        writer: the stage whose result is passed on.
        reader: the stage that gets it.
    """
    if _asks_for_names(writer, reader):
        return False
    whole = writer.spec.rows.kind in ("same", "new")
    open_ended = reader.project != "on" or reader.spec.reads.extra == "allow" or writer.spec.writes.extra == "allow"
    if group_fields(reader) or (open_ended and not whole) or _asks_the_batch(reader):
        return False
    for field in reader.spec.reads.fields:
        written = writer.spec.writes.field(field.key)
        if written is None and field.place("arg") is None and (field.required or not whole):
            return False
    read = (
        writer.spec.writes.fields if open_ended else (writer.spec.writes.field(f.key) for f in reader.spec.reads.fields)
    )
    return not any(_joined_otherwise(field) for field in read if field is not None)


def _joined_otherwise(field: FieldSpec) -> bool:
    """Whether a value of the whole is another than those of the parts."""
    if field.pad is not None or field.fill is not None:
        return True
    merged = field.merge is not None and field.merge.how != "equal"
    return field.place("meta") is not None and (merged or field.key in DEFAULTS)


def _asks_for_names(writer: Boundary, reader: Boundary) -> bool:
    """Whether nobody knows what a stage reads, or what the one before has written, without a look at the meta."""
    written = {field.key for field in reader.spec.writes.fields}
    columns = (*reader.spec.reads.columns, *reader.spec.writes.columns)
    asked = [c.named_by for c in columns if c.named_by is not None and c.named_by.source == "meta"]
    others = any(source.name not in written for source in asked)
    return others or bool(reader.spec.reads.columns or writer.spec.writes.columns)


def _asks_the_batch(reader: Boundary) -> bool:
    """Whether a condition of the stage asks what the batch holds."""
    conditions = {**conditions_of(reader.spec.reads), **conditions_of(reader.spec.writes)}
    sources = {subject.source for condition in conditions.values() for subject in subjects_in(condition)}
    return not sources <= {"config", "arg"}
