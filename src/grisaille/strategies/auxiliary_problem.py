"""Solving the auxiliary problem: the best objective that the bands allow (Alg. 2 line 2)."""

from __future__ import annotations

import torch
from torch import Tensor

from grisaille.certification.relaxation import relaxed
from grisaille.confidence.knowledge import Knowledge
from grisaille.confidence.plausible_set import PlausibleSet
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.search_problem import Solution, Solver
from grisaille.strategies.practical.proof_effort import search_and_prove

# While trials are pending, others wait for a suggestion, and many are made between answers.
_QUICK_SEARCH = MultiStart(starts=6, samples=512, iterations=10, again=False)


def solve_auxiliary(
    plausible: PlausibleSet,
    knowledge: Knowledge,
    solver: Solver | None,
    search: MultiStart | None = None,
) -> Solution:
    """Solve the auxiliary problem of a plausible set.

    Args:
        plausible: The plausible set.
        knowledge: What is known: the incumbent and the last optimum are where a search may start.
        solver: The solver that a user asked for; it is always used if there is one.
        search: A search that is enough; None for a search and an affordable proof.
    """
    situation = knowledge.situation
    problem, starts = relaxed(plausible), _starts(plausible, knowledge)
    if solver is not None:
        return solver.solve(problem, starts, situation.trial_seed)
    if situation.pending:
        return _QUICK_SEARCH.solve(problem, starts, situation.trial_seed)
    if search is not None:
        return search.solve(problem, starts, situation.trial_seed)
    return search_and_prove(problem, starts, knowledge)


def _starts(plausible: PlausibleSet, knowledge: Knowledge) -> Tensor:
    """The incumbent and the latest optimum as points of the plausible set, (count, D)."""
    trials, incumbent = knowledge.history.trials, knowledge.incumbent
    starts: list[Tensor] = []
    if incumbent is not None:
        best = trials[incumbent.position]
        starts.append(plausible.locate(best.x, best.chain))
    if trials and trials[-1].suggestion.optimum is not None:
        starts.append(plausible.locate(*trials[-1].suggestion.optimum))
    return torch.stack(starts) if starts else plausible.lower.new_zeros(0, len(plausible.lower))
