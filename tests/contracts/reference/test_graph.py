"""The lineage: a card for each stage, an edge for each pair of stages of which one reads what the other has written."""

from __future__ import annotations

from batchpact.contracts.reference.graph import Edge, Graph, Item, Node, graph
from tests.contracts.reference.small import odd_project, ppo_project


def ppo_graph() -> Graph:
    return graph(ppo_project().views["ppo"])


def test_a_card_says_what_is_written_and_under_which_condition() -> None:
    nodes = {node.name: node for node in ppo_graph().nodes}

    assert nodes["advantage"] == Node(
        "stage",
        7,
        "advantage",
        "",
        "",
        (Item("advantages", 'f32 "batch response"', False), Item("returns", 'f32 "batch response"', True)),
    )
    assert nodes["values"].when == "use_critic (algorithm.adv_estimator == 'gae')"
    assert [item.name for item in nodes["inputs"].items] == ["prompts", "uid", "temperature", "validate"]


def test_an_edge_holds_every_field_that_flows_and_whether_that_depends_on_the_configuration() -> None:
    edges = {(edge.writer, edge.reader): edge for edge in ppo_graph().edges}

    assert edges[-1, 0] == Edge(-1, 0, ("prompts", "temperature"), False)
    assert edges[0, 9] == Edge(0, 9, ("responses", "response_mask"), True)  # the reader is switched
    assert edges[-1, 7] == Edge(-1, 7, ("uid",), True)  # the field is
    assert edges[0, 7] == Edge(0, 7, ("response_mask",), False)


def test_outputs_come_from_who_has_written_them_last_and_have_a_card_where_some_are_named() -> None:
    made = graph(odd_project().views["Odd / pipeline"])

    assert made.nodes[-1] == Node("outputs", 4, "outputs", "", "", (Item("scores", "", False),))
    assert [(edge.writer, edge.fields) for edge in made.edges if edge.reader == 4] == [(0, ("scores",))]
    assert graph(odd_project().views["odd-pipeline"]).nodes[-1].kind == "stage"


def test_open_columns_flow_under_the_name_of_their_attribute() -> None:
    nodes = graph(odd_project().views["odd-pipeline"]).nodes

    assert [node.drops for node in nodes if node.name == "again/inner"] == [("uid",), ("uid",)]
