"""Rules on the values of a field: whether one set of them admits every value that another does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from batchpact.contracts.lock.relation import Relation, relation, together
from batchpact.schemas.record import RuleSpec

_BOUNDS = ("ge", "gt", "le", "lt")
_NUMERIC = (*_BOUNDS, "finite", "binary")


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers that rules admit: those between two limits, or 0 and 1 only. NaN is right where there is no rule."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False
    binary: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number is admitted."""
        if self.binary and value not in (0, 1):
            return False
        over = value > self.low if self.above else value >= self.low
        return over and (value < self.high if self.below else value <= self.high)

    @property
    def both(self) -> list[float]:
        """Which of 0 and 1 are admitted."""
        return [value for value in (0, 1) if self.holds(value)]


def values_relation(old: Sequence[RuleSpec], new: Sequence[RuleSpec], *, whole: bool) -> Relation:
    """How the values that two sets of rules admit stand to each other.

    Args:
        old: the rules of one field.
        new: the rules of the other.
        whole: whether the field holds whole numbers only, for which `ge=0, le=1` is binary.
    """
    numeric = all(_is_numeric(rule) for rule in (*old, *new))
    if not numeric:
        return _by_name(old, new)
    return relation(_numbers(old, whole), _numbers(new, whole), _admits)


def _is_numeric(rule: RuleSpec) -> bool:
    number = isinstance(rule.value, (int, float)) and not isinstance(rule.value, bool)
    return rule.kind in _NUMERIC and (number or rule.kind not in _BOUNDS)


def _by_name(old: Sequence[RuleSpec], new: Sequence[RuleSpec]) -> Relation:
    """Rules of which nothing is known but that each of them admits less than everything."""
    gone = [Relation.WIDER for rule in old if rule not in new]
    came = [Relation.NARROWER for rule in new if rule not in old]
    return together([*gone, *came])


def _numbers(rules: Iterable[RuleSpec], whole: bool) -> _Numbers:
    low, high = (-math.inf, False), (math.inf, False)
    binary = False
    for rule in rules:
        binary = binary or rule.kind == "binary"
        limit = float(rule.value) if isinstance(rule.value, (int, float)) else math.inf
        if rule.kind in ("ge", "gt"):
            low = max(low, (limit, rule.kind == "gt"))
        elif rule.kind in ("le", "lt"):
            high = min(high, (limit, rule.kind == "lt"), key=lambda found: (found[0], not found[1]))
        elif rule.kind == "finite":
            low = max(low, (-math.inf, True))
            high = min(high, (math.inf, True), key=lambda found: (found[0], not found[1]))
    numbers = _Numbers(low[0], high[0], low[1], high[1], binary)
    return _rounded(numbers) if whole else numbers


def _rounded(numbers: _Numbers) -> _Numbers:
    """The whole numbers among them, in the one form that each set of whole numbers has."""
    low, high = (0.0, 1.0) if numbers.binary else (-math.inf, math.inf)
    if math.isfinite(numbers.low):
        low = max(low, math.floor(numbers.low) + 1 if numbers.above else math.ceil(numbers.low))
    if math.isfinite(numbers.high):
        high = min(high, math.ceil(numbers.high) - 1 if numbers.below else math.floor(numbers.high))
    return _Numbers(low, high)


def _admits(wanted: _Numbers, written: _Numbers) -> bool:
    if written.binary:
        return all(wanted.holds(value) for value in written.both)
    if written.low > written.high or (written.low == written.high and (written.above or written.below)):
        return True
    if wanted.binary:
        return written.low == written.high and wanted.holds(written.low)
    low = (written.low, written.above) >= (wanted.low, wanted.above)
    return low and (written.high, not written.below) <= (wanted.high, not wanted.below)
