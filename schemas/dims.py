"""Which fields agree on the size of a dim, and which are to blame where they do not: the minority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from batchpact.schemas.axes import Lengths, Size, same_size
from batchpact.schemas.text import join_names
from batchpact.schemas.violations import DimSizes


@dataclass(slots=True)
class _Ballot:
    """The sizes seen for one dim, each with the fields that have it; `certain` is a size that was known before."""

    sizes: list[tuple[Size, list[str]]] = field(default_factory=list)
    certain: Size | None = None
    certain_from: str = ""

    def add(self, size: Size, name: str, values: bool) -> None:
        for seen, names in self.sizes:
            if same_size(seen, size, values=values):
                names.append(name)
                return
        self.sizes.append((size, [name]))


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A dim with several sizes. `right` is the index of the size that most fields have, or None at a tie."""

    name: str
    sizes: tuple[tuple[Size, tuple[str, ...]], ...]
    right: int | None
    source: str = ""

    @property
    def blamed(self) -> list[str]:
        """The fields in the minority; nobody at a tie."""
        if self.right is None:
            return []
        return [name for at, (_, names) in enumerate(self.sizes) if at != self.right for name in names]

    def majority(self) -> str:
        """`response=512 in token_level_scores and response_mask`."""
        size, names = self.sizes[self.right or 0]
        return f"{self.name}={size_text(size)} in {self.source or join_names(names)}"

    def listing(self) -> str:
        """`512 in a and b, 511 in c and d`."""
        return ", ".join(f"{size_text(size)} in {join_names(names)}" for size, names in self.sizes)


class Votes:
    """Collects which field has which size for which dim."""

    def __init__(self, given: Mapping[str, Size] | None, source: str, *, values: bool) -> None:
        self._values = values
        self._ballots: dict[str, _Ballot] = {}
        for name, size in (given or {}).items():
            self._ballots[name] = _Ballot(certain=size, certain_from=source)

    def add(self, dim: str, size: Size, name: str) -> None:
        """A field has this size for the dim."""
        self._ballots.setdefault(dim, _Ballot()).add(size, name, self._values)

    def join(self, dim: str, columns: Sequence[tuple[str, Size]]) -> None:
        """The rows of columns: they count only where one disagrees, so that other messages list tensors alone."""
        ballot = self._ballots.setdefault(dim, _Ballot())
        known = [size for size, _ in ballot.sizes] + ([] if ballot.certain is None else [ballot.certain])
        if not known or len({*known, *(rows for _, rows in columns)}) > 1:
            for name, rows in columns:
                ballot.add(rows, name, self._values)

    def sizes(self) -> dict[str, Size]:
        """The size of every dim, as most fields have it."""
        found: dict[str, Size] = {}
        for name, ballot in self._ballots.items():
            if ballot.certain is not None:
                found[name] = ballot.certain
            elif ballot.sizes:
                found[name] = max(ballot.sizes, key=lambda entry: len(entry[1]))[0]
        return found

    def disagreements(self) -> list[Disagreement]:
        """Every dim on which fields disagree, with each other or with what was known before."""
        found = []
        for name, ballot in self._ballots.items():
            entries = [(size, tuple(names)) for size, names in ballot.sizes]
            if ballot.certain is not None:
                certain = ballot.certain
                wrong = [entry for entry in entries if not same_size(entry[0], certain, values=self._values)]
                if wrong:
                    found.append(Disagreement(name, ((certain, ()), *wrong), right=0, source=ballot.certain_from))
            elif len(entries) > 1:
                counts = sorted((len(names) for _, names in entries), reverse=True)
                tie = counts[0] == counts[1]
                right = None if tie else max(range(len(entries)), key=lambda at: len(entries[at][1]))
                found.append(Disagreement(name, tuple(entries), right))
        return found

    def report(self) -> list[DimSizes]:
        """The sizes of each dim as the last line of a message shows them, the most common size first."""
        lines = []
        for name, ballot in self._ballots.items():
            entries = sorted(ballot.sizes, key=lambda entry: -len(entry[1]))
            plain = tuple((size, tuple(names)) for size, names in entries if isinstance(size, int))
            if plain:
                lines.append(DimSizes(name=name, sizes=plain))
        return lines


def size_text(size: Size) -> str:
    """A size in words; the lengths of a ragged axis are not read."""
    return "ragged lengths" if isinstance(size, Lengths) else str(size)
