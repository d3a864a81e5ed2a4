"""Which entries linear equalities are solved for."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.language.linear_system import LinearRows
from grisaille.language.variable import DesignSpace
from grisaille.reductions.linear_equalities import Pivots


def pivots(*variables: gs.Variable) -> Pivots:
    unknown = np.concatenate([np.full(v.size, v.is_unknown) for v in variables])
    return Pivots(DesignSpace(variables), unknown)


def rows(matrix, constants) -> LinearRows:
    return LinearRows(np.array(matrix, dtype=float), np.array(constants, dtype=float))


def test_every_solution_of_the_rows_is_one_of_the_solved_form():
    generator = np.random.default_rng(0)
    for _ in range(50):
        matrix, x = generator.normal(size=(3, 6)), generator.normal(size=6)
        found = pivots(gs.Variable("x", 6, lower=-5, upper=5))
        assert found.solve(rows(matrix, -matrix @ x))
        assert len(found.places) == 3
        np.testing.assert_allclose(found.matrix[:, found.places], np.eye(3), atol=1e-12)
        np.testing.assert_allclose(found.matrix @ x, found.values, atol=1e-9)
        # As many rows of the same rank: nothing is lost.
        assert np.linalg.matrix_rank(np.vstack([matrix, found.matrix]), tol=1e-8) == 3


def test_rows_that_follow_from_others_solve_for_nothing_more():
    found = pivots(gs.Variable("x", 3, lower=0, upper=1))
    assert found.solve(rows([[1, 1, 1], [2, 2, 2], [1, 0, 0]], [-1, -2, -0.25]))
    assert len(found.places) == 2


def test_rows_that_contradict_others_are_refused_and_leave_no_trace():
    found = pivots(gs.Variable("x", 3, lower=0, upper=1))
    assert found.solve(rows([[1, 1, 1]], [-1]))
    assert not found.solve(rows([[1, 0, 0], [2, 2, 2]], [-0.5, -3]))
    assert found.places == [2]
    np.testing.assert_array_equal(found.matrix, [[1, 1, 1]])


def test_unknowns_come_first_then_numbers_without_steps_and_logarithms():
    t, x = gs.Unknown("t", lower=0, upper=0.1), gs.Variable("x", lower=0, upper=1)
    stepped = gs.Variable("s", lower=0, upper=100, step=0.5)
    decades = gs.Variable("d", lower=1, upper=1e4, log=True)
    assert _place(stepped, decades, x, t) == 3
    assert _place(stepped, x, decades) == 1
    assert _place(stepped, decades) is None
    assert _place(decades) is None


def _place(*variables: gs.Variable) -> int | None:
    found = pivots(*variables)
    solved = found.solve(rows([[1.0] * len(variables)], [-50]))
    return found.places[0] if solved else None


@pytest.mark.parametrize(
    ("row", "value", "place"),
    [
        ([1, 1, 1], 5, 2),  # the sum of integers
        ([2, 1, 4], 5, 1),  # u1 = 5 - 2 u0 - 4 u2
        ([2, 4, 6], 8, 0),  # halved: u0 = 4 - 2 u1 - 3 u2
        ([2, 4, 6], 5, None),  # no solution in whole numbers
        ([2, 3, 5], 5, None),  # solving for any of them would leave fractions
        ([1, 1, 1], 2.5, None),
    ],
)
def test_an_integer_is_solved_for_only_if_it_stays_whole(row, value, place):
    found = pivots(gs.Integer("u", 3, lower=0, upper=4))
    assert found.solve(rows([row], [-value])) is (place is not None)
    assert found.places == ([] if place is None else [place])


def test_steps_are_kept_as_whole_numbers_are():
    even = gs.Variable("x", 3, lower=0, upper=1, step=0.05)
    assert pivots(even).solve(rows([[1, 1, 1]], [-1]))
    assert not pivots(even).solve(rows([[1, 1, 1]], [-1.01]))
    mixed = gs.Variable("x", 2, lower=0, upper=1, step=[0.1, 0.25])
    assert not pivots(mixed).solve(rows([[1, 1]], [-1]))
