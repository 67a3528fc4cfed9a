"""Where Graphviz puts the cards and the edges of a graph."""

from __future__ import annotations

from typing import Any, NamedTuple

from batchpact.contracts.reference.cards import LETTER, LINE, SMALL, card, label
from batchpact.contracts.reference.graph import Edge, Graph
from batchpact.contracts.reference.optional import not_installed

NAMED = 200
"""Beyond so many edges they bear no names, which nobody could read, and which would take minutes to place."""


def is_named(graph: Graph) -> bool:
    """Whether the edges of a graph bear names."""
    return len(graph.edges) <= NAMED


def dot(graph: Graph) -> str:
    """The graph in Graphviz' language: everything that is drawn, with the sizes in which it is."""
    lines = [f"digraph {_quoted(graph.pipeline)} {{"]
    effort = "" if is_named(graph) else ", nslimit=0.5, nslimit1=0.5, mclimit=0.1"
    lines.append(f"  graph [rankdir=TB, nodesep=0.35, ranksep=0.45{effort}];")
    lines.append('  node [shape=box, fixedsize=true, label=""];')
    for node in graph.nodes:
        made = card(node)
        told = "; ".join(
            [made.title, node.when, node.description, *(" ".join(map(str, item)) for item in node.items), *node.drops]
        )
        size = f"width={made.width / 72:.4f}, height={made.height / 72:.4f}"
        lines.append(f"  {_id(node.at)} [{size}, tooltip={_quoted(told)}];")
    for edge in graph.edges:
        style = "dashed" if edge.conditional else "solid"
        named = f"label=<{_space(edge)}>, " if is_named(graph) else ""
        told = _quoted(", ".join(edge.fields))
        lines.append(f"  {_id(edge.writer)} -> {_id(edge.reader)} [{named}style={style}, tooltip={told}];")
    return "\n".join([*lines, "}", ""])


def _space(edge: Edge) -> str:
    """An empty box, as large as the names at an edge."""
    lines = label(edge)
    width, height = max(map(len, lines)) * SMALL * LETTER + 8, len(lines) * (LINE - 3) + 4
    size = f'FIXEDSIZE="TRUE" WIDTH="{width:.0f}" HEIGHT="{height:.0f}"'
    return f'<TABLE BORDER="0" {size}><TR><TD></TD></TR></TABLE>'


def _id(at: int) -> str:
    return "inputs" if at < 0 else f"n{at}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


class Layout(NamedTuple):
    """Where everything is, in px from the left and from the top.

    Attributes:
        width: of the whole.
        height: of the whole.
        nodes: the middles of the cards, by their numbers.
        edges: the points of Bezier curves from writer to reader; the last point is the tip of the arrow.
        labels: the middles of the names of edges, where they bear some.
    """

    width: float
    height: float
    nodes: dict[int, tuple[float, float]]
    edges: dict[tuple[int, int], list[tuple[float, float]]]
    labels: dict[tuple[int, int], tuple[float, float]]


def layout(graph: Graph) -> Layout:
    """Where Graphviz puts the cards and the edges of a graph.

    Raises:
        SettingError: if pygraphviz is not installed.
    """
    try:
        from pygraphviz import AGraph
    except ImportError:
        raise not_installed("pygraphviz", "in the graph of a pipeline", "graphs need it") from None
    laid: Any = AGraph(string=dot(graph))  # it has no types
    laid.layout(prog="dot")
    box = _numbers(laid.graph_attr["bb"])
    height = box[3]
    nodes = {node.at: _point(laid.get_node(_id(node.at)).attr["pos"], height) for node in graph.nodes}
    edges, labels = {}, {}
    for edge in graph.edges:
        found = laid.get_edge(_id(edge.writer), _id(edge.reader)).attr
        edges[edge.writer, edge.reader] = _curve(found["pos"], height)
        if is_named(graph):
            labels[edge.writer, edge.reader] = _point(found["lp"], height)
    laid.close()
    return Layout(box[2], height, nodes, edges, labels)


def _curve(text: str, height: float) -> list[tuple[float, float]]:
    """The points of `e,x,y x,y x,y ...`, with the tip of the arrow at the end."""
    tip, *rest = text.replace("\\\n", "").split()
    return [_point(part.removeprefix("e,"), height) for part in (*rest, tip)]


def _point(text: str, height: float) -> tuple[float, float]:
    x, y = _numbers(text)
    return x, height - y


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]
