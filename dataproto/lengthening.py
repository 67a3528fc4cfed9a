"""Making the rows of parts equally long before they are put one below the other: by dim name, as `Pad` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import torch
from torch import Tensor

from batchpact.schemas.axes import Size, is_dense
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.describe import describe
from batchpact.schemas.policies import Pad
from batchpact.schemas.shapes import Dim
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import listed
from batchpact.schemas.violations import Violation


def lengthen(
    schema: type[BatchSchema], parts: Sequence[Stores], sizes: Sequence[Mapping[str, Size]]
) -> tuple[list[Stores], list[Violation]]:
    """Make every dim as long as it is in the part where it is longest, in all fields that have it.

    Args:
        schema: says the dims and the `Pad` of each field.
        parts: stores that keep to the schema, each by itself.
        sizes: the size of each dim in each part.

    Returns:
        The parts, with new tensors where one was made longer, and what cannot be.
    """
    longest = _longest(sizes)
    differ = {name for known in sizes for name, size in known.items() if size != longest.get(name, size)}
    if not differ:
        return list(parts), []
    compiled = schema.__batchpact__
    made = [dict(part.tensors) for part in parts]
    violations: list[Violation] = []
    for key, place in compiled.plan.tensor_places.items():
        held = [(at, value) for at, part in enumerate(parts) if isinstance(value := part.tensors.get(key), Tensor)]
        policies = compiled.policies.get(key)
        pad = None if policies is None else policies.pad
        named = {name for dim in place.dims[1:] for name in _names(dim)} & differ
        if not named or not held:
            continue
        wrong = _refusal(pad, place.dims, named)
        if wrong is not None:
            shown = ", ".join(f"{describe(value)} in part {at}" for at, value in held[:3])
            violations.append(
                Violation(code="BP042", field=key, placement="tensor", actual=shown, expected=wrong[0], hint=wrong[1])
            )
        elif pad is not None:
            for at, value in held:
                if is_dense(value):
                    made[at][key] = _longer(value, place.dims, pad, sizes[at], longest)
    if violations:
        return list(parts), violations
    return [part._replace(tensors=tensors) for part, tensors in zip(parts, made, strict=True)], []


def _longest(sizes: Sequence[Mapping[str, Size]]) -> dict[str, int]:
    """The largest size of each dim that has a size; the lengths of a ragged axis may differ as they are."""
    longest: dict[str, int] = {}
    for known in sizes:
        for name, size in known.items():
            if isinstance(size, int):
                longest[name] = max(size, longest.get(name, 0))
    return longest


def _refusal(pad: Pad | None, dims: Sequence[Dim], named: set[str]) -> tuple[str, str] | None:
    """Why a field cannot be made longer in these dims, with a way out."""
    if pad is None:
        return "one row shape", f"nothing says how to fill up {listed(sorted(named))}: declare Pad(value, side)"
    for dim in dims[1:]:
        if named & set(_names(dim)) and _segments(dim) is None:
            return "a dim that is a name or a sum of names", f"nobody can say where {dim.text!r} gets longer"
    return None


def _longer(
    value: Tensor, dims: Sequence[Dim], pad: Pad, sizes: Mapping[str, Size], longest: Mapping[str, int]
) -> Tensor:
    for axis, dim in enumerate(dims):
        segments = _segments(dim) if axis else None
        if segments is None or all(sizes.get(name) == longest.get(name) for name in segments):
            continue
        pieces: list[Tensor] = []
        start = 0
        for name in segments:
            size = int(name) if name.isdecimal() else cast(int, sizes[name])
            gap = 0 if name.isdecimal() else longest[name] - size
            piece = value.narrow(axis, start, size)
            shape = list(value.shape)
            shape[axis] = gap
            filler = value.new_full(shape, cast(float, pad.value))
            pieces += [filler, piece] if pad.side_of(name) == "left" else [piece, filler]
            start += size
        value = torch.cat(pieces, dim=axis)
    return value


def _names(dim: Dim) -> Iterator[str]:
    expression = dim.as_expression()
    return iter(()) if expression is None else expression.names()


def _segments(dim: Dim) -> list[str] | None:
    """The names, and numbers, that an axis is put together of, in their order; None for any other arithmetic."""
    parts = [part.strip() for part in dim.text.split("+")]
    return parts if all(part.isidentifier() or part.isdecimal() for part in parts) else None
