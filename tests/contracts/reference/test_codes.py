"""A code is explained on the terminal as on the page of errors."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from batchpact.contracts.cli import app
from batchpact.contracts.formats.markdown import escaped
from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.lock.rules import RULES
from batchpact.contracts.reference.codes import entry
from batchpact.contracts.reference.markdown.pages import pages
from batchpact.contracts.reference.project import Project
from batchpact.schemas.catalogue import CODES


def test_show_explains_a_code_without_any_target() -> None:
    result = CliRunner().invoke(app, ["show", "BP001"])

    assert (result.exit_code, result.output.splitlines()) == (
        0,
        [
            "BP001  missing",
            "  A required field is in none of the three stores.",
            "  why it matters  Without a contract this is a KeyError inside a worker, minutes into a step.",
            f"  what to do      {CODES['BP001'].fix}",
        ],
    )


@pytest.mark.parametrize("name", ["field-added", "stage-added"])
def test_show_explains_a_rule_of_the_diff(name: str) -> None:
    assert RULES[name].purpose in CliRunner().invoke(app, ["show", name]).output


def test_the_page_says_what_the_terminal_says() -> None:
    page = pages(Project(Contracts()))["errors.md"]
    for code, told in CODES.items():
        for text in (told.means, told.hurts, told.fix):
            assert text in entry(code)
            assert escaped(text) in page
