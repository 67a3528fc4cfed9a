"""What becomes of violations: raised, warned about once and counted, or ignored; and the events of calls."""

from __future__ import annotations

import inspect
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from batchpact.contracts.baseline import Key, write_baseline
from batchpact.contracts.settings import Settings
from batchpact.schemas.errors import ContractError, contract_error
from batchpact.schemas.violations import DimSizes, Violation, Where

Saving: TypeAlias = Callable[[ContractError], ContractError]
"""Saves the call that an error is about, and gives the error with a note that says where."""


class ContractWarning(UserWarning):
    """A violation that was not raised."""


@dataclass(frozen=True, slots=True)
class Event:
    """One call of a stage, for `observe`.

    Attributes:
        stage: the stage.
        step: the batch's `global_steps`, where it has them.
        seconds: how long the call took in all.
        seconds_checking: how long of it the contract took.
        fields_read: how many declared fields the batch held.
        fields_written: how many fields were written.
        bytes_read: bytes of the tensors that were handed out.
        bytes_written: bytes of the tensors that were written.
        violations: what was found and not raised.
        shipped: for a call of a `WorkerGroup`, the bytes of each field that went to the workers, where each row counts
            once; for a call with TransferQueue's keys, the bytes of each column that was fetched.
    """

    stage: str
    step: int | None
    seconds: float
    seconds_checking: float
    fields_read: int
    fields_written: int
    bytes_read: int
    bytes_written: int
    violations: tuple[Violation, ...] = ()
    shipped: Mapping[str, int] = field(default_factory=dict)


Observer = Callable[[Event], None]

OBSERVERS: ContextVar[tuple[Observer, ...]] = ContextVar("batchpact_observers", default=())
"""Who wants events here; `observe` sets it."""

_seen: Counter[tuple[str, str, str]] = Counter()


@contextmanager
def observe(observer: Observer) -> Iterator[None]:
    """Deliver an event for each call of a stage in the block, to log them where you log everything else.

    Ready observers are in `batchpact.contracts.events`. One that has a method `flush` has it called at the end.
    """
    token = OBSERVERS.set((*OBSERVERS.get(), observer))
    try:
        yield
    finally:
        OBSERVERS.reset(token)
        flush = getattr(observer, "flush", None)
        if flush is not None:
            flush()


def deliver(event: Event) -> None:
    """Give an event to everybody who wants events."""
    for observer in OBSERVERS.get():
        observer(event)


def settle(
    where: Where,
    subject: str,
    violations: Sequence[Violation],
    dims: Sequence[DimSizes],
    settings: Settings,
    saving: Saving | None = None,
) -> list[Violation]:
    """Raise violations, or warn about them, as the settings say.

    Args:
        where: their place at a stage; what they know of it themselves stays.
        subject: the same in words.
        violations: what was found.
        dims: the dims that have several sizes.
        settings: the settings that count for the call. Violations of the baseline are counted, and nothing else.
        saving: saves the call that an error, or a warning, is about.

    Returns:
        What was not raised.

    Raises:
        ContractError: with every violation that counts as an error.
    """
    violations = [violation.at(where) for violation in violations]
    kept = [
        violation.model_copy(update={"severity": settings.severity[violation.code]})
        if violation.code in settings.severity
        else violation
        for violation in violations
    ]
    kept = [violation for violation in kept if violation.severity != "ignore"]
    stage = where.stage or ""
    known = [violation for violation in kept if settings.known and _is_known(stage, violation, settings)]
    new = [violation for violation in kept if violation not in known]
    errors = [violation for violation in new if violation.severity == "error"]
    if errors and settings.action == "raise":
        error = contract_error(subject, errors, dims)
        raise error if saving is None else saving(error)
    for violation in known:
        _seen[stage, violation.code, violation.field] += 1
    if new:
        _warn(stage, subject, new, dims, saving)
    return kept


def _is_known(stage: str, violation: Violation, settings: Settings) -> bool:
    """Whether a violation is in the baseline, which may leave open the store in which it was found."""
    key = Key.of(stage, violation)
    return key in settings.known or replace(key, store="") in settings.known


def save_counts(path: str) -> None:
    """Write what was counted in this process as the baseline of later runs: `BATCHPACT_BASELINE`, `checking`.

    Raises:
        SettingError: if the file cannot be written.
    """
    write_baseline(path, [Key(*place) for place in _seen])


def counted() -> dict[tuple[str, str, str], int]:
    """How often each stage, code and field was violated without being raised, in this process."""
    return dict(_seen)


def reset_counts() -> None:
    """Forget what was counted: every violation is warned about once more."""
    _seen.clear()


def _warn(
    stage: str, subject: str, violations: Sequence[Violation], dims: Sequence[DimSizes], saving: Saving | None
) -> None:
    fresh = []
    for violation in violations:
        place = (stage, violation.code, violation.field)
        if not _seen[place]:
            fresh.append(violation)
        _seen[place] += 1
    if fresh and os.environ.get("RANK", "0") == "0":
        told = contract_error(subject, fresh, dims)
        text = str(told if saving is None else saving(told))
        warnings.warn(text, ContractWarning, stacklevel=_callers_level())


def _callers_level() -> int:
    """The stack level of whoever called the stage, as seen from where the warning is given."""
    level, frame = 1, inspect.currentframe()
    frame = None if frame is None else frame.f_back
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("batchpact."):
        level, frame = level + 1, frame.f_back
    return level
