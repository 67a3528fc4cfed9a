"""A batch as text, as a table for the terminal, and as HTML for notebooks; all three print the same facts."""

from __future__ import annotations

from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING

from batchpact.dataproto.facts import Facts, Said, StoreFacts
from batchpact.dataproto.preview import one_line

if TYPE_CHECKING:
    from rich.console import Group

FIELDS_IN_TEXT = 40
"""So many fields of a store are printed; the others are counted."""
FIELDS_IN_TABLES = 100
"""The same, where each has a line of its own."""


def text(facts: Facts) -> str:
    """A few lines: the fields of each store, with what they are."""
    lines = [f"{facts.name}({facts.head}"]
    for store in facts.stores:
        fields = ", ".join(f"{field.key}: {field.kind}" for field in store.fields) or store.instead
        lines.append(f"  {store.name}: {fields} {store.more}".rstrip())
    return "\n".join(lines) + ")"


def table(facts: Facts) -> Group:
    """A table for the terminal, with a line for each field."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    fields = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    columns = facts.columns
    for heading, _ in columns:
        # In a narrow terminal the values are the first to give way.
        fields.add_column(heading, justify="right" if heading == "size" else "left", no_wrap=heading != "value")
    for store in facts.stores:
        headline = {"field": store.name, "type": "" if store.fields else store.instead, "size": str(store.size)}
        fields.add_row(*(Text(headline.get(heading, ""), style="bold") for heading, _ in columns))
        for field in store.fields:
            cells = {heading: Text(said(field), no_wrap=True, overflow="ellipsis") for heading, said in columns}
            cells["field"].pad_left(2)
            fields.add_row(*cells.values())
        if store.hidden:
            fields.add_row(Text(f"  {store.more}"))
    return Group(Text(f"{facts.name}: {facts.summary}"), fields)


# --- HTML -------------------------------------------------------------------------------------------------------------

# No colours but a translucent grey: text takes those of the page, so that it reads in light and in dark. The odd
# selectors are there to outweigh the rules that notebooks have for every table.
_STYLE = """
.batchpact { font: 13px/1.5 system-ui, sans-serif; overflow-x: auto; }
.batchpact table { border: none; border-collapse: collapse; margin: 0; font: inherit; color: inherit; }
.batchpact table tr:nth-child(n) { background: none; }
.batchpact table :is(th, td):nth-child(n) {
  border: none; padding: .1em 1.6em .1em 0; text-align: left; vertical-align: baseline; white-space: nowrap;
}
.batchpact table .size:nth-child(n) { text-align: right; font-variant-numeric: tabular-nums; }
.batchpact table .store:nth-child(n) { border-top: 1px solid rgba(128, 128, 128, .4); padding-top: .4em; }
.batchpact :is(code, td) { background: none; color: inherit; }
.batchpact code { font: 12px/1.5 ui-monospace, monospace; padding: 0; }
.batchpact :is(thead th, small, summary) { font-size: 12px; font-weight: normal; opacity: .7; }
.batchpact small { margin-left: .7em; }
.batchpact details { margin-top: .7em; }
.batchpact summary { cursor: pointer; }
"""
_CODE, _CODE_WIDTH = ("field", "type", "value"), 36


def html(facts: Facts) -> str:
    """One fragment, without script and with nothing from elsewhere: the table, and the first cells of the columns.

    Everything that comes from the batch is escaped.
    """
    columns = facts.columns
    headings = "".join(f"<th{_class(heading)}>{escape(heading)}</th>" for heading, _ in columns)
    stores = "".join(_store(store, columns) for store in facts.stores)
    return (
        f'<div class="batchpact"><style>{_STYLE}</style>'
        f"<div><b>{escape(facts.name)}</b><small>{escape(facts.summary)}</small></div>"
        f"<table><thead><tr>{headings}</tr></thead>{stores}</table>{_first_cells(facts)}</div>"
    )


def _store(store: StoreFacts, columns: list[tuple[str, Said]]) -> str:
    beside = str(store.size) if store.fields else store.instead
    rows = [f'<th class="store" colspan="{len(columns)}">{escape(store.name)}<small>{escape(beside)}</small></th>']
    rows += ["".join(_cell(heading, said(field)) for heading, said in columns) for field in store.fields]
    if store.hidden:
        rows.append(f'<td colspan="{len(columns)}">{escape(store.more)}</td>')
    return f"<tbody>{_rows(rows)}</tbody>"


def _cell(heading: str, said: str) -> str:
    return f"<td{_class(heading)}>{_code(said) if heading in _CODE else escape(said)}</td>"


def _first_cells(facts: Facts) -> str:
    columns = [(field.key, cells) for field in facts.fields if (cells := field.cells)]
    if not columns:
        return ""
    headings = "".join(f"<th>{_code(key)}</th>" for key, _ in columns)
    lines = zip_longest(*(cells for _, cells in columns), fillvalue="")
    rows = _rows(["".join(f"<td>{_code(cell)}</td>" for cell in line) for line in lines])
    summary = "<summary>The first rows of the columns</summary>"
    return f"<details>{summary}<table><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table></details>"


def _rows(rows: list[str]) -> str:
    return "".join(f"<tr>{row}</tr>" for row in rows)


def _code(said: str) -> str:
    """What was said, cut; all of it shows where the pointer rests."""
    cut = one_line(said, _CODE_WIDTH)
    title = "" if cut == said else f' title="{escape(said)}"'
    return f"<code{title}>{escape(cut)}</code>" if said else ""


def _class(heading: str) -> str:
    return ' class="size"' if heading == "size" else ""
