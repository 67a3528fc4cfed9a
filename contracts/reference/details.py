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
    yield from (text for text in policies(field).values() if text)


def policies(field: FieldSpec) -> dict[str, str]:
    """What becomes of the field when batches are joined, made longer or filled up; empty where nothing is said."""
    return {"role": _role(field), "merge": _merge(field), "pad": _pad(field), "fill": _fill(field)}


def _role(field: FieldSpec) -> str:
    if field.role is None:
        return ""
    return "a key: no two rows have the same" if field.role == "key" else "a group: rows may share it"


def _merge(field: FieldSpec) -> str:
    merge = field.merge
    if merge is None:
        return ""
    deviation = " and ".join(
        f"{name}={value}" for name, value in (("rtol", merge.rtol), ("atol", merge.atol)) if value is not None
    )
    by = f" ({deviation or merge.policy_of})" if deviation or merge.policy_of else ""
    return f"merged by {merge.how}{by}"


def _pad(field: FieldSpec) -> str:
    return "" if field.pad is None else f"padded with {_value(field.pad.value)} {_side(field.pad)}"


def _fill(field: FieldSpec) -> str:
    return "" if field.fill is None else f"filled with {_value(field.fill.value)} in rows that do not have it"


def _side(pad: PadSpec) -> str:
    if isinstance(pad.side, str):
        return f"on the {pad.side}"
    return "on the " + ", ".join(f"{side} along {dim}" for dim, side in sorted(pad.side.items()))


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
