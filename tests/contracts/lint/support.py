"""What the tests of the linter share: source texts as modules, and findings as lines."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent, indent

from batchpact.contracts.lint.linter import lint
from batchpact.contracts.lint.stages import stages_of
from batchpact.schemas.text import sentence
from batchpact.schemas.violations import Violation

_IMPORTS = "from tests.contracts.lint.declared import *\n"
_numbers = itertools.count()


@contextmanager
def module(source: str, folder: Path) -> Iterator[types.ModuleType]:
    """A module of this text, which stands in a file; what it can use is imported in a line before its first."""
    name = f"linted_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(_IMPORTS + dedent(source).strip("\n") + "\n", encoding="utf-8")
    made = types.ModuleType(name)
    made.__file__ = str(path)
    sys.modules[name] = made
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(made))
        yield made
    finally:
        del sys.modules[name]


def line(finding: Violation) -> str:
    """`line:column CODE field text`, with lines as the source of the test counts them."""
    where = finding.where
    return f"{(where.line or 0) - 1}:{where.column} {finding.code} {finding.field} {sentence(finding)}"


def found(source: str, folder: Path, *, undecidable: bool = False) -> list[str]:
    """The findings of a source, as lines."""
    with module(source, folder) as made:
        return [line(finding) for finding in lint(stages_of(made.__name__), undecidable=undecidable).report.findings]


def reading(body: str, signature: str = "data") -> str:
    """A stage that does what `One` declares, and something before, which stands from line 3 on."""
    result = "DataProto.from_dict({'y': data.batch['x']})"
    return f"@stage(One)\ndef compute({signature}):\n{indent(dedent(body).strip(), ' ' * 4)}\n    return {result}\n"


# --- what a line says -------------------------------------------------------------------------------------------------


def undeclared(place: str, how: str, key: str = "z") -> str:
    """`One` does not declare the field that the code looks for."""
    return f"{place} BP071 {key} {how}; One.Reads does not declare it; add {key} to it, or leave it alone"


def unasked(place: str, where: str, key: str = "z") -> str:
    """`One` does not declare the field that the code returns."""
    return (
        f"{place} BP072 {key} set in {where}; One.Writes does not declare it; declare it, or leave it out of the result"
    )


def unused(place: str, key: str, schema: str = "One") -> str:
    """The code does not use a field that is declared."""
    hint = "use it, or take it out: what is declared is shipped"
    return f"{place} BP074 {key} nothing uses it; {schema}.Reads declares it; {hint}"


def unset(place: str, key: str, schema: str = "One") -> str:
    """No result holds a field that is declared."""
    hint = "set it in what is returned, or take it out"
    return f"{place} BP075 {key} no result sets it; {schema}.Writes declares it; {hint}"


def opaque(place: str, what: str, store: str = "batch") -> str:
    """Which fields the code uses cannot be told."""
    return f"{place} BP076 {store} {what}; which fields, cannot be told"
