"""The page of policies: what becomes of fields when batches are joined, made longer or filled up."""

from __future__ import annotations

from collections.abc import Iterator

from batchpact.contracts.formats.markdown import escaped
from batchpact.contracts.reference.details import policies
from batchpact.contracts.reference.markdown.links import Links, field_anchor
from batchpact.contracts.reference.markdown.text import page, table


def policies_page(links: Links) -> str:
    """The page `policies.md`."""
    return page("Policies", _lines(links))


def _lines(links: Links) -> Iterator[str]:
    rows = []
    for name, declared in links.project.fields.items():
        said: dict[tuple[str, ...], list[str]] = {}
        for declaration in declared:
            told = tuple(policies(declaration.field).values())
            if any(told):
                said.setdefault(told, []).append(links.owner(declaration))
        for at, (told, owners) in enumerate(said.items()):
            anchor = "" if at else f'<a id="{field_anchor(name)}"></a>'
            rows.append((anchor + links.field(name), *map(escaped, told), links.listed(owners)))
    yield "Fields of which somebody says what becomes of them when batches are joined, made longer or filled up."
    yield from table(("field", "key or group", "merged", "padded", "filled", "says"), rows)
    if not rows:
        yield ""
        yield "There are none."
