"""What the tests share: how a drafted record differs from one that was written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from batchpact.schemas.record import FieldSpec, SchemaSpec, StageSpec

FACTS = ("rows", "drops", "pad_safe", "graph", "layouts", "when")


def differences(hand: StageSpec, drafted: StageSpec) -> list[str]:
    """Everything in which a draft says something else, but for names and descriptions."""
    found = [f"{fact}: {getattr(drafted, fact)}" for fact in FACTS if getattr(hand, fact) != getattr(drafted, fact)]
    return [
        *found,
        *(f"reads {text}" for text in schema_differences(hand.reads, drafted.reads)),
        *(f"writes {text}" for text in schema_differences(hand.writes, drafted.writes)),
    ]


def schema_differences(hand: SchemaSpec, drafted: SchemaSpec) -> Iterator[str]:
    """The same for two schemas."""
    ours, theirs = by_key(hand), by_key(drafted)
    for key in ours | theirs:
        if key not in theirs:
            yield f"{key}: {'argument ' if ours[key].place('arg') else ''}left out"
        elif key not in ours:
            yield f"{key}: added"
        else:
            yield from (f"{key}: {part}" for part in parts(ours[key], theirs[key]))
    if hand.extra != drafted.extra:
        yield f"extra: {drafted.extra}"


def parts(ours: FieldSpec, theirs: FieldSpec) -> list[str]:
    return [
        name
        for name in type(ours).model_fields
        if name not in ("name", "description") and getattr(ours, name) != getattr(theirs, name)
    ]


def by_key(schema: SchemaSpec) -> Mapping[str, FieldSpec]:
    return {field.key: field for field in (*schema.fields, *schema.columns)}
