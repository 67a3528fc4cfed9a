"""What is known about the sizes of a sample before they are chosen: from its fields, and from what is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from batchpact.contracts.testing import numbers
from batchpact.contracts.testing.asked import Asked
from batchpact.contracts.testing.choosing import Chosen
from batchpact.contracts.testing.overrides import Held
from batchpact.contracts.testing.sizes import Wanted
from batchpact.contracts.testing.twins import Twins
from batchpact.contracts.testing.unmeetable import Unmeetable, refusal
from batchpact.schemas.axes import axes, many_axes
from batchpact.schemas.dim_names import dims_of
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.tensor_place import TensorPlace

_ROWS = 4
"""The rows of a sample for which nobody says how many they are."""

Places = Mapping[str, TensorPlace]


def known_sizes(chosen: Chosen, asked: Asked, places: Places, given: Mapping[str, Held], twins: Twins) -> Wanted:
    """What the sizes of a sample have to agree with.

    Args:
        chosen: the fields of the sample, its meta and its arguments.
        asked: rows, dims, and rows that are given.
        places: the dims of the fields that are tensors, by key.
        given: the fields that are given as a whole, by key.
        twins: the fields that have the same values, and so the same sizes.

    Raises:
        SampleError: for a field that is dense and ragged at once, or twins that are laid out differently.
    """
    spec = chosen.schema.__batchpact__.spec
    wanted = Wanted(spec.axis or "batch")
    for key, place in places.items():
        wanted.add(key, place)
    for name, size in asked.dims.items():
        wanted.know(name, size, "by dims")
    for field in chosen.fields:
        value = chosen.meta.get(field.key, chosen.args.get(field.key))
        if type(value) is int and field.key in dims_of(spec):
            wanted.know(field.key, value, f"as the value of {field.key}")
    for field in chosen.open:
        try:
            wanted.limit(field.key, *numbers.integer_range(field.rules, lowest=0))
        except Unmeetable as error:
            raise refusal(spec.name, [field], error) from None
    for members in twins:
        _want_twins(wanted, members, places, spec.name)
    rows_are_known = _see_given(wanted, places, given)
    _see_rows(wanted, places, asked)
    first = dims_of(spec)[0] if spec.axis is None else _first_name(spec.axis)
    if asked.rows is not None:
        wanted.know(first, asked.rows, "by batch")
    elif not rows_are_known and first not in asked.dims:
        wanted.know(first, _ROWS, "by default")
    return wanted


def _want_twins(wanted: Wanted, members: Sequence[FieldSpec], places: Places, schema: str) -> None:
    first, *others = members
    one = places.get(first.key)
    for field in others:
        other = places.get(field.key)
        alike = one is None and other is None
        if one is not None and other is not None:
            alike = one.ragged == other.ragged and len(one.dims) == len(other.dims)
            if alike:
                wanted.same((first.key, one), (field.key, other))
        if not alike:
            error = Unmeetable(f"{first.key} and {field.key} are laid out differently")
            raise refusal(schema, members, error, "twins are alike")


def _see_given(wanted: Wanted, places: Places, given: Mapping[str, Held]) -> bool:
    """Tell the sizes of what is given as a whole; whether there is any."""
    for key, value in given.items():
        place = places.get(key)
        if not isinstance(value, Tensor) or place is None:
            wanted.know_rows(len(value), f"in {key}")
        elif (found := axes(place.dims, value)) is not None:
            for dim, size in found:
                wanted.see(dim, size, f"in {key}")
            several = many_axes(place.dims, value)
            if several is not None:
                wanted.has_many(*several)
    return bool(given)


def _see_rows(wanted: Wanted, places: Places, asked: Asked) -> None:
    """Tell the sizes of rows that are given."""
    for key, cells in asked.overrides.rows.items():
        place = places.get(key)
        for row, cell in cells.items():
            if place is None or not isinstance(cell, Tensor) or cell.dim() != len(place.dims) - 1:
                continue
            source = f"in row {row} of {key}"
            for at, (dim, size) in enumerate(zip(place.dims[1:], cell.shape, strict=True), start=1):
                expression = dim.as_expression()
                if expression is not None and at == place.ragged:
                    wanted.see_row(row, expression, size, source)
                else:
                    wanted.see(dim, size, source)


def _first_name(axis: str) -> str:
    words = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in axis).split()
    return next(word for word in words if word.isidentifier())
