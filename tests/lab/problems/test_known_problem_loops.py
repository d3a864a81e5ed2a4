"""Problems with equations: the library computes what the fully known models say."""

from __future__ import annotations

import numpy as np
import pytest

from grisaille import problems
from grisaille.lab.problems import Structure
from tests.lab.problems.test_known_problem_loop_optima import CASES

pytestmark = pytest.mark.slow


# Where the decisions of a formula stand in a flat design point; the rest are the unknowns.
DECISIONS = {
    "solvent_blend": [0, 1, 2, 3],
    "sellar": [0, 1, 2],
    "recycle_loop": [2, 3, 4],
    "flash": [1, 2],
}


def flat(name, decisions, unknowns):
    x = np.empty(len(decisions) + len(unknowns))
    places = DECISIONS[name]
    x[places] = decisions
    x[[i for i in range(len(x)) if i not in places]] = unknowns
    return x


@pytest.mark.parametrize("name", CASES)
def test_the_optimum_of_the_library_is_that_of_the_known_model(name):
    formula, _, _, _, optimum, place = CASES[name]
    known = problems.catalogue()[name](0)
    assert known.kind is Structure.CONSTRAINED
    assert known.optimum == pytest.approx(optimum, rel=1e-12)
    assert known.x == pytest.approx(flat(name, place, formula(np.array(place))[2]), abs=1e-8)
    value, violation = known.measure(known.x)
    assert value == pytest.approx(optimum, rel=1e-9)
    assert violation <= 1e-8


@pytest.mark.parametrize("name", CASES)
def test_what_is_measured_with_a_closed_loop_agrees_with_the_known_model(name):
    formula, _, lower, upper, _, _ = CASES[name]
    known = problems.catalogue()[name](0)
    generator = np.random.default_rng(0)
    compared = 0
    for _ in range(30):
        decisions = generator.uniform(lower, upper)
        if name == "solvent_blend":
            decisions = generator.dirichlet(np.ones(4))
        objective, limits, unknowns = formula(decisions)
        if np.isfinite(objective):
            broken = max(limits.max(), 0)
            measured = known.measure(flat(name, decisions, unknowns))
            assert measured == pytest.approx((objective, broken), rel=1e-7, abs=1e-7)
            compared += 1
    assert compared >= 10
