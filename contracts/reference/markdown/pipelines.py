"""The page of a pipeline: its order, its graph, its matrix, what check finds, and what its configurations switch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from batchpact.contracts.formats.markdown import escaped
from batchpact.contracts.reference.graph import graph
from batchpact.contracts.reference.keys import asked_in, told_apart
from batchpact.contracts.reference.markdown.findings import finding, findings
from batchpact.contracts.reference.markdown.links import Links, pipeline_file, stage_anchors
from batchpact.contracts.reference.markdown.matrix import matrix
from batchpact.contracts.reference.markdown.text import heading, page, table
from batchpact.contracts.reference.mermaid import mermaid
from batchpact.contracts.reference.view import View, declared, name_of
from batchpact.schemas.condition_specs import ConditionSpec, TestSpec, words
from batchpact.schemas.record import StageSpec
from batchpact.schemas.text import count


def pipeline_page(links: Links, view: View) -> str:
    """The page of a pipeline, in the folder `pipelines`."""
    return page(view.pipeline.name, _lines(links, view))


def _lines(links: Links, view: View) -> Iterator[str]:
    pipeline, flow = view.pipeline, view.flow
    figures = [
        count(len(pipeline.stages), "stage"),
        count(len(view.fields()), "field"),
        count(flow.configurations, "configuration"),
        findings(links, view),
    ]
    yield f"{', '.join(figures)}."
    yield ""
    if pipeline.inputs.description:
        yield f"Its inputs: {escaped(pipeline.inputs.description)}"
        yield ""
    yield from (f"- always: {links.condition(words(condition))}" for condition in pipeline.always)
    outputs = [_field(key, links) for key in pipeline.outputs]
    yield f"- outputs: {links.listed(outputs)}" if outputs else "- outputs: none are named"
    yield from heading(2, "Stages", "stages")
    yield from table(("", "stage", "where", "reads", "writes"), _stages(links, view))
    yield from heading(2, "Lineage", "lineage")
    yield from _lineage(view)
    yield from heading(2, "Fields and stages", "matrix")
    yield "R reads, W writes, D drops; in brackets where that depends on the configuration."
    yield from matrix(view, links)
    yield from heading(2, "Findings", "findings")
    if not flow.findings:
        yield "`batchpact check` finds nothing."
    yield from (finding(violation, links, partial(_field, links=links)) for violation in flow.findings)
    yield from heading(2, "Conditions", "conditions")
    yield from _conditions(links, view)


def _field(key: str, links: Links) -> str:
    return links.field(key) if key in links.project.fields else escaped(key)


def _stages(links: Links, view: View) -> Iterator[tuple[str, ...]]:
    name = view.pipeline.name
    given = [links.field(name_of(field), field.key) for field in declared(view.pipeline.inputs)]
    if given:
        yield "", "inputs", "", "", links.listed(given)
    for at, (stage, anchor) in enumerate(zip(view.pipeline.stages, stage_anchors(view), strict=True)):
        where = "" if stage.when is None else links.condition(words(stage.when))
        named = f'<a id="{anchor}"></a>{_stage(links, stage, name)}'
        sides = ([links.field(name_of(f), f.key) for f in declared(schema)] for schema in (stage.reads, stage.writes))
        yield str(at + 1), named, where, *map(links.listed, sides)


def _stage(links: Links, stage: StageSpec, pipeline: str) -> str:
    known = stage.qualname in links.project.contracts.stages
    return links.stage(stage, pipeline) if known else escaped(stage.name)


def _lineage(view: View) -> Iterator[str]:
    name = pipeline_file(view.pipeline.name, "svg").rpartition("/")[2]
    yield f"![The stages of {escaped(view.pipeline.name)}, and what flows between them]({name})"
    yield ""
    drawn = mermaid(graph(view))
    if drawn:
        yield '<details markdown="1">'
        yield "<summary>As Mermaid</summary>"
        yield ""
        yield "```mermaid"
        yield from drawn.split("\n")
        yield "```"
        yield ""
        yield "</details>"


def _conditions(links: Links, view: View) -> Iterator[str]:
    """Each key that this pipeline asks about, with its stages and fields that depend on it."""
    switched: dict[str, list[str]] = {}
    asked: dict[str, list[TestSpec]] = {}

    def note(condition: ConditionSpec | None, what: str) -> None:
        for subject, tests in () if condition is None else asked_in(condition):
            switched.setdefault(str(subject), []).append(what)
            asked.setdefault(str(subject), []).extend(tests)

    for at, stage in enumerate(view.flow.stages):
        where = links.place(view, at)
        note(stage.when, f"stage {where}")
        for field in (*declared(stage.reads), *declared(stage.writes)):
            note(field.when, f"{_field(name_of(field), links)} of {where}")
    for field in declared(view.pipeline.inputs):
        note(field.when, f"{_field(name_of(field), links)} of the inputs")
    rows = [
        (links.key(name), escaped(told_apart(name, asked[name])), links.listed(what))
        for name, what in sorted(switched.items())
    ]
    yield from table(("asked about", "told apart", "switches"), rows)
    if not rows:
        yield "Nothing in it depends on the configuration."
