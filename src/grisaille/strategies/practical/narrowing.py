"""Choosing points by narrower bands than those of the bound."""

from __future__ import annotations

from grisaille.confidence.knowledge import Knowledge
from grisaille.records import TrialKind
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.search_problem import Solver
from grisaille.strategies.auxiliary_problem import solve_auxiliary
from grisaille.strategies.plan import Plan

# How much learned bands are narrowed to choose by; and after how many trials the bound, which these
# do not give, is worked out with the whole ones.
_NARROWING = 0.5
_BOUND_EVERY = 4


def narrowed(knowledge: Knowledge, solver: Solver | None) -> Plan | None:
    """The solution for bands half as wide; None if these allow no feasible point.

    Where hyper-parameters are learned, the bands are a guess to begin with. As wide as a bound
    needs them they explore more than pays. The bound itself comes from the whole bands, and is
    worked out every fourth trial.
    """
    plausible = knowledge.plausible.scaled(_NARROWING)
    solution = solve_auxiliary(plausible, knowledge, solver, MultiStart())
    if not solution.feasible:
        return None
    bounding = None
    if _bound_is_due(knowledge):
        bounding = solve_auxiliary(knowledge.plausible, knowledge, solver)
    return Plan.of(TrialKind.NARROWED, knowledge, solver, plausible, solution, bounding)


def _bound_is_due(knowledge: Knowledge) -> bool:
    if knowledge.situation.pending:
        return False
    known = any(t.suggestion.has_bound for t in knowledge.history)
    return len(knowledge.history) % _BOUND_EVERY == 0 or not known
