"""Classes and functions that users define: what records and messages call them, and what their docstrings say first."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def without_locals(qualname: str) -> str:
    """`make.<locals>.Reads` is `make.Reads`."""
    return qualname.replace("<locals>.", "")


def qualified_name(defined: type | Callable[..., Any]) -> str:
    """Module and name, as records hold it."""
    return f"{defined.__module__}.{without_locals(defined.__qualname__)}"


def first_paragraph(doc: str | None) -> str:
    """The first paragraph of a docstring, in one line; empty where there is none."""
    return " ".join(inspect.cleandoc(doc or "").partition("\n\n")[0].split())
