"""`Certified` finds the optimum and proves it, or says why it proves nothing."""

from __future__ import annotations

import dataclasses
import math

import pytest

import grisaille as gs
from grisaille.search.search_problem import NoRelaxation, ProofStatus
from tests.search.relaxation_helpers import PROBLEMS, brute_force, free, torn, valley
from tests.search.search_helpers import no_hints, search_problem

pytestmark = pytest.mark.slow


def certified_problem(relaxation):
    problem = search_problem(
        relaxation.lower.numpy(),
        relaxation.upper.numpy(),
        relaxation.functions[0],
        relaxation.functions[1:],
    )
    return dataclasses.replace(problem, relax=lambda: relaxation)


@pytest.mark.parametrize("name", ["two variables", "one constraint", "two constraints"])
def test_certified_finds_the_optimum_and_encloses_it(name):
    relaxation = PROBLEMS[name]()
    problem = certified_problem(relaxation)
    optimum = brute_force(relaxation)
    solver = gs.Certified(absolute_gap=0.02, relative_gap=0.0)
    found = solver.solve(problem, no_hints(problem), 0)
    assert found.feasible
    assert found.value == pytest.approx(optimum, abs=1e-3)
    assert found.proof.status is ProofStatus.OPTIMAL
    assert found.proof.lower <= optimum + 1e-9
    assert found.proof.upper == found.value
    assert found.proof.lower >= found.value - 0.02


def test_certified_proves_that_there_is_no_feasible_point():
    problem = certified_problem(torn())
    found = gs.Certified().solve(problem, no_hints(problem), 0)
    assert not found.feasible
    assert found.proof.status is ProofStatus.INFEASIBLE
    assert found.proof.refuted_regions


def test_certified_finds_a_point_that_its_first_search_misses():
    class Blind:
        """A search that always answers with a corner."""

        def solve(self, problem, hints, seed):
            return gs.Grid(2).solve(problem, hints, seed)

    relaxation = free(2, valley, 36.3)
    problem = certified_problem(relaxation)
    optimum = brute_force(relaxation)
    solver = gs.Certified(absolute_gap=0.05, relative_gap=0.0, search=Blind())
    found = solver.solve(problem, no_hints(problem), 0)
    assert found.value < Blind().solve(problem, no_hints(problem), 0).value - 1
    assert found.value == pytest.approx(optimum, abs=0.05)
    assert found.proof.status is ProofStatus.OPTIMAL
    assert found.stationarity is not None


def test_without_bounds_over_regions_nothing_is_proved_and_it_says_why():
    problem = search_problem([-1.0], [1.0], lambda x: x[:, 0])
    found = gs.Certified().solve(problem, no_hints(problem), 0)
    assert found.value == pytest.approx(-1)
    assert found.proof.status is ProofStatus.UNKNOWN
    assert found.proof.lower == -math.inf
    assert found.proof.reason.startswith("nothing but its values is known")

    def refuse():
        raise NoRelaxation("it is a secret")

    found = gs.Certified().solve(dataclasses.replace(problem, relax=refuse), no_hints(problem), 0)
    assert found.proof.status is ProofStatus.UNKNOWN
    assert found.proof.reason == "it is a secret"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"absolute_gap": -1}, r"absolute_gap=-1\): pass a finite number of at least 0"),
        ({"absolute_gap": math.nan}, "absolute_gap"),
        ({"relative_gap": math.inf}, "relative_gap"),
        ({"relative_gap": "small"}, "relative_gap"),
        ({"regions": 0}, r"regions=0\): pass a whole number of at least 1"),
        ({"regions": 1.5}, "regions"),
        ({"batch": 0}, "batch"),
        ({"seconds": 0}, r"seconds=0\): pass a positive number, or None"),
        ({"seconds": "long"}, "seconds"),
        ({"search": gs.MultiStart}, "search"),
        ({"search": None}, r"search=None\): pass gs.MultiStart\(\)"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(gs.ModelError, match=message):
        gs.Certified(**options)


def test_the_former_name_of_regions_is_answered_with_the_present_one():
    with pytest.raises(TypeError, match="regions="):
        gs.Certified(boxes=5000)


def test_the_limit_on_regions_may_be_passed_by_position():
    assert gs.Certified(1e-3, 1e-4, 7).regions == 7
