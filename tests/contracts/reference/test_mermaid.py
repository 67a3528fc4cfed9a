"""The graph as Mermaid."""

from __future__ import annotations

from batchpact.contracts.reference.graph import Edge, Graph, Item, Node, graph
from batchpact.contracts.reference.mermaid import DRAWN, mermaid
from batchpact.contracts.reference.project import Project
from tests.contracts.reference.large import large


def test_cards_and_flows_and_what_is_switched() -> None:
    nodes = (
        Node("inputs", -1, "inputs", "", "", (Item("x", "", False),)),
        Node("stage", 0, "score", "", "", (Item("y", "", False),)),
        Node("stage", 1, "update", "", 'kind == "a"', ()),
    )
    edges = (Edge(-1, 0, ("x",), False), Edge(0, 1, ("y", "a|b"), True))

    assert mermaid(Graph("small", nodes, edges)).splitlines() == [
        "flowchart TB",
        '  inputs(["inputs"])',
        '  n0["1 score"]',
        '  n1["2 update<br>where kind == #34;a#34;"]',
        '  inputs -->|"x"| n0',
        '  n0 -.->|"y<br>a#124;b"| n1',
        "  classDef conditional stroke-dasharray: 5 3",
        "  class n1 conditional",
    ]


def test_what_mermaid_does_not_draw_is_left_out() -> None:
    made = graph(Project(large(150, 1500)).views["large"])

    assert len(made.edges) > DRAWN
    assert mermaid(made) == ""
