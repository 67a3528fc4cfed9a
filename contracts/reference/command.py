"""What `batchpact docs` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from batchpact.contracts.formats.findings import Section, of_violations
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.printer import Printer
from batchpact.contracts.lock.file import figures
from batchpact.contracts.placing import from_here
from batchpact.contracts.pyproject import project_name, project_targets
from batchpact.contracts.reference.markdown.links import PIPELINES, pipeline_file
from batchpact.contracts.reference.markdown.pages import pages
from batchpact.contracts.reference.markdown.text import MARK
from batchpact.contracts.reference.page import page as page_of
from batchpact.contracts.reference.project import Project
from batchpact.contracts.reference.svg import drawn_from, source_of, svg
from batchpact.contracts.reference.view import View
from batchpact.schemas.errors import SettingError
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation, Where


class File(NamedTuple):
    """A file of the reference.

    Attributes:
        make: gives what stands in it.
        is_current: whether a text that stands there may stay.
    """

    make: Callable[[], str]
    is_current: Callable[[str], bool]


def docs(targets: Sequence[str], output: str, *, page: str | None, check: bool, form: Format) -> None:
    """Write the reference of a project, or say which pages of it are not what the contracts declare.

    Where `page` names a file, the page to explore is written there, and nothing else is.

    Raises:
        typer.Exit: with 1, where it says something; with 2, where a target or the folder could not be used.
    """
    printer = Printer("docs", form)
    with printer.importing("a target"):
        from batchpact.contracts.lock.collect import collect  # here, as it may refuse a setting of the environment

        project = Project(collect(project_targets(targets)))
        if page is None:
            _write_pages(printer, project, output, check=check)
        else:
            _write_page(printer, project, page, check=check)
    printer.finish()


def _write_pages(printer: Printer, project: Project, output: str, *, check: bool) -> None:
    files = {Path(output) / path: file for path, file in reference(project).items()}
    told = f"{figures(project.contracts)}, {count(len(files), 'file')}"
    found = list(_stale(Path(output), files))
    if check:
        _report(printer, output, told, found)
    else:
        for path, wrong in found:
            _write(path, None if wrong == "left over" else files[path].make())
        printer.show(Section(subject=output, checked=told, ok=True), f"{output}: {told}, {len(found)} of them new")


def _write_page(printer: Printer, project: Project, path: str, *, check: bool) -> None:
    if check:
        actual, expected = "it is about the Markdown pages", "leave it out; a page to explore is made when it is wanted"
        raise SettingError("in --page", [Violation(code="BP052", field="--check", actual=actual, expected=expected)])
    text = page_of(project, project_name())
    _write(Path(path), text)
    told = f"{figures(project.contracts)}, {len(text.encode()) / 1e6:.1f} MB"
    printer.show(Section(subject=path, checked=told, ok=True), f"{path}: {told}")


def reference(project: Project) -> dict[str, File]:
    """The files of a reference, by their paths.

    A graph that was drawn from what the contracts declare may stay as it is: another Graphviz may lay it out otherwise.
    """
    files = {path: _page(text) for path, text in pages(project).items()}
    files |= {pipeline_file(name, "svg"): _graph(view) for name, view in project.views.items()}
    return dict(sorted(files.items()))


def _page(text: str) -> File:
    return File(lambda: text, lambda there: there == text)


def _graph(view: View) -> File:
    return File(lambda: svg(view), lambda there: drawn_from(there) == source_of(view))


def _stale(folder: Path, files: dict[Path, File]) -> Iterator[tuple[Path, str]]:
    """The files that are not as they should be, and what is wrong with them."""
    for path, file in files.items():
        text = _read(path)
        if text is None:
            yield path, "missing"
        elif not file.is_current(text):
            yield path, "stale"
    for path in sorted((*folder.glob("*.md"), *(folder / PIPELINES).glob("*"))):
        if path not in files and _is_generated(_read(path) or ""):
            yield path, "left over"


def _is_generated(text: str) -> bool:
    return text.startswith(MARK) or bool(drawn_from(text))


def _report(printer: Printer, output: str, told: str, found: list[tuple[Path, str]]) -> None:
    if not found:
        printer.show(of_violations(output, told, []), f"{output}: {told}, up to date")
        return
    width = max(len(wrong) for _, wrong in found)
    lines = [f"{output} is not what the contracts declare; `batchpact docs` writes it anew", ""]
    lines += [f"  {wrong:<{width}}  {path.as_posix()}" for path, wrong in found]
    violations = [_violation(path, wrong) for path, wrong in found]
    printer.show(of_violations(output, told, violations), "\n".join(lines))


def _violation(path: Path, wrong: str) -> Violation:
    where = Where(file=from_here(str(path)))
    expected = "`batchpact docs` writes it anew"
    return Violation(code="BP081", field=path.as_posix(), actual=f"it is {wrong}", expected=expected, where=where)


def _write(path: Path, text: str | None) -> None:
    """Write a file, or remove it."""
    try:
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        actual = f"it cannot be written: {error.strerror}"
        violation = Violation(code="BP052", field="output", actual=actual, expected="a folder for the reference")
        raise SettingError(f"in {path}", [violation]) from None


def _read(path: Path) -> str | None:
    """The text of a file; None where there is none that can be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
