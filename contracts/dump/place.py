"""Where broken batches are saved, and how much of them."""

from __future__ import annotations

import os
from typing import NamedTuple

from batchpact.schemas.errors import SettingError
from batchpact.schemas.violations import Violation


class DumpPlace(NamedTuple):
    """A folder for dumps, with its bounds.

    Attributes:
        folder: where they go; it is made when the first one does.
        files: how many each process puts there.
        mib: how large each of them may be, in MiB.
    """

    folder: str
    files: int
    mib: int


def dump_place(folder: str | None) -> DumpPlace | None:
    """A folder with the bounds of the environment, `BATCHPACT_DUMP_LIMIT` and `BATCHPACT_DUMP_MIB`; None for none.

    Raises:
        SettingError: if a bound is no whole number above 0.
    """
    if not folder:
        return None
    return DumpPlace(folder, _number("BATCHPACT_DUMP_LIMIT", 10), _number("BATCHPACT_DUMP_MIB", 1024))


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name)
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdigit() and int(text)):
        violation = Violation(code="BP052", field=name, actual=repr(text), expected="a whole number, 1 or more")
        raise SettingError("in the settings", [violation])
    return int(text)
