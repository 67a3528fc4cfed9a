"""A tensor's axes against declared dims: which size stands for which dim, ragged axes included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

from batchpact.schemas.expressions import Expression
from batchpact.schemas.shapes import Dim


class Lengths:
    """The sizes of a ragged axis: one length per row, known by its offsets.

    A tensor with holes, in which not every row reaches up to the next one, has `lengths` beside them.
    """

    __slots__ = ("lengths", "offsets")

    def __init__(self, offsets: torch.Tensor, lengths: torch.Tensor | None = None) -> None:
        self.offsets = offsets
        self.lengths = lengths

    def agrees(self, other: Lengths, *, values: bool = False) -> bool:
        """Whether both have the same lengths.

        Identical offsets agree. Others are compared by value where that needs no synchronisation (on the CPU), or
        where `values` allows one; on a device they are taken to agree if they have as many rows.
        """
        left, right = self.offsets, other.offsets
        if left is right and self.lengths is other.lengths:
            return True
        if left.shape != right.shape:
            return False
        if not (values or readable(left, right)):
            return True
        if self.lengths is None and other.lengths is None:
            return bool(torch.equal(left.cpu(), right.cpu()))
        return bool(torch.equal(self.per_row().cpu(), other.per_row().cpu()))

    def per_row(self) -> torch.Tensor:
        """The lengths as an int64 tensor, one per row."""
        return self.offsets.diff() if self.lengths is None else self.lengths


Size: TypeAlias = "int | Lengths"


def readable(*tensors: torch.Tensor) -> bool:
    """Whether values can be read without synchronising a device."""
    return all(tensor.device.type == "cpu" for tensor in tensors)


def same_size(left: Size, right: Size, *, values: bool = False) -> bool:
    """Whether two sizes of one dim agree; a ragged axis never agrees with a dense one."""
    if isinstance(left, Lengths):
        return isinstance(right, Lengths) and left.agrees(right, values=values)
    return left == right


def is_jagged(tensor: torch.Tensor) -> bool:
    """Whether this is a jagged nested tensor."""
    return tensor.layout is torch.jagged


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether this is an ordinary strided tensor."""
    return tensor.layout is torch.strided and not tensor.is_nested


def offsets_of(tensor: torch.Tensor) -> torch.Tensor:
    """Where each row of a jagged nested tensor starts in its values, and where the last one ends, `[rows + 1]`."""
    found: torch.Tensor = tensor.offsets()  # type: ignore[attr-defined]  # torch's stubs do not know jagged tensors
    return found


def lengths_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The length of each row of a tensor with holes, `[rows]`: there, not every row reaches up to the next one."""
    found: torch.Tensor | None = tensor.lengths()  # type: ignore[attr-defined]  # torch's stubs do not know jagged tensors
    return found


def ragged_axis(tensor: torch.Tensor) -> int:
    """The ragged axis of a jagged nested tensor."""
    return int(tensor._ragged_idx)  # type: ignore[attr-defined]  # torch has no public name for it


def axes(dims: Sequence[Dim], tensor: torch.Tensor) -> list[tuple[Dim, Size]] | None:
    """Each declared dim with its size, the axes of a `*name` left out; None if the rank does not fit.

    Reads no values: on a jagged tensor the ragged axis is given by its offsets.
    """
    rank = tensor.dim()
    many = next((at for at, dim in enumerate(dims) if dim.kind == "many"), None)
    if rank != len(dims) if many is None else rank < len(dims) - 1:
        return None
    ragged = ragged_axis(tensor) if is_jagged(tensor) else None
    shape = tensor.shape
    found: list[tuple[Dim, Size]] = []
    for at, dim in enumerate(dims):
        if dim.kind == "many":
            continue
        axis = at if many is None or at < many else rank - len(dims) + at
        found.append((dim, Lengths(offsets_of(tensor), lengths_of(tensor)) if axis == ragged else shape[axis]))
    return found


def many_axes(dims: Sequence[Dim], tensor: torch.Tensor) -> tuple[str, tuple[int, ...]] | None:
    """The name and the sizes of a `*name`, where the dims have one."""
    for at, dim in enumerate(dims):
        if dim.kind == "many" and dim.name is not None:
            return dim.name, tuple(tensor.shape[at : tensor.dim() - len(dims) + at + 1])
    return None


def expression_holds(
    expression: Expression, size: Size, sizes: dict[str, Size], *, values: bool = False
) -> bool | None:
    """Whether a size is what the expression says; None where that cannot be known.

    A single name that nothing else binds follows from the size, and is bound in `sizes`. Arithmetic on ragged dims
    holds row by row; on a device it is known only where `values` allows reading.
    """
    names = list(dict.fromkeys(expression.names()))
    unbound = expression.unbound(sizes)
    plain = {name: part for name in names if isinstance(part := sizes.get(name), int)}
    ragged = [part for part in (size, *(sizes.get(name) for name in names)) if isinstance(part, Lengths)]
    if len(unbound) > 1 or (unbound and not expression.isolates(unbound[0])):
        return None
    if not ragged and isinstance(size, int):
        if not unbound:
            return expression.evaluate(plain) == size
        found = expression.solve(unbound[0], size, plain)
        if found is not None:
            sizes[unbound[0]] = found
        return found is not None
    if len({len(part.offsets) for part in ragged}) > 1:
        return False
    if not values and not readable(*(part.offsets for part in ragged)):
        return None
    rows: dict[str, Any] = {name: _rows(sizes[name]) for name in names if name in sizes}
    if unbound:
        lengths = _solved(expression, unbound[0], _rows(size), rows)
        if lengths is not None:
            sizes[unbound[0]] = lengths
        return lengths is not None
    expected = expression.evaluate(rows)  # the same arithmetic, on rows of lengths
    return expected is not None and bool(torch.as_tensor(expected == _rows(size)).all())


def _solved(expression: Expression, name: str, size: torch.Tensor | int, rows: dict[str, Any]) -> Lengths | None:
    """The lengths of a name that is isolated, from those of the whole; None where no whole numbers fit."""
    rest, more = expression.evaluate({**rows, name: 0}), expression.evaluate({**rows, name: 1})
    if rest is None or more is None:
        return None
    total, factor = torch.as_tensor(size - rest), more - rest
    if bool((total % factor != 0).any()) or bool((total // factor < 0).any()):
        return None
    lengths = total // factor
    return Lengths(torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]))


def _rows(size: Size) -> torch.Tensor | int:
    return size.per_row().cpu() if isinstance(size, Lengths) else size
