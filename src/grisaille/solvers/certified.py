"""A global search that proves what it says: multi-start search, then branch and bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from grisaille.checks import is_number, is_whole
from grisaille.errors import ModelError
from grisaille.solvers.branch_and_bound import Limits, branch_and_bound
from grisaille.solvers.multistart import MultiStart, polish
from grisaille.solvers.proof import NoRelaxation, Proof, ProofStatus
from grisaille.solvers.search_problem import (
    Scale,
    SearchProblem,
    Solution,
    Solver,
    evaluate_in_chunks,
)

_SAMPLES = 256
_POLISHED = 12
_POLISHING = 40


@dataclass(frozen=True, slots=True)
class Certified:
    """Solve to global optimality within a gap, or prove that there is no feasible point.

    A light multi-start search gives a point; branch and bound then encloses the optimum from
    below, and looks for better points where it may lie. It stops when one of the gaps is reached,
    or at a limit with the bound it has got by then.

    Attributes:
        absolute_gap: Close enough, in the objective's units.
        relative_gap: Close enough, as a part of the objective.
        boxes: Most boxes to bound. With this limit alone the answer is the same on any machine.
        seconds: Longest time; None for no limit.
        batch: How many boxes are split at a time at least.
        search: What finds the first point.
    """

    absolute_gap: float = 1e-3
    relative_gap: float = 1e-4
    boxes: int = 100_000
    seconds: float | None = None
    batch: int = 32
    search: Solver = field(default_factory=lambda: MultiStart(starts=8, samples=512, iterations=40))

    def __post_init__(self) -> None:
        for name in ("absolute_gap", "relative_gap"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value < math.inf:
                raise ModelError(f"Certified({name}={value!r}): pass a number of at least 0")
        for name in ("boxes", "batch"):
            value = getattr(self, name)
            if not is_whole(value) or value < 1:
                raise ModelError(f"Certified({name}={value!r}): a whole number of at least 1")
        if self.seconds is not None and not (is_number(self.seconds) and self.seconds > 0):
            raise ModelError(
                f"Certified(seconds={self.seconds!r}): pass a positive number, or None"
            )
        if isinstance(self.search, type) or not hasattr(self.search, "solve"):
            raise ModelError(f"Certified(search={self.search!r}): pass gs.MultiStart()")

    def solve(self, problem: SearchProblem, hints: Tensor, seed: int) -> Solution:
        """Search the box, and prove how good the answer is as far as the limits allow."""
        return self.prove(problem, self.search.solve(problem, hints, seed), seed)

    def prove(self, problem: SearchProblem, best: Solution, seed: int) -> Solution:
        """Prove how good a point is that some search found, or find a better one."""
        upper = best.value if best.feasible else math.inf
        try:
            if problem.relax is None:
                raise NoRelaxation("no bounds over boxes are known for this problem")
            with torch.no_grad():
                relaxation = problem.relax()
        except NoRelaxation as reason:
            proof = Proof(ProofStatus.UNKNOWN, -math.inf, upper, 0, 0.0, 0.0, reason=str(reason))
            return replace(best, proof=proof)
        scale = _scale(problem, seed)

        def improve(lower: Tensor, upper: Tensor) -> float:
            nonlocal best
            points = relaxation.starts(lower, upper)
            found = polish(problem, scale, points, _POLISHED, _POLISHING)
            spent = best.evaluations + found.evaluations
            better = (found.feasible, -found.value) > (best.feasible, -best.value)
            best = replace(found if better else best, evaluations=spent)
            return best.value if best.feasible else math.inf

        limits = Limits(self.absolute_gap, self.relative_gap, self.boxes, self.seconds, self.batch)
        spreads = torch.cat([scale.objective.unsqueeze(0), scale.constraints])
        with torch.no_grad():
            proof = branch_and_bound(relaxation, spreads, upper, limits, improve)
        return replace(best, proof=proof)


def _scale(problem: SearchProblem, seed: int) -> Scale:
    engine = torch.quasirandom.SobolEngine(len(problem.lower), scramble=True, seed=seed)
    unit = engine.draw(_SAMPLES, dtype=torch.float64)
    points = problem.lower + (problem.upper - problem.lower) * unit
    return Scale.of(*evaluate_in_chunks(problem, points))
