"""Numbers that the rules of a field leave: drawn at random, in a dtype of torch or as Python's own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from batchpact.contracts.testing.unmeetable import Unmeetable
from batchpact.schemas.dtypes import dtype_name
from batchpact.schemas.record import RuleSpec
from batchpact.schemas.text import join_names
from batchpact.schemas.values import elements_hold, rule_words

_MANY = 100
"""How many integers are drawn from, where a rule leaves infinitely many."""
_WIDE = 2.0
"""The same for real numbers: how far they are drawn from a bound, or from 0."""
_TRIES = 20


class _Limits(NamedTuple):
    """Bounds that rules set; None where there is none."""

    low: float | None
    above: float | None
    high: float | None
    below: float | None
    binary: bool


def _limits(rules: Iterable[RuleSpec]) -> _Limits:
    bounds: dict[str, list[float]] = {"ge": [], "gt": [], "le": [], "lt": []}
    binary = False
    for rule in rules:
        if isinstance(rule.value, (int, float)) and rule.kind in bounds:
            bounds[rule.kind].append(rule.value)
        binary = binary or rule.kind == "binary"
    low, above = (max(bounds[kind], default=None) for kind in ("ge", "gt"))
    high, below = (min(bounds[kind], default=None) for kind in ("le", "lt"))
    return _Limits(low, above, high, below, binary)


def integer_range(
    rules: Sequence[RuleSpec], lowest: int | None = None, highest: int | None = None, many: int = _MANY
) -> tuple[int, int]:
    """The smallest and the largest integer to draw.

    Args:
        rules: the rules of the field.
        lowest: what the dtype can hold; None where it holds every integer.
        highest: the same on the other side.
        many: how many there are where the rules leave infinitely many.

    Raises:
        Unmeetable: if there is none.
    """
    limits = _limits(rules)
    lows = [] if limits.low is None else [math.ceil(limits.low)]
    lows += [] if limits.above is None else [math.floor(limits.above) + 1]
    highs = [] if limits.high is None else [math.floor(limits.high)]
    highs += [] if limits.below is None else [math.ceil(limits.below) - 1]
    if limits.binary:
        lows, highs = [*lows, 0], [*highs, 1]
    first = max(lows) if lows else min(highs) - many + 1 if highs else -many
    last = min(highs) if highs else max(lows) + many - 1 if lows else many
    low = first if lowest is None else max(first, lowest)
    high = last if highest is None else min(last, highest)
    if low > high:
        raise none_left(rules)
    return low, high


def reals(rules: Sequence[RuleSpec], shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Real numbers that keep to the rules, as float64 of this shape.

    Raises:
        Unmeetable: if there is none.
    """
    limits = _limits(rules)
    if limits.binary:
        return rng.integers(*integer_range(rules), shape, endpoint=True).astype(np.float64)
    lows = [bound for bound in (limits.low, limits.above) if bound is not None]
    highs = [bound for bound in (limits.high, limits.below) if bound is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    first = low if low is not None else -_WIDE if high is None else high - _WIDE
    last = high if high is not None else _WIDE if low is None else low + _WIDE
    if first == limits.above:
        first = math.nextafter(first, math.inf)
    if last == limits.below:
        last = math.nextafter(last, -math.inf)
    if first > last:
        raise none_left(rules)
    return np.clip(rng.uniform(first, last, shape), first, last)


def tensor(
    rules: Sequence[RuleSpec], dtype: torch.dtype, shape: tuple[int, ...], rng: np.random.Generator, many: int = _MANY
) -> Tensor:
    """A tensor whose elements keep to the rules as the check asks them: in this dtype.

    Raises:
        Unmeetable: if no number of this dtype does.
    """
    made = _numbers(rules, dtype, shape, rng, many)
    for _ in range(_TRIES):
        broken = torch.zeros(shape, dtype=torch.bool)
        for rule in rules:
            broken |= ~elements_hold(rule, made)
        if not bool(broken.any()):
            return made
        made = torch.where(broken, _numbers(rules, dtype, shape, rng, many), made)
    raise none_left(rules, f" in {dtype_name(dtype)}")


def _numbers(
    rules: Sequence[RuleSpec], dtype: torch.dtype, shape: tuple[int, ...], rng: np.random.Generator, many: int
) -> Tensor:
    if dtype.is_complex:
        return torch.complex(*(torch.from_numpy(reals(rules, shape, rng)) for _ in range(2))).to(dtype)
    if dtype.is_floating_point:
        return torch.from_numpy(reals(rules, shape, rng)).to(dtype)
    if dtype is torch.bool:
        low, high = integer_range(rules, 0, 1)
    else:
        info = torch.iinfo(dtype)
        low, high = integer_range(rules, info.min, min(info.max, 2**63 - 1), many)
    return torch.from_numpy(rng.integers(low, high, shape, endpoint=True)).to(dtype)


def none_left(rules: Sequence[RuleSpec], kind: str = "") -> Unmeetable:
    """That no number keeps to these rules, in words."""
    return Unmeetable(f"no number{kind} is {join_names([rule_words(rule) for rule in rules])}")
