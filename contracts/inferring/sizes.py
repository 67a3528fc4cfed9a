"""Which name stands for which size, in each of several batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from batchpact.contracts.inferring.seen import Seen
from batchpact.schemas.axes import Size, axes, expression_holds, same_size
from batchpact.schemas.expressions import Expression
from batchpact.schemas.shapes import Dim

Sizes: TypeAlias = "Mapping[int, Size]"
"""The size of an axis, by the number of the batch."""


def sizes_of(seen: Seen, dims: Sequence[Dim]) -> list[tuple[Dim, Sizes]]:
    """The size of each of these dims but the batch axis, in all batches where the field is a tensor."""
    found: list[tuple[Dim, dict[int, Size]]] = [(dim, {}) for dim in dims[1:] if dim.kind != "many"]
    for batch, tensor in seen.placed("tensor").items():
        sizes = axes(dims, tensor) or ()  # type: ignore[arg-type]  # whoever asks has looked
        for (_, held), (_, size) in zip(found, sizes[1:], strict=False):
            held[batch] = size
    return [*found]


def agree(left: Sizes, right: Sizes) -> bool:
    """Whether two axes have the same size in all batches that have both."""
    return all(same_size(size, right[batch], values=True) for batch, size in left.items() if batch in right)


class Names:
    """What each name is in each batch."""

    def __init__(self) -> None:
        self._sizes: dict[str, dict[int, Size]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def bind(self, name: str, sizes: Sizes) -> bool:
        """A name has these sizes; False, and nothing is bound, where it has others."""
        known = self._sizes.get(name, {})
        if not agree(sizes, known):
            return False
        self._sizes[name] = {**sizes, **known}
        return True

    def of(self, name: str) -> Sizes:
        """The size of a name, in each batch where something has it."""
        return self._sizes.get(name, {})

    def alike(self, sizes: Sizes) -> list[str]:
        """The names that have these sizes, in all of these batches."""
        return [name for name, held in self._sizes.items() if held.keys() >= sizes.keys() and agree(sizes, held)]

    def unbound(self, expression: Expression) -> list[str]:
        """The names of an expression that nothing has a size for."""
        return expression.unbound(self._sizes)

    def holds(self, expression: Expression, sizes: Sizes) -> bool:
        """Whether an axis is what an expression says; the one name that nothing else binds follows from it."""
        solved: dict[str, dict[int, Size]] = {}
        for batch, size in sizes.items():
            known = {name: held[batch] for name, held in self._sizes.items() if batch in held}
            before = set(known)
            if expression_holds(expression, size, known, values=True) is False:
                return False
            for name in known.keys() - before:
                if not known[name]:
                    return False  # nothing is left for it
                solved.setdefault(name, {})[batch] = known[name]
        return all(self.bind(name, found) for name, found in solved.items())
