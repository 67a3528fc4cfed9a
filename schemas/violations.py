"""One broken declaration as data: what the checks collect, what errors hold and what reports print."""

from __future__ import annotations

from typing import Literal, TypeAlias

from batchpact.schemas.markers import PlacementName
from batchpact.schemas.record import Record

Severity: TypeAlias = Literal["error", "warning", "ignore"]


class Where(Record):
    """The place of a violation: as much of it as is known.

    `part` numbers the parts of a concat or a chunk; lines and columns count from 1.
    """

    pipeline: str | None = None
    stage: str | None = None
    boundary: str | None = None
    rank: int | None = None
    part: int | None = None
    step: int | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None


class Violation(Record):
    """One problem.

    `code` is stable and explained in the catalogue. `expected` and `actual` are short texts; `hint` says what to do.
    A violation never holds a tensor or any other part of a batch.
    """

    code: str
    field: str
    placement: PlacementName | None = None
    expected: str = ""
    actual: str = ""
    hint: str = ""
    where: Where = Where()
    severity: Severity = "error"

    def at(self, where: Where) -> Violation:
        """The same violation with the parts of `where` that are known filled in."""
        known = where.model_dump(exclude_none=True)
        return self.model_copy(update={"where": self.where.model_copy(update=known)})


class DimSizes(Record):
    """The sizes that were seen for one dim, each with the fields that have it, in the order of declaration."""

    name: str
    sizes: tuple[tuple[int, tuple[str, ...]], ...]
