"""Constraints as they are passed: names and tolerances."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.language.fingerprint import fingerprint


def variables() -> tuple[gs.Variable, gs.Variable]:
    return gs.Variable("a", lower=0, upper=1), gs.Variable("b", 2, lower=0, upper=1)


def problem(**options) -> gs.Problem:
    a, b = variables()
    constraints = {"sum": a + b[0] <= 1, "both": b <= 0.5}
    return gs.Problem(**{"minimize": -a, "subject_to": constraints, **options})


def test_a_dictionary_names_its_constraints():
    assert problem().constraint_names == ["sum", "both[0]", "both[1]"]
    assert problem(subject_to={}).constraint_names == []


def test_a_list_may_mix_named_and_unnamed_constraints():
    a, b = variables()
    mixed = gs.Problem(minimize=a, subject_to=[gs.named("cap", a <= 1), b[0] >= 0.5])
    assert mixed.constraint_names == ["cap", "b[0] >= 0.5"]


def test_a_tolerance_is_part_of_the_body_that_everything_else_reads():
    exact, loose = problem(), problem(feasibility_tol={"both": 0.25})
    assert loose.tolerances.tolist() == [0.0, 0.25, 0.25]
    assert exact.tolerances.tolist() == [0.0, 0.0, 0.0]
    same, changed = loose.constraints
    assert (same.tolerance, changed.tolerance) == (0.0, 0.25)
    assert repr(changed.body) == "b - 0.5 - 0.25"
    assert len(loose.program.nodes) == len(exact.program.nodes) + 2  # the number, the subtraction
    assert "subject to both: b <= 0.5 (tolerance 0.25)" in repr(loose)


def test_one_tolerance_is_for_all_constraints():
    assert problem(feasibility_tol=1e-3).tolerances.tolist() == [1e-3] * 3


@pytest.mark.parametrize("nothing", [None, 0, 0.0, {}, {"sum": 0}])
def test_without_a_tolerance_the_problem_is_the_same(nothing):
    assert fingerprint(problem(feasibility_tol=nothing)) == fingerprint(problem())
    program, plain = problem(feasibility_tol=nothing).program, problem().program
    assert len(program.nodes) == len(plain.nodes)


def test_a_tolerance_identifies_a_problem():
    assert fingerprint(problem(feasibility_tol=1e-3)) != fingerprint(problem())


@pytest.mark.parametrize(
    ("tolerance", "optimum"), [(None, 1.0), (0.5, 1.5), ({"low": 0.25}, 1.25), ({"other": 1}, 1.0)]
)
def test_a_problem_is_solved_up_to_its_tolerance(tolerance, optimum):
    # Known parts only: solved and proved at once, so bound and value use the same constraint.
    x = gs.Variable("x", lower=0, upper=10)
    constraints = {"low": x <= 1, "other": x <= 7}
    result = gs.Problem(maximize=x, subject_to=constraints, feasibility_tol=tolerance).solve(
        progress=False
    )
    assert result.success
    assert result.maxcv == 0
    assert result.fun == pytest.approx(optimum, abs=1e-6)
    assert result.upper_bound == pytest.approx(optimum, abs=1e-6)
    assert (result.constr <= 0).all()


def test_a_collapsed_problem_keeps_names_and_tolerances():
    x = gs.Variable("x", lower=0, upper=10)
    y = gs.BlackBox(lambda x: 2 * x, name="f", noise=0)(x)
    limited = gs.Problem(minimize=y, subject_to={"cap": y <= 3}, feasibility_tol=0.5)
    loose = gs.collapse(limited)
    assert loose.constraint_names == ["cap"]
    (box,) = loose.boxes
    assert box.fn(1.0).tolist() == pytest.approx([2.0, 2.0 - 3.0 - 0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subject_to": {"": 1}}, r"subject_to\[''\] is 1: constraints are written a <= b"),
        ({"subject_to": {"low": True}}, r"subject_to\['low'\] is True, a plain value"),
        ({"feasibility_tol": -1}, "feasibility_tol=-1: pass a finite number of at least 0"),
        ({"feasibility_tol": {"sum": np.nan}}, r"feasibility_tol\['sum'\]=nan: pass a finite"),
        ({"feasibility_tol": {"purity": 1}}, "no constraint is named 'purity'; the names are "),
        ({"feasibility_tol": {"purity": 1}}, "'sum', 'both'"),
    ],
)
def test_mistakes_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        problem(**options)


def test_names_of_constraints_differ_and_are_not_empty():
    a, b = variables()
    with pytest.raises(ModelError, match=r"two constraints are named 'both\[0\]'"):
        gs.Problem(minimize=a, subject_to=[gs.named("both", b <= 1), gs.named("both[0]", a <= 1)])
    with pytest.raises(ModelError, match="two constraints are named 'cap': give each its own"):
        gs.Problem(minimize=a, subject_to=[gs.named("cap", a <= 1), gs.named("cap", a <= 2)])
    with pytest.raises(ModelError, match="a constraint needs a name, got ''"):
        gs.Problem(minimize=a, subject_to={"": a <= 1})
    with pytest.raises(ModelError, match=r"gs\.named calls 'cap': give it one name"):
        gs.Problem(minimize=a, subject_to={"top": gs.named("cap", a <= 1)})


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_a_constraint_is_met_up_to_a_millionth_of_its_terms_in_every_unit(unit):
    x = gs.Variable("x", 2, lower=0, upper=unit)
    box = gs.BlackBox(lambda v: v, name="box", noise=0)
    written = [x[0] + 2 * x[1] <= 3 * unit, box(x[0]) >= unit, box(x[0]) * 2 - x[1] <= unit]
    problem = gs.Problem(minimize=x[0], subject_to=written)
    at = torch.full((1, 2), unit, dtype=torch.float64)
    allowed = problem.allowances.at(at, lambda _call, states: states)
    np.testing.assert_allclose(allowed, unit * 1e-6 * np.array([[6, 2, 4]]), rtol=2e-3)


def test_limits_of_zero_allow_what_a_search_resolves():
    x = gs.Variable("x", 2, lower=0, upper=1)
    box = gs.BlackBox(lambda v: v, name="box", noise=0)
    problem = gs.Problem(minimize=x[0], subject_to=[x[0] <= 2 * x[1], 3 * box(x[0]) <= 0])
    at = torch.zeros((1, 2), dtype=torch.float64)
    allowed = problem.allowances.at(at, lambda _call, states: states)
    np.testing.assert_allclose(allowed, [[3e-9, 3e-9]])


def test_zero_asks_for_constraints_that_are_met_exactly():
    x = gs.Variable("x", lower=0, upper=1)
    given = {"cap": x <= 0.5, "floor": x >= 0.5}
    allowed = [
        gs.Problem(minimize=x, subject_to=given, feasibility_tol=tolerance).allowances.at(
            torch.tensor([[0.5]], dtype=torch.float64), lambda _call, states: states
        )[0]
        for tolerance in (None, 0, {"cap": 0}, {"cap": 0.25})
    ]
    assert (allowed[0] > 0).all()
    assert allowed[1].tolist() == [0, 0]
    assert (allowed[2] > 0).tolist() == [False, True]
    assert allowed[3][0] == pytest.approx(0.25e-6)  # beyond 0.25, rounding only
