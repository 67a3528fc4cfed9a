"""Declared places in words, as messages and docs print them."""

from __future__ import annotations

from collections.abc import Iterable

from batchpact.schemas.condition_specs import SubjectSpec
from batchpact.schemas.dtypes import short_name
from batchpact.schemas.record import FieldSpec, PlaceSpec


def type_and_shape(place: PlaceSpec) -> str:
    """`f32 "batch response"`, `non-tensor str`, `meta float`, `argument float`."""
    if place.placement == "tensor":
        ragged = "" if place.ragged is None else f" jagged on {place.ragged}"
        return f'{short_name(place.dtype or "any")} "{place.dims}"{ragged}'
    words = {"non_tensor": "non-tensor", "arg": "argument"}
    return f"{words.get(place.placement, place.placement)} {place.type}"


def either(field: FieldSpec) -> str:
    """All placements of a field: `meta float or f32 "batch"`; of a column that something names, with what does."""
    text = " or ".join(type_and_shape(place) for place in field.places)
    return text if field.named_by is None else f"{text}, named by {source_words(field.named_by)}"


def source_words(source: SubjectSpec) -> str:
    """Where the names of columns stand: `meta reward_extra_keys`, `configuration data.extra_columns`."""
    return f"configuration {source.name}" if source.source == "config" else str(source)


def sources_words(columns: Iterable[FieldSpec]) -> str:
    """Where the names of all of these columns stand; empty for no columns."""
    return " or ".join(dict.fromkeys(source_words(c.named_by) for c in columns if c.named_by is not None))


def placement_words(field: FieldSpec) -> str:
    """Where a field belongs, said so that the batch axis is clear: `meta, one for the batch`."""
    words = {
        "tensor": "tensor",
        "non_tensor": "non-tensor, one per row",
        "meta": "meta, one for the batch",
        "arg": "argument, passed with the call",
        "tag": "tag, one per row",
    }
    return " or ".join(
        type_and_shape(place) if place.placement == "tensor" else words[place.placement] for place in field.places
    )
