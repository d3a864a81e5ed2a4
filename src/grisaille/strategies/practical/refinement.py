"""The last digits of a solution."""

from __future__ import annotations

from dataclasses import replace

from grisaille.confidence.knowledge import Knowledge
from grisaille.records import TrialKind
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.search_problem import nearby
from grisaille.strategies.plan import Plan
from grisaille.strategies.practical.gap import gap_of

# The last digits are looked for in a small region around the solution.
_FINE_SEARCH = MultiStart(starts=6, samples=256, iterations=40, again=False)


def refine(plan: Plan, knowledge: Knowledge) -> Plan:
    """Search once more around the solution when the gap is nearly closed.

    A search is only as exact as the spread of the objective over its region allows, and at the end
    the last digits are all that is left to gain.
    """
    doubting = plan.suggestion.kind is TrialKind.DOUBTING
    if doubting or not gap_of(plan, knowledge).is_nearly_closed:
        return plan
    solution, plausible = plan.solution, plan.plausible
    problem = nearby(plausible.search_problem(), solution.point, plausible.program.size)
    seed = knowledge.situation.trial_seed
    found = _FINE_SEARCH.solve(problem, solution.point.unsqueeze(0), seed)
    if not (found.feasible and found.value < solution.value):
        return plan
    return replace(plan, solution=replace(found, proof=solution.proof))
