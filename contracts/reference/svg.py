"""The lineage of a pipeline as an SVG that stands alone, in light and dark, and can be styled where it is embedded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from html import escape

from batchpact.contracts.reference.cards import LINE, PADDING, SMALL, TEXT, TITLE, Card, card, label
from batchpact.contracts.reference.graph import Edge, Graph, Node, graph
from batchpact.contracts.reference.layout import Layout, dot, is_named, layout
from batchpact.contracts.reference.slugs import slugs
from batchpact.contracts.reference.view import View

_MARGIN = 12.0
_STYLE = f"""\
.lineage {{
  --card: #ffffff; --line: #8b97a6; --ink: #1c2430; --soft: #5d6b7c; --accent: #2f6fd0; --ends: #eef3f9;
  --back: #ffffff;
}}
@media (prefers-color-scheme: dark) {{
  .lineage {{
    --card: #1d2530; --line: #6b7888; --ink: #e4e9f0; --soft: #9aa7b8; --accent: #7fb0ff; --ends: #232f3e;
    --back: #12171e;
  }}
}}
.lineage text {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
.lineage .back {{ fill: var(--back); }}
.lineage .node rect {{ fill: var(--card); stroke: var(--line); stroke-width: 1.2; }}
.lineage .inputs rect, .lineage .outputs rect {{ fill: var(--ends); }}
.lineage .node.conditional rect {{ stroke-dasharray: 5 3; }}
.lineage .node line {{ stroke: var(--line); stroke-width: 0.8; }}
.lineage .title {{ font-size: {TITLE:g}px; font-weight: 600; fill: var(--ink); }}
.lineage .field {{ font-size: {TEXT:g}px; fill: var(--ink); }}
.lineage .declared, .lineage .more, .lineage .label {{ font-size: {SMALL:g}px; fill: var(--soft); }}
.lineage .when {{ font-size: {SMALL:g}px; fill: var(--accent); }}
.lineage .maybe {{ fill: var(--accent); }}
.lineage .edge path {{ fill: none; stroke: var(--line); stroke-width: 1.2; }}
.lineage .edge polygon {{ fill: var(--line); }}
.lineage .edge.conditional path {{ stroke-dasharray: 5 3; }}
.lineage .label {{ paint-order: stroke; stroke: var(--back); stroke-width: 3px; text-anchor: middle; }}
"""
_SOURCE = re.compile(r'data-source="([0-9a-f]{64})"')


def svg(view: View) -> str:
    """The graph of a pipeline.

    Cards are `<g class="node stage" id="stage-..." data-stage="...">`, with the classes `inputs` and `outputs` for what
    goes in and comes out; what flows is `<g class="edge" data-writer="..." data-reader="..." data-fields="...">`. What
    depends on the configuration is `conditional`, too. The colours are variables of `.lineage`.

    Raises:
        SettingError: if pygraphviz is not installed.
    """
    made = graph(view)
    return "\n".join(_drawn(made, layout(made))) + "\n"


def source_of(view: View) -> str:
    """A hash of everything that the graph of a pipeline is drawn from, but not of where Graphviz puts it."""
    return _source(graph(view))


def drawn_from(text: str) -> str:
    """The hash of what an SVG was drawn from; empty where it says none."""
    found = _SOURCE.search(text)
    return "" if found is None else found.group(1)


def _source(made: Graph) -> str:
    return sha256(f"{_STYLE}{dot(made)}".encode()).hexdigest()


def _drawn(made: Graph, laid: Layout) -> Iterator[str]:
    width, height = laid.width + 2 * _MARGIN, laid.height + 2 * _MARGIN
    names = {node.at: node.name for node in made.nodes}
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lineage" role="img" data-source="{_source(made)}" '
        f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}">'
    )
    yield f"<title>{escape(f'The stages of {made.pipeline}, and what flows between them')}</title>"
    yield f"<style>\n{_STYLE}</style>"
    yield f'<rect class="back" width="{_n(width)}" height="{_n(height)}" rx="6"/>'
    yield f'<g transform="translate({_MARGIN:g} {_MARGIN:g})">'
    for edge in made.edges:
        yield from _edge(edge, laid, names)
    if is_named(made):
        for edge in made.edges:  # over all lines
            yield from _label(edge, laid)
    stages = iter(slugs(node.name for node in made.nodes if node.kind == "stage"))
    for node in made.nodes:
        yield from _node(card(node), laid, next(stages) if node.kind == "stage" else "")
    yield "</g>\n</svg>"


def _edge(edge: Edge, laid: Layout, names: dict[int, str]) -> Iterator[str]:
    start, *points, end, tip = laid.edges[edge.writer, edge.reader]
    parts = [f"M{_at(start)}", *(f"C{' '.join(map(_at, three))}" for three in _threes([*points, end]))]
    told = f"{', '.join(edge.fields)}: from {names[edge.writer]} to {names[edge.reader]}"
    yield f'<g class="{_classes("edge", edge.conditional)}" {_flow(edge)}>'
    yield f"<title>{escape(told)}</title>"
    yield f'<path d="{"".join(parts)}"/>'
    yield f'<polygon points="{_arrow(end, tip)}"/>'
    yield "</g>"


def _label(edge: Edge, laid: Layout) -> Iterator[str]:
    x, y = laid.labels[edge.writer, edge.reader]
    lines = label(edge)
    top = y - (len(lines) - 1) * (LINE - 3) / 2 + SMALL / 3
    yield f'<g class="{_classes("names", edge.conditional)}" {_flow(edge)}>'
    for at, line in enumerate(lines):
        yield f'<text class="label" x="{_n(x)}" y="{_n(top + at * (LINE - 3))}">{escape(line)}</text>'
    yield "</g>"


def _flow(edge: Edge) -> str:
    fields = escape(" ".join(edge.fields))
    return f'data-writer="{edge.writer}" data-reader="{edge.reader}" data-fields="{fields}"'


def _node(made: Card, laid: Layout, stage: str) -> Iterator[str]:
    node = made.node
    x, y = laid.nodes[node.at]
    left, top = x - made.width / 2, y - made.height / 2
    named = f'id="stage-{stage}" data-stage="{escape(node.name)}"' if stage else ""
    yield f'<g class="{_classes(f"node {node.kind}", bool(node.when))}" data-at="{node.at}" {named}'.rstrip() + ">"
    yield f"<title>{escape(_tooltip(node))}</title>"
    yield f'<rect x="{_n(left)}" y="{_n(top)}" width="{_n(made.width)}" height="{_n(made.height)}" rx="6"/>'
    y = top + PADDING + TITLE - 2
    yield _text("title", left + PADDING, y, made.title)
    for line in made.when:
        y += LINE
        yield _text("when", left + PADDING, y, line)
    if made.items:
        y += PADDING - 2
        yield f'<line x1="{_n(left)}" x2="{_n(left + made.width)}" y1="{_n(y)}" y2="{_n(y)}"/>'
        y += 2
    for item in made.items:
        y += LINE
        mark = '<tspan class="maybe"> ?</tspan>' if item.conditional else ""
        yield _text("field", left + PADDING, y, item.name, mark)
        if item.declared:
            yield _text("declared", left + made.column, y, item.declared)
    if made.more:
        yield _text("more", left + PADDING, y + LINE, f"and {made.more} more")
    yield "</g>"


def _tooltip(node: Node) -> str:
    where = f" where {node.when}" if node.when else ""
    drops = f"drops {', '.join(node.drops)}" if node.drops else ""
    return "\n".join(filter(None, [f"{node.name}{where}", node.description, drops]))


def _text(kind: str, x: float, y: float, text: str, more: str = "") -> str:
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}">{escape(text)}{more}</text>'


def _classes(kind: str, conditional: bool) -> str:
    return f"{kind} conditional" if conditional else kind


def _threes(points: list[tuple[float, float]]) -> Iterator[list[tuple[float, float]]]:
    for at in range(0, len(points), 3):
        yield points[at : at + 3]


def _arrow(end: tuple[float, float], tip: tuple[float, float]) -> str:
    """The tip of an arrow, as wide as long."""
    across, along = tip[0] - end[0], tip[1] - end[1]
    left = end[0] - along * 0.4, end[1] + across * 0.4
    right = end[0] + along * 0.4, end[1] - across * 0.4
    return " ".join(map(_at, (left, tip, right)))


def _at(point: tuple[float, float]) -> str:
    return f"{_n(point[0])},{_n(point[1])}"


def _n(value: float) -> str:
    """A number as SVG takes it, with what the eye can see of it."""
    return f"{value:.1f}".removesuffix(".0")
