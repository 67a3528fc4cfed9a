"""A file of known findings, so that a team can start today: what is in it is not reported, what is new is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from batchpact.schemas.errors import SettingError
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation

_VERSION = 1
_MAKING = "--write-baseline makes one, and save_counts for a run"


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What a finding is known by: nothing that changes when lines move.

    Attributes:
        stage: the qualified name of the function that was read; of a pipeline that was checked its name, and behind a
            slash that of the stage; of a call that broke a contract the name of the stage.
        code: its code.
        field: the key of the field.
        store: the store in which it was looked for or set; empty where it may be any.
    """

    stage: str
    code: str
    field: str
    store: str = ""

    @classmethod
    def of(cls, stage: str, finding: Violation) -> Key:
        """The key of a finding in a stage."""
        return cls(stage, finding.code, finding.field, finding.placement or "")


def read_baseline(path: str) -> frozenset[Key]:
    """The findings that are known.

    Raises:
        SettingError: if there is no such file, or it is no baseline.
    """
    try:
        held = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise _wrong(path, error.strerror or str(error), _MAKING) from None
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"it is no JSON: {error}", _MAKING) from None
    if not isinstance(held, dict) or held.get("version") != _VERSION or not isinstance(held.get("findings"), list):
        raise _wrong(path, "it is no baseline of this version", f'{{"version": {_VERSION}, "findings": [...]}}')
    keys = [_key(entry) for entry in held["findings"]]
    if None in keys:
        raise _wrong(path, f"finding {keys.index(None) + 1} is none", "stage, code and field, and perhaps store")
    return frozenset(key for key in keys if key is not None)


def write_baseline(path: str, keys: Iterable[Key]) -> None:
    """Write the findings that are known from now on, one to a line, so that a change of them is easy to read.

    Raises:
        SettingError: if the file cannot be written.
    """
    entries = [
        json.dumps({name: text for name in Key.__slots__ if (text := getattr(key, name))}) for key in sorted(set(keys))
    ]
    body = ",".join(f"\n    {entry}" for entry in entries) + ("\n  " if entries else "")
    text = f'{{\n  "version": {_VERSION},\n  "findings": [{body}]\n}}\n'
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _wrong(path, error.strerror or str(error), "a file that can be written") from None


def check_options(baseline: str | None, write: bool) -> None:
    """A command that writes the file is told which one.

    Raises:
        SettingError: if it is not.
    """
    if write and baseline is None:
        expected = "--baseline FILE says where the findings are written"
        violation = Violation(code="BP052", field="--write-baseline", actual="there is no file", expected=expected)
        raise SettingError("in the options", [violation])


def gone_words(keys: Sequence[Key]) -> str:
    """What the baseline knows and the code no longer does, in words."""
    lines = [f"{count(len(keys), 'finding')} of the baseline no longer there; --write-baseline takes them out", ""]
    return "\n".join([*lines, *(f"  {key.code}  {key.stage}  {key.field}" for key in keys)])


def _key(entry: object) -> Key | None:
    if not isinstance(entry, dict) or not set(entry) <= set(Key.__slots__):
        return None
    if not all(isinstance(text, str) for text in entry.values()) or not {"stage", "code", "field"} <= set(entry):
        return None
    return Key(**entry)


def _wrong(path: str, actual: str, expected: str) -> SettingError:
    return SettingError("in the baseline", [Violation(code="BP052", field=path, actual=actual, expected=expected)])
