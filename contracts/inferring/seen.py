"""A field as it was seen: its value in each of the batches that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import Stores


class Unread:
    """Stands for a value that was not read: a pickled one in a file."""


@dataclass(slots=True)
class Seen:
    """A field in all batches that hold it.

    Attributes:
        key: its key.
        values: its values, by the number of the batch.
        places: where it stands, by the number of the batch.
        optional: why it may be absent, in words; empty where it never was.
        when: the source of the condition under which it is there, if one is known.
        default: the source of its default, if it has one.
        source: the path of the configuration that fills it, if one is known.
    """

    key: str
    values: dict[int, object] = field(default_factory=dict)
    places: dict[int, PlacementName] = field(default_factory=dict)
    optional: str = ""
    when: str = ""
    default: str = ""
    source: str = ""

    def add(self, batch: int, placement: PlacementName, value: object) -> None:
        """The field stands in this batch."""
        self.values[batch] = value
        self.places[batch] = placement

    def placed(self, placement: PlacementName) -> dict[int, object]:
        """Its values in one store, by the number of the batch."""
        return {batch: value for batch, value in self.values.items() if self.places[batch] == placement}

    def stores(self, batch: int) -> Stores:
        """A batch that holds nothing else."""
        made: dict[PlacementName, dict[str, object]] = {"tensor": {}, "non_tensor": {}, "meta": {}, "arg": {}}
        made[self.places[batch]][self.key] = self.values[batch]
        return Stores(made["tensor"], made["non_tensor"], made["meta"], made["arg"])


def seen_in(batches: Sequence[Stores]) -> list[Seen]:
    """Every field of these batches, in the order of the stores and of its first appearance."""
    found: dict[str, Seen] = {}
    for placement in ("tensor", "non_tensor", "meta"):
        for number, stores in enumerate(batches):
            for key, value in stores.store(placement).items():
                if isinstance(key, str):
                    found.setdefault(key, Seen(key)).add(number, placement, value)
    for seen in found.values():
        if len(seen.values) < len(batches):
            seen.optional = f"in {len(seen.values)} of {len(batches)} batches"
    return list(found.values())
