"""What a package that comes with `batchpact[docs]` is needed for, where it is not there."""

from __future__ import annotations

from batchpact.schemas.errors import SettingError
from batchpact.schemas.violations import Violation


def not_installed(package: str, subject: str, needed: str) -> SettingError:
    """The error for a package that is not installed.

    Args:
        package: its name.
        subject: where it is needed.
        needed: by what, as in "graphs need it".
    """
    hint = "pip install 'batchpact[docs]'"
    violation = Violation(code="BP052", field=package, actual="it is not installed", expected=needed, hint=hint)
    return SettingError(subject, [violation])
