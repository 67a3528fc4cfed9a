"""Merging `meta_info`: equal where present, `metrics` collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from batchpact.dataproto.equality import difference
from batchpact.schemas.violations import Violation

METRICS = "metrics"


def merge_meta(metas: Sequence[Mapping[str, object]]) -> tuple[dict[str, object], list[Violation]]:
    """The meta of a concat: every key that a part has; values that differ between parts are violations.

    `metrics` is collected as verl does it: the dicts of all parts become one dict of lists. A value that is a list
    already is extended, so that collecting twice does not nest. What all parts hold by identity is carried.
    """
    merged: dict[str, object] = {}
    first: dict[str, int] = {}
    violations: list[Violation] = []
    collected = [meta[METRICS] for meta in metas if meta.get(METRICS) is not None]
    carried = len(metas) > 1 and all(meta.get(METRICS) is metas[0].get(METRICS) for meta in metas)
    for part, meta in enumerate(metas):
        for key, value in meta.items():
            if key == METRICS and not carried:
                merged[key] = collect(collected) if collected else None
            elif key not in merged:
                merged[key], first[key] = value, part
            elif (where := difference(merged[key], value)) is not None:
                violations.append(
                    Violation(
                        code="BP041",
                        field=key,
                        placement="meta",
                        actual=f"part {first[key]} and part {part} differ: {where}",
                        expected="one value for the batch",
                    )
                )
    return merged, violations


def collect(parts: Sequence[object]) -> object:
    """Metrics of several parts as one dict of lists; a metric that a part lacks is simply shorter.

    A single part that is no dict, or a list of dicts, is kept in its kind.
    """
    entries: list[object] = []
    for part in parts:
        entries.extend(part if isinstance(part, list) else [part])
    if not all(isinstance(entry, Mapping) for entry in entries):
        return entries
    lists: dict[str, list[object]] = {}
    for entry in entries:
        if isinstance(entry, Mapping):
            for name, value in entry.items():
                lists.setdefault(name, []).extend(value if isinstance(value, list) else [value])
    return lists
