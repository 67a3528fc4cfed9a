"""What goes to which output, and how a command ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from batchpact.contracts.formats.findings import of_report
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.printer import Printer
from batchpact.contracts.report import Report
from batchpact.schemas import SettingError, Violation
from tests.contracts.formats.samples import BROKEN, REPORT

FINE = Report("pipeline 'ppo'", "1 stage")
MACHINES = [form for form in Format if form is not Format.TEXT]


def ended(printer: Printer) -> int:
    try:
        printer.finish()
    except typer.Exit as end:
        return end.exit_code
    return 0


@pytest.mark.parametrize("form", Format)
@pytest.mark.parametrize(("report", "code"), [(FINE, 0), (REPORT, 1)])
def test_what_was_found_decides_how_it_ends(form: Format, report: Report, code: int) -> None:
    printer = Printer("check", form)
    printer.show(of_report(FINE), str(FINE))
    printer.show(of_report(report), str(report))

    assert ended(printer) == code


def test_text_comes_as_it_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer("check", Format.TEXT)
    printer.show(of_report(REPORT), str(REPORT))

    assert capsys.readouterr().out == f"{REPORT}\n"
    ended(printer)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("form", MACHINES)
def test_every_other_format_comes_once_at_the_end(form: Format, capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer("check", form)
    printer.show(of_report(FINE), str(FINE))
    printer.show(of_report(REPORT), str(REPORT))
    assert capsys.readouterr().out == ""
    ended(printer)

    printed = capsys.readouterr()
    assert printed.out.count("pipeline 'ppo'") >= 2 or form is Format.SARIF
    assert printed.err == ""


@pytest.mark.parametrize("form", MACHINES)
def test_what_a_machine_reads_is_alone_on_the_standard_output(form: Format, capsys: pytest.CaptureFixture[str]) -> None:
    error = SettingError("in the target a", [Violation(code="BP052", field="target", actual="there is no file a")])
    with pytest.raises(typer.Exit) as end, Printer("check", form).importing("the target a"):
        raise error

    printed = capsys.readouterr()
    assert (end.value.exit_code, printed.out, printed.err) == (2, "", f"{error}\n")


def test_a_declaration_that_does_not_hold_is_a_finding_like_others(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer("check", Format.JSON)
    with printer.importing("the target a"):
        raise BROKEN

    assert ended(printer) == 1
    assert json.loads(capsys.readouterr().out)["reports"][0]["findings"][0]["rule"] == "BP051"


def test_what_ends_a_command_inside_ends_it() -> None:
    with pytest.raises(typer.Exit) as end, Printer("check", Format.TEXT).importing("the target a"):
        raise typer.Exit(7)

    assert end.value.exit_code == 7


def test_an_error_in_the_code_of_a_user_shows_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as end, Printer("check", Format.TEXT).importing("the target a"):
        raise ZeroDivisionError("of the user")

    printed = capsys.readouterr().out
    assert end.value.exit_code == 2
    assert "ZeroDivisionError: of the user" in printed
    assert printed.endswith("the target a could not be imported\n")


def test_on_github_the_summary_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    printer = Printer("check", Format.GITHUB)
    printer.show(of_report(REPORT), str(REPORT))

    assert ended(printer) == 1
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("## batchpact check\n")
