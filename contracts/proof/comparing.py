"""Placements, axes and types of two declarations, held against each other and put into words."""

from __future__ import annotations

from batchpact.contracts.proof.state import INPUTS
from batchpact.schemas.declared import type_and_shape
from batchpact.schemas.expressions import Expression
from batchpact.schemas.record import FieldSpec, PlaceSpec, SchemaSpec
from batchpact.schemas.shapes import Dim, parse_dims


def ragged_axis(place: PlaceSpec) -> int | None:
    """Which axis of a jagged tensor is ragged."""
    return next((at for at, dim in enumerate(parse_dims(place.dims or "")) if dim.text == place.ragged), None)


def batch_axis(*schemas: SchemaSpec) -> Dim:
    """The dim of axis 0, by the first of the schemas that has a tensor."""
    return parse_dims(next((schema.axis for schema in schemas if schema.axis), "batch"))[0]


def axis_of(dim: Dim, writer: str, names: dict[str, Expression]) -> Expression | None:
    """What an axis that a stage writes stands for; a name that it did not read is a symbol of its own."""
    if dim.kind == "name" and dim.name is not None:
        return names.setdefault(dim.name, Expression.name(f"{writer}.{dim.name}"))
    expression = dim.as_expression()
    if expression is None:
        return None
    for name in expression.names():
        names.setdefault(name, Expression.name(f"{writer}.{name}"))
    return expression.substitute(names)


def may_agree(one: Expression, other: Expression) -> bool:
    """Whether two axes have the same size if their writers mean the same: one name, made by two stages."""
    names, others = list(one.names()), list(other.names())
    if [len(names), len(others)] != [1, 1] or Expression.name(names[0]) != one or Expression.name(others[0]) != other:
        return False
    return names[0].rpartition(".")[2] == others[0].rpartition(".")[2]


def is_size(field: FieldSpec) -> bool:
    """Whether this is an integer of the whole batch, which gives the dim of its name a size."""
    return all(place.placement == "meta" and place.type == "int" for place in field.places)


def by_words(writer: str) -> str:
    """A writer in words."""
    return INPUTS if writer == INPUTS else f"'{writer}'"


def origin_words(writer: str) -> str:
    """Where a field comes from, in words."""
    return "in the inputs" if writer == INPUTS else f"written by '{writer}'"


def has_words(writer: str, place: PlaceSpec) -> str:
    """What a writer gives, in words."""
    return f"{by_words(writer)} {'hold' if writer == INPUTS else 'writes'} {type_and_shape(place)}"


def admits(wanted: str, written: str) -> bool:
    """Whether a reader's type admits a writer's, by their outer names; generic arguments are left to run time."""
    heads = {part.strip().partition("[")[0] for part in wanted.split(" | ")}
    if heads & {"Any", "object"}:
        return True
    numbers = {"int": {"float", "complex"}, "bool": {"int", "float"}, "float": {"complex"}}
    for part in written.split(" | "):
        head = part.strip().partition("[")[0]
        if head not in heads | {"Any", "object"} and not numbers.get(head, set()) & heads:
            return False
    return True
