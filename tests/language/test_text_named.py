"""Names of expressions and constraints: labels that change nothing else."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.language.fingerprint import fingerprint
from grisaille.language.program import Program
from tests.language.language_helpers import value_at

QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


def variable(shape: int | tuple[int, ...] = 2) -> gs.Variable:
    return gs.Variable("x", shape, lower=0, upper=1)


def test_a_name_stands_for_its_formula_wherever_the_expression_is_read():
    x = variable()
    profit = gs.named("profit", 3 * x[0] - x[1])
    assert repr(profit) == "profit"
    assert repr(2 * profit - 1) == "2 * profit - 1"
    assert repr(profit <= 1) == "profit <= 1"


def test_named_and_unnamed_are_the_same_node():
    x = variable()
    plain = np.exp(x[0]) + 1
    program = Program([gs.named("a", plain), plain, gs.named("b", plain)])
    assert len(program.nodes) == len(Program([plain]).nodes)
    assert len(set(program.outputs)) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x[0],
        lambda x: x[::-1],
        lambda x: gs.BlackBox(np.sum, name="f", noise=0)(x),
        lambda x: 2.5,
        lambda x: [1.0, 2.0],
    ],
)
def test_a_name_does_not_change_the_value(make):
    x = variable()
    value = make(x)
    both = np.hstack([gs.named("n", value), 1.0 * x[0]])
    plain = np.hstack([value, 1.0 * x[0]])
    point = {x: [0.25, 0.75]}
    assert np.array_equal(value_at(both, point), value_at(plain, point))


def test_an_entry_of_a_named_array_keeps_the_name():
    x = gs.Variable("x", 3, lower=0, upper=1)
    flows = gs.named("flows", x[1:], unit=["kg/s", "t/h"])
    assert repr(flows[1]) == "flows[1]"
    assert flows[1].unit == ("t/h",)
    assert repr(flows[::-1]) == "flows[...]"
    assert value_at(flows[1], {x: [1.0, 2.0, 3.0]}) == 3.0
    assert repr(gs.named("sums", x + 1)[0]) == "sums[0]"


def test_a_named_call_is_still_a_call():
    x = variable()
    box = gs.BlackBox(None, name="f", outputs=["heat", "mass"], unit={"heat": "kW"})
    outlet = gs.named("outlet", box(x))
    assert repr(outlet["mass"]) == "outlet['mass']"
    assert outlet.unit == ("kW", None)


def problem(name: bool, tolerance: float | None = None) -> gs.Problem:
    x = variable()
    y = gs.BlackBox(lambda x: np.array([x @ x, x[0] - x[1]]), name="f", outputs=2, noise=0)(x)
    cost, limit = y[0] + y[1], y[1] >= 0.2
    if name:
        cost, limit = gs.named("cost", cost, unit="$"), gs.named("limit", limit)
    return gs.Problem(minimize=cost, subject_to=[limit], feasibility_tol=tolerance)


def test_fingerprints_do_not_know_names():
    assert fingerprint(problem(name=True)) == fingerprint(problem(name=False))


def test_decisions_do_not_depend_on_names():
    plain, named = (problem(name).solve(6, strategy=QUICK, progress=False) for name in (0, 1))
    assert [t.x.tolist() for t in plain.history] == [t.x.tolist() for t in named.history]
    assert (plain.fun, plain.gap) == (named.fun, named.gap)


def test_a_constraint_has_its_name_in_front():
    x = variable()
    limit = gs.named("limit", x[0] + x[1] <= 1)
    assert repr(limit) == "limit: x[0] + x[1] <= 1"
    assert limit.labels == ["limit"]
    assert gs.named("limits", x <= 1).labels == ["limits[0]", "limits[1]"]
    assert gs.named("limits", variable((1, 2)) <= 1).labels == ["limits[0,0]", "limits[0,1]"]


def test_interventions_keep_names():
    a = gs.BlackBox(None, name="a", process_noise=True)(variable())
    b = gs.BlackBox(None, name="b", process_noise=True)(gs.named("warmed", 2 * a + 1))
    model = gs.Problem(
        minimize=gs.named("cost", b + 1), subject_to={"cap": b <= 3}, feasibility_tol=0.5
    )
    changed = gs.intervene(model, gs.do(a, lower=0, upper=1))
    assert (changed.objective_name, changed.constraint_names) == ("cost", ["cap"])
    assert changed.tolerances.tolist() == [0.5]
    assert "b(warmed)" in repr(changed)


def test_a_copy_of_a_named_expression_is_the_expression():
    profit = gs.named("profit", variable()[0] + 1)
    assert copy.deepcopy(profit) is profit


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: gs.named("", x[0]), "gs.named needs a name, got ''"),
        (lambda x: gs.named("a\nb", x[0]), "a name has no control characters"),
        (lambda x: gs.named("y", x), r"gs.named\('y', x\): a variable has its own name; pass"),
        (lambda x: gs.named("y", 1 <= 2), "True is a plain value; it compares numbers"),
        (lambda x: gs.named("y", "z"), "'z' is neither an expression nor numbers"),
        (lambda x: gs.named("y", x[0], unit=3), r"gs.named\('y'\) has unit=3: pass a text such as"),
        (lambda x: gs.named("y", x[::-1], unit=["K"]), r"a list of texts of shape \(2,\)"),
    ],
)
def test_mistakes_are_refused(call, message):
    with pytest.raises(ModelError, match=message):
        call(variable())
