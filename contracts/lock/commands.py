"""What `batchpact lock` and `batchpact diff` do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from batchpact.contracts.formats.findings import Section, of_diff
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.printer import Printer
from batchpact.contracts.lock.change import Change
from batchpact.contracts.lock.diff import Diff, compare
from batchpact.contracts.lock.file import Contracts, dump, figures, read, read_revision, write, wrong_lock
from batchpact.contracts.lock.text import render
from batchpact.contracts.placing import from_here, place_of
from batchpact.contracts.pyproject import project_targets
from batchpact.schemas.violations import Where

CODE = "the code"


def lock(targets: Sequence[str], file: str, *, check: bool, form: Format) -> None:
    """Write the lock file, or say what the code declares otherwise.

    Raises:
        typer.Exit: with 1, where it says something; with 2, where it could not be read or written.
    """
    printer = Printer("lock", form)
    with printer.importing("a target"):
        now = _of_code(targets)
        if check:
            _check(printer, file, now)
        else:
            write(file, dump(now))
            text = f"{file}: {figures(now)}, written"
            printer.show(Section(subject=file, checked=figures(now), ok=True), text)
    printer.finish()


def _check(printer: Printer, file: str, now: Contracts) -> None:
    drift = _placed(compare(read(file), now, names=(file, CODE)), file)
    if not drift.changes:
        text = f"{file}: {figures(now)}, up to date"
    else:
        text = f"{file} is not what the code declares; `batchpact lock` writes it anew\n{render(drift)}"
    printer.show(of_diff(drift, drift=True), text)


def diff(
    old: str | None,
    new: str | None,
    *,
    against: str | None,
    targets: Sequence[str],
    file: str,
    allow: Sequence[str],
    form: Format,
) -> None:
    """Say what changed from a lock file to another, or to the code, and what that breaks.

    Args:
        old: the old lock file; `file` where None.
        new: the new one; the code where None.
        against: a git revision from which the old lock file is taken.
        targets: what the code is; what the project says where empty.
        file: the lock file of the project.
        allow: rules whose changes may break somebody.
        form: the format.

    Raises:
        typer.Exit: with 1, where something breaks; with 2, where something could not be read.
    """
    printer = Printer("diff", form)
    with printer.importing("a target"):
        if new is not None and targets:
            raise wrong_lock(new, "there are targets, too", "the new version is a lock file or the code")
        path = old or file
        before = read(path) if against is None else read_revision(against, path)
        after = _of_code(targets) if new is None else read(new)
        names = (path if against is None else f"{path} in {against}", new or CODE)
        found = _placed(compare(before, after, names=names, allow=allow), new or path)
        printer.show(of_diff(found), render(found))
    printer.finish()


def _of_code(targets: Sequence[str]) -> Contracts:
    from batchpact.contracts.lock.collect import collect  # here, as it may refuse a setting of the environment

    return collect(project_targets(targets))


def _placed(diff: Diff, file: str) -> Diff:
    """The changes with their places in the code; those that have none there stand in the lock file."""
    return replace(diff, changes=tuple(_with_place(change, file) for change in diff.changes))


def _with_place(change: Change, file: str) -> Change:
    place = place_of(change.contract, change.field)
    return change.model_copy(update={"where": place if place.line is not None else Where(file=from_here(file))})
