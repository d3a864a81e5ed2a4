"""Diagrams: the graph as text, Mermaid and DOT, black and white boxes told apart."""

import re

import numpy as np
import pytest

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.language.diagram import DrawnNode, draw
from tests.language.language_helpers import free


def box(name, **options):
    return gs.BlackBox(lambda *arguments: 0.0, name=name, **options)


@pytest.fixture
def problem():
    """x -> reactor -> white formula -> price -> goals."""
    x = gs.Variable("x", 2, lower=[0, 1], upper=5)
    reactor, price = box("reactor", outputs=["a", "b"]), box("price")
    made = reactor(x)
    revenue = price(made["a"] ** 2 + 1)
    return gs.Problem(maximize=revenue - x[0], subject_to=[made["b"] <= 3])


def test_the_drawing_has_one_node_per_thing_a_person_would_draw(problem):
    assert draw(problem) == [
        DrawnNode("variable", "x[2] in [0 .. 5]", ()),
        DrawnNode("black", "reactor", (0,), "reactor"),
        DrawnNode("white", "w1 = reactor['a']**2 + 1", (1,)),
        DrawnNode("black", "price", (2,), "price"),
        DrawnNode("goal", "maximize price - x[0]", (3, 0)),
        DrawnNode("goal", "subject to reactor['b'] <= 3", (1,)),
    ]


def test_text_is_the_default_and_marks_black_and_white(problem):
    assert problem.diagram() == problem.diagram("text")
    assert problem.diagram().splitlines() == [
        "1  ( )  x[2] in [0 .. 5]",
        "2  ███  reactor   <- 1",
        "3  [ ]  w1 = reactor['a']**2 + 1   <- 2",
        "4  ███  price   <- 3",
        "5  ==>  maximize price - x[0]   <- 4, 1",
        "6  ==>  subject to reactor['b'] <= 3   <- 2",
        "",
        "( ) variable   ███ black box   [ ] white box   ==> goal   <- reads",
    ]


def test_mermaid_gives_black_and_white_their_own_classes(problem):
    lines = [line.strip() for line in problem.diagram("mermaid").splitlines()]
    assert lines[0] == "flowchart LR"
    assert 'n1["reactor"]:::black' in lines
    assert "n2[\"w1 = reactor['a']**2 + 1\"]:::white" in lines
    assert "n5{{\"subject to reactor['b'] &lt;= 3\"}}:::goal" in lines
    assert {line for line in lines if "-->" in line} == {
        "n0 --> n1",
        "n1 --> n2",
        "n2 --> n3",
        "n3 --> n4",
        "n0 --> n4",
        "n1 --> n5",
    }
    fills = dict(re.findall(r"classDef (\w+) fill:(#\w+)", "\n".join(lines)))
    assert set(fills) == {"black", "white", "variable", "goal"}
    assert len(set(fills.values())) == 4


def test_dot_fills_black_boxes_only_with_black(problem):
    lines = [line.strip() for line in problem.diagram("dot").splitlines()]
    assert (lines[0], lines[-1]) == ("digraph problem {", "}")
    black = [line for line in lines if 'fillcolor="#222222"' in line]
    assert [re.search(r'label="(.*?)"', line)[1] for line in black] == ["reactor", "price"]
    assert "n2 [label=\"w1 = reactor['a']**2 + 1\" shape=box];" in lines
    assert sum(" -> " in line for line in lines) == 6


def test_dot_escapes_what_would_end_a_label():
    y = gs.Variable('say "y" \\', lower=0, upper=1)
    assert r"say \"y\" \\ in [0, 1]" in gs.Problem(minimize=y).diagram("dot")


def test_mermaid_labels_hold_no_quotes_or_angles():
    y = gs.Variable('"y" <b>', lower=0, upper=1)
    (line,) = [s for s in gs.Problem(minimize=y).diagram("mermaid").splitlines() if "n0(" in s]
    assert line.strip() == "n0([\"'y' &lt;b&gt; in [0, 1]\"]):::variable"


