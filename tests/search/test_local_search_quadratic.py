"""Batched quadratic programs, against other solvers and their own optimality conditions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from grisaille.search import local_search
from grisaille.search.local_search import LOCAL_SEARCH, _solve_by_guessing, solve_quadratic

PENALTY = 10.0


def program(seed, unknowns, rows, shift=0.5, stiffness=1.0):
    """A random program as (H, g, A, b, low, high); a smaller shift makes rows harder to meet."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(unknowns, unknowns))
    hessian = stiffness * (root @ root.T / unknowns + 0.01 * np.eye(unknowns))
    return (
        hessian,
        rng.normal(size=unknowns),
        rng.normal(size=(rows, unknowns)),
        rng.normal(size=rows) + shift,
        -rng.uniform(0.1, 2, unknowns),
        rng.uniform(0.1, 2, unknowns),
    )


def solve(parts, penalty=PENALTY):
    """One program: its step and the multipliers of its rows."""
    step, prices = solve_quadratic(*(np.asarray(p)[None] for p in parts), penalty)
    return step[0], prices[0]


def cost(parts, step, penalty=PENALTY):
    hessian, gradient, matrix, bound, *_ = parts
    slack = np.maximum(matrix @ step - bound, 0)
    return step @ hessian @ step / 2 + gradient @ step + penalty * slack.sum()


def allowance(parts, penalty=PENALTY):
    """What a program solved to its tolerance may cost too much, by duality.

    The cost is above the optimum by the sum of all rooms times their prices; their mean is brought
    below the tolerance times what there is to gain.
    """
    hessian, gradient, matrix, bound, low, high = parts
    middle, half = (high + low) / 2, (high - low) / 2
    slope = np.abs((gradient + hessian @ middle) * half).max()
    violated = np.maximum(matrix @ middle - bound, 0).sum()
    return (
        2 * (len(gradient) + len(bound)) * LOCAL_SEARCH.tolerance * (slope + penalty * violated)
        + 1e-9
    )


