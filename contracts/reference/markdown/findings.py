"""What `batchpact check` finds in the pipelines, and where a reader is led to it from."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from batchpact.contracts.formats.markdown import escaped
from batchpact.contracts.reference.markdown.links import Links
from batchpact.contracts.reference.project import Project
from batchpact.contracts.reference.view import View
from batchpact.schemas.catalogue import CODES
from batchpact.schemas.text import count, sentence
from batchpact.schemas.violations import Violation


class Found:
    """The findings of a project's pipelines, by what they are about.

    Args:
        project: the project.
    """

    def __init__(self, project: Project) -> None:
        self._by_code: dict[str, list[View]] = {}
        self._by_field: dict[str, list[tuple[Violation, View]]] = {}
        self._by_stage: dict[str, list[tuple[Violation, View]]] = {}
        for view in project.views.values():
            qualnames: dict[str | None, set[str]] = {}
            for stage in view.pipeline.stages:
                qualnames.setdefault(stage.name, set()).add(stage.qualname)
            for violation in view.flow.findings:
                self._by_code.setdefault(violation.code, []).append(view)
                self._by_field.setdefault(violation.field, []).append((violation, view))
                for qualname in qualnames.get(violation.where.stage, ()):
                    self._by_stage.setdefault(qualname, []).append((violation, view))

    def of_field(self, name: str, links: Links) -> Iterator[str]:
        """A line that leads to the findings about a field; none where there are none."""
        return _line(self._by_field.get(name, []), links)

    def of_stage(self, qualname: str, links: Links) -> Iterator[str]:
        """A line that leads to the findings at a stage; none where there are none."""
        return _line(self._by_stage.get(qualname, []), links)

    def with_code(self, code: str) -> list[str]:
        """The pipelines that have findings of a code."""
        return list(dict.fromkeys(view.pipeline.name for view in self._by_code.get(code, ())))


def _line(found: list[tuple[Violation, View]], links: Links) -> Iterator[str]:
    if found:
        told = [
            f"{links.error(violation.code)} in {links.pipeline(view.pipeline.name, 'findings')}"
            for violation, view in found
        ]
        yield f"**Findings**: {links.listed(told)}"
        yield ""


def findings(links: Links, view: View) -> str:
    """How many findings a pipeline has, and where they stand."""
    number = len(view.flow.findings)
    return links.pipeline(view.pipeline.name, "findings", count(number, "finding")) if number else "no findings"


def finding(violation: Violation, links: Links, of_field: Callable[[str], str]) -> str:
    """One finding, as an item of a list."""
    where = f" at {escaped(violation.where.stage)}" if violation.where.stage else ""
    title = f"{links.error(violation.code)} {escaped(CODES[violation.code].title)}"
    level = " (a warning)" if violation.severity == "warning" else ""
    return f"- {title}{level}{where}: {of_field(violation.field)}: {escaped(sentence(violation))}"