@pytest.mark.parametrize("format", ["png", "", None])
def test_an_unknown_format_is_refused_with_the_known_ones(problem, format):
    with pytest.raises(ModelError, match=f"format {format!r} is unknown: use text, mermaid or dot"):
        problem.diagram(format)


def test_every_call_of_a_box_is_a_numbered_node():
    u, v, h = free("u"), free("v"), box("h")
    nodes = draw(gs.Problem(minimize=h(u) + h(v) + h(u)))
    assert [n.label for n in nodes if n.kind == "black"] == ["h", "h #2"]
    assert nodes[-1].label == "minimize h + h #2 + h"


def test_a_formula_used_at_several_places_is_one_white_node():
    x, g, h = free("x", 2), box("g"), box("h")
    nodes = draw(gs.Problem(minimize=g(np.exp(x)) + h(np.exp(x)), subject_to=[np.exp(x) <= 3]))
    assert [(n.kind, n.label, n.reads) for n in nodes[1:]] == [
        ("white", "w1 = exp(x)", (0,)),
        ("black", "g", (1,)),
        ("black", "h", (1,)),
        ("goal", "minimize g + h", (2, 3)),
        ("goal", "subject to w1 <= 3", (1,)),
    ]


def test_picking_and_joining_entries_is_not_drawn():
    x, y, h = free("x", 3), free("y"), box("h")
    nodes = draw(gs.Problem(minimize=h(np.stack([x[2], y])[::-1])))
    assert [n.kind for n in nodes] == ["variable", "variable", "black", "goal"]
    assert nodes[2].reads == (0, 1)


def test_long_chains_of_picks_are_drawn_at_once():
    x, h = free("x", 2), box("h")
    picked = x
    for _ in range(60):  # a search that tries every path would not come back
        picked = np.stack([picked[1], picked[0]])
    nodes = draw(gs.Problem(minimize=h(picked)))
    assert [n.kind for n in nodes] == ["variable", "black", "goal"]


def test_a_problem_without_black_boxes_can_be_drawn():
    y = free("y")
    assert [n.kind for n in draw(gs.Problem(minimize=np.sin(y)))] == ["variable", "goal"]


def test_names_units_and_tolerances_are_drawn():
    x = gs.Variable("x", 2, lower=0, upper=5, unit="kg/s")
    warmed = gs.named("warmed", 2 * x[0] + 1, unit="degC")
    made = box("reactor")(warmed)
    profit = gs.named("profit", made - (2 * x[0] + 1), unit="$/s")
    drawn = gs.Problem(maximize=profit, subject_to={"cap": made <= 3}, feasibility_tol=0.1)
    assert [node.label for node in draw(drawn)] == [
        "x[2] in [0, 5] kg/s",
        "warmed [degC] = 2 * x[0] + 1",
        "reactor",
        "maximize profit [$/s] = reactor - warmed",
        "subject to cap: reactor <= 3 (tolerance 0.1)",
    ]


def test_steps_and_logarithms_stand_beside_the_bounds():
    t = gs.Variable("t", lower=300, upper=400, step=0.5)
    k = gs.Variable("k", lower=1e-3, upper=1e3, log=True)
    w = gs.Variable("w", 2, lower=1, upper=10, step=[0.1, 0.2], log=True)
    labels = [node.label for node in draw(gs.Problem(minimize=t + k + w.sum()))]
    assert labels[:3] == [
        "t in [300, 400] in steps of 0.5",
        "k in [0.001, 1000] in the logarithm",
        "w[2] in [1, 10] in steps of 0.1 .. 0.2 in the logarithm",
    ]


def test_choices_and_integers_are_sets_and_indicators_are_not_drawn():
    catalyst = gs.Choice("catalyst", ["A", "B", "C"])
    stages = gs.Integer("stages", lower=3, upper=12, unit="m")
    box = gs.BlackBox(None, name="h")
    text = gs.Problem(minimize=box(catalyst, stages) + 2 * (catalyst == "B")).diagram()
    assert "( )  catalyst in {A, B, C}" in text
    assert "( )  stages in {3, ..., 12} m" in text
    assert "[ ]  " not in text.split("\n\n")[0]
    assert "minimize h + 2 * (catalyst == 'B')" in text