def by_scipy(parts, penalty=PENALTY):
    """The least cost by SLSQP, the slacks being unknowns of their own."""
    hessian, gradient, matrix, bound, low, high = parts
    d, k = len(gradient), len(bound)
    start = np.concatenate([np.zeros(d), np.maximum(-bound, 0) + 1])
    answer = minimize(
        lambda v: v[:d] @ hessian @ v[:d] / 2 + gradient @ v[:d] + penalty * v[d:].sum(),
        start,
        jac=lambda v: np.concatenate([hessian @ v[:d] + gradient, np.full(k, penalty)]),
        bounds=[*zip(low, high, strict=True), *[(0, None)] * k],
        constraints={
            "type": "ineq",
            "fun": lambda v: bound - matrix @ v[:d] + v[d:],
            "jac": lambda _v: np.hstack([-matrix, np.eye(k)]),
        }
        if k
        else (),
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return answer.fun


# --- by hand -------------------------------------------------------------------------------------
def one(hessian, gradient, matrix, bound, low=-1.0, high=1.0, penalty=PENALTY):
    """A program of one unknown."""
    parts = [[[hessian]], [gradient], np.reshape(matrix, (-1, 1)), bound, [low], [high]]
    step, prices = solve([np.array(p, dtype=float) for p in parts], penalty)
    return step[0], prices


def test_a_free_minimum_is_minus_gradient_over_curvature():
    step, prices = one(2.0, 1.0, [], [])
    assert step == pytest.approx(-0.5, abs=1e-7)
    assert prices.shape == (0,)


def test_a_bound_stops_the_step():
    assert one(1.0, 10.0, [], [])[0] == pytest.approx(-1.0, abs=1e-6)
    assert one(1.0, -10.0, [], [])[0] == pytest.approx(1.0, abs=1e-6)


def test_an_active_row_stops_the_step_at_its_price():
    # minimize p^2/2 - p with p <= 1/4: at 1/4 the slope is -3/4
    step, prices = one(1.0, -1.0, [1.0], [0.25])
    assert step == pytest.approx(0.25, abs=1e-6)
    assert prices[0] == pytest.approx(0.75, abs=1e-5)


def test_a_row_that_is_not_active_costs_nothing():
    step, prices = one(1.0, -0.5, [1.0], [0.9])
    assert step == pytest.approx(0.5, abs=1e-6)
    assert prices[0] == pytest.approx(0, abs=1e-6)


def test_a_row_dearer_than_the_penalty_is_broken():
    # minimize 10 p^2/2 - 40 p with p <= 0 at a penalty of 10: p = 3
    step, prices = one(10.0, -40.0, [1.0], [0.0], high=5.0)
    assert step == pytest.approx(3.0, abs=1e-6)
    assert prices[0] == pytest.approx(10.0, abs=1e-5)


def test_a_row_that_cannot_be_met_is_broken_as_little_as_possible():
    # p >= 3 with p <= 1
    step, prices = one(1.0, 1.0, [-1.0], [-3.0])
    assert step == pytest.approx(1.0, abs=1e-6)
    assert prices[0] == pytest.approx(PENALTY, abs=1e-5)


# --- against SciPy -------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_cost_what_scipy_finds(seed):
    rng = np.random.default_rng(100 + seed)
    parts = program(
        seed,
        unknowns=int(rng.integers(1, 10)),
        rows=int(rng.integers(0, 13)),
        shift=[0.5, -3.0, -0.5][seed % 3],  # the second kind cannot be met
        stiffness=10.0 ** rng.uniform(-2, 2),
    )
    step, _ = solve(parts)
    assert ((step >= parts[4]) & (step <= parts[5])).all()
    expected = by_scipy(parts)
    assert cost(parts, step) <= expected + allowance(parts)
    assert cost(parts, step) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_some_of_these_programs_cannot_be_met():
    parts = program(1, 5, 8, shift=-3.0)
    step, _ = solve(parts)
    assert (parts[2] @ step - parts[3]).max() > 0.1


# --- optimality conditions -----------------------------------------------------------------------
@pytest.mark.parametrize("rows", [0, 1, 4, 20])
@pytest.mark.parametrize("shift", [0.5, -3.0])
def test_steps_and_prices_meet_the_optimality_conditions(rows, shift):
    batch = [program(seed, 6, rows, shift) for seed in range(15)]
    stacked = [np.stack(p) for p in zip(*batch, strict=True)]
    steps, prices = solve_quadratic(*stacked, PENALTY)
    for parts, p, y in zip(batch, steps, prices, strict=True):
        hessian, gradient, matrix, bound, low, high = parts
        assert ((p >= low) & (p <= high)).all()
        assert ((y >= 0) & (y <= PENALTY * (1 + 1e-9))).all()
        slope = hessian @ p + gradient + matrix.T @ y
        # A slope is left only where a bound stops the step: slope times room is next to nothing.
        small = allowance(parts)
        assert (np.maximum(slope, 0) * (p - low)).max() < small
        assert (np.maximum(-slope, 0) * (high - p)).max() < small
        # A row that is not active is free of charge, a broken one costs the whole penalty.
        excess = matrix @ p - bound
        assert (y * np.maximum(-excess, 0)).max(initial=0) < small
        assert ((PENALTY - y) * np.maximum(excess, 0)).max(initial=0) < small


# --- batches -------------------------------------------------------------------------------------
def test_programs_of_a_batch_do_not_disturb_one_another():
    # the last is so badly scaled that rounding stops it early
    wild = (
        np.diag([1e-30, 1e30, 1.0, 1.0]),
        np.array([1e8, -1e8, 0.0, 1.0]),
        np.full((3, 4), 1e8),
        np.array([1e8, -1e8, 0.0]),
        np.full(4, -1e-8),
        np.full(4, 1e-8),
    )
    batch = [*(program(seed, 4, 3) for seed in range(8)), wild]
    steps, _ = solve_quadratic(*(np.stack(p) for p in zip(*batch, strict=True)), PENALTY)
    assert np.isfinite(steps).all()
    for parts, together in zip(batch[:-1], steps, strict=False):
        alone, _ = solve(parts)
        assert abs(cost(parts, together) - cost(parts, alone)) <= allowance(parts)


def test_a_program_that_is_no_number_leaves_the_others_solved():
    good = program(0, 4, 3)
    broken = tuple(np.full_like(p, np.nan) if i == 3 else p for i, p in enumerate(program(1, 4, 3)))
    stacked = [np.stack(p) for p in zip(good, broken, strict=True)]
    steps, _ = solve_quadratic(*stacked, PENALTY)
    together, alone = steps[0], solve(good)[0]
    assert abs(cost(good, together) - cost(good, alone)) <= allowance(good)


def test_no_programs_have_no_steps():
    shapes = [(0, 4, 4), (0, 4), (0, 3, 4), (0, 3), (0, 4), (0, 4)]
    step, prices = solve_quadratic(*(np.zeros(s) for s in shapes), PENALTY)
    assert (tuple(step.shape), tuple(prices.shape)) == ((0, 4), (0, 3))


@pytest.mark.parametrize("radius", [1e-8, 1e-4, 1.0, 1e4])
def test_regions_of_any_size_are_filled(radius):
    # downhill along (1, 2): the step goes to the corner
    parts = (
        np.eye(2) / radius,
        np.array([-10.0, -20.0]),
        np.zeros((0, 2)),
        np.zeros(0),
        np.full(2, -radius),
        np.full(2, radius),
    )
    np.testing.assert_allclose(solve(parts)[0], [radius, radius], rtol=1e-6)


# --- without rows --------------------------------------------------------------------------------
@pytest.mark.parametrize("unknowns", [1, 3, 12])
def test_a_guess_that_confirms_itself_is_the_solution(unknowns):
    parts = [program(seed, unknowns, 0) for seed in range(20)]
    hessian, gradient, _, _, low, high = (np.stack(side) for side in zip(*parts, strict=True))
    steps, solved = _solve_by_guessing(hessian, gradient, low, high)
    assert solved.mean() > 0.9
    slopes = np.einsum("sij,sj->si", hessian, steps) + gradient
    inside = (steps > low + 1e-12) & (steps < high - 1e-12)
    at_high, at_low = steps >= high - 1e-12, steps <= low + 1e-12
    for i in np.flatnonzero(solved):  # the conditions of an optimum
        assert np.abs(slopes[i][inside[i]]).max(initial=0.0) < 1e-9
        assert slopes[i][at_high[i]].max(initial=0.0) < 1e-9
        assert slopes[i][at_low[i]].min(initial=0.0) > -1e-9


def test_programs_that_no_guess_solves_are_solved_all_the_same(monkeypatch):
    parts = program(3, 6, 0)
    expected = solve(parts)[0]
    monkeypatch.setattr(local_search, "LOCAL_SEARCH", replace(local_search.LOCAL_SEARCH, guesses=0))
    np.testing.assert_allclose(solve(parts)[0], expected, atol=1e-5)


def test_a_singular_program_is_left_to_the_other_method():
    zeros = np.zeros((1, 2))
    with np.errstate(all="ignore"):
        _, solved = _solve_by_guessing(np.zeros((1, 2, 2)), zeros, zeros - 1, zeros + 1)
    assert not solved.any()
