"""What the tests share: source that was written is run here, as its user would run it."""

from __future__ import annotations

import subprocess
import sys
import types
from typing import Any

from batchpact.schemas import BatchSchema
from batchpact.schemas.diagnose import diagnose
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import render
from batchpact.schemas.values import check_values


def run(source: str) -> types.ModuleType:
    """The module of some source."""
    module = types.ModuleType("drafted_module")
    sys.modules[module.__name__] = module  # annotations are looked up there
    exec(compile(source, "<drafted>", "exec"), module.__dict__)
    return module


def schema_of(source: str, name: str = "Batch") -> type[BatchSchema]:
    """The class that some source declares."""
    found: Any = getattr(run(source), name)
    return found  # type: ignore[no-any-return]


def complaint(schema: type[BatchSchema], stores: Stores) -> str:
    """What is wrong with a batch, values included; empty for a healthy one."""
    wrong = diagnose(schema.__batchpact__.plan, stores).violations or check_values(schema, stores)
    return render("in the batch", wrong) if wrong else ""


def declared(source: str) -> list[str]:
    """The lines of the fields, with their comments."""
    lines = source.rstrip().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("class "))
    return [line.strip() for line in lines[start + 3 :] if line.strip()]


def formatted(source: str) -> str:
    """What the formatter and the sorter of imports make of some source, under their own settings."""
    ruff = [sys.executable, "-m", "ruff"]
    options = ["--isolated", "--stdin-filename", "drafted.py", "-"]
    for command in (["check", "--select", "I,F401,E501", "--fix-only", "--quiet"], ["format"]):
        done = subprocess.run([*ruff, *command, *options], input=source, capture_output=True, text=True, check=True)
        source = done.stdout
    return source
