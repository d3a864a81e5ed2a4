"""Designs and chance stay inside linear inequalities of the variables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import grisaille as gs
from grisaille.language.linear_system import LinearSystem
from grisaille.records import History, Situation
from grisaille.strategies.initial_design import (
    is_restricted,
    random_point,
    restricted_sequence,
    sobol_point,
)


def mixture(parts: int) -> gs.Problem:
    box = gs.BlackBox(lambda f: float(f[0]), name="box", noise=0)
    fractions = gs.Variable("f", parts, lower=0, upper=1)
    return gs.Problem(minimize=box(fractions), subject_to=[np.sum(fractions) == 1]).searched


@pytest.mark.parametrize("parts", [3, 9])
def test_a_sequence_fills_a_mixture_uniformly(parts):
    problem = mixture(parts)
    points = restricted_sequence(problem.program, 4, 600)
    assert points.sum(1).max() <= 1 + 1e-12
    for fraction in [*points.T, 1 - points.sum(1)]:
        assert stats.kstest(fraction, stats.beta(1, parts - 1).cdf).pvalue > 0.001


@pytest.mark.parametrize("parts", [3, 9])
def test_a_point_of_the_sequence_depends_on_its_number_alone(parts):
    program = mixture(parts).program
    longer = restricted_sequence(program, 7, 40)
    np.testing.assert_array_equal(restricted_sequence(program, 7, 13), longer[:13])
    assert not np.array_equal(restricted_sequence(program, 8, 13), longer[:13])


@pytest.mark.slow
@pytest.mark.parametrize("parts", [3, 9])
def test_chance_is_uniform_on_a_mixture(parts):
    program = mixture(parts).program
    drawn = [random_point(program, np.random.default_rng(seed)) for seed in range(150)]
    points = np.array(drawn)
    for fraction in [*points.T, 1 - points.sum(1)]:
        assert stats.kstest(fraction, stats.beta(1, parts - 1).cdf).pvalue > 0.001


def test_inequalities_without_any_equality_restrict_designs_too():
    x = gs.Variable("x", 2, lower=0, upper=[1, 2])
    u = gs.Integer("u", 3, lower=0, upper=3)
    d = gs.Variable("d", lower=1e-3, upper=1, log=True)
    box = gs.BlackBox(lambda x, u, d: float(x[0] + u[0] + d), name="box", noise=0)
    problem = gs.Problem(
        minimize=box(x, u, d),
        subject_to=[x[0] + x[1] <= 1, np.sum(u) >= 6, d >= 0.1 * x[0], box(x, u, d) <= 5],
    )
    assert is_restricted(problem.program)
    points = restricted_sequence(problem.program, 0, 100)
    named = dict(zip(("x0", "x1", "u0", "u1", "u2", "d"), points.T, strict=True))
    assert (named["x0"] + named["x1"] <= 1 + 1e-12).all()
    assert (named["u0"] + named["u1"] + named["u2"] >= 6).all()
    assert (named["d"] >= 0.1 * named["x0"] - 1e-12).all()


def test_steps_are_kept_where_few_points_are_inside():
    x = gs.Variable("x", 10, lower=0, upper=1, step=0.1)
    box = gs.BlackBox(lambda x: float(x[0]), name="box", noise=0)
    problem = gs.Problem(minimize=box(x), subject_to=[np.sum(x) <= 1])
    points = restricted_sequence(problem.program, 0, 20)
    assert points.sum(1).max() <= 1 + 1e-9
    np.testing.assert_allclose(points * 10, np.rint(points * 10), atol=1e-9)


def test_what_nothing_can_meet_still_gives_points_between_the_bounds():
    x = gs.Variable("x", 2, lower=0, upper=1)
    box = gs.BlackBox(lambda x: float(x[0]), name="box", noise=0)
    problem = gs.Problem(minimize=box(x), subject_to=[x[0] + x[1] >= 1.5, x[0] + x[1] <= 1])
    point = sobol_point(Situation(problem, History(), 0))
    assert ((point >= 0) & (point <= 1)).all()


def test_problems_without_linear_inequalities_are_not_restricted():
    x = gs.Variable("x", 2, lower=0, upper=1)
    box = gs.BlackBox(lambda x: float(x[0]), name="box", noise=0)
    for constraint in (x[0] * x[1] <= 0.5, box(x) <= 0.5):
        assert not is_restricted(gs.Problem(minimize=x[0], subject_to=[constraint]).program)


def test_a_point_of_what_has_no_volume_costs_one_search_at_most(monkeypatch):
    nearest, calls = LinearSystem.nearest, []
    monkeypatch.setattr(
        LinearSystem, "nearest", lambda self, x: (calls.append(x), nearest(self, x))[1]
    )
    box = gs.BlackBox(lambda x: float(x[0]), name="box", noise=0)
    weights = np.array([1, 1.37, 0.61, 1.83])
    needed = weights @ [0.25, 0.5, 0.75, 0.5]
    for step, most in ((None, 0), (0.25, 1)):
        x = gs.Variable("x", 4, lower=0, upper=1, step=step)
        flat = [weights @ x <= needed, weights @ x >= needed]
        program = gs.Problem(minimize=box(x), subject_to=flat).program
        calls.clear()
        point = random_point(program, np.random.default_rng(0))
        assert weights @ point == pytest.approx(needed, abs=1e-11)
        assert len(calls) <= most
