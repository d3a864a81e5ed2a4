"""The paper's section "Some examples" and the figure of its graph representation."""

import math

import numpy as np
import pytest

import grisaille as gs
from grisaille.language.diagram import draw
from tests.language.language_helpers import value_at

X = (0.3, -1.2, 0.8)


class Counted:
    """A function that counts how often it is really called."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.function(*arguments)


def scalars(count):
    return [gs.Variable(f"x{i + 1}", lower=-2, upper=2) for i in range(count)]


def edges(problem):
    """The edges of the drawn graph, by label; the objective is called f."""
    nodes = draw(problem)
    names = ["f" if n.kind == "goal" else n.label.split(" in ")[0] for n in nodes]
    return {(names[p], names[i]) for i, node in enumerate(nodes) for p in node.reads}


def test_additive_black_boxes_with_different_inputs():
    def sine(a, b):
        return math.sin(a) + b**2

    def product(a, b):
        return a * b

    def power(a, b):
        return math.exp(a - b)

    x1, x2, x3 = scalars(3)
    phi1, phi2, phi3 = (
        gs.BlackBox(Counted(fn), name=f"phi{i + 1}") for i, fn in enumerate((sine, product, power))
    )
    f = phi1(x1, x2) + phi2(x2, x3) + phi3(x1, x3)
    a, b, c = X
    value = value_at(f, {x1: a, x2: b, x3: c})
    assert value == pytest.approx(sine(a, b) + product(b, c) + power(a, c))
    problem = gs.Problem(minimize=f)
    assert [call.first_layer for call in problem.program.calls] == [True] * 3
    assert [phi.fn.calls for phi in (phi1, phi2, phi3)] == [1, 1, 1]
    assert edges(problem) == {
        ("x1", "phi1"),
        ("x2", "phi1"),
        ("x2", "phi2"),
        ("x3", "phi2"),
        ("x1", "phi3"),
        ("x3", "phi3"),
        ("phi1", "f"),
        ("phi2", "f"),
        ("phi3", "f"),
    }


def test_black_boxes_composed_with_white_boxes():
    x = gs.Variable("x", 3, lower=-2, upper=2)
    phi1 = gs.BlackBox(Counted(lambda x: np.sum(np.sin(x))), name="phi1")
    phi2 = gs.BlackBox(Counted(lambda x: np.prod(x) - 1), name="phi2")
    f = phi1(x) ** 2 + phi2(x) ** 2
    expected = sum(map(math.sin, X)) ** 2 + (math.prod(X) - 1) ** 2
    assert value_at(f, {x: X}) == pytest.approx(expected)
    assert (phi1.fn.calls, phi2.fn.calls) == (1, 1)
    assert edges(gs.Problem(minimize=f)) == {
        ("x[3]", "phi1"),
        ("x[3]", "phi2"),
        ("phi1", "f"),
        ("phi2", "f"),
    }


def test_hybrid_chain_of_black_and_white_boxes():
    x = gs.Variable("x", 3, lower=-2, upper=2)
    phi1 = gs.BlackBox(Counted(lambda x: np.sum(np.cos(x))), name="phi1")
    phi3 = gs.BlackBox(Counted(math.tanh), name="phi3")
    f = phi3(phi1(x) ** 2 + 3 * phi1(x) - 3)
    inner = sum(map(math.cos, X))
    assert value_at(f, {x: X}) == pytest.approx(math.tanh(inner**2 + 3 * inner - 3))
    assert (phi1.fn.calls, phi3.fn.calls) == (1, 1)  # phi1(x), written twice, is one call
    problem = gs.Problem(minimize=f)
    assert [call.first_layer for call in problem.program.calls] == [True, False]
    assert edges(problem) == {
        ("x[3]", "phi1"),
        ("phi1", "w1 = phi1**2 + 3 * phi1 - 3"),
        ("w1 = phi1**2 + 3 * phi1 - 3", "phi3"),
        ("phi3", "f"),
    }


def test_the_graph_of_the_figure():
    x1, x2, x3 = scalars(3)
    phi1 = gs.BlackBox(Counted(lambda a, b: a * math.exp(b)), name="phi1")
    f = (phi1(x1, x2) - x3) ** 2 + x3**2
    a, b, c = X
    assert value_at(f, {x1: a, x2: b, x3: c}) == pytest.approx((a * math.exp(b) - c) ** 2 + c**2)
    assert phi1.fn.calls == 1
    problem = gs.Problem(minimize=f)
    assert [node.kind for node in draw(problem)].count("black") == 1
    assert edges(problem) == {("x1", "phi1"), ("x2", "phi1"), ("phi1", "f"), ("x3", "f")}
