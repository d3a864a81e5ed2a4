"""Local search from many starts at once."""

import numpy as np
import pytest
import torch

from grisaille.search.local_search import _have_better_neighbour, linearize, local_search
from tests.search.search_helpers import search_problem, unit_scale


def test_of_starts_in_one_valley_only_the_best_goes_on():
    unit = np.array([[0.1, 0.1], [0.11, 0.1], [0.105, 0.1], [0.9, 0.9], [0.9, 0.9]])
    merit = np.array([3.0, 1.0, 2.0, 5.0, 5.0])
    assert _have_better_neighbour(unit, merit).tolist() == [True, False, True, False, True]


def test_slopes_are_those_of_each_column_even_inside_no_grad():
    problem = search_problem(
        [0, 0],
        [2, 4],
        lambda p: p[:, 0] ** 2 + p[:, 1],
        [lambda p: p[:, 0] * p[:, 1], lambda p: p[:, 1] ** 3],
    )
    unit = np.array([[0.5, 0.25], [1.0, 0.5]])
    with torch.no_grad():  # as within a proof
        value, rows, gradient, jacobian = linearize(problem, unit_scale(2), unit)
    assert value.tolist() == [2.0, 6.0]
    assert rows.tolist() == [[1.0, 1.0], [4.0, 8.0]]
    assert gradient.tolist() == [[4.0, 4.0], [8.0, 4.0]]
    assert jacobian.tolist() == [[[2.0, 4.0], [0.0, 12.0]], [[4.0, 8.0], [0.0, 48.0]]]


def test_starts_with_different_whole_numbers_are_never_in_one_valley():
    unit = np.array([[0.1, 0.1], [0.11, 0.1], [0.1, 0.1]])
    merit = np.array([3.0, 1.0, 2.0])
    whole = np.array([True, False])
    assert _have_better_neighbour(unit, merit, whole).tolist() == [True, False, False]


def test_a_local_search_moves_only_what_need_not_be_whole():
    problem = search_problem(
        [0, 0],
        [7, 1],
        lambda p: (p - torch.tensor([3.0, 0.3])).square().sum(1),
        whole=[True, False],
    )
    starts = torch.tensor([[1.0, 0.9], [6.0, 0.1]]).double()
    ends, _ = local_search(problem, unit_scale(0), starts, 30)
    assert ends[:, 0].tolist() == [1.0, 6.0]
    assert ends[0, 1].item() == pytest.approx(0.3, abs=1e-4)


def test_the_last_starts_stop_where_a_polish_goes_on():
    def valley(p):
        return 100 * (p[:, 1] - p[:, 0] ** 2) ** 2 + (1 - p[:, 0]) ** 2

    problem = search_problem([-2, -2], [2, 2], valley)
    start = torch.tensor([[-1.5, 1.5]], dtype=torch.float64)
    ends, most = local_search(problem, unit_scale(0), start, 60)
    early, fewer = local_search(problem, unit_scale(0), start, 60, left=1)
    assert fewer < most
    assert valley(ends) < valley(early) < valley(start)
