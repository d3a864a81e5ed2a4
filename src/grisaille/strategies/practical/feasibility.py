"""Looking for a feasible point while none is known."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.confidence.design_problem import design_problem
from grisaille.confidence.incumbent import Incumbent
from grisaille.confidence.knowledge import Knowledge
from grisaille.records import Situation, TrialKind
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.search_problem import SearchProblem
from grisaille.strategies.plan import Plan
from grisaille.strategies.practical.recommendation import (
    cautious_solution,
    repeats,
)
from grisaille.strategies.stepped_choice import design_of, settled

# How cautious to be, in audited bands: as cautious as the constraints allow.
_CAUTION = (2.0, 1.0, 0.3, 0.1, 0.01)
# The largest of several constraints has kinks, on which a polish gains nothing.
_KINKED_SEARCH = MultiStart(starts=6, samples=512, iterations=40, polish=False)
# So many of the last trials all look for a feasible point; earlier ones in turn with others.
_LAST_TRIALS = 5


def seek_feasible_point(plan: Plan, knowledge: Knowledge) -> Plan:
    """Try the point that is most surely feasible, while no point tried is.

    The algorithm's own points meet constraints only as far as the bands allow, and those of a
    recommendation must meet them with the whole bands, which narrow corners do not leave room for.
    So we are as cautious as the constraints allow. If even the predictions meet them nowhere, we go
    where they are violated least.
    """
    incumbent = knowledge.incumbent
    if incumbent is None or incumbent.feasible or not _is_due(knowledge.situation):
        return plan
    if not len(knowledge.history.constraint_sizes()):  # the objective has no finite value
        return plan
    point = _most_surely_feasible(knowledge, incumbent)
    if repeats(point, knowledge):
        return plan
    suggestion = replace(plan.suggestion, kind=TrialKind.RECOMMENDED, x=point)
    return replace(plan, suggestion=suggestion, is_final=True)


def _is_due(situation: Situation) -> bool:
    """Whether this trial is to look for a feasible point: every other one, and all at the end."""
    latest = [t.suggestion for t in situation.history.trials[-1:]]
    latest += [p.suggestion for p in situation.pending]
    if situation.remaining is not None and situation.remaining <= _LAST_TRIALS:
        return not situation.pending
    return not any(s.kind is TrialKind.RECOMMENDED for s in latest)


def _most_surely_feasible(knowledge: Knowledge, incumbent: Incumbent) -> Array:
    """The point of most caution that has one; else the point of least predicted violation."""

    def point_of(caution: float) -> Array | None:
        bands = knowledge.audited.scaled(caution)
        solution = cautious_solution(knowledge, incumbent, bands)
        return design_of(solution, knowledge) if solution.feasible else None

    most, *_, least = _CAUTION
    found = point_of(most)
    if found is not None:
        return found
    found = point_of(least)
    if found is None:
        return _least_violated(knowledge, incumbent)
    possible = list(_CAUTION[1:-1])
    while possible:  # each search halves what is possible
        middle = len(possible) // 2
        better = point_of(possible[middle])
        found = found if better is None else better
        possible = possible[middle + 1 :] if better is None else possible[:middle]
    return found


def _least_violated(knowledge: Knowledge, incumbent: Incumbent) -> Array:
    best = torch.tensor(knowledge.history.trials[incumbent.position].x).unsqueeze(0)
    problem, seed = _least_violation(knowledge), knowledge.situation.trial_seed
    solution = _KINKED_SEARCH.solve(problem, knowledge.program.space.to_search(best), seed)
    return design_of(settled(problem, solution, knowledge), knowledge)


def _least_violation(knowledge: Knowledge) -> SearchProblem:
    """Minimize the largest predicted constraint, each in its own size, over x alone."""
    plausible = knowledge.plausible
    sizes = torch.tensor(knowledge.history.constraint_sizes()).clamp_min(1e-300)

    def evaluate(design: Tensor) -> tuple[Tensor, Tensor]:
        _, constraints, _ = plausible.predict(design)
        return (constraints / sizes).amax(1), constraints[:, :0]

    return design_problem(knowledge.program, evaluate)
