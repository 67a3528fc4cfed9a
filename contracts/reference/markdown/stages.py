"""The page of stages: each once, with its places in pipelines; and of schemas that belong to no stage."""

from __future__ import annotations

from collections.abc import Iterator

from batchpact.contracts.formats.markdown import escaped
from batchpact.contracts.reference.details import details
from batchpact.contracts.reference.markdown.findings import Found
from batchpact.contracts.reference.markdown.links import Links, schema_anchor, stage_anchor
from batchpact.contracts.reference.markdown.text import heading, page, prose, table
from batchpact.contracts.reference.told import Told
from batchpact.contracts.reference.view import View, declared, name_of
from batchpact.schemas.condition_specs import words
from batchpact.schemas.declared import either
from batchpact.schemas.record import FieldSpec, SchemaSpec, StageSpec


def stages_page(links: Links, found: Found) -> str:
    """The page `stages.md`."""
    return page("Stages", _lines(links, found))


def _lines(links: Links, found: Found) -> Iterator[str]:
    contracts = links.project.contracts
    places = links.project.stages
    yield from table(
        ("stage", "what it does", "pipelines"),
        [
            (
                links.stage_of(name),
                escaped(_first_sentence(contracts.stages[name].description)),
                links.listed(links.pipeline(view.pipeline.name) for view, _ in found_in),
            )
            for name, found_in in places.items()
        ],
    )
    for name, found_in in places.items():
        yield from _stage(contracts.stages[name], found_in, links, found)
    if contracts.schemas:
        yield from heading(2, "Schemas that belong to no stage", "schemas")
        for name, schema in sorted(contracts.schemas.items()):
            yield from heading(3, name.rpartition(".")[2], schema_anchor(name))
            yield f"`{name}`"
            yield ""
            yield from prose(schema.description)
            yield from _rules(schema)
            yield from _plain("field", schema, links)


def _first_sentence(text: str) -> str:
    return text.partition("\n")[0]


def _stage(stage: StageSpec, places: list[tuple[View, int]], links: Links, found: Found) -> Iterator[str]:
    yield from heading(2, links.full_name(stage), stage_anchor(stage.qualname))
    yield f"`{stage.qualname}`"
    yield ""
    yield from prose(stage.description)
    yield from found.of_stage(stage.qualname, links)
    yield from (f"- {fact}" for fact in _facts(stage, links))
    yield from _rules(stage.reads)
    yield from _rules(stage.writes)
    if not places:
        yield ""
        yield "It is in no pipeline."
        yield from _plain("reads", stage.reads, links)
        yield from _plain("writes", stage.writes, links)
    for view, at in places:
        yield ""
        yield f"In {links.pipeline(view.pipeline.name)} it is {_place(view, at, links)}:"
        told = view.stage(at)
        yield from _flow("reads", stage.reads, told, "from", links, view)
        yield from _flow("writes", stage.writes, told, "for", links, view)


def _facts(stage: StageSpec, links: Links) -> Iterator[str]:
    """What is said of the stage as a whole; what is so of most stages is left out."""
    yield f"rows: {escaped(str(stage.rows))}"
    if stage.drops:
        known = links.project.fields
        yield f"drops {links.listed(links.field(key) if key in known else escaped(key) for key in stage.drops)}"
    if stage.pad_safe:
        yield "takes rows that are marked as padding"
    if stage.graph == "allow":
        yield "its results may carry an autograd graph"
    if len(stage.layouts) == 1:
        yield f"takes {stage.layouts[0]} tensors only"
    for label, schema in (("reads", stage.reads), ("writes", stage.writes)):
        if schema.extra == "allow":
            yield f"{label} fields that it does not declare, too"


def _rules(schema: SchemaSpec) -> Iterator[str]:
    for rule in schema.rules:
        told = f": {escaped(rule.description)}" if rule.description else ""
        yield f"- rule {escaped(rule.name)} of {escaped(schema.name)}{told}"


def _place(view: View, at: int, links: Links) -> str:
    stage = view.pipeline.stages[at]
    where = "" if stage.when is None else f", {links.condition(f'where {words(stage.when)}')}"
    return f"stage {at + 1} of {len(view.pipeline.stages)}, {links.place(view, at)}{where}"


def _flow(label: str, schema: SchemaSpec, told: Told, end: str, links: Links, view: View) -> Iterator[str]:
    """What a stage reads of whom, or writes for whom, in one pipeline."""
    lines = [line for line in told.lines if line.label == label and line.about is not None]
    rows = [
        (
            links.field(name_of(field), field.key),
            links.words(line.facts[-1], view),
            links.facts(line.facts[:-1], view),
            escaped("; ".join(details(field))),
        )
        for field, line in zip(declared(schema), lines, strict=True)
    ]
    yield from table((label, end, "as", "and"), rows) if rows else _nothing(label)


def _plain(label: str, schema: SchemaSpec, links: Links) -> Iterator[str]:
    """What a schema declares, where no pipeline says more."""
    rows = [_row(field, links) for field in declared(schema)]
    yield from table((label, "as", "and", "what it is"), rows) if rows else _nothing(label)


def _row(field: FieldSpec, links: Links) -> tuple[str, str, str, str]:
    place = [escaped(either(field))]
    if field.when is not None:
        place.append(links.condition(f"where {words(field.when)}"))
    if not field.required:
        place.append("optional")
    more = escaped("; ".join(details(field)))
    return links.field(name_of(field), field.key), "; ".join(place), more, escaped(field.description)


def _nothing(label: str) -> Iterator[str]:
    yield ""
    yield f"It {label} nothing."
    yield ""
