"""What the tests of the linter share: source texts as modules, and findings as lines."""

from __future__ import annotations

import itertools
import sys
import types
from pathlib import Path
from textwrap import dedent, indent

from batchpact.contracts.lint.linter import Linted, lint
from batchpact.contracts.lint.stages import stages_of
from batchpact.schemas.text import sentence
from batchpact.schemas.violations import Violation

_IMPORTS = "from tests.contracts.lint.declared import *\n"
_numbers = itertools.count()


def module(source: str, folder: Path, imports: str = _IMPORTS) -> types.ModuleType:
    """A module of this text, which stands in a file; what it can use is imported in a line before its first."""
    name = f"linted_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(imports + dedent(source).strip("\n") + "\n", encoding="utf-8")
    made = types.ModuleType(name)
    made.__file__ = str(path)
    sys.modules[name] = made
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(made))
    return made


def linted(source: str, folder: Path, *, undecidable: bool = False) -> Linted:
    """What the linter says about the stages of a source."""
    made = module(source, folder)
    try:
        return lint(stages_of([made.__name__]), undecidable=undecidable)
    finally:
        del sys.modules[made.__name__]


def line(finding: Violation) -> str:
    """`line:column CODE field text`, with lines as the source of the test counts them."""
    where = finding.where
    return f"{(where.line or 0) - 1}:{where.column} {finding.code} {finding.field} {sentence(finding)}"


def found(source: str, folder: Path, *, undecidable: bool = False) -> list[str]:
    """The findings of a source, as lines."""
    return [line(finding) for finding in linted(source, folder, undecidable=undecidable).report.findings]


def short(source: str, folder: Path, *, undecidable: bool = False) -> list[str]:
    """The findings of a source, without their words."""
    return [" ".join(text.split(" ", 3)[:3]) for text in found(source, folder, undecidable=undecidable)]


def reading(body: str, signature: str = "data") -> str:
    """A stage that does what `One` declares, and something more: its body stands from line 3."""
    return f"@stage(One)\ndef compute({signature}):\n{indent(dedent(body).strip(), '    ')}\n    return DataProto.from_dict({{'y': data.batch['x']}})\n"
