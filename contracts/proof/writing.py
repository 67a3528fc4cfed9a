"""What a batch holds of a field once a stage has written it."""

from __future__ import annotations

from batchpact.contracts.proof.comparing import axis_of, is_size
from batchpact.contracts.proof.state import INPUTS, Held
from batchpact.schemas.expressions import Expression
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.shapes import parse_dims


def written(at: int, writer: str, field: FieldSpec, names: dict[str, Expression], before: Held | None) -> Held:
    """A field that was just written.

    Args:
        at: the number of the writer; -1 for the inputs.
        writer: its name.
        field: how it declares the field.
        names: what its dim names stand for; new ones are added.
        before: what the batch held under this key.
    """
    label = "inputs" if writer == INPUTS else writer
    if is_size(field):
        return Held(writer, field, (Expression.name(f"{label}.{field.key}"),), at)
    place = field.place("tensor")
    axes = None
    if place is not None:
        dims = parse_dims(place.dims or "")
        if all(dim.kind != "many" for dim in dims):
            axes = tuple(axis_of(dim, label, names) for dim in dims)
    if before is not None and before.field.required and not field.required:
        field = field.model_copy(update={"required": True})  # left out, the field is what it was before
    return Held(writer, field, axes, at)


def has_rows(held: Held) -> bool:
    """Whether a field has a value for each row."""
    return any(place.placement in ("tensor", "non_tensor", "tag") for place in held.field.places)
