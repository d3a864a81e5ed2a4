"""Search block by block, compared with problems whose parts can be solved by themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import brute, fmin

import grisaille as gs
from grisaille.search.multistart import BlockSearch
from grisaille.search.search_problem import Blocks, sampled_scale
from tests.search.search_helpers import assert_honest, no_hints, search_problem

COUNT, SIZE = 12, 2


def wells(u, v):
    """Two variables, a shallow wide valley and a deep narrow one; least at about (0.8, 0.3)."""
    wide = (u - 0.25) ** 2 + (v - 0.7) ** 2
    narrow = (u - 0.8) ** 2 + (v - 0.3) ** 2
    if isinstance(u, torch.Tensor):
        return wide - 1.5 * torch.exp(-60 * narrow)
    return wide - 1.5 * np.exp(-60 * narrow)


def least_of_one():
    """The least value of one part, by a grid and a simplex search."""
    found = brute(lambda p: wells(p[0], p[1]), [(0, 1), (0, 1)], Ns=201, finish=fmin)
    return wells(*found)


def many_wells(donors=None, constraints=()):
    size = COUNT * SIZE

    def total(p):
        return sum(wells(p[:, i], p[:, i + 1]) for i in range(0, size, SIZE))

    problem = search_problem([0] * size, [1] * size, total, list(constraints))
    entries = tuple(torch.arange(i, i + SIZE) for i in range(0, size, SIZE))
    donors = torch.zeros(0, size).double() if donors is None else donors
    return replace(problem, blocks=Blocks(entries, donors))


def test_every_block_finds_its_narrow_valley():
    # By chance, a point is in all twelve narrow valleys once in 20^12 times.
    problem = many_wells()
    solution = gs.MultiStart().solve(problem, no_hints(problem), 0)
    assert_honest(problem, solution, tolerance=1e-5)
    assert solution.value == pytest.approx(COUNT * least_of_one(), abs=1e-5)


def test_without_blocks_the_same_effort_does_not_find_them():
    problem = replace(many_wells(), blocks=None)
    solution = gs.MultiStart().solve(problem, no_hints(problem), 0)
    assert solution.value > COUNT * least_of_one() + 0.5


def test_a_constraint_that_joins_all_blocks_is_kept():
    # The first entries, about 0.8 each, may have a sum of 9 only.
    def limit(p):
        return p[:, ::SIZE].sum(1) - 9.0

    problem = many_wells(constraints=[limit])
    solution = gs.MultiStart().solve(problem, no_hints(problem), 0)
    assert_honest(problem, solution, tolerance=1e-5)
    assert solution.feasible
    # One part in its wide valley, which is at 0.25, leaves 8.75 for the eleven others.
    shallow = wells(0.25, 0.7)
    assert solution.value <= 11 * least_of_one() + shallow + 0.01


def test_a_donor_gives_each_block_what_is_good_in_it():
    # Each donor is good in one block and bad in all the others.
    donors = torch.full((COUNT, COUNT * SIZE), 0.99).double()
    for block in range(COUNT):
        donors[block, SIZE * block : SIZE * block + SIZE] = torch.tensor([0.8, 0.3]).double()
    problem = many_wells(donors)
    search = BlockSearch(problem, problem.blocks, sampled_scale(problem, 0), donors[0])
    search.mix(donors)
    assert search.point.tolist() == pytest.approx([0.8, 0.3] * COUNT)


def test_other_points_differ_from_the_best_in_one_block():
    problem = many_wells()
    start = torch.full((COUNT * SIZE,), 0.5).double()
    search = BlockSearch(problem, problem.blocks, sampled_scale(problem, 0), start)
    cover = torch.tensor(np.random.default_rng(0).uniform(size=(512, COUNT * SIZE)))
    search.screen(cover, 0)
    others = search.others(10)
    assert len(others) == 10
    differing = (others != search.point).reshape(10, COUNT, SIZE).any(2).sum(1)
    assert differing.max() == 1


def test_the_point_never_gets_worse_and_every_evaluation_counts():
    calls = 0

    def counting(p):
        nonlocal calls
        calls += len(p)
        return sum(wells(p[:, i], p[:, i + 1]) for i in range(0, 24, 2))

    problem = replace(many_wells(), evaluate=lambda p: (counting(p), p[:, :0]))
    scale = sampled_scale(problem, 0)
    start = torch.full((24,), 0.5).double()
    calls = 0
    search = BlockSearch(problem, problem.blocks, scale, start)
    search.screen(torch.tensor(np.random.default_rng(0).uniform(size=(64, 24))), 0)
    assert search.evaluations == calls
    value = problem.evaluate(torch.stack([start, search.point]))[0]
    assert value[1] < value[0]
