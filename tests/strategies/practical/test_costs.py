"""Evaluations that are not worth their cost are left out, and the budget is kept."""

from __future__ import annotations

import numpy as np

import grisaille as gs
from grisaille.belief.knowledge import Knowledge
from grisaille.records import Probe, Situation, TrialKind
from grisaille.strategies.practical.costs import (
    cheapest_initial,
    leave_out_expensive,
    stay_within_budget,
    still_initial_by_box,
)
from tests.strategies.practical.practical_helpers import opening


def chain(first: float, second: float) -> gs.Problem:
    """Two black boxes in a chain with their costs; the second is a gentle slope."""
    x = gs.Variable("x", lower=-2, upper=2)
    inner = gs.BlackBox(lambda x: np.sin(2 * x), name="inner", noise=0, cost=first)
    outer = gs.BlackBox(lambda y: 0.5 * y, name="outer", noise=0, cost=second)
    return gs.Problem(minimize=outer(inner(x)) + 0.01 * x)


def after(problem: gs.Problem, trials: int, **options: object) -> Situation:
    history = problem.solve(
        trials, strategy=gs.SobolSearch(), evaluation="chained", progress=False
    ).history
    return Situation(problem, history, 0, **options)  # type: ignore[arg-type]


def test_an_expensive_box_that_tells_little_is_left_out():
    knowledge = Knowledge(after(chain(1.0, 1e6), 4))
    found = leave_out_expensive(opening(knowledge), knowledge).suggestion
    assert not found.chain
    assert [knowledge.program.calls[p.call].box.name for p in found.probes] == ["inner"]


def test_with_equal_costs_and_in_the_last_trials_everything_is_evaluated():
    for situation in (after(chain(1.0, 1.0), 4), after(chain(1.0, 1e6), 4, remaining=1)):
        knowledge = Knowledge(situation)
        plan = opening(knowledge)
        assert leave_out_expensive(plan, knowledge) is plan


def test_probes_that_the_budget_does_not_pay_for_are_left_out():
    problem = chain(1.0, 3.0)
    for budget, kept in ((None, 1), (7.0, 1), (6.9, 0)):
        knowledge = Knowledge(after(problem, 4, budget=budget))
        plan = opening(knowledge)
        probed = with_probes(plan, (Probe(1, np.array([0.1])),))
        assert len(stay_within_budget(probed, knowledge).suggestion.probes) == kept


def test_the_initial_design_asks_only_boxes_that_lack_data():
    problem = chain(1.0, 3.0)
    whole = cheapest_initial(Situation(problem, after(problem, 1).history, 0), 4)
    assert whole.kind is TrialKind.INITIAL
    assert whole.chain
    study = gs.Study(problem)
    study.observe("outer", [[-0.9], [-0.4], [0.1], [0.6]], [[-0.45], [-0.2], [0.05], [0.3]])
    situation = Situation(problem, study.history, 0)
    part = cheapest_initial(situation, 4)
    assert not part.chain
    assert [p.call for p in part.probes] == [0]
    assert still_initial_by_box(situation, 4, ["inner", "outer"])
    assert not still_initial_by_box(situation, 4, ["outer"])


def with_probes(plan, probes):
    from dataclasses import replace

    return replace(plan, suggestion=replace(plan.suggestion, probes=probes))
