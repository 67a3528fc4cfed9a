"""The first page: what there is, and where."""

from __future__ import annotations

from collections.abc import Iterator

from batchpact.contracts.lock.file import counted
from batchpact.contracts.reference.markdown.findings import findings
from batchpact.contracts.reference.markdown.links import Links
from batchpact.contracts.reference.markdown.text import heading, page, table
from batchpact.contracts.reference.view import View


def index_page(links: Links) -> str:
    """The page `index.md`."""
    return page("Reference of the contracts", _lines(links))


def _lines(links: Links) -> Iterator[str]:
    project = links.project
    kinds = counted(project.contracts)
    yield "Made by `batchpact docs` from what the contracts declare; `batchpact docs --check` says where it is stale."
    rows = [
        ("Fields", "what each is, where it lives, who writes it, who reads it", len(project.fields)),
        ("Stages", "what each does, what it reads and writes, what switches it", kinds["stage"]),
        ("Conditions", "what the configuration switches", len(links.keys)),
        ("Policies", "what becomes of fields when batches are joined, made longer or filled up", ""),
        ("Errors", "what each code means, why it matters, what to do", ""),
    ]
    yield from table(
        ("page", "what it tells", "how many"),
        [(f"[{name}]({name.lower()}.md)", what, str(number)) for name, what, number in rows],
    )
    if project.views:
        yield from heading(2, "Pipelines", "pipelines")
        yield from table(
            ("pipeline", "stages", "fields", "configurations", "findings"),
            [(links.pipeline(name), *_figures(view), findings(links, view)) for name, view in project.views.items()],
        )


def _figures(view: View) -> tuple[str, str, str]:
    return str(len(view.pipeline.stages)), str(len(view.fields())), str(view.flow.configurations)
