"""The lineage of a pipeline as Mermaid, for pages whose reader draws it."""

from __future__ import annotations

from collections.abc import Iterator

from batchpact.contracts.reference.cards import label
from batchpact.contracts.reference.graph import Edge, Graph, Node

DRAWN = 400
"""Mermaid draws 500 edges at most, and nobody can follow so many."""

_SHAPES = {"inputs": ("([", "])"), "stage": ("[", "]"), "outputs": ("([", "])")}


def mermaid(graph: Graph) -> str:
    """A flowchart: stages with their conditions, and what flows between them; dashed where it may not flow.

    It is empty where there are more edges than Mermaid draws.
    """
    if len(graph.edges) > DRAWN:
        return ""
    return "\n".join(["flowchart TB", *map(_node, graph.nodes), *map(_edge, graph.edges), *_styles(graph)])


def _node(node: Node) -> str:
    opening, closing = _SHAPES[node.kind]
    name = f"{node.at + 1} {node.name}" if node.kind == "stage" else node.name
    when = f"<br>{_escaped(f'where {node.when}')}" if node.when else ""
    return f'  {_id(node.at)}{opening}"{_escaped(name)}{when}"{closing}'


def _edge(edge: Edge) -> str:
    arrow = "-.->" if edge.conditional else "-->"
    names = "<br>".join(map(_escaped, label(edge)))
    return f'  {_id(edge.writer)} {arrow}|"{names}"| {_id(edge.reader)}'


def _styles(graph: Graph) -> Iterator[str]:
    switched = [_id(node.at) for node in graph.nodes if node.when]
    if switched:
        yield "  classDef conditional stroke-dasharray: 5 3"
        yield f"  class {','.join(switched)} conditional"


def _id(at: int) -> str:
    return "inputs" if at < 0 else f"n{at}"


def _escaped(text: str) -> str:
    """Text in which Mermaid sees no markup: what is neither a letter nor harmless stands by its number."""
    return "".join(char if char.isalnum() or char in " _-.,()='/" else f"#{ord(char)};" for char in text)
