"""The page of fields: each once, whoever declares it."""

from __future__ import annotations

from collections.abc import Iterator

from batchpact.contracts.formats.markdown import escaped
from batchpact.contracts.reference.details import details, policies
from batchpact.contracts.reference.markdown.findings import Found
from batchpact.contracts.reference.markdown.links import Links, field_anchor
from batchpact.contracts.reference.markdown.text import heading, page, prose, table
from batchpact.contracts.reference.project import Declaration
from batchpact.contracts.reference.told import Line
from batchpact.contracts.reference.view import View
from batchpact.schemas.condition_specs import words
from batchpact.schemas.declared import either

_SHOWN = 3
"""The table of all fields names as many stages at most; the rest stands at the field."""


def fields_page(links: Links, found: Found) -> str:
    """The page `fields.md`."""
    return page("Fields", _lines(links, found))


def _lines(links: Links, found: Found) -> Iterator[str]:
    fields = links.project.fields
    yield from table(
        ("field", "where it lives", "written by", "read by"),
        [(links.field(name), _lives(declared), *_stages(declared, links)) for name, declared in fields.items()],
    )
    for name, declared in fields.items():
        yield from _field(name, declared, links, found)


def _lives(declared: list[Declaration]) -> str:
    return escaped(" or ".join(dict.fromkeys(either(declaration.field) for declaration in declared)))


def _stages(declared: list[Declaration], links: Links) -> tuple[str, str]:
    writes = [links.owner(declaration) for declaration in declared if declaration.side in ("writes", "inputs")]
    reads = [links.owner(declaration) for declaration in declared if declaration.side == "reads"]
    return links.listed(writes, _SHOWN), links.listed(reads, _SHOWN)


def _field(name: str, declared: list[Declaration], links: Links, found: Found) -> Iterator[str]:
    yield from heading(2, name, field_anchor(name))
    meanings: dict[str, list[str]] = {}
    for declaration in declared:
        if declaration.field.description:
            meanings.setdefault(declaration.field.description, []).append(links.owner(declaration))
    if len(meanings) == 1:
        yield from prose(next(iter(meanings)))
    else:
        yield from (f"- {escaped(text)} ({links.listed(owners)})" for text, owners in meanings.items())
    yield ""
    yield from found.of_field(name, links)
    yield from _declared(declared, links)
    if any(any(policies(declaration.field).values()) for declaration in declared):
        yield f"Its {links.policies(name)}, beside those of other fields."
        yield ""
    for view in links.project.views.values():
        lines = view.field(name).lines
        if lines:
            alone = len([line for line in lines if line.label in ("inputs", "writes")]) == 1
            places = {line.facts[0] for line in lines if line.facts}
            one = len(places) == 1
            yield f"In {links.pipeline(view.pipeline.name)}{f', {links.words(places.pop(), view)}' if one else ''}:"
            yield ""
            yield from (f"- {text}" for line in lines if (text := _line(line, one, alone, links, view)))
            yield ""


def _declared(declared: list[Declaration], links: Links) -> Iterator[str]:
    """As what the field is declared, and by whom; those that say the same stand together."""
    variants: dict[tuple[str, str], list[Declaration]] = {}
    for declaration in declared:
        field = declaration.field
        told = [escaped(text) for text in details(field)]
        if field.when is not None:
            told.insert(0, links.condition(f"where {words(field.when)}"))
        if not field.required:
            told.insert(0, "optional")
        variants.setdefault((escaped(either(field)), "; ".join(told)), []).append(declaration)
    yield from table(
        ("declared as", "and", "by"),
        [(place, more, _by(owners, links)) for (place, more), owners in variants.items()],
    )


def _by(declared: list[Declaration], links: Links) -> str:
    sides: dict[str, list[str]] = {}
    for declaration in declared:
        sides.setdefault(declaration.side, []).append(links.owner(declaration))
    verbs = {"inputs": "in", "writes": "written by", "reads": "read by", "schema": "in"}
    return "; ".join(f"{verbs[side]} {links.listed(sides[side])}" for side in verbs if side in sides)


def _line(line: Line, one: bool, alone: bool, links: Links, view: View) -> str:
    """A line of the field's path, without what every line would say; empty where another has said everything.

    Args:
        line: the line.
        one: everybody in the pipeline declares the field as one thing.
        alone: one stage writes it.
        links: the links of the page.
        view: the pipeline.
    """
    facts = line.facts[1:] if one else line.facts
    if alone and line.label == "reads" and facts and facts[-1][0] == "written by ":
        facts = facts[:-1]
    labels = {"inputs": "in the inputs", "reads": "read", "writes": "written", "drops": "dropped"}
    if not facts and line.label == "reads":
        return ""
    about = f" by {links.words((line.about,), view)}" if line.about is not None else ""
    told = links.facts(facts, view)
    return f"{labels[line.label]}{about}" + (f": {told}" if told else "")
