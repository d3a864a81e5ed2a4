"""CONFIG, the method the paper compares with: optimism about black boxes with constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from grisaille.belief.incumbent import Incumbent
from grisaille.belief.processes.kernels import check_kernel
from grisaille.belief.rules import CONFIDENCE
from grisaille.checks import check_amounts
from grisaille.language.problem import Problem
from grisaille.language.unknowns import refuse_unknowns
from grisaille.records import Bound, Situation, Suggestion
from grisaille.reductions.collapse import COLLAPSED, Collapse, collapse
from grisaille.search.search_problem import Solver
from grisaille.strategies.optimistic import Optimistic
from grisaille.theory.beta import Theory


@dataclass(frozen=True, slots=True)
class CONFIG:
    """Optimism on the collapsed problem: objective and constraints as unknown functions of x.

    x^t minimizes the lower confidence bound of f where the lower confidence bounds of all g_k are
    at most 0 (Xu, Jiang, Svetozarevic and Jones, "Constrained Efficient Global Optimization of
    Expensive Black-box Functions"). It learns from the outputs of the chain only, and knows nothing
    of what is inside. Everything else, kernels, beta and solver, is as in `Optimistic`.

    Attributes:
        beta: As in `Optimistic`.
        solver: As in `Optimistic`.
        initial: As in `Optimistic`.
        exploit: As in `Optimistic`.
        kernel: Kernel of objective and constraints; None to learn it.
        noise: Standard deviation of their noise, one or one per output; None for 0 if the boxes
            inside are free of noise, and else to learn it.
        norm_bound: Bound on their norms, one or one per output; a `Theory` needs it.
        confidence: As in `Optimistic`.
    """

    beta: float | Theory = 2.0
    solver: Solver | None = None
    initial: Any = None
    exploit: bool | None = None
    kernel: Any = None
    noise: ArrayLike | None = None
    norm_bound: ArrayLike | None = None
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        # Checks what they share, and reads the initial design.
        object.__setattr__(self, "initial", self._optimism.initial)
        check_amounts("CONFIG", "noise", self.noise)
        check_amounts("CONFIG", "norm_bound", self.norm_bound, above_zero=True)
        if self.kernel is not None:
            check_kernel(self.kernel, COLLAPSED)

    def check(self, problem: Problem) -> None:
        """Every problem with a black box will do; a `Theory` asks for its constants."""
        refuse_unknowns("CONFIG", problem.variables)
        self._optimism.check(self._collapse(problem).problem)

    def suggest(self, situation: Situation) -> Suggestion:
        """The next point of the initial design, of the algorithm, or one of its companions."""
        return self._optimism.suggest(self._collapsed(situation))

    def bound(self, situation: Situation) -> Bound:
        """The optimum of the collapsed auxiliary problem."""
        return self._optimism.bound(self._collapsed(situation))

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The best point tried; None before the first trial."""
        return self._optimism.incumbent(self._collapsed(situation))

    def learned(self, problem: Problem) -> list[str]:
        """Objective and constraints, if they have no kernel with hyper-parameters."""
        known = self.kernel is not None and self.kernel.lengthscale is not None
        return [] if known else ["objective and constraints"]

    @property
    def _optimism(self) -> Optimistic:
        return Optimistic(self.beta, self.solver, self.initial, self.exploit, self.confidence)

    def _collapse(self, problem: Problem) -> Collapse:
        bound = self.norm_bound
        made = collapse(problem, kernel=self.kernel, noise=self.noise, norm_bound=bound)
        return Collapse(problem, made)

    def _collapsed(self, situation: Situation) -> Situation:
        return self._collapse(situation.problem).down(situation)
