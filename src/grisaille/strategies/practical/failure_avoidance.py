"""Going elsewhere when the solution lies where black boxes failed."""

from __future__ import annotations

from dataclasses import replace

from grisaille.confidence.knowledge import Knowledge
from grisaille.solvers.multistart import MultiStart
from grisaille.strategies.plan import Plan

# Distances to failures have kinks, on which a long local search gains little.
_AVOIDING_SEARCH = MultiStart(starts=12, samples=1024, iterations=20, again=False)


def avoid_failures(plan: Plan, knowledge: Knowledge) -> Plan:
    """Take the best plausible point away from where black boxes failed.

    The constraint is on the choice, not on the bound: the bound stays one of the whole problem.
    """
    failures, plausible = knowledge.failures, plan.plausible
    point = plan.solution.point.unsqueeze(0)
    if not failures or (failures.excess(plausible, point) <= 0).all():
        return plan
    problem = failures.avoided_in(plausible.search_problem(), plausible)
    found = _AVOIDING_SEARCH.solve(problem, point, knowledge.situation.trial_seed)
    return replace(plan, solution=replace(found, proof=plan.solution.proof))
