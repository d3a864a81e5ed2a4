"""Solving the auxiliary problem: the best objective that the bands allow (Alg. 2 line 2)."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from grisaille.belief.design_problem import with_tried_parts
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.proof.relaxation import branching_variables, relaxed
from grisaille.search.certified import Certified
from grisaille.search.multistart import MultiStart
from grisaille.search.search_problem import Proof, ProofStatus, SearchProblem, Solution, Solver
from grisaille.strategies.practical.gap import spread_of

# While trials are pending, others wait for a suggestion, and many are made between answers.
_QUICK_SEARCH = MultiStart(starts=6, samples=512, iterations=10, again=False, polish=False)
# Regions that a proof may take: about a second.
_REGIONS = 2000
# Regions that the verdict on a whole run may take: about ten seconds, once.
_REGIONS_FOR_A_VERDICT = 20_000
# With more variables to branch on than this, so few regions prove next to nothing.
_FEW_VARIABLES = 6
_INSIST = "pass strategy=gs.Optimistic(solver=gs.Certified())"


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
    problem, starts = _relaxed(plausible, knowledge), _starts(plausible, knowledge)
    if solver is not None:
        return solver.solve(problem, starts, situation.trial_seed)
    if situation.pending:
        return _QUICK_SEARCH.solve(problem, starts, situation.trial_seed)
    if search is not None:
        return search.solve(problem, starts, situation.trial_seed)
    return search_and_prove(problem, starts, knowledge)


def try_to_refute(plausible: PlausibleSet, knowledge: Knowledge, solver: Solver | None) -> Solution:
    """Search a plausible set, and try to prove that it has no feasible point if none is found.

    This is for the verdict on a run, so that a proof may take longer than one for a trial.
    """
    problem, starts = _relaxed(plausible, knowledge), _starts(plausible, knowledge)
    seed = knowledge.situation.trial_seed
    if solver is not None:
        return solver.solve(problem, starts, seed)
    found = MultiStart().solve(problem, starts, seed)
    if found.feasible or branching_variables(knowledge.program) > _FEW_VARIABLES:
        return found
    return Certified(regions=_REGIONS_FOR_A_VERDICT).prove(problem, found, seed)


def _relaxed(plausible: PlausibleSet, knowledge: Knowledge) -> SearchProblem:
    """The auxiliary problem, with what a search needs to know of trials."""
    return with_tried_parts(relaxed(plausible), knowledge.program, knowledge.history)


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


def search_and_prove(problem: SearchProblem, starts: Tensor, knowledge: Knowledge) -> Solution:
    """Multi-start search, followed by as much of a proof as a second allows.

    The effort is counted in regions, not in seconds, and does not depend on what trials took: a
    decision made again on another machine, or beside other work, is the same. Whoever has time for
    closer proofs says so by `solver=Certified(regions=...)`.

    Args:
        problem: The auxiliary problem.
        starts: (count, D), where the search may start.
        knowledge: What is known.
    """
    situation, incumbent = knowledge.situation, knowledge.incumbent
    found = MultiStart().solve(problem, starts, situation.trial_seed)
    searched = branching_variables(knowledge.program)
    if searched > _FEW_VARIABLES:
        reason = (
            f"a proof would have to search {searched} quantities at once (design entries, and "
            "outputs of black boxes that enter nonlinearly or are read by others), and is tried "
            f"with up to {_FEW_VARIABLES}; {_INSIST} to insist"
        )
        return replace(found, proof=Proof.unknown(found.value, reason=reason))
    gap = 1e-4 * spread_of(situation.history)
    if incumbent is not None and incumbent.feasible and found.feasible:
        # A bound need not be closer than what there is to gain.
        gap = max(gap, 0.02 * (incumbent.objective - found.value))
    if not math.isfinite(gap):
        reason = (
            "some values of the objective are too large to be compared with others: rescale it, or "
            "let black boxes fail where they have no sensible answer"
        )
        return replace(found, proof=Proof.unknown(found.value, reason=reason))
    solution = Certified(gap, 1e-5, _REGIONS).prove(problem, found, situation.trial_seed)
    proof = solution.proof
    if proof is not None and proof.status is ProofStatus.GAP:
        reason = (
            "proving one this close would have taken more than the second or so that is spent on "
            f"it; {_INSIST} to allow more"
        )
        return replace(solution, proof=replace(proof, reason=reason))
    return solution
