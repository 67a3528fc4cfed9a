"""What a dump says beside the batch: the broken contract, its violations, and the place."""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator

from batchpact.contracts.settings import Level
from batchpact.schemas.catalogue import CODES
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.record import Record, StageSpec
from batchpact.schemas.text import join_names, listed
from batchpact.schemas.violations import DimSizes, Violation

RECORD = "_batchpact_dump"
"""The meta value that holds the record, as JSON text."""

BESIDE = "_batchpact_dump_beside"
"""The meta value that holds the fields for which the saved batch has no place, by `Part` and placement."""

Part = Literal["read", "returned", "brought", "filled"]
"""What the caller's batch holds, what the stage returned, what the call brought, and the meta that was filled in."""

Container = Literal["DataProto", "TensorDict", "verl", "Reads"]


class LeftOut(Record):
    """A field that was not saved, and why not."""

    part: Part
    placement: PlacementName
    key: str
    why: str

    def __str__(self) -> str:
        return f"{self.key} ({self.part}, {self.placement}): {self.why}"


class DumpRecord(Record):
    """A broken boundary, as data.

    Attributes:
        version: of this form.
        stage: the record of the stage, as it counted for the call.
        boundary: on which side it broke.
        subject: where it broke, in words.
        violations: everything that was wrong.
        dims: the sizes that were seen, where sizes matter.
        level: what was checked.
        sizes: the dims that were known before, where it is the result that was checked; without ragged ones.
        history: what is known of each name, in words.
        container: what the stage was called with.
        returned: what the stage returned, in words, by the keys of the fields.
        left_out: the fields that were not saved.
        step: the batch's `global_steps`.
        rank: the rank of the process, or of the worker.
        node: its machine.
        process: its id.
        time: when it broke, in UTC.
    """

    version: Literal[1] = 1
    stage: StageSpec
    boundary: Literal["reads", "writes"]
    subject: str
    violations: tuple[Violation, ...]
    dims: tuple[DimSizes, ...] = ()
    level: Level
    sizes: dict[str, int] | None = None
    history: dict[str, str]
    container: Container
    returned: dict[str, str]
    left_out: tuple[LeftOut, ...] = ()
    step: int | None = None
    rank: int | None = None
    node: str
    process: int
    time: str

    @field_validator("violations")
    @classmethod
    def _codes_are_known(cls, violations: tuple[Violation, ...]) -> tuple[Violation, ...]:
        """A later version has codes that this one cannot explain."""
        unknown = [violation.code for violation in violations if violation.code not in CODES]
        if unknown:
            raise ValueError(f"{join_names(unknown)} {'is' if len(unknown) == 1 else 'are'} not known")
        return violations

    def about(self) -> list[str]:
        """Where and when it broke, what the stage returned and what was left out, in words, a line each."""
        known = {"step": self.step, "rank": self.rank, "node": self.node, "process": self.process}
        place = [f"{name} {value}" for name, value in known.items() if value is not None]
        lines = [
            f"  where     {', '.join([self.stage.qualname, *place])}",
            f"  when      {self.time}, level {self.level}",
        ]
        if self.returned:
            told = [f"{key} {text}" for key, text in self.returned.items()]
            lines.append(f"  returned  {listed(told)}")
        return [*lines, *(f"  left out  {left}" for left in self.left_out)]
