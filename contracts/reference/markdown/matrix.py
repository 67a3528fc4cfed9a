"""The matrix of a pipeline: which stage reads, writes or drops which field."""

from __future__ import annotations

from collections.abc import Iterator

from batchpact.contracts.formats.markdown import escaped
from batchpact.contracts.reference.markdown.links import Links
from batchpact.contracts.reference.markdown.text import table
from batchpact.contracts.reference.view import View, declared, name_of
from batchpact.schemas.record import StageSpec

WIDE = 12
"""Stages side by side at most; a longer pipeline has several tables, each with the fields of its stages."""


def matrix(view: View, links: Links) -> Iterator[str]:
    """Tables with a row for each field and a column for each stage."""
    columns = [_column(stage) for stage in view.pipeline.stages]
    inputs = {name_of(field) for field in declared(view.pipeline.inputs)}
    order = {name: at for at, name in enumerate(view.fields())}
    parts = -(-len(columns) // WIDE)
    for part in range(parts):
        numbers = range(len(columns) * part // parts, len(columns) * (part + 1) // parts)
        touched = {name for at in numbers for name in columns[at]} | (inputs if part == 0 else set())
        listed = sorted(touched, key=lambda name: (order.get(name, len(order)), name))
        head = ["field", *(["inputs"] if part == 0 else []), *(links.place(view, at) for at in numbers)]
        rows = []
        for name in listed:
            given = ["W" if name in inputs else ""] if part == 0 else []
            link = links.field(name) if name in links.project.fields else escaped(name)
            rows.append([link, *given, *(columns[at].get(name, "") for at in numbers)])
        yield from table(head, rows)


def _column(stage: StageSpec) -> dict[str, str]:
    """What a stage does to each field: R, W, RW or D, in brackets where that depends on the configuration."""
    letters: dict[str, str] = {}
    certain: set[str] = set()
    for letter, schema in (("R", stage.reads), ("W", stage.writes)):
        for field in declared(schema):
            name = name_of(field)
            letters[name] = letters.get(name, "") + letter
            if field.when is None:
                certain.add(name)
    for name in stage.drops:
        letters[name] = letters.get(name, "") + "D"
        certain.add(name)
    return {name: found if stage.when is None and name in certain else f"({found})" for name, found in letters.items()}
