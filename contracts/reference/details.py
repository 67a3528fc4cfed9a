"""What a declaration says of a field beside its place: its values, where it comes from, and its policies, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator

from batchpact.schemas.record import FieldSpec, PadSpec
from batchpact.schemas.values import rule_words


def details(field: FieldSpec) -> Iterator[str]:
    """What there is to say, each in a few words: `finite`, `padded with 0 on the left`, `a key`."""
    yield from (rule_words(rule) for rule in field.rules)
    if field.nullable:
        yield "may be None"
    if field.default is not None:
        yield f"default {_value(field.default)}"
    if field.source is not None:
        yield f"filled from {field.source}"
    if field.same_as is not None:
        yield f"the same values as {field.same_as}"
    if field.role is not None:
        yield "a key: no two rows have the same" if field.role == "key" else "a group: rows may share it"
    yield from policies(field)


def policies(field: FieldSpec) -> Iterator[str]:
    """What becomes of the field when batches are joined, made longer or filled up."""
    if field.merge is not None:
        merge = field.merge
        deviation = " and ".join(
            f"{name}={value}" for name, value in (("rtol", merge.rtol), ("atol", merge.atol)) if value is not None
        )
        by = f" ({deviation or merge.policy_of})" if deviation or merge.policy_of else ""
        yield f"merged by {merge.how}{by}"
    if field.pad is not None:
        yield f"padded with {_value(field.pad.value)} {_side(field.pad)}"
    if field.fill is not None:
        yield f"filled with {_value(field.fill.value)} in rows that do not have it"


def _side(pad: PadSpec) -> str:
    if isinstance(pad.side, str):
        return f"on the {pad.side}"
    return "on the " + ", ".join(f"{side} along {dim}" for dim, side in sorted(pad.side.items()))


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
