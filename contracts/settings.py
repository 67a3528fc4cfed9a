"""How much is checked, and what happens when something is wrong. Set by environment, by context manager, by stage."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from batchpact.contracts.baseline import Key, read_baseline
from batchpact.contracts.dump.place import DumpPlace, dump_place
from batchpact.schemas.catalogue import CODES
from batchpact.schemas.errors import SettingError
from batchpact.schemas.text import quoted
from batchpact.schemas.violations import Severity, Violation

Level: TypeAlias = Literal["off", "structure", "values"]
Action: TypeAlias = Literal["raise", "warn"]
Projection: TypeAlias = Literal["on", "record", "off"]

LEVELS: tuple[str, ...] = get_args(Level)
ACTIONS: tuple[str, ...] = get_args(Action)
PROJECTIONS: tuple[str, ...] = get_args(Projection)
SEVERITIES: tuple[str, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a boundary does.

    Attributes:
        level: `off`, `structure` (presence, placement, dtype, shape, layout; reads no values), or `values` (rules too).
            None where nothing was set: a stage's own level counts then, and `structure` where it has none.
        action: `raise`, or `warn` once for each stage, code and field while the rest is counted.
        severity: `error`, `warning` or `ignore` for single codes.
        sample: how many rows are looked at on level `values`; all where None.
        dump: where what breaks a contract is saved; nowhere where None.
        known: what is counted and neither raised nor warned about.
    """

    level: Level | None = None
    action: Action = "raise"
    severity: Mapping[str, Severity] = field(default_factory=dict)
    sample: int | None = None
    dump: DumpPlace | None = None
    known: frozenset[Key] = frozenset()


def checked(name: str, value: str, known: tuple[str, ...]) -> Any:
    """A setting's value, if it is known.

    Raises:
        SettingError: otherwise, with the values that are.
    """
    if value in known:
        return value
    raise _wrong(name, f"{value!r} is not known", f"{quoted(known)} are")


def _wrong(name: str, actual: str, expected: str) -> SettingError:
    return SettingError("in the settings", [Violation(code="BP052", field=name, actual=actual, expected=expected)])


def _environment() -> Settings:
    """`BATCHPACT_LEVEL`, `BATCHPACT_ACTION`, `BATCHPACT_DUMP` and `BATCHPACT_BASELINE`."""
    level, baseline = os.environ.get("BATCHPACT_LEVEL"), os.environ.get("BATCHPACT_BASELINE")
    return Settings(
        level=None if level is None else checked("BATCHPACT_LEVEL", level, LEVELS),
        action=checked("BATCHPACT_ACTION", os.environ.get("BATCHPACT_ACTION", "raise"), ACTIONS),
        dump=dump_place(os.environ.get("BATCHPACT_DUMP")),
        known=read_baseline(baseline) if baseline else frozenset(),
    )


# The environment is read once, when the first contract is imported.
_CURRENT: ContextVar[Settings] = ContextVar("batchpact_settings", default=_environment())  # noqa: B039  # it is frozen


def current() -> Settings:
    """The settings that count here: of the innermost `checking`, else of the environment."""
    return _CURRENT.get()


def is_off(level: Level | None) -> bool:
    """Whether nothing is checked here, for a stage that asks for this level."""
    return (_CURRENT.get().level or level) == "off"


@contextmanager
def checking(
    level: Level | None = None,
    *,
    action: Action | None = None,
    severity: Mapping[str, Severity] | None = None,
    sample: int | None = None,
    dump: str | None = None,
    baseline: str | None = None,
) -> Iterator[Settings]:
    """Change the settings for a block; what is not given stays as it is around it.

    Args:
        level: `"off"`, `"structure"` or `"values"`. It wins over the level of a stage and of the environment.
        action: `"raise"` or `"warn"`.
        severity: `"error"`, `"warning"` or `"ignore"` by code, on top of what is set around the block.
        sample: the number of rows that level `values` looks at.
        dump: the folder in which the batch is saved where a contract is broken; `""` for none.
        baseline: a file of known violations, which are counted and neither raised nor warned about; `""` for none.

    Raises:
        SettingError: for a value that is not known, and a baseline that cannot be read.
    """
    if sample is not None and sample < 1:
        raise _wrong("sample", f"{sample} rows", "1 or more, or None for all")
    around = current()
    inner = replace(
        around,
        level=around.level if level is None else checked("level", level, LEVELS),
        action=around.action if action is None else checked("action", action, ACTIONS),
        severity={**around.severity, **_checked_severity(severity or {})},
        sample=around.sample if sample is None else sample,
        dump=around.dump if dump is None else dump_place(dump),
        known=around.known if baseline is None else read_baseline(baseline) if baseline else frozenset(),
    )
    with using(inner):
        yield inner


@contextmanager
def using(settings: Settings) -> Iterator[None]:
    """These settings for a block, and nothing of those around it."""
    token = _CURRENT.set(settings)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def _checked_severity(severity: Mapping[str, Severity]) -> Mapping[str, Severity]:
    for code, value in severity.items():
        checked("code", code, tuple(CODES))
        checked(f"severity of {code}", value, SEVERITIES)
    return severity
