"""What of a stage's Reads TransferQueue holds, and where: columns to fetch; tags and meta that are here already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.queue.held import Held, column_words
from batchpact.schemas.declared import either, placement_words
from batchpact.schemas.names import closest
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.violations import Violation

_STORED = ("tensor", "non_tensor")


@dataclass(slots=True)
class Request:
    """What a stage is to be handed of the rows.

    Attributes:
        columns: what is fetched.
        tags: the names of the tags that become columns of the batch.
        meta: the names of the meta values.
        open: declared columns that not all rows have, or none.
        violations: what stands elsewhere than it is declared, or not in all rows.
    """

    columns: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    meta: list[str] = field(default_factory=list)
    open: list[FieldSpec] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    @property
    def open_keys(self) -> list[str]:
        """The names of the columns that not all rows have, or none."""
        return [spec.key for spec in self.open]


def request(boundary: Boundary, held: Held) -> Request:
    """Find the fields that a stage reads; a stage that is handed everything gets all that the rows have."""
    made = Request()
    for spec in boundary.spec.reads.fields:
        _find(spec, held, made)
    if boundary.handing.everything:
        declared = {spec.key for spec in boundary.spec.reads.fields}
        made.columns += [key for key in held.columns if key not in declared]
        taken = {*declared, *made.columns}
        made.tags += [key for key in _tags_of_all(held) if key not in taken]
        made.meta += [key for key in held.extra if key not in {*taken, *made.tags}]
    return made


def _find(spec: FieldSpec, held: Held, made: Request) -> None:
    key = spec.key
    for place in spec.places:
        if place.placement == "meta" and key in held.extra:
            made.meta.append(key)
        elif place.placement in _STORED and key in held.columns:
            made.columns.append(key)
        elif place.placement == "tag" and any(key in tags for tags in held.tags):
            made.tags.append(key)
            without = [row for row, tags in enumerate(held.tags) if key not in tags]
            if without:
                made.violations.append(not_in_all(spec, held, without))
        else:
            continue
        return
    if any(place.placement == "arg" for place in spec.places):  # the call may bring it
        return
    elsewhere = _elsewhere(key, held)
    if elsewhere is not None:
        tag = key not in held.extra and (spec.place("tag") is not None or key not in held.columns)
        hint = "a tag and a column are two places in TransferQueue; where it may be either, declare both" if tag else ""
        made.violations.append(_violation("BP003", spec, elsewhere, placement_words(spec), hint))
    elif any(place.placement in _STORED for place in spec.places):
        made.open.append(spec)
    else:
        made.violations += missing([spec], held)


def missing(fields: Sequence[FieldSpec], held: Held) -> list[Violation]:
    """Required fields that no row has, with the closest name that the rows do have."""
    names = held.stores().names()
    place = "" if held.partition is None else f"partition '{held.partition}'"
    found = []
    for spec in fields:
        if spec.required and spec.source is None:
            match = closest(spec.key, names)
            hint = f"no name in {place or 'the rows'} is close" if match is None else f"closest name there: '{match}'"
            if not held.by_key:
                hint += "; ask for it in the data_fields of get_meta"
            found.append(_violation("BP001", spec, "", either(spec), hint))
    return found


def partly(fields: Sequence[FieldSpec], held: Held, lacking: Mapping[str, Sequence[int]]) -> list[Violation]:
    """Fields that some rows have and others lack: an optional one, too, is there or it is not."""
    return [not_in_all(spec, held, lacking[spec.key]) for spec in fields if spec.key in lacking]


def not_in_all(spec: FieldSpec, held: Held, rows: Sequence[int]) -> Violation:
    """A field that these rows lack."""
    actual = f"{held.rows_in_words(rows)} {'lacks' if len(rows) == 1 else 'lack'} it"
    hint = "put it for them, or call the stage with the keys that have it"
    return _violation("BP054", spec, actual, f"declared {either(spec)}", hint)


def _elsewhere(key: str, held: Held) -> str | None:
    """Where a name stands that is not where it is declared, in words."""
    if key in held.columns:
        return f"{column_words(held.columns[key])} in TransferQueue"
    if any(key in tags for tags in held.tags):
        return "a tag in TransferQueue"
    return "a value in extra_info, one for the batch" if key in held.extra else None


def _tags_of_all(held: Held) -> list[str]:
    first = held.tags[0] if held.tags else {}
    return [key for key in first if all(key in tags for tags in held.tags)]


def _violation(code: str, spec: FieldSpec, actual: str, expected: str, hint: str) -> Violation:
    placement = spec.places[0].placement
    return Violation(code=code, field=spec.key, placement=placement, actual=actual, expected=expected, hint=hint)
