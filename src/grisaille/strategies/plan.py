"""A decision in the making: the solution of an auxiliary problem, and what is suggested so far."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grisaille.array_types import Array
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.records import NO_BOUND, Bound, Suggestion, TrialKind
from grisaille.search.search_problem import ProofStatus, Solution, Solver


@dataclass(frozen=True, slots=True)
class Plan:
    """What a trial is going to be. Each step of a strategy returns a new one.

    Attributes:
        solver: Solves auxiliary problems; None for the default.
        plausible: The bands that the point is chosen by.
        solution: The solution (x, eta) of their auxiliary problem.
        suggestion: What is suggested so far.
        is_final: Whether the suggestion stays as it is.
    """

    solver: Solver | None
    plausible: PlausibleSet
    solution: Solution
    suggestion: Suggestion
    is_final: bool = False

    @classmethod
    def of(
        cls,
        kind: TrialKind,
        knowledge: Knowledge,
        solver: Solver | None,
        plausible: PlausibleSet,
        solution: Solution,
        bounding: Solution | None,
    ) -> Plan:
        """The plan to try the solution of an auxiliary problem.

        Args:
            kind: Why.
            knowledge: What is known.
            solver: Solves auxiliary problems; None for the default.
            plausible: The bands that the point is chosen by.
            solution: The solution of their auxiliary problem.
            bounding: The solution for the bands as wide as beta says, which bounds the optimum.
                None if it was not worked out.
        """
        x = plausible.program.space.design(solution.point)
        pending = len(knowledge.situation.pending)
        suggestion = Suggestion(kind, x, pending=pending)
        if not pending:  # else the bands are too narrow to bound anything
            _, outputs = plausible.trace(solution.point)
            bound = NO_BOUND if bounding is None else bound_of(bounding, knowledge)
            suggestion = replace(suggestion, optimum=(x, outputs), bound=bound)
        return cls(solver, plausible, solution, suggestion)

    @property
    def promise(self) -> float | None:
        """The best objective that the bands allow; None if they allow no feasible point."""
        return self.solution.value if self.solution.feasible else None

    @property
    def states(self) -> list[Array]:
        """The optimistic state s̄_i of each call."""
        return self.plausible.trace(self.solution.point)[0]

    @property
    def x(self) -> Array:
        """The design point of the solution, as it may be tried."""
        return self.plausible.program.space.to_try(self.solution.point)


def bound_of(solution: Solution, knowledge: Knowledge) -> Bound:
    """What the solution of an auxiliary problem says about the optimum (Lemma inst_r)."""
    proof = solution.proof
    proved = proof.lower if proof is not None and np.isfinite(proof.lower) else None
    estimated = solution.value if solution.feasible else None
    if knowledge.complaint:  # what is proved for bands that answers speak against is a guess
        return Bound(proved if estimated is None else estimated, reason=knowledge.complaint)
    return Bound(estimated, proved, is_declared=knowledge.is_declared)


def is_refuted(solution: Solution) -> bool:
    """Whether it is proved that the bands allow no feasible point."""
    return solution.proof is not None and solution.proof.status is ProofStatus.INFEASIBLE
