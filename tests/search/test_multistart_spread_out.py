"""Good points to search from keep a distance from one another."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from grisaille.search.multistart import spread_out
from tests.search.search_helpers import search_problem


def test_starts_are_good_and_keep_their_distance():
    problem = search_problem([0, 0], [10, 10], lambda p: p.sum(1))
    points = torch.tensor(np.random.default_rng(0).uniform(0, 10, (400, 2)))
    merit = points.sum(1)
    chosen = spread_out(points, merit, 5, problem)
    assert len(set(chosen.tolist())) == 5
    assert chosen[0] == merit.argmin()
    apart = (points[chosen][:, None] - points[chosen][None]).abs().amax(-1) / 10
    assert apart[~torch.eye(5, dtype=torch.bool)].min() >= 0.1
    assert merit[chosen].mean() < merit.median()


def test_as_many_starts_as_asked_for_are_chosen_even_among_copies():
    problem = search_problem([0, 0], [1, 1], lambda p: p.sum(1))
    points = torch.full((30, 2), 0.5).double()
    points[20:] += 1e-9 * torch.arange(10)[:, None]
    chosen = spread_out(points, torch.zeros(30).double(), 12, problem)
    assert len(set(chosen.tolist())) == 12
    assert len(spread_out(points[:3], torch.zeros(3).double(), 12, problem)) == 3


def chosen_one_by_one(unit, merit, count):
    """The same rule with all distances written out, for points between 0 and 1."""
    order = np.argsort(merit, kind="stable")
    chosen, gap, barred = [], 0.3, set()
    while len(chosen) < min(count, len(order)):
        free = [i for i in order if i not in chosen and i not in barred]
        if free:
            chosen.append(free[0])
        else:
            gap /= 4
        since = chosen if free or gap > 1e-6 else []
        near = {i for i in order for j in since if np.abs(unit[i] - unit[j]).max() < gap}
        barred = (barred | near) if free else near
    return chosen


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_allowed_to_shrink_only_when_no_point_is_left(seed):
    generator = np.random.default_rng(seed)
    unit = generator.uniform(0.3, 0.3 + 0.4 * (seed > 0), (60, 3))
    unit[40:] = unit[:20] + 1e-4 * generator.normal(size=(20, 3))
    merit = generator.normal(size=60)
    problem = search_problem([0] * 3, [1] * 3, lambda p: p.sum(1))
    found = spread_out(torch.tensor(unit), torch.tensor(merit), 25, problem)
    assert found.tolist() == chosen_one_by_one(unit, merit, 25)


MEMORY = """
import resource
import numpy as np
import torch
from grisaille.search.search_problem import SearchProblem
from grisaille.search.multistart import spread_out

ends = torch.zeros(20, dtype=torch.float64), torch.ones(20, dtype=torch.float64)
problem = SearchProblem(*ends, lambda p: (p.sum(1), p[:, :0]))
points = torch.tensor(np.random.default_rng(0).uniform(0.4, 0.6, (3000, 20)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
spread_out(points, points.sum(1), 600, problem)
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
"""


@pytest.mark.slow
def test_no_more_memory_is_taken_for_more_starts():
    # All distances by coordinate would be 3000 x 600 x 20 numbers, 288 MB. In a process of its own:
    # the peak of this one may be that of an earlier test.
    subprocess.run([sys.executable, "-c", MEMORY], check=True)
