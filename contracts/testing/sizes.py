"""The sizes of all axes of a sample: of dense dims once, of ragged ones row by row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from batchpact.contracts.testing.equations import Equation, Problem, contradiction, solve
from batchpact.contracts.testing.unmeetable import SampleError, unmeetable
from batchpact.schemas.axes import Lengths, Size
from batchpact.schemas.expressions import Expression
from batchpact.schemas.jagged import offsets_of_lengths
from batchpact.schemas.shapes import Dim, parse_dims
from batchpact.schemas.tensor_place import TensorPlace
from batchpact.schemas.text import join_names

Lines = np.ndarray
"""One integer per row."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one sample.

    Attributes:
        rows: the size of axis 0.
        dims: the size of each dense dim, by name.
        lengths: the sizes of each ragged dim, one per row.
        real: how much of a padded dim is no padding, one per row.
        many: the sizes of each `*name`.
    """

    rows: int
    dims: Mapping[str, int]
    lengths: Mapping[str, Lines] = field(default_factory=dict)
    real: Mapping[str, Lines] = field(default_factory=dict)
    many: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def by_name(self) -> dict[str, Size]:
        """The size of each dim, as a check takes it."""
        ragged = {name: torch.from_numpy(lengths) for name, lengths in self.lengths.items()}
        return {**self.dims, **{name: Lengths(offsets_of_lengths(lengths)) for name, lengths in ragged.items()}}

    def size(self, expression: Expression) -> int:
        """The size of a dense axis."""
        known = {**self.dims, **{name: int(lengths[0]) for name, lengths in self.lengths.items() if self.rows}}
        return max(expression.evaluate({name: known.get(name, 0) for name in expression.names()}) or 0, 0)

    def row_sizes(self, expression: Expression) -> Lines:
        """The sizes of a ragged axis, one per row."""
        rows = ({name: int(lengths[row]) for name, lengths in self.lengths.items()} for row in range(self.rows))
        return np.array([expression.evaluate({**self.dims, **row}) or 0 for row in rows], dtype=np.int64)


class Wanted:
    """What is known about the sizes of a sample, collected field by field."""

    def __init__(self, axis: str) -> None:
        self._axis = axis
        self._dense: list[Equation] = []
        self._axes: dict[str, Expression] = {}
        self._ragged_axes: dict[str, Expression] = {}
        self._ranges: dict[str, tuple[int, int]] = {}
        self._named: dict[str, tuple[str, str]] = {}
        self._rows_by_row: dict[int, list[Equation]] = {}
        self._many: dict[str, tuple[int, ...]] = {}
        self._axes[axis] = parse_dims(axis)[0].as_expression() or Expression.name(axis)

    def know(self, name: str, size: int, source: str) -> None:
        """A dim has a size."""
        self._dense.append(Equation(Expression.name(name), size, source))

    def know_rows(self, rows: int, source: str) -> None:
        """Axis 0 has a size."""
        self._dense.append(Equation(self._axes[self._axis], rows, source))

    def limit(self, name: str, low: int, high: int) -> None:
        """A dim is the value of a field, whose rules leave these."""
        self._ranges[name] = (low, high)

    def has_many(self, name: str, sizes: tuple[int, ...]) -> None:
        """The axes of a `*name` have these sizes."""
        self._many.setdefault(name, sizes)

    def add(self, key: str, place: TensorPlace) -> None:
        """A field stands in the sample.

        Raises:
            SampleError: if a dim is ragged here and dense in another field.
        """
        for at, dim in enumerate(place.dims):
            expression = dim.as_expression()
            if expression is None:
                continue
            ragged = at == place.ragged
            (self._ragged_axes if ragged else self._axes)[dim.text] = expression
            if dim.kind == "name" and dim.name is not None:
                kind, other = self._named.setdefault(dim.name, ("ragged" if ragged else "dense", key))
                if kind != ("ragged" if ragged else "dense"):
                    actual = f"{dim.name} is {kind} in {other} and {'ragged' if ragged else 'dense'} in {key}"
                    raise SampleError("where sizes are chosen", [unmeetable(dim.name, actual, "one layout")])

    def see(self, dim: Dim, size: Size, source: str) -> None:
        """A field that is given has this size in an axis."""
        expression = dim.as_expression()
        if expression is None:
            return
        if isinstance(size, Lengths):
            for row, length in enumerate(size.per_row().tolist()):
                self.see_row(row, expression, length, source)
        else:
            self._dense.append(Equation(expression, size, source))

    def see_row(self, row: int, expression: Expression, size: int, source: str) -> None:
        """A row that is given has this size in a ragged axis."""
        self._rows_by_row.setdefault(row, []).append(Equation(expression, size, source))

    def same(self, left: tuple[str, TensorPlace], right: tuple[str, TensorPlace]) -> None:
        """Two fields are twins: their axes have the same sizes."""
        source = f"as {left[0]} and {right[0]} are twins"
        for at, (one, other) in enumerate(zip(left[1].dims, right[1].dims, strict=True)):
            first, second = one.as_expression(), other.as_expression()
            if first is not None and second is not None and first != second and at != left[1].ragged:
                self._dense.append(Equation(first + -second, 0, source))

    def choose(self, rng: np.random.Generator, padded: Collection[str], *, even: bool) -> Sizes:
        """Sizes for everything.

        Args:
            rng: what decides.
            padded: the names of dims in which rows may end in padding.
            even: whether all rows are equally long.

        Raises:
            SampleError: with what cannot hold together.
        """
        ragged = self._ragged_names()
        clash = [equation for equation in self._dense if not ragged.isdisjoint(equation.expression.names())]
        if clash:
            names = ", ".join(dict.fromkeys(name for equation in clash for name in equation.expression.names()))
            raise _impossible(names, [*map(str, clash), "its rows are ragged"])
        dense = [axis for axis in self._axes.values() if ragged.isdisjoint(axis.names())]
        problem = Problem([name for name in self._names() if name not in ragged], self._dense, dense, self._ranges)
        dims = solve(problem, rng)
        if dims is None:
            raise _unsolved(problem, rng)
        rows = self._axes[self._axis].evaluate(dims) or 0
        return self.redrawn(Sizes(rows, dims, many=self._many), rng, padded, even=even)

    def redrawn(self, sizes: Sizes, rng: np.random.Generator, padded: Collection[str], *, even: bool) -> Sizes:
        """The same dims with other lengths of rows; where a dense axis depends on these, with the same ones."""
        ragged = self._ragged_names()
        mixed = [axis for axis in self._axes.values() if not ragged.isdisjoint(axis.names())]
        lengths = sizes.lengths
        if not (mixed and lengths):
            lengths = self._lengths(sizes, sorted(ragged), mixed, rng, even=even or bool(mixed))
        real = {name: _real(sizes.dims[name], sizes.rows, rng, even) for name in padded if name in sizes.dims}
        return replace(sizes, lengths=lengths, real=real)

    def _lengths(
        self, sizes: Sizes, names: Sequence[str], mixed: Sequence[Expression], rng: np.random.Generator, *, even: bool
    ) -> dict[str, Lines]:
        known = {name: Expression.constant(size) for name, size in sizes.dims.items()}
        axes = [axis.substitute(known) for axis in (*self._ragged_axes.values(), *mixed)]
        found: list[dict[str, int]] = []
        for row in range(sizes.rows):
            given = [e._replace(expression=e.expression.substitute(known)) for e in self._rows_by_row.get(row, ())]
            if even and found and not given:
                found.append(found[0])
                continue
            problem = Problem(names, given, axes, self._ranges)
            solved = solve(problem, rng)
            if solved is None:
                raise _unsolved(problem, rng)
            found.append(solved)
        return {name: np.array([row[name] for row in found], dtype=np.int64) for name in names}

    def _names(self) -> list[str]:
        parts = (*self._axes.values(), *self._ragged_axes.values(), *(equation.expression for equation in self._dense))
        return list(dict.fromkeys(name for part in parts for name in part.names()))

    def _ragged_names(self) -> set[str]:
        """The names that have a length in each row: ragged axes, and what stands in the arithmetic of these alone."""
        fixed = {name for equation in self._dense for name in equation.expression.names()} | set(self._ranges)
        fixed |= {name for name, (kind, _) in self._named.items() if kind == "dense"}
        found = {name for axis in self._ragged_axes.values() for name in axis.names()} - fixed
        return found | {name for name, (kind, _) in self._named.items() if kind == "ragged"}


def _real(size: int, rows: int, rng: np.random.Generator, even: bool) -> Lines:
    if even or not size or not rows:
        return np.full(rows, size, dtype=np.int64)
    lengths = rng.integers(1, size, rows, endpoint=True)
    lengths[rng.integers(rows)] = size  # a batch is as long as its longest row
    return lengths


def _unsolved(problem: Problem, rng: np.random.Generator) -> SampleError:
    """The error for sizes that were not found, with the equations that are in each other's way."""
    equations = contradiction(problem, rng)
    parts = [equation.expression for equation in equations] or list(problem.axes)
    names = list(dict.fromkeys(name for part in parts for name in part.names()))
    limits = [
        f"{name} is {low} to {high} by its rules" for name, (low, high) in problem.ranges.items() if name in names
    ]
    words = (
        [*map(str, equations), *limits] if equations else [f"no sizes fit {join_names([*map(str, parts)])}", *limits]
    )
    return _impossible(", ".join(names), words)


def _impossible(names: str, words: Sequence[str]) -> SampleError:
    return SampleError("where sizes are chosen", [unmeetable(names, join_names(words), "sizes that agree")])
