"""Rules on values: finite, binary, bounds, and the types inside object cells and meta values.

These read what they check, so on a device they synchronise; they run at level `values` and when a schema is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from batchpact.schemas.axes import is_jagged, offsets_of, ragged_axis
from batchpact.schemas.batch import BatchSchema, fill
from batchpact.schemas.bounds import bounded
from batchpact.schemas.instances import make_instance
from batchpact.schemas.keys import Naming, RowNames, repeated_key
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.plan import Plan
from batchpact.schemas.python_types import mismatch
from batchpact.schemas.record import FieldSpec, RuleSpec
from batchpact.schemas.rules import broken_rule
from batchpact.schemas.stores import Column, Stores, rows_of
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation

_SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_KINDS = {float: "fiu", int: "iu", bool: "b", str: "U"}


class _Look(NamedTuple):
    """How values are looked at: at how many rows, and what names a row."""

    sample: int | None
    named: Naming


def check_values(
    schema: type[BatchSchema],
    stores: Stores,
    sample: int | None = None,
    pads: np.ndarray | None = None,
    named: Naming | None = None,
) -> list[Violation]:
    """Every broken rule, in the order of declaration; rules over several fields once each field by itself is healthy.

    Args:
        schema: the schema class.
        stores: a batch whose structure is healthy.
        sample: look at this many rows, evenly spread; all rows where None. Keys and rules over several fields are
            looked at in all rows.
        pads: which rows are padding: copies, which have the keys of other rows.
        named: says how rows are called; by their numbers and keys where None.
    """
    plan = schema.__batchpact__.plan
    look = _Look(sample, named or RowNames(plan.spec, stores))
    found: list[Violation] = []
    for spec in plan.spec.fields:
        for place in spec.places:
            value = stores.store(place.placement).get(spec.key)
            if value is not None:
                wrong = _field(plan, spec, place.placement, value, look)
                found += [violation.model_copy(update={"placement": place.placement}) for violation in wrong]
    repeated = repeated_key(plan.spec, stores, pads)
    if repeated is not None:
        found.append(repeated)
    return found or list(_row_rules(schema, stores, look.named))


def _row_rules(schema: type[BatchSchema], stores: Stores, named: Naming) -> Iterator[Violation]:
    compiled, rows = schema.__batchpact__, rows_of(stores)
    if not compiled.rules or rows is None:
        return
    instance = instance_for_rules(schema, stores)
    for spec in compiled.spec.rules:
        violation = broken_rule(spec, compiled.rules[spec.name], instance, rows, named)
        if violation is not None:
            yield violation


def instance_for_rules(schema: type[BatchSchema], stores: Stores) -> BatchSchema:
    """What the rules of a schema are asked about: an instance, with None for every field that is off."""
    instance = make_instance(schema, stores, stores.args, None)
    fill(instance, {**vars(instance), **dict.fromkeys(schema.__batchpact__.off)})
    return instance


def _field(plan: Plan, spec: FieldSpec, placement: PlacementName, value: object, look: _Look) -> Iterator[Violation]:
    if isinstance(value, Tensor):
        for rule in spec.rules:
            yield from _tensor_rule(spec, rule, value, look)
        return
    live = plan.types[spec.key].get(placement)
    full = bounded(live, spec.rules)
    if isinstance(value, np.ndarray) and placement in ("non_tensor", "tag"):
        expected = _expected(spec, placement)
        if value.dtype == object:
            yield from _cells(spec, live, full, value, look, expected)
        else:
            yield from _numeric_column(spec, live, full, value, look, expected)
        return
    wrong = mismatch(full, value)
    if wrong is not None:
        yield _violation("BP006" if mismatch(live, value) else "BP021", spec, wrong, _expected(spec, placement))


def _tensor_rule(spec: FieldSpec, rule: RuleSpec, value: Tensor, look: _Look) -> Iterator[Violation]:
    rows = _rows(len(value), look.sample)
    if is_jagged(value):
        flat, row_of = value.values().movedim(ragged_axis(value) - 1, 0), _jagged_rows(value)
        if look.sample is not None:
            chosen = torch.isin(row_of, torch.as_tensor(rows, device=row_of.device))
            flat, row_of = flat[chosen], row_of[chosen]
    else:
        row_of = torch.as_tensor(rows, device=value.device)
        flat = value if len(rows) == len(value) else value[row_of]
    holds = elements_hold(rule, flat.detach())
    if bool(holds.all()):
        return
    broken = ~holds
    bad_rows = torch.unique(row_of[broken.flatten(1).any(1) if broken.dim() > 1 else broken]).tolist()
    bad = flat.detach()[broken]
    text = f"{count(int(broken.sum()), 'element')} in {look.named(bad_rows)}; {_extreme(rule.kind, bad)}"
    yield _violation("BP021", spec, text, rule_words(rule))


def _jagged_rows(value: Tensor) -> Tensor:
    lengths = offsets_of(value).diff()
    return torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)


def _rows(length: int, sample: int | None) -> list[int]:
    if sample is None or sample >= length:
        return list(range(length))
    return sorted({round(at * (length - 1) / max(sample - 1, 1)) for at in range(sample)})


_RULES: dict[str, Callable[..., Tensor]] = {
    "finite": lambda x, _: torch.isfinite(x),
    "binary": lambda x, _: (x == 0) | (x == 1),
    "ge": torch.ge,
    "gt": torch.gt,
    "le": torch.le,
    "lt": torch.lt,
}


def elements_hold(rule: RuleSpec, elements: Tensor) -> Tensor:
    """Which elements of a tensor keep to a rule of its field."""
    return _RULES[rule.kind](elements, rule.value)


def _extreme(kind: str, bad: Tensor) -> str:
    if kind == "finite":
        nan = int(torch.isnan(bad).sum())
        return f"{nan} NaN, {bad.numel() - nan} infinite"
    worst = bad.max() if kind in ("le", "lt", "binary") else bad.min()
    value = worst.item()
    return f"the extreme is {value:.6g}" if isinstance(value, float) else f"the extreme is {value}"


def _cells(
    spec: FieldSpec, live: object, full: object, column: Column, look: _Look, expected: str
) -> Iterator[Violation]:
    rows = _rows(len(column), look.sample)
    wrong = [(row, text) for row in rows if (text := mismatch(full, column[row])) is not None]
    if wrong:
        first, text = wrong[0]
        code = "BP006" if mismatch(live, column[first]) else "BP021"
        kind = type(column[first]).__name__
        where = look.named([row for row, _ in wrong])
        yield _violation(code, spec, f"{where}: {kind}, {text}", expected)


def _numeric_column(
    spec: FieldSpec, live: object, full: object, column: Column, look: _Look, expected: str
) -> Iterator[Violation]:
    kinds = _KINDS.get(live) if isinstance(live, type) else None
    if kinds is None:
        yield from _cells(spec, live, full, column.astype(object), look, expected)
    elif column.dtype.kind not in kinds:
        yield _violation("BP006", spec, f"a column of {column.dtype.name}", expected)
    elif column.dtype.kind in "biuf":
        for rule in spec.rules:
            yield from _tensor_rule(spec, rule, torch.from_numpy(np.array(column)), look)


def _expected(spec: FieldSpec, placement: PlacementName) -> str:
    place = spec.place(placement)
    type_text = "" if place is None else f"{place.type} "
    rules = ", ".join(rule_words(rule) for rule in spec.rules)
    return f"{type_text}{'per row ' if placement in ('non_tensor', 'tag') else ''}{rules}".strip()


def rule_words(rule: RuleSpec) -> str:
    """A rule as messages print it: `>= 0`, `finite`."""
    return f"{_SIGNS[rule.kind]} {rule.value}" if rule.kind in _SIGNS else rule.kind


def _violation(code: str, spec: FieldSpec, actual: str, expected: str) -> Violation:
    return Violation(code=code, field=spec.key, actual=actual, expected=expected)
