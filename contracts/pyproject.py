"""What a project says about itself: `[tool.batchpact]` in the pyproject.toml of the working directory.

[tool.batchpact]
targets = ["trainer.pipelines", "trainer/stages.py:KlInReward"]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from batchpact.schemas.errors import SettingError
from batchpact.schemas.names import closest
from batchpact.schemas.text import quoted
from batchpact.schemas.violations import Violation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "pyproject.toml"
_KEYS = ("targets",)


def project_targets(given: Sequence[str] = ()) -> list[str]:
    """The targets of a command: those that are given, else those of the project.

    Raises:
        SettingError: if there are none, or what the project says cannot be read.
    """
    if given:
        return list(given)
    table = _table()
    targets = table.get("targets", [])
    if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
        raise _wrong("targets", f"{targets!r}", 'a list of texts, as in targets = ["trainer.pipelines"]')
    if not targets:
        expected = f'name some, as in trainer.pipelines, or list them in {FILE}: targets = ["trainer.pipelines"]'
        raise _wrong("targets", "there are none", expected)
    return targets


def project_name() -> str:
    """What the project is called; the name of the folder where it does not say.

    Raises:
        SettingError: if what the project says cannot be read.
    """
    about = _whole().get("project", {})
    name = about.get("name") if isinstance(about, dict) else None
    return name if isinstance(name, str) else Path.cwd().name


def _whole() -> dict[str, Any]:
    """All of the file; empty where there is none."""
    try:
        whole: dict[str, Any] = tomllib.loads(Path(FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _wrong(FILE, f"it cannot be read: {error}", "a TOML file") from None
    return whole


def _table() -> dict[str, Any]:
    """`[tool.batchpact]`; empty where there is none."""
    tool = _whole().get("tool", {})
    table = tool.get("batchpact", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise _wrong("batchpact", f"{table!r}", "a table: [tool.batchpact]")
    for key in table:
        if key not in _KEYS:
            match = closest(key, _KEYS)
            known = f"{quoted(_KEYS)} {'is' if len(_KEYS) == 1 else 'are'}"
            raise _wrong(key, "it is not known", known if match is None else f"closest name: {match!r}")
    return table


def _wrong(field: str, actual: str, expected: str) -> SettingError:
    violation = Violation(code="BP052", field=field, actual=actual, expected=expected)
    return SettingError(f"in [tool.batchpact] of {FILE}", [violation])
