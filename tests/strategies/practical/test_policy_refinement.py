"""The last digits of a solution are looked for when the gap is nearly closed."""

from __future__ import annotations

from grisaille.belief.knowledge import Knowledge
from grisaille.records import Situation, TrialKind
from grisaille.strategies.practical.policy import refine
from tests.strategies.practical.practical_helpers import closed_gap, line_problem, opening, tried


def test_a_solution_of_a_nearly_closed_gap_never_gets_worse_and_keeps_its_proof():
    knowledge = Knowledge(closed_gap())
    plan = opening(knowledge)
    finer = refine(plan, knowledge)
    assert finer.solution.feasible
    assert finer.solution.value <= plan.solution.value
    assert finer.solution.proof is plan.solution.proof


def test_an_open_gap_is_not_refined():
    problem = line_problem()
    history = tried(problem, [-2.0, -1.0, 1.5, 2.0], TrialKind.INITIAL)
    knowledge = Knowledge(Situation(problem, history, 0))
    plan = opening(knowledge)
    assert refine(plan, knowledge) is plan
