"""Making rows equally long before they are put one below the other: by dim name, as `Pad` says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

import torch
from torch import Tensor

from batchpact.schemas import jagged
from batchpact.schemas.axes import Size, is_jagged
from batchpact.schemas.declared_values import misfit
from batchpact.schemas.policies import Pad
from batchpact.schemas.policy_specs import Policies
from batchpact.schemas.shapes import Dim
from batchpact.schemas.stores import Stores
from batchpact.schemas.tensor_place import TensorPlace
from batchpact.schemas.text import by_kind, listed
from batchpact.schemas.violations import Violation

_Held: TypeAlias = "Sequence[tuple[int, Tensor]]"


class Pieces(NamedTuple):
    """What is put together: the parts of a concat, or single rows.

    Attributes:
        lead: how many of their axes, and of the dims of their fields, are the batch axis: 1 in a part, 0 in a row.
        named: some of them in words, by their numbers.
        kind: what must be the same in all of them, in words.
    """

    lead: int
    named: Callable[[Sequence[int]], str]
    kind: Callable[[object], str]


def lengthen(
    places: Mapping[str, TensorPlace],
    policies: Mapping[str, Policies],
    parts: Sequence[Stores],
    sizes: Sequence[Mapping[str, Size]],
    longest: Mapping[str, int],
    pieces: Pieces,
) -> tuple[list[Stores], list[Violation]]:
    """Make every dim as long as it is in the part where it is longest, in all fields that have it.

    Args:
        places: the dims of each field.
        policies: the `Pad` of each field.
        parts: stores that keep to these places, each by itself.
        sizes: the size of each dim in each part.
        longest: the size that each dim gets.
        pieces: what the parts are.

    Returns:
        The parts, with new tensors where one was made longer, and what cannot be.
    """
    differ = {name for known in sizes for name, size in known.items() if size != longest.get(name, size)}
    made = [dict(part.tensors) for part in parts]
    violations: list[Violation] = []
    for key, place in places.items():
        held = [(at, value) for at, part in enumerate(parts) if isinstance(value := part.tensors.get(key), Tensor)]
        dims = [dim for _, dim in _growing(place, len(place.dims), pieces.lead)]
        names = {name for dim in dims for name in _names_in(dim)} & differ
        if not names or not held:
            continue
        declared = policies.get(key)
        pad = None if declared is None else declared.pad
        wrong = _refusal(key, pad, dims, names, held, sizes, pieces)
        if wrong is not None:
            violations.append(wrong)
        elif pad is not None:
            for at, value in held:
                made[at][key] = _longer(value, _growing(place, value.dim(), pieces.lead), pad, sizes[at], longest)
    return [part._replace(tensors=tensors) for part, tensors in zip(parts, made, strict=True)], violations


def longest_of(sizes: Sequence[Mapping[str, Size]]) -> dict[str, int]:
    """The largest size of each dim that has a size; the lengths of a ragged axis may differ as they are."""
    longest: dict[str, int] = {}
    for known in sizes:
        for name, size in known.items():
            if isinstance(size, int):
                longest[name] = max(size, longest.get(name, 0))
    return longest


def _refusal(
    key: str,
    pad: Pad | None,
    dims: Sequence[Dim],
    names: set[str],
    held: _Held,
    sizes: Sequence[Mapping[str, Size]],
    pieces: Pieces,
) -> Violation | None:
    """Why a field cannot be made longer in the dims of these names, with a way out."""
    if pad is None:
        hint = f"nothing says how to fill up {listed(sorted(names))}: declare Pad(value, side)"
        return _cannot(key, held, pieces, "one row shape", hint)
    odd = next((dim for dim in dims if names & set(_names_in(dim)) and segments_of(dim) is None), None)
    if odd is not None:
        hint = f"nobody can say where {odd.text!r} gets longer"
        return _cannot(key, held, pieces, "a dim that is a name or a sum of names", hint)
    needed = dict.fromkeys(name for dim in dims if names & set(_names_in(dim)) for name in _names_in(dim))
    for at, _ in held:
        unknown = [name for name in needed if name not in sizes[at]]
        if unknown:
            expected = f"a size for {listed(unknown)} in {pieces.named([at])}; no other field there has one"
            return _cannot(key, held, pieces, expected)
    return next((problem for _, value in held if (problem := misfit(key, value, pad)) is not None), None)


def _cannot(key: str, held: _Held, pieces: Pieces, expected: str, hint: str = "") -> Violation:
    actual = by_kind(((at, pieces.kind(value)) for at, value in held), pieces.named)
    return Violation(code="BP042", field=key, placement="tensor", actual=actual, expected=expected, hint=hint)


def _growing(place: TensorPlace, rank: int, lead: int) -> list[tuple[int, Dim]]:
    """The axes behind the batch axis that can be made longer, each with its dim, in a tensor of this rank."""
    many = next((at for at, dim in enumerate(place.dims) if dim.kind == "many"), len(place.dims))
    behind = ((at, dim) for at, dim in enumerate(place.dims) if at >= lead and at not in (many, place.ragged))
    return [(at if at < many else rank - len(place.dims) + at, dim) for at, dim in behind]


def _longer(
    value: Tensor,
    axes: Sequence[tuple[int, Dim]],
    pad: Pad,
    sizes: Mapping[str, Size],
    longest: Mapping[str, int],
) -> Tensor:
    if is_jagged(value):
        values, offsets, ragged = jagged.parts(value)
        others = [(axis - 1, dim) for axis, dim in axes]
        return jagged.build(_longer_on(values, others, pad, sizes, longest), offsets, ragged)
    return _longer_on(value, axes, pad, sizes, longest)


def _longer_on(
    value: Tensor, axes: Sequence[tuple[int, Dim]], pad: Pad, sizes: Mapping[str, Size], longest: Mapping[str, int]
) -> Tensor:
    """A dense tensor that is made longer inside each of these axes, behind or before the part of each name."""
    for axis, dim in axes:
        segments = segments_of(dim)
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


def _names_in(dim: Dim) -> Iterator[str]:
    expression = dim.as_expression()
    return iter(()) if expression is None else expression.names()


def segments_of(dim: Dim) -> list[str] | None:
    """The names, and numbers, that an axis is put together of, in their order; None for any other arithmetic."""
    parts = [part.strip() for part in dim.text.split("+")]
    return parts if all(part.isidentifier() or part.isdecimal() for part in parts) else None
