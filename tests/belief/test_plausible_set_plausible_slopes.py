"""Slopes of auxiliary and cautious problems, against automatic differentiation."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmarks.histories import sobol_history

import grisaille as gs
from grisaille.belief.rules import plausible_set
from grisaille.search.local_search import linearize, slope_points
from grisaille.search.search_problem import EvaluateWithSlopes, Scale


def nested(**options):
    """Two black boxes in a chain, one of two outputs, with logarithms, ranges and an equality."""
    x = gs.Variable("x", shape=2, lower=-1, upper=2)
    t = gs.Variable("t", lower=1e-3, upper=10, log=True)
    first = gs.BlackBox(
        lambda x, t: [np.sin(x[0]) * x[1], np.log(t) + x[0]],
        name="first",
        outputs=2,
        noise=0,
        **options,
    )
    second = gs.BlackBox(
        lambda a, b: np.cos(a) * b, name="second", noise=0, input_lower=[-1, -5], lower=-0.5
    )
    y = first(x, t)
    z = second(y[0], y[1])
    limits = [y <= 1, z**2 + x[0] <= 2, y[1] == 0.1]
    return gs.Problem(minimize=z * y[0] + t, subject_to=limits)


def problems_of(problem, beta=2.0):
    plausible = plausible_set(problem.program, sobol_history(problem, 12, seed=0), beta)
    margin = torch.full((len(problem.program.equality_tolerances),), 0.01, dtype=torch.float64)
    return [plausible.search_problem(), plausible.cautious_problem(margin)]


@pytest.mark.parametrize("which", [0, 1], ids=["auxiliary", "cautious"])
def test_slopes_are_those_of_automatic_differentiation(which):
    problem = problems_of(nested())[which]
    assert isinstance(problem.evaluate, EvaluateWithSlopes)
    slow = replace(problem, evaluate=lambda points: problem.evaluate(points))
    assert not isinstance(slow.evaluate, EvaluateWithSlopes)
    unit = np.random.default_rng(1).uniform(size=(7, len(problem.lower)))
    rows = len(problem.evaluate(problem.lower.unsqueeze(0))[1][0])
    scale = Scale(torch.tensor(2.0).double(), torch.linspace(1, 3, rows).double())
    assert (slope_points(problem, scale), slope_points(slow, scale)) == (1, 1 + rows)
    for found, expected in zip(
        linearize(problem, scale, unit), linearize(slow, scale, unit), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": gs.Linear() + gs.Matern()},
        {"kernel": gs.Matern(2.5, 1.0, 1.0), "norm_bound": 50.0},
    ],
    ids=["a sum of kernels", "a norm bound"],
)
def test_what_has_no_closed_form_is_left_to_automatic_differentiation(options):
    for problem in problems_of(nested(**options)):
        assert not isinstance(problem.evaluate, EvaluateWithSlopes)


def test_slopes_that_are_infinite_leave_a_search_finite_ones():
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: x, name="box", noise=0)
    problem = problems_of(gs.Problem(minimize=np.sqrt(x) + box(x)))[0]
    unit = np.zeros((1, 2))
    scale = Scale(torch.tensor(1.0).double(), torch.zeros(0).double())
    assert np.isfinite(linearize(problem, scale, unit)[2]).all()
