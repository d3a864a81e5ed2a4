from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest

from grisaille.views.page.facts import StudyFacts
from grisaille.views.page.graph import graph_svg
from tests.views.page.page_helpers import HOSTILE, reactor_study

pytestmark = pytest.mark.slow


def nodes_of(svg: str) -> dict[str, float]:
    """The left edge of each node, by the text that a pointer shows."""
    found = {}
    for group in ElementTree.fromstring(svg).iter("g"):
        title, rect = group.find("title"), group.find("rect")
        found[title.text] = float(rect.attrib["x"])
    return found


def test_what_is_read_stands_left_of_what_reads_it():
    study = reactor_study(0)
    facts = StudyFacts("study", study.state.settings, study.history)
    left = nodes_of(graph_svg(facts.graph, {}))
    for node in facts.graph:
        for read in node["reads"]:
            assert left[facts.graph[read]["label"]] < left[node["label"]]
    assert left["reactor"] < left["column"]


def test_an_unknown_stands_left_although_it_reads_what_comes_back():
    nodes = [
        {"kind": "unknown", "label": "u", "reads": [1], "box": ""},
        {"kind": "black", "label": "f", "reads": [0], "box": "f"},
    ]
    svg = graph_svg(nodes, {})
    assert nodes_of(svg)["u"] < nodes_of(svg)["f"]
    assert "edge back" in svg


def test_only_black_boxes_are_links_and_names_are_escaped():
    nodes = [
        {"kind": "variable", "label": HOSTILE, "reads": [], "box": ""},
        {"kind": "black", "label": "a/b ?", "reads": [0], "box": "a/b ?"},
    ]
    root = ElementTree.fromstring(graph_svg(nodes, {"a/b ?": ["3 answers"]}, "/box/"))
    assert [link.attrib["href"] for link in root.iter("a")] == ["/box/a%2Fb%20%3F"]
    assert "3 answers" in "".join(root.itertext())


def test_nodes_of_one_column_do_not_overlap():
    nodes = [{"kind": "variable", "label": f"x{k}" * 30, "reads": [], "box": ""} for k in range(9)]
    rects = list(ElementTree.fromstring(graph_svg(nodes, {})).iter("rect"))
    spans = sorted((float(r.attrib["y"]), float(r.attrib["height"])) for r in rects)
    assert all(top + height < below for (top, height), (below, _) in itertools.pairwise(spans))


def test_a_study_of_version_0_1_has_an_empty_graph():
    assert ElementTree.fromstring(graph_svg([], {})).tag == "svg"
