"""Problems with whole numbers and labels: every combination is tried, and none is better."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from grisaille import problems
from tests.lab.problems import known_problem_formulas as formulas

pytestmark = pytest.mark.slow


def best_of_the_rest(formula, known, fixed, starts=6):
    """The best value for given whole numbers, {entry: value}, by a search with many starts.

    Infinity, in the sense of the problem, if no start leads to a feasible point.
    """
    program, sense = known.problem.program, known.problem.sense
    free = [i for i in range(program.size) if i not in fixed]
    lower, width = program.lower[free], (program.upper - program.lower)[free]
    sizes = np.abs(formula(known.x[None])[1][0]) + 1

    def point(u):
        x = np.empty(program.size)
        x[list(fixed)] = list(fixed.values())
        x[free] = lower + width * u
        return x[None]

    best = np.inf
    for start in np.random.default_rng(0).random((starts, len(free))):
        found = minimize(
            lambda u: sense * formula(point(u))[0][0] / abs(known.optimum),
            start,
            method="SLSQP",
            bounds=[(0, 1)] * len(free),
            constraints={"type": "ineq", "fun": lambda u: -formula(point(u))[1][0] / sizes},
            options={"maxiter": 300, "ftol": 1e-14},
        )
        objective, limits = formula(point(np.clip(found.x, 0, 1)))
        if (limits[0] / sizes).max() <= 1e-9:
            best = min(best, sense * objective[0])
    return sense * best


def test_the_vessel_has_the_best_of_all_thicknesses():
    """Cost rises with radius and length, so for each radius the length just holds the content."""
    known = problems.pressure_vessel()
    best = {}
    for shell, head in product(range(1, 100), repeat=2):
        greatest = min(shell / 16 / 0.0193, head / 16 / 0.00954, 200)
        if greatest < 10:
            continue
        radius = np.linspace(10, greatest, 1001)
        length = (1_296_000 - 4 / 3 * np.pi * radius**3) / (np.pi * radius**2)
        length = np.maximum(length, 10)
        fits = length <= 200
        if fits.any():
            ones = np.ones(fits.sum())
            x = np.stack([shell * ones, radius[fits], length[fits], head * ones], 1)
            costs, limits = formulas.pressure_vessel(x)
            assert limits.max() <= 1e-8
            best[shell, head] = costs.min()
    assert min(best, key=best.get) == (13, 7)
    assert best.pop((13, 7)) == pytest.approx(known.optimum, rel=1e-12)
    assert min(best, key=best.get) == (14, 7)
    assert min(best.values()) == pytest.approx(6090.5262, abs=1e-3)


def test_the_gear_box_has_the_best_number_of_teeth():
    known = problems.speed_reducer()
    best = [best_of_the_rest(formulas.speed_reducer, known, {2: teeth}) for teeth in range(17, 29)]
    assert best[0] == pytest.approx(known.optimum, rel=1e-8)
    assert best[1] == pytest.approx(3171.449, abs=1e-2)
    assert (np.diff(best) > 0).all()


def test_the_catalyst_is_the_best_of_all():
    known = problems.catalyst_choice()
    best = [best_of_the_rest(formulas.catalyst_choice, known, {0: label}) for label in range(4)]
    assert best == pytest.approx([91.839499, 92.686218, known.optimum, 88.484950], abs=1e-5)


def test_a_fine_grid_confirms_the_conditions_of_the_best_catalyst():
    known = problems.catalyst_choice()
    program = known.problem.program
    axes = [np.linspace(a, b, 61) for a, b in zip(program.lower, program.upper, strict=True)]
    for label in range(4):
        grid = np.stack(np.meshgrid([label], *axes[1:], indexing="ij"), -1).reshape(-1, 4)
        values, limits = formulas.catalyst_choice(grid)
        best = values[limits[:, 0] <= 0].max()
        assert best <= known.optimum
        assert label != 2 or best >= known.optimum - 1


def test_the_additives_are_the_best_of_all_sets():
    known = problems.additive_choice()
    sets = np.array(list(product((0, 1), repeat=8)))
    values, limits = formulas.additive_choice(sets)
    allowed = limits[:, 0] <= 0
    assert allowed.sum() == 93
    best = np.argsort(np.where(allowed, -values, np.inf))
    assert np.array_equal(sets[best[0]], known.x)
    assert values[best[0]] == pytest.approx(known.optimum, rel=1e-12)
    assert values[best[1]] == pytest.approx(16.414018, abs=1e-6)


def test_black_boxes_receive_whole_numbers_and_labels():
    (reactor,) = problems.catalyst_choice().problem.boxes
    assert reactor.split(np.array([0, 1, 0, 0, 400, 1, 1]))[0] == "palladium"
    (strength,) = problems.additive_choice().problem.boxes
    assert strength.split(np.array([0.0, 0, 1, 0, 0, 1, 0, 1]))[0].dtype.kind == "i"
