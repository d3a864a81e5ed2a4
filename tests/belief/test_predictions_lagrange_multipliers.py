"""Multipliers against what relaxing a constraint really gains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import grisaille as gs
from grisaille.belief.predictions import NoSlope, Predictor, lagrange_multipliers, slopes_at
from grisaille.records import History
from tests.belief.belief_helpers import history_at


def gain_per_unit(limits: list[float], which: int) -> float:
    """By how much the optimum of the known problem falls per unit that a limit is relaxed."""

    def optimum(limits: list[float]) -> float:
        rows = [
            {"type": "ineq", "fun": lambda x: limits[0] - (x[0] ** 2 + x[1] ** 2)},
            {"type": "ineq", "fun": lambda x: limits[1] - (x[0] - x[1])},
        ]
        found = minimize(
            lambda x: -x[0] - 3 * x[1] + 0.5 * x[1] ** 2,
            [0.5, 0.5],
            bounds=[(0, 2), (0, 0.8)],
            constraints=rows,
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        return found.fun

    step = 1e-4
    more, less = list(limits), list(limits)
    more[which] += step
    less[which] -= step
    return (optimum(less) - optimum(more)) / (2 * step)


def disc(limits: list[float]) -> gs.Problem:
    x = gs.Variable("x", 2, lower=0, upper=[2, 0.8])
    area = gs.BlackBox(lambda x: x[0] ** 2 + x[1] ** 2, name="area", noise=0)
    return gs.Problem(
        maximize=x[0] + 3 * x[1] - 0.5 * x[1] ** 2,
        subject_to=[area(x) <= limits[0], x[0] - x[1] <= limits[1]],
    )


@pytest.mark.parametrize(
    ("limits", "best"),
    [([1.0, 1.0], [0.6, 0.8]), ([0.5, 1.0], None)],
    ids=["at a bound", "inside"],
)
def test_multipliers_are_what_one_unit_of_relaxation_is_worth(limits, best):
    problem = disc(limits)
    grid = np.stack(np.meshgrid(np.linspace(0, 2, 6), np.linspace(0, 0.8, 4)), -1).reshape(-1, 2)
    predictor = Predictor(problem, history_at(problem, grid))
    if best is None:  # on the circle, where x[0] = 1 / (2 lambda) and x[1] = 3 / (1 + 2 lambda)
        found = minimize(
            lambda x: -x[0] - 3 * x[1] + 0.5 * x[1] ** 2,
            [0.3, 0.6],
            constraints=[{"type": "ineq", "fun": lambda x: limits[0] - x @ x}],
            options={"ftol": 1e-14},
        )
        best = found.x
    x = np.array(best)
    slopes = slopes_at(predictor, x)
    slack = np.array([limits[0] - x @ x, limits[1] - x[0] + x[1]])
    active = slopes.near(slack)
    assert active.tolist() == [True, False]
    width = np.array([2, 0.8])
    room = x / width, (width - x) / width
    multipliers = lagrange_multipliers(slopes, active, *room)
    assert multipliers[0] == pytest.approx(gain_per_unit(limits, 0), rel=0.02)
    assert multipliers[1] == 0


def test_constraints_of_very_different_units_get_multipliers_in_their_own_units():
    x = gs.Variable("x", lower=0, upper=1)
    known = gs.Problem(maximize=5 * x, subject_to=[1e6 * x <= 5e5, 1e-6 * x <= 9e-7])
    predictor = Predictor(known, History())
    slopes = slopes_at(predictor, np.array([0.5]))
    active = slopes.near(np.array([0.0, 4e-7]))
    assert active.tolist() == [True, False]
    multipliers = lagrange_multipliers(slopes, active, np.array([0.5]), np.array([0.5]))
    assert multipliers.tolist() == pytest.approx([5e-6, 0])


def test_where_there_are_no_slopes_it_says_why():
    x = gs.Variable("x", lower=-1, upper=1)
    jumping = gs.Problem(minimize=np.floor(3 * x), subject_to=[x >= 0])
    with pytest.raises(NoSlope, match="jumps"):
        slopes_at(Predictor(jumping, History()), np.array([0.2]))
    steep = gs.Problem(minimize=np.sqrt(x + 1))
    with pytest.raises(NoSlope, match="infinite"):
        slopes_at(Predictor(steep, History()), np.array([-1.0]))

    class Flat:
        def posterior(self, states):
            class Answer:
                mean = states.detach() * 2
                variance = states.detach() * 0 + 1

            return Answer

    own = gs.BlackBox(np.sin, name="own", noise=0, model=lambda inputs, outputs: Flat())
    problem = gs.Problem(minimize=own(x))
    with pytest.raises(NoSlope, match="model of black box 'own' gives no derivatives"):
        slopes_at(Predictor(problem, history_at(problem, [[0.1]])), np.array([0.2]))
