"""A problem to compare strategies on: what is to be solved, and how a trial is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grisaille.array_types import Array
from grisaille.language.problem import Problem
from grisaille.problems.known_problem import KnownProblem, Structure
from grisaille.records import Trial


@dataclass(frozen=True, slots=True)
class ComparedProblem:
    """A problem, and what is known of it.

    Attributes:
        problem: The problem.
        optimum: Its optimal objective, in its own sense; None if that is not known.
        truth: As in `KnownProblem`; None if what was observed is all there is.
        structure: What structure it has.
    """

    problem: Problem
    optimum: float | None
    truth: Callable[[Array], tuple[float, float]] | None
    structure: str

    @classmethod
    def of(cls, problem: Problem | KnownProblem, optimum: float | None = None) -> ComparedProblem:
        """What is known of a problem; a given optimum takes the place of the known one."""
        if isinstance(problem, Problem):
            return cls(problem, optimum, None, str(structure_of(problem)))
        best = problem.optimum if optimum is None else optimum
        return cls(problem.problem, best, problem.truth, str(problem.kind))

    def measure(self, trial: Trial) -> tuple[float, float]:
        """The objective of a trial, in the problem's own sense, and its largest violation.

        They are the true ones if these can be known: nothing is evaluated a second time.
        """
        if self.truth is not None:
            return self.truth(trial.x)
        # A point must not be better for missing its loop, so the aim of searches counts.
        return self.problem.sense * trial.objective, float(trial.missed.max(initial=0.0))


def structure_of(problem: Problem) -> Structure:
    """The structure of a problem, as tables group them."""
    if problem.causal is not None:
        return Structure.CAUSAL
    if problem.constraints:
        return Structure.CONSTRAINED
    nested = any(not call.first_layer for call in problem.program.calls)
    return Structure.NESTED if nested else Structure.ONE_LAYER
