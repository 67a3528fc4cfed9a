"""The graph as SVG: whole, in both colour schemes, with a place for each stage that a page can find."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import pytest

from batchpact.contracts import Pipeline
from batchpact.contracts.reference.graph import graph
from batchpact.contracts.reference.layout import NAMED
from batchpact.contracts.reference.project import Project
from batchpact.contracts.reference.svg import drawn_from, source_of, svg
from batchpact.contracts.reference.view import View
from batchpact.schemas.errors import SettingError
from batchpact.schemas.rl import grpo
from tests.contracts.reference.large import large
from tests.contracts.reference.small import odd_project, ppo_project

NAME = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def graphviz() -> None:
    pytest.importorskip("pygraphviz")


@pytest.mark.usefixtures("graphviz")
def test_every_stage_and_every_flow_is_drawn_once() -> None:
    view = ppo_project().views["ppo"]
    root = ElementTree.fromstring(svg(view))
    groups = [group for group in root.iter(f"{NAME}g") if "class" in group.attrib]
    kinds = [group.attrib["class"] for group in groups]
    stages = {group.attrib["data-stage"]: group for group in groups if "data-stage" in group.attrib}

    assert list(stages) == [stage.name for stage in view.pipeline.stages]
    assert stages["values"].attrib["class"] == "node stage conditional"
    assert stages["values"].attrib["id"] == "stage-values"
    assert kinds.count("node inputs") == 1
    assert len([kind for kind in kinds if kind.split()[0] == "edge"]) == len(graph(view).edges)
    assert "prefers-color-scheme: dark" in svg(view)


@pytest.mark.usefixtures("graphviz")
def test_all_text_stands_within_its_card() -> None:
    """By the widths that were reckoned with, which are those of the typewriter faces that are asked for."""
    view = odd_project().views["Odd / pipeline"]
    root = ElementTree.fromstring(svg(view))
    sizes = {"title": 13.0, "field": 11.0, "declared": 10.0, "when": 10.0, "more": 10.0}
    seen = 0
    for group in root.iter(f"{NAME}g"):
        box = group.find(f"{NAME}rect")
        if box is None or "data-at" not in group.attrib:
            continue
        left, top, width, height = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        for text in group.findall(f"{NAME}text"):
            long = len("".join(text.itertext())) * sizes[text.attrib["class"]] * 0.61
            assert left <= float(text.attrib["x"]) and float(text.attrib["x"]) + long <= left + width + 0.2
            assert top < float(text.attrib["y"]) <= top + height
            seen += 1
    assert seen > 10


@pytest.mark.usefixtures("graphviz")
def test_a_stage_that_stands_twice_has_two_ids_and_odd_names_are_escaped() -> None:
    text = svg(odd_project().views["Odd / pipeline"])
    ids = re.findall(r'id="([^"]*)"', text)

    assert len(ids) == len(set(ids)) == 4
    assert "a|b &lt;i&gt;*c*&lt;/i&gt;" in text
    ElementTree.fromstring(text)


@pytest.mark.usefixtures("graphviz")
def test_beyond_some_edges_names_are_left_to_the_tooltips() -> None:
    view = Project(large(80, 800)).views["large"]
    assert len(graph(view).edges) > NAMED

    text = svg(view)
    assert 'class="names' not in text
    assert "stage_000_field_03: from stage_000 to stage_001</title>" in text


@pytest.mark.usefixtures("graphviz")
def test_the_graph_says_what_it_was_drawn_from() -> None:
    view = ppo_project().views["ppo"]

    assert drawn_from(svg(view)) == source_of(view) == source_of(ppo_project().views["ppo"])
    assert source_of(view) != source_of(odd_project().views["odd-pipeline"])
    assert drawn_from("<svg/>") == ""


def test_what_is_drawn_from_needs_no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    view = ppo_project().views["ppo"]

    assert re.fullmatch(r"[0-9a-f]{64}", source_of(view))
    with pytest.raises(SettingError) as caught:
        svg(view)
    assert str(caught.value) == (
        "1 problem in the graph of a pipeline\n\n"
        "  BP052 setting  pygraphviz  it is not installed; graphs need it; pip install 'batchpact[docs]'"
    )


@pytest.mark.usefixtures("graphviz")
def test_a_pipeline_is_its_graph_in_a_notebook() -> None:
    pipeline = Pipeline("scoring", inputs=grpo.PromptBatch, stages=[grpo.Generate, grpo.ScoreAnswers])

    assert pipeline._repr_svg_() == svg(View(pipeline.spec, pipeline.flow()))


def test_a_pipeline_is_text_in_a_notebook_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)

    assert Pipeline("scoring", inputs=grpo.PromptBatch, stages=[grpo.Generate])._repr_svg_() is None
