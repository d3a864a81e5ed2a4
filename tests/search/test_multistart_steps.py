"""Points that are tried are on the steps, and the best ones there."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.design_problem import design_problem
from grisaille.belief.knowledge import Knowledge
from grisaille.records import (
    History,
    Pending,
    Situation,
    Suggestion,
    TrialKind,
    taken_designs,
)
from grisaille.search.search_problem import Solution
from grisaille.strategies.acquisition import settled
from tests.belief.belief_helpers import history_at

QUICK = gs.MultiStart(starts=2, samples=64, iterations=5, again=False, polish=False)
STRATEGIES = {
    "Optimistic": gs.Optimistic(solver=QUICK),
    "paper": gs.Optimistic(solver=QUICK, exploit=False),
    "CONFIG": gs.CONFIG(solver=QUICK),
    "EIFN": gs.EIFN(samples=8),
    "CUQB": gs.CUQB(samples=8),
    "LogEI": gs.LogEI(restarts=1, raw_samples=16),
    "RandomSearch": gs.RandomSearch(),
    "SobolSearch": gs.SobolSearch(),
}


def mixed() -> gs.Problem:
    """Steps, steps of a variable over decades, and no steps."""
    t = gs.Variable("t", lower=300, upper=400, step=2.5)
    k = gs.Variable("k", lower=1e-2, upper=100, step=0.01, log=True)
    r = gs.Variable("r", lower=-1, upper=1)
    f = gs.BlackBox(
        lambda t, k, r: ((t - 351) / 30) ** 2 + (np.log10(k) - 0.5) ** 2 + r**2, name="f", noise=0
    )
    return gs.Problem(minimize=f(t, k, r), subject_to=[t / 400 + 0.1 * r <= 0.95])


@pytest.fixture(scope="module")
def tried() -> Situation:
    problem = mixed()
    result = problem.solve(6, strategy=gs.SobolSearch(), seed=1, progress=False)
    return Situation(problem, result.history, 1, "chained")


@pytest.mark.parametrize("remaining", [10, 1])
@pytest.mark.parametrize("name", STRATEGIES)
def test_every_point_of_every_strategy_is_on_the_steps(name, remaining, tried):
    """Those of the initial design, which the history has, too, and those at the end of a run."""
    now = replace(tried, remaining=remaining)
    points = [trial.x for trial in tried.history]
    points.append(STRATEGIES[name].suggest(now).x)
    for t, k, r in points:
        assert 300 <= t <= 400
        assert (t - 300) / 2.5 == round((t - 300) / 2.5)
        assert 0.01 <= k <= 100
        assert float(k) == round(float(k), 2)
        assert -1 <= r <= 1


def known(evaluate, problem: gs.Problem, points, point) -> tuple:
    """A search with a known criterion, its best point, and what is known."""
    knowledge = Knowledge(Situation(problem, history_at(problem, points), 0))
    search = design_problem(problem.program, evaluate)
    value, constraints = search.evaluate(torch.tensor([point], dtype=torch.float64))
    found = Solution(
        torch.tensor(point, dtype=torch.float64),
        float(value),
        0.0,
        bool((constraints <= 0).all()),
        1,
    )
    return search, found, knowledge


def to_try(search, found, knowledge) -> np.ndarray:
    """The design point that is settled on."""
    return knowledge.program.space.to_try(settled(search, found, knowledge).point)


def plane(steps=(0.5, 0.5)) -> gs.Problem:
    x = gs.Variable("x", len(steps), lower=0, upper=4, step=list(steps))
    return gs.Problem(minimize=gs.BlackBox(lambda x: x @ x, name="f", noise=0)(x))


def test_the_criterion_chooses_among_the_neighbours_not_the_distance():
    def valley(x):  # the nearest corner of (1.2, 1.7) is (1, 1.5), the best one (1.5, 1.5)
        return (x[:, 0] - x[:, 1]).abs() + 0.01 * x[:, 0], x[:, :0]

    problem = plane()
    search, found, knowledge = known(valley, problem, [[3.5, 0.0]], [1.2, 1.7])
    chosen = settled(search, found, knowledge)
    corners = [np.array(c) for c in product((1.0, 1.5), (1.5, 2.0))]
    values = [float(valley(torch.tensor(c)[None])[0]) for c in corners]
    assert (
        knowledge.program.space.to_try(chosen.point).tolist()
        == corners[int(np.argmin(values))].tolist()
    )
    assert chosen.value == pytest.approx(min(values))


def test_constraints_come_before_the_criterion():
    def kept(x):
        return x.sum(1), (1.4 - x[:, :1]).clamp_min(-10)  # x[0] >= 1.4

    search, found, knowledge = known(kept, plane(), [[3.5, 0.0]], [1.4, 0.0])
    chosen = settled(search, found, knowledge)
    assert chosen.feasible
    assert knowledge.program.space.to_try(chosen.point).tolist() == [1.5, 0.0]


def test_entries_without_steps_follow_those_that_have_them():
    x = gs.Variable("x", lower=0, upper=4, step=1.0)
    y = gs.Variable("y", lower=0, upper=16)
    problem = gs.Problem(minimize=gs.BlackBox(lambda x, y: x + y, name="f", noise=0)(x, y))

    def curve(p):
        return (p[:, 1] - p[:, 0] ** 2).abs() + (p[:, 0] - 2.4).abs(), p[:, :0]

    search, found, knowledge = known(curve, problem, [[1.0, 1.0]], [2.4, 5.76])
    chosen = to_try(search, found, knowledge)
    assert chosen.tolist() == pytest.approx([2.0, 4.0], abs=1e-3)


def test_a_point_that_was_tried_is_left_to_others_if_answers_are_exact():
    def bowl(x):
        return ((x - 1.1) ** 2).sum(1), x[:, :0]

    search, found, knowledge = known(bowl, plane(), [[1.0, 1.0]], [1.1, 1.1])
    first = to_try(search, found, knowledge)
    assert first.tolist() in ([1.0, 1.5], [1.5, 1.0])
    pending = Pending(Suggestion(TrialKind.OPTIMISTIC, first))
    busy = Knowledge(replace(knowledge.situation, pending=(pending,)))
    second = to_try(search, found, busy)
    assert second.tolist() not in ([1.0, 1.0], first.tolist())
    x = gs.Variable("x", 2, lower=0, upper=4, step=0.5)
    noisy = gs.Problem(minimize=gs.BlackBox(lambda x: x @ x, name="f", noise=0.1)(x))
    search, found, knowledge = known(bowl, noisy, [[1.0, 1.0]], [1.1, 1.1])
    assert to_try(search, found, knowledge).tolist() == [1.0, 1.0]


def test_a_free_point_is_found_when_the_whole_cell_is_taken():
    def bowl(x):
        return ((x - 1.1) ** 2).sum(1), x[:, :0]

    cell = [list(c) for c in product((1.0, 1.5), (1.0, 1.5))]
    search, found, knowledge = known(bowl, plane(), cell, [1.1, 1.1])
    chosen = to_try(search, found, knowledge)
    everywhere = np.array(list(product(np.arange(0, 4.1, 0.5), repeat=2)))
    free = [p for p in everywhere.tolist() if p not in cell]
    best = min(free, key=lambda p: sum((v - 1.1) ** 2 for v in p))
    assert sum((chosen - 1.1) ** 2) == pytest.approx(sum((v - 1.1) ** 2 for v in best))


@pytest.mark.parametrize("name", ["Optimistic", "EIFN", "SobolSearch"])
def test_a_small_grid_is_used_up_without_repeats_and_then_the_run_goes_on(name):
    x = gs.Variable("x", lower=0, upper=1, step=0.25)
    f = gs.BlackBox(lambda x: (x - 0.6) ** 2, name="f", noise=0)
    result = gs.Problem(minimize=f(x)).solve(7, strategy=STRATEGIES[name], progress=False)
    points = [float(t.x[0]) for t in result.history]
    assert len(points) == 7
    assert sorted(points[:5]) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert result.x.tolist() == [0.5]


def test_taken_points_are_tried_failed_or_pending():
    problem = plane()
    history = history_at(problem, [[1.0, 1.0]])
    now = Situation(problem, History(history.trials), 0)
    busy = replace(now, pending=(Pending(Suggestion(TrialKind.INITIAL, np.array([2.0, 2.0]))),))
    assert [p.tolist() for p in taken_designs(busy)] == [[1.0, 1.0], [2.0, 2.0]]


def test_the_best_point_on_the_steps_is_found():
    """Compared with every point of the grid, by the true function."""
    x = gs.Variable("x", 2, lower=0, upper=1, step=0.05)

    def true(x):
        return float(np.sin(5 * x[0]) + (x[1] - 0.42) ** 2 + 0.5 * x[0] * x[1])

    f = gs.BlackBox(true, name="f", noise=0)
    g = gs.BlackBox(lambda x: x[0] + x[1] ** 2, name="g", noise=0)
    problem = gs.Problem(minimize=f(x), subject_to=[g(x) >= 0.93])
    strategy = gs.EIFN(samples=16)
    result = problem.solve(14, strategy=strategy, progress=False)
    grid = np.array(list(product(np.round(np.arange(21) * 0.05, 2), repeat=2)))
    allowed = grid[grid[:, 0] + grid[:, 1] ** 2 >= 0.93]
    best = min(map(true, allowed))
    assert result.fun == pytest.approx(best, abs=1e-9)


# --- whole numbers and labels --------------------------------------------------------------------
def used_up(problem, rows):
    """What is settled on at the first row after trials at all rows, as a row."""
    situation = Situation(problem, history_at(problem, rows), 0, "chained")
    knowledge = Knowledge(situation)
    searched = design_problem(problem.program, lambda x: (x.sum(1), x[:, :0]))
    point = torch.tensor(np.array(rows[0], dtype=float))
    found = Solution(point, value=0.0, violation=0.0, feasible=True, evaluations=0)
    return tuple(to_try(searched, found, knowledge))


def switches(count):
    use = gs.Integer("use", count, lower=0, upper=1)
    f = gs.BlackBox(lambda u: float(np.sum(u)), name="f", noise=0)
    return gs.Problem(minimize=f(use))


def test_a_point_two_moves_away_is_tried_if_all_that_are_one_move_away_are_taken():
    taken = [np.zeros(8), *np.eye(8)]
    assert sum(used_up(switches(8), taken)) == 2


def test_a_space_of_whole_numbers_that_is_used_up_gives_a_point_of_it_again():
    every = [np.array(row, dtype=float) for row in product((0, 1), repeat=3)]
    assert used_up(switches(3), every) in {tuple(row) for row in every}


def test_any_other_label_may_be_tried_if_one_is_taken():
    c = gs.Choice("c", list("ABCDE"))
    f = gs.BlackBox(lambda c: float(ord(c)), name="f", noise=0)
    assert used_up(gs.Problem(minimize=f(c)), [[4], [0], [1], [2]]) == (3.0,)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_goes_on_when_all_combinations_were_tried(name):
    a, c = gs.Integer("a", lower=0, upper=1), gs.Choice("c", ["A", "B"])
    f = gs.BlackBox(lambda a, c: (a - 1) ** 2 + (c == "B"), name="f", noise=0)
    problem = gs.Problem(minimize=f(a, c))
    result = problem.solve(7, strategy=STRATEGIES[name], seed=0, progress=False)
    assert len(result.history) == 7
    assert result.fun == 0
