"""Which fields have a size for a dim: tensors with an axis of its name, and integers that are named like it."""

from __future__ import annotations

from collections.abc import Iterable

from batchpact.schemas.record import FieldSpec, SchemaSpec
from batchpact.schemas.shapes import parse_dims


def binds_dim(field: FieldSpec) -> bool:
    """Whether a field is an integer meta field or argument: it binds the dim of its name."""
    return all(place.placement in ("meta", "arg") and place.type == "int" for place in field.places)


def bound_names(fields: Iterable[FieldSpec]) -> set[str]:
    """Every dim name that one of these fields has a size for, if it is there."""
    bound: set[str] = set()
    for field in fields:
        if binds_dim(field):
            bound.add(field.key)
        for place in field.places:
            bound.update(dim.text for dim in parse_dims(place.dims or "") if dim.kind == "name")
    return bound


def dims_of(schema: SchemaSpec) -> list[str]:
    """Every name that stands in the dims of a schema, each once; `batch` where it has no tensor."""
    places = (place for field in (*schema.fields, *schema.columns) for place in field.places)
    axes = (dim.as_expression() for place in places for dim in parse_dims(place.dims or ""))
    names = (name for axis in axes if axis is not None for name in axis.names())
    return list(dict.fromkeys(["batch", *names] if schema.axis is None else names))
