"""Making the rows of parts equally long before they are put one below the other: by dim name, as `Pad` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

import torch
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.declared_values import misfit
from batchpact.dataproto.parts import by_kind, row_kind
from batchpact.schemas.axes import Size, is_jagged
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.policies import Pad
from batchpact.schemas.shapes import Dim
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import listed
from batchpact.schemas.violations import Violation

_Held: TypeAlias = "Sequence[tuple[int, Tensor]]"


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
    compiled = schema.__batchpact__
    made = [dict(part.tensors) for part in parts]
    violations: list[Violation] = []
    for key, place in compiled.plan.tensor_places.items():
        held = [(at, value) for at, part in enumerate(parts) if isinstance(value := part.tensors.get(key), Tensor)]
        names = {name for dim in place.dims[1:] for name in _names(dim)} & differ
        if not names or not held:
            continue
        policies = compiled.policies.get(key)
        pad = None if policies is None else policies.pad
        wrong = _refusal(key, pad, place.dims, names, held, sizes)
        if wrong is not None:
            violations.append(wrong)
        elif pad is not None:
            for at, value in held:
                made[at][key] = _longer(value, place.dims, pad, sizes[at], longest)
    return [part._replace(tensors=tensors) for part, tensors in zip(parts, made, strict=True)], violations


def _longest(sizes: Sequence[Mapping[str, Size]]) -> dict[str, int]:
    """The largest size of each dim that has a size; the lengths of a ragged axis may differ as they are."""
    longest: dict[str, int] = {}
    for known in sizes:
        for name, size in known.items():
            if isinstance(size, int):
                longest[name] = max(size, longest.get(name, 0))
    return longest


def _refusal(
    key: str, pad: Pad | None, dims: Sequence[Dim], names: set[str], held: _Held, sizes: Sequence[Mapping[str, Size]]
) -> Violation | None:
    """Why a field cannot be made longer in the dims of these names, with a way out."""
    if pad is None:
        hint = f"nothing says how to fill up {listed(sorted(names))}: declare Pad(value, side)"
        return _cannot(key, held, "one row shape", hint)
    odd = next((dim for dim in dims[1:] if names & set(_names(dim)) and _segments(dim) is None), None)
    if odd is not None:
        hint = f"nobody can say where {odd.text!r} gets longer"
        return _cannot(key, held, "a dim that is a name or a sum of names", hint)
    needed = dict.fromkeys(name for dim in dims[1:] if names & set(_names(dim)) for name in _names(dim))
    for at, _ in held:
        unknown = [name for name in needed if name not in sizes[at]]
        if unknown:
            return _cannot(key, held, f"a size for {listed(unknown)} in part {at}; no other field there has one")
    return next((problem for _, value in held if (problem := misfit(key, value, pad)) is not None), None)


def _cannot(key: str, held: _Held, expected: str, hint: str = "") -> Violation:
    actual = by_kind((at, row_kind(value)) for at, value in held)
    return Violation(code="BP042", field=key, placement="tensor", actual=actual, expected=expected, hint=hint)


def _longer(
    value: Tensor, dims: Sequence[Dim], pad: Pad, sizes: Mapping[str, Size], longest: Mapping[str, int]
) -> Tensor:
    if is_jagged(value):
        values, offsets, ragged = nested.parts(value)
        others = [(at - 1, dim) for at, dim in _axes(dims, value.dim()) if at - 1 != ragged]
        return nested.build(_longer_on(values, others, pad, sizes, longest), offsets, ragged)
    return _longer_on(value, _axes(dims, value.dim()), pad, sizes, longest)


def _axes(dims: Sequence[Dim], rank: int) -> list[tuple[int, Dim]]:
    """The axes behind the batch axis, each with its dim, as far as one has a dim of its own."""
    many = next((at for at, dim in enumerate(dims) if dim.kind == "many"), len(dims))
    return [(at if at < many else rank - len(dims) + at, dim) for at, dim in enumerate(dims) if at not in (0, many)]


def _longer_on(
    value: Tensor, axes: Sequence[tuple[int, Dim]], pad: Pad, sizes: Mapping[str, Size], longest: Mapping[str, int]
) -> Tensor:
    """A dense tensor that is made longer inside each of these axes, behind or before the part of each name."""
    for axis, dim in axes:
        segments = _segments(dim)
        if segments is None or all(sizes.get(name) in (None, longest[name]) for name in segments if name in longest):
            continue
        pieces: list[Tensor] = []
        start = 0
        for name in segments:
            size = int(name) if name.isdecimal() else cast(int, sizes[name])
            piece = value.narrow(axis, start, size)
            shape = list(value.shape)
            shape[axis] = longest.get(name, size) - size
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
