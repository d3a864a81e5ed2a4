"""The development half of the collection: its stated optima, and how much it covers."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.collection.entry import TAGS, depth

from benchmarks.collection import development

pytestmark = pytest.mark.slow


ENTRIES = development()
FEASIBLE = [e for e in ENTRIES if e.feasible]
INFEASIBLE = [e for e in ENTRIES if not e.feasible]


@pytest.mark.parametrize("noise", [0, None])
@pytest.mark.parametrize("entry", FEASIBLE, ids=lambda e: e.name)
def test_the_stated_point_is_feasible_and_has_the_stated_optimum(entry, noise):
    known = entry.make(noise)
    program = known.problem.program
    assert all(box.is_exact == (noise == 0) for box in known.problem.boxes)
    assert (program.lower <= known.x).all()
    assert (known.x <= program.upper).all()
    value, violation = known.measure(known.x)
    assert violation <= 1e-7
    assert abs(value - known.optimum) <= 1e-6 * max(1e-3, abs(known.optimum))


@pytest.mark.parametrize("entry", FEASIBLE, ids=lambda e: e.name)
def test_no_random_feasible_point_is_better_than_the_stated_optimum(entry):
    known = entry.make()
    program = known.problem.program
    generator = np.random.default_rng(0)
    points = generator.uniform(program.lower, program.upper, (8, program.size))
    near = known.x + 1e-3 * (points - known.x)
    measured = [known.measure(point) for point in (*points, *near)]
    regrets = [known.regret(value) for value, violation in measured if violation <= 0]
    assert min(regrets, default=0.0) >= -1e-6 * max(1e-3, abs(known.optimum))


@pytest.mark.parametrize("entry", INFEASIBLE, ids=lambda e: e.name)
def test_no_point_is_less_infeasible_than_the_stated_one(entry):
    known = entry.make()
    program = known.problem.program
    least = known.measure(known.x)[1]
    points = np.random.default_rng(0).uniform(program.lower, program.upper, (60, program.size))
    near = known.x + 1e-2 * (points - known.x)
    assert least > 0.1
    assert min(known.measure(point)[1] for point in (*points, *near)) >= least - 1e-9


def test_names_are_unique():
    assert len({e.name for e in ENTRIES}) == len(ENTRIES)


def test_the_half_is_as_broad_as_it_says():
    problems = [e.make().problem for e in FEASIBLE]
    assert len(FEASIBLE) >= 32
    assert len(INFEASIBLE) >= 5
    assert {p.program.size for p in problems} >= {1, 2, 3, 4, 5, 6, 7, 8, 10, 15}
    assert {len(p.boxes) for p in problems} >= {1, 2, 3, 4, 6, 7, 8}
    assert {depth(p) for p in problems} == {1, 2, 3, 4}
    assert {len(p.constraint_names) for p in problems} >= {0, 1, 2, 3, 4, 5, 6, 8}
    assert set().union(*(e.tags for e in ENTRIES)) == TAGS


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_tags_agree_with_the_structure(entry):
    problem = entry.make().problem
    assert ("constrained" in entry.tags) == bool(problem.constraints)
    assert ("nested" in entry.tags) == (depth(problem) > 1)
