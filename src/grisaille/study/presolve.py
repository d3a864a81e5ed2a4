"""What can be solved or proved without evaluating any black box."""

from __future__ import annotations

from typing import Any

import numpy as np

from grisaille.certification.relaxation import relaxed
from grisaille.confidence.knowledge import Knowledge
from grisaille.confidence.plausible_set import PlausibleSet
from grisaille.language.problem import Problem, derived
from grisaille.language.program import Program
from grisaille.language.variable import Choice
from grisaille.metrics import violations
from grisaille.records import Bound, History, Refutation, Situation, Suggestion, Trial, TrialKind
from grisaille.solvers.certified import Certified
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.proof import ProofStatus
from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.reduced_situation import expanded
from grisaille.strategies.stepped_choice import design_of, settled
from grisaille.study.evaluation_chain import Chain
from grisaille.study.progress_summary import ProgressSummary
from grisaille.study.result import Result, Status

# Most regions to examine for constraints that read no black box, before any trial.
_MOST_REGIONS = 1000
# How close a proof for a problem without black boxes is.
_ABSOLUTE_GAP = 1e-9
_RELATIVE_GAP = 1e-4


def solve_without_black_boxes(problem: Problem, seed: int) -> Result:
    """A problem without black boxes needs no learning: search it once, and prove the answer."""
    written, problem = problem, problem.searched
    box = relaxed(PlausibleSet(problem.program, {}, {}))
    search = MultiStart(starts=48, samples=8192, iterations=200)
    solver = Certified(_ABSOLUTE_GAP, _RELATIVE_GAP, 20_000, search=search)
    solution = solver.solve(box, box.lower.new_zeros(0, problem.program.size), seed)
    proof = solution.proof
    assert proof is not None
    knowledge = Knowledge(Situation(problem, History(), seed))
    x = design_of(settled(box, solution, knowledge), knowledge)
    found = expanded(Suggestion(TrialKind.RECOMMENDED, x), Situation(written, History(), seed))
    objective, constraints, chain, allowed, _ = Chain(written).outcome(found.x, {})
    trial = Trial(1, found, objective, constraints, chain, (), allowed=allowed)
    summary = ProgressSummary(Optimistic(), Situation(written, History((trial,)), seed))
    if proof.status is ProofStatus.INFEASIBLE and trial.violation > 0:
        refutation = Refutation(problem, History(), 1.0, proof.refuted_regions)
        return summary.result(Status.INFEASIBLE, Bound(), refutation=refutation)
    proved = proof.lower if np.isfinite(proof.lower) else None
    bound = Bound(
        solution.value if solution.feasible else None, proved, proof.reason, is_declared=True
    )
    # The proof is one for all numbers between the bounds, of which steps leave only some.
    gap = max(_ABSOLUTE_GAP, _RELATIVE_GAP * abs(trial.objective))
    reached = not problem.program.space.has_steps or trial.objective - proof.lower <= gap
    if proof.status is ProofStatus.OPTIMAL and trial.violation == 0 and reached:
        message = "the problem has no black box: solved at once, and proved"
        return summary.result(Status.OPTIMAL, bound, message)
    return summary.result(Status.NO_BLACK_BOX, bound)


def refute_known_parts(problem: Problem, seed: int) -> Refutation | None:
    """A proof that the constraints without black boxes cannot be met together, if one is found."""
    problem = problem.searched
    program = problem.program
    known = [
        constraint
        for constraint in problem.constraints
        if not Program([constraint.body], problem.variables).calls
    ]
    if not known:
        return None
    # The objective does not matter; this one keeps all variables, in their order.
    first, *others = (v.indicators if isinstance(v, Choice) else v for v in problem.variables)
    anything: Any = sum(map(np.sum, others), np.sum(first))
    demands = derived(1, anything, known, problem.variables)
    box = relaxed(PlausibleSet(demands.program, {}, {}))
    nothing = box.lower.new_zeros(0, program.size)
    solution = Certified(regions=_MOST_REGIONS).solve(box, nothing, seed)
    proof = solution.proof
    if proof is None or proof.status is not ProofStatus.INFEASIBLE:
        return None
    x = demands.program.space.design(solution.point[: program.size])
    _, bodies, _, allowed, lenient = Chain(demands).outcome(x, {})
    tolerance = allowed if lenient is None else lenient
    if not violations(bodies, 0.0 if tolerance is None else tolerance).any():
        return None  # a trial there counts as feasible
    return Refutation(demands, History(), 1.0, proof.refuted_regions)
