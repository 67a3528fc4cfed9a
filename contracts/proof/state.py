"""What a batch holds at one point of a pipeline, as far as declarations tell, in which configurations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from batchpact.schemas.expressions import Expression
from batchpact.schemas.record import FieldSpec

INPUTS = "the inputs"


@dataclass(frozen=True, slots=True)
class Held:
    """A field at one point of a pipeline: who wrote it, as what, and its axes, where they are known.

    `stage` is the number of the writer among the stages; -1 for the inputs. `repeated` is the stage that has since made
    several rows of one, if one did. A field that is not required may be absent.
    """

    writer: str
    field: FieldSpec
    axes: tuple[Expression | None, ...] | None = None
    stage: int = -1
    repeated: str = ""


@dataclass(slots=True)
class Snapshot:
    """What a batch holds in configurations that differ in nothing that matters here.

    Attributes:
        held: the fields.
        batch: what the batch axis stands for.
        opened: whether it may hold fields that no stage declares.
    """

    held: dict[str, Held]
    batch: Expression | None
    opened: bool = False


@dataclass(slots=True)
class State:
    """What a batch holds in all configurations: each field with the sets of points in which it is which.

    The sets of one key do not overlap; where none of them is, the field is not there. `lost` says of what was there
    and is gone what became of it, and where; `opened` are the points in which somebody wrote fields that nothing
    declares.
    """

    fields: dict[str, list[tuple[int, Held]]] = field(default_factory=dict)
    batches: list[tuple[int, Expression | None]] = field(default_factory=list)
    lost: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    opened: int = 0

    def where(self, key: str) -> tuple[int, int]:
        """The points in which a field is there for certain, and those in which it may be."""
        certain = maybe = 0
        for points, held in self.fields.get(key, ()):
            if held.field.required:
                certain |= points
            else:
                maybe |= points
        return certain, maybe

    def groups(self, points: int, keys: Iterable[str]) -> list[int]:
        """A set of points cut into parts in each of which these fields, and the batch axis, are one and the same."""
        parts = _cut([points], [chosen for chosen, _ in self.batches])
        parts = _cut(parts, [self.opened])
        for key in keys:
            parts = _cut(parts, [chosen for chosen, _ in (*self.fields.get(key, ()), *self.lost.get(key, ()))])
        return parts

    def snapshot(self, points: int, keys: Iterable[str]) -> Snapshot:
        """What the batch holds in a part that `groups` has made, as far as these keys go."""
        held = {}
        for key in keys:
            for chosen, found in self.fields.get(key, ()):
                if chosen & points:
                    held[key] = found
        batch = next((expression for chosen, expression in self.batches if chosen & points), None)
        return Snapshot(held, batch, bool(points & self.opened))

    def set(self, points: int, key: str, held: Held | None) -> None:
        """From here on the field is this one in some points, or gone."""
        if key in self.lost:
            self.lost[key] = [(left, how) for chosen, how in self.lost[key] if (left := chosen & ~points)]
        kept = [(left, found) for chosen, found in self.fields.get(key, ()) if (left := chosen & ~points)]
        if held is not None:
            for at, (chosen, found) in enumerate(kept):
                if found == held:
                    kept[at] = (chosen | points, found)
                    break
            else:
                kept.append((points, held))
        self.fields[key] = kept

    def lose(self, points: int, key: str, how: str) -> None:
        """From here on the field is gone in some points."""
        self.set(points, key, None)
        self.lost[key] = [*self.lost.get(key, ()), (points, how)]

    def how_lost(self, points: int, key: str) -> str:
        """What became of a field that is not there; empty where it never was."""
        return next((how for chosen, how in self.lost.get(key, ()) if chosen & points), "")

    def set_batch(self, points: int, expression: Expression | None) -> None:
        """From here on the batch axis stands for this in some points."""
        kept = [(left, found) for chosen, found in self.batches if (left := chosen & ~points)]
        self.batches = [*kept, (points, expression)]


def _cut(parts: list[int], sets: list[int]) -> list[int]:
    """Parts cut along sets that do not overlap; what is in none of them is a part, too."""
    if all(part & chosen in (0, part) for chosen in sets for part in parts):
        return parts
    cut = []
    for part in parts:
        rest = part
        for chosen in sets:
            inside = rest & chosen
            if inside:
                cut.append(inside)
                rest &= ~inside
        if rest:
            cut.append(rest)
    return cut
