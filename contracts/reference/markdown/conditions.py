"""The page of conditions: each key that they ask about, the values that are told apart, and what these switch.

What the configuration fills or counts without a condition stands at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from batchpact.contracts.formats.markdown import escaped
from batchpact.contracts.reference.keys import Switched
from batchpact.contracts.reference.markdown.links import Links, key_anchor, name_anchor
from batchpact.contracts.reference.markdown.text import heading, page, table
from batchpact.schemas.condition_specs import words
from batchpact.schemas.record import StageSpec

_KINDS = {
    "config": "A key of the configuration.",
    "meta": "A value of meta.",
    "arg": "An argument of a call.",
    "present": "Whether the batch holds a field.",
    "step": "A number in the meta that grows while a run goes on.",
}


def conditions_page(links: Links) -> str:
    """The page `conditions.md`."""
    return page("Conditions", _lines(links))


def _lines(links: Links) -> Iterator[str]:
    if not links.keys:
        yield "No condition asks about anything."
    yield from table(
        ("asked about", "told apart", "switches"),
        [(links.key(name), escaped(key.told_apart), str(len(key.switched))) for name, key in links.keys.items()],
    )
    for name, key in links.keys.items():
        yield from heading(2, name, key_anchor(name))
        of = key.subject.name
        field = f" See {links.field(of)}." if key.subject.source in ("meta", "present") and _known(of, links) else ""
        yield f"{_KINDS[key.subject.source]}{field} These are told apart: {escaped(key.told_apart)}."
        yield from table(("switches", "in", "where"), [_row(switched, links) for switched in key.switched])

    if links.names:
        yield from heading(2, "Names", "names")
        yield "Conditions that have a name, and what each stands for."
        yield from table(("name", "holds where"), [_named(name, texts, links) for name, texts in links.names.items()])
    filled = dict(sorted(_filled(links).items()))
    if filled:
        yield from heading(2, "Values from the configuration", "values")
        yield from table(("key", "what for"), [(escaped(key), links.listed(uses)) for key, uses in filled.items()])


def _named(name: str, meanings: list[str], links: Links) -> tuple[str, str]:
    """A row about a name; another pipeline may mean something else by it."""
    told = "; elsewhere ".join(map(links.condition, meanings))
    return f'<a id="{name_anchor(name)}"></a>{escaped(name)}', told


def _filled(links: Links) -> dict[str, list[str]]:
    """Keys whose values are used as they are: for fields, for the number of rows, for the names of columns."""
    found: dict[str, list[str]] = {}
    for name, declared in links.project.fields.items():
        for declaration in declared:
            field = declaration.field
            of = f"{links.field(name)} of {links.owner(declaration)}"
            if field.source is not None:
                found.setdefault(field.source, []).append(of)
            if field.named_by is not None and field.named_by.source == "config":
                found.setdefault(field.named_by.name, []).append(f"the names of {of}")
    for qualname, stage in sorted(links.project.contracts.stages.items()):
        if isinstance(stage.rows.times, str):
            found.setdefault(stage.rows.times, []).append(f"how many rows {links.stage_of(qualname)} makes of one")
    return found


def _known(name: str, links: Links) -> bool:
    return name in links.project.fields


def _row(switched: Switched, links: Links) -> tuple[str, str, str]:
    where = links.condition(words(switched.condition))
    pipeline = "" if switched.pipeline is None else links.pipeline(switched.pipeline)
    return _what(switched, links), pipeline, where


def _what(switched: Switched, links: Links) -> str:
    owner, side = switched.owner, switched.side
    if owner is None:
        return f"the inputs' {links.field(switched.field)}" if side else "holds always"
    if isinstance(owner, StageSpec):
        named = links.stage_of(owner.qualname) if switched.pipeline is None else links.stage(owner, switched.pipeline)
    else:
        named = links.schema(owner.qualname)
    if side is None:
        return f"stage {named}"
    verb = {"reads": "reads", "writes": "writes", "inputs": "holds", "schema": "holds"}[side]
    return f"{named} {verb} {links.field(switched.field)}"
