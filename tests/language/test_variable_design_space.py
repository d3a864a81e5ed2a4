"""The values that a design point may have, and the coordinates it is searched in."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.language.variable import DesignSpace


def space(*variables: gs.Variable) -> DesignSpace:
    return DesignSpace(variables)


def stepped(step, lower=0.0, upper=1.0, **options) -> DesignSpace:
    return space(gs.Variable("x", lower=lower, upper=upper, step=step, **options))


MIXED = space(
    gs.Variable("T", lower=300, upper=400, step=0.5),
    gs.Variable("w", 2, lower=0, upper=1, step=[0.1, 0.3]),
    gs.Variable("k", lower=1e-3, upper=1e3, log=True),
    gs.Variable("c", lower=-1, upper=1),
)


def test_values_on_steps_are_the_decimal_numbers_that_a_person_would_write():
    grid = stepped(0.1)
    values = [float(grid.on_steps(np.array([v]))[0]) for v in np.linspace(0, 1, 101)]
    assert sorted(set(values)) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert stepped(0.5, 300, 400).on_steps(np.array([390.0428771972656]))[0] == 390.0
    assert stepped(0.05, -0.2, 0.2).on_steps(np.array([0.1501]))[0] == 0.15
    assert stepped(250.0, 1000, 3000).on_steps(np.array([1600.0]))[0] == 1500.0


@pytest.mark.parametrize("step", [0.1, 0.3, 1 / 3, 1e-3, 0.7, 1e-15 / 7 + 0.25])
def test_every_value_is_the_nearest_whole_number_of_steps_in_exact_arithmetic(step):
    grid = stepped(step, lower=-0.5, upper=7.7)
    exact = Fraction(repr(step))
    last = Fraction("8.2") // exact
    for x in np.random.default_rng(0).uniform(-0.5, 7.7, 50):
        found = float(grid.on_steps(np.array([x]))[0])
        count = min(round((Fraction(x) + Fraction("0.5")) / exact), last)
        assert abs(Fraction(found) - (count * exact - Fraction("0.5"))) < 1e-14
        assert -0.5 <= found <= 7.7
        assert grid.on_steps(np.array([found]))[0] == found


def test_the_last_value_is_the_last_step_that_the_upper_bound_allows():
    assert stepped(0.3).upper.tolist() == [0.9]
    assert stepped(0.1, upper=0.3).upper.tolist() == [0.3]
    assert stepped(0.3).on_steps(np.array([1.0])).tolist() == [0.9]
    assert stepped(1.0).neighbours(np.array([0.4])).tolist() == [[0.0], [1.0]]


def test_without_steps_and_logarithms_nothing_changes_to_the_last_bit():
    plain = space(gs.Variable("x", 3, lower=-1, upper=[1.1, 2, 3]))
    x = np.array([0.1, 0.2, 1 / 3])
    assert plain.on_steps(x) is x
    points = torch.tensor(x)
    assert plain.to_search(points) is points
    assert plain.to_design(points) is points
    assert plain.search_lower is plain.lower
    assert plain.search_upper is plain.upper
    assert plain.spread(x).tolist() == x.tolist()
    assert plain.neighbours(x).tolist() == [x.tolist()]


def test_search_coordinates_are_logarithms_of_variables_over_decades():
    x = torch.tensor([[333.0, 0.3, 0.6, 20.0, -0.5]], dtype=torch.float64)
    searched = MIXED.to_search(x)
    assert searched[0, 3].item() == np.log(20.0)
    assert torch.equal(searched[0, [0, 1, 2, 4]], x[0, [0, 1, 2, 4]])
    assert torch.allclose(MIXED.to_design(searched), x, rtol=1e-15)
    far = MIXED.distances(x[0].numpy(), [np.array([333.0, 0.3, 0.6, 0.2, -0.5])])
    assert far[0].tolist() == pytest.approx([0, 0, 0, np.log(100), 0])


def test_search_bounds_cover_the_bounds_and_give_no_design_point_outside():
    rng = np.random.default_rng(1)
    for _ in range(200):
        low = 10 ** rng.uniform(-8, 8)
        high = low * 10 ** rng.uniform(0.1, 6)
        over = space(gs.Variable("k", lower=low, upper=high, log=True))
        assert over.search_lower[0] < np.log(low)
        assert over.search_upper[0] > np.log(high)
        ends = torch.tensor(np.array([over.search_lower, over.search_upper]))
        assert over.to_design(ends).ravel().tolist() == [low, high]


def test_design_points_have_a_slope_in_search_coordinates_even_at_the_bounds():
    over = space(gs.Variable("k", lower=1e-3, upper=1e3, log=True))
    ends = torch.tensor(np.array([over.search_lower, over.search_upper])).requires_grad_()
    over.to_design(ends).sum().backward()
    assert ends.grad is not None
    assert ends.grad.ravel().tolist() == pytest.approx([1e-3, 1e3])


def test_random_points_are_uniform_in_the_logarithm_and_over_all_steps():
    rng = np.random.default_rng(0)
    drawn = rng.uniform(MIXED.search_lower, MIXED.search_upper, (4000, 5))
    points = np.array([MIXED.spread(u) for u in drawn])
    assert (points >= MIXED.lower).all()
    assert (points <= MIXED.upper).all()
    quarters = np.histogram(np.log10(points[:, 3]), bins=4, range=(-3, 3))[0]
    assert np.abs(quarters - 1000).max() < 120
    values, counts = np.unique(points[:, 2], return_counts=True)
    assert values.tolist() == [0.0, 0.3, 0.6, 0.9]
    assert np.abs(counts - 1000).max() < 120
    assert np.array([MIXED.on_steps(p) for p in points]).tolist() == points.tolist()


def test_neighbours_are_the_corners_of_the_cell_nearest_first():
    x = np.array([333.2, 0.32, 0.7, 2.0, 0.1])
    found = MIXED.neighbours(x)
    assert found[0].tolist() == [333.0, 0.3, 0.6, 2.0, 0.1]
    corners = {(a, b, c) for a in (333.0, 333.5) for b in (0.3, 0.4) for c in (0.6, 0.9)}
    assert {tuple(row[:3]) for row in found} == corners
    assert len(found) == 8
    assert (found[:, 3:] == x[3:]).all()
    wider = MIXED.neighbours(x, 2)
    assert {row[2] for row in wider} == {0.3, 0.6, 0.9}
    assert {row[0] for row in wider} == {332.5, 333.0, 333.5, 334.0}


def test_with_many_entries_one_moves_at_a_time():
    many = space(gs.Variable("x", 12, lower=0, upper=1, step=0.1))
    x = np.full(12, 0.53)
    found = many.neighbours(x)
    assert found[0].tolist() == [0.5] * 12
    moved = [(row != 0.5).sum() for row in found[1:]]
    assert moved == [1] * 12


def test_a_step_of_a_variable_over_decades_is_one_of_its_own_units():
    both = stepped(0.5, 1.0, 1000.0, log=True)
    assert both.on_steps(np.array([333.3])).tolist() == [333.5]
    drawn = np.random.default_rng(0).uniform(both.search_lower, both.search_upper, (3000, 1))
    points = np.array([both.spread(u)[0] for u in drawn])
    assert (points * 2 == np.round(points * 2)).all()
    assert np.mean(points < 31.6) == pytest.approx(0.5, abs=0.03)


# --- whole numbers and labels --------------------------------------------------------------------
def test_neighbours_of_a_whole_number_are_on_both_sides_and_labels_are_all_near():
    space = DesignSpace([gs.Integer("n", lower=0, upper=9), gs.Choice("c", list("ABCD"))])
    rows = space.neighbours(np.array([4.0, 0.0]))
    assert rows[0].tolist() == [4.0, 0.0]
    assert {tuple(row) for row in rows} == {(n, c) for n in (3, 4, 5) for c in range(4)}


def test_neighbours_of_many_whole_numbers_differ_in_one_entry():
    space = DesignSpace([gs.Integer("n", 8, lower=0, upper=1)])
    rows = space.neighbours(np.zeros(8))
    assert sorted(rows.sum(1).tolist()) == [0.0] + [1.0] * 8
