"""The paper's algorithm: optimism in the face of uncertainty (Alg. 1 and 2), and a recommendation.

Each trial solves the auxiliary problem: the best objective over all design points and all
intermediate values that the confidence bands allow. Its solution is tried; its value is a bound.
Its points approach active constraints from the infeasible side (paper notes, point 6), so some
trials instead go to a point that is believed feasible with certainty and good. And where
hyper-parameters are learned, the bands may be too narrow: once they leave next to nothing to gain,
trials are spent on doubting them, with beta doubled until there is something to gain again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.confidence.beliefs import believe, is_learned
from grisaille.confidence.incumbent import Incumbent, find_incumbent
from grisaille.confidence.plausible import PlausibleSet
from grisaille.errors import ModelError
from grisaille.modeling.problem import Problem
from grisaille.records import History, Query, Suggestion, TrialKind
from grisaille.solvers.box import Solution, Solver
from grisaille.solvers.multistart import MultiStart
from grisaille.strategies.strategy import Situation

Array = NDArray[np.float64]

# A gap below these parts of the objective's spread is nearly closed, and closed.
_NEARLY_CLOSED = 1e-2
_CLOSED = 1e-4
_DOUBLINGS = 3

# The recommendation searches the design space alone, so it needs less than the auxiliary problem.
_CAUTIOUS_SEARCH = MultiStart(starts=6, samples=512, iterations=40)


@dataclass(frozen=True, slots=True)
class Optimistic:
    """Optimistic optimization of nested grey-box functions (Alg. 1; Alg. 2 with constraints).

    Attributes:
        beta: Half-width of the confidence bands in posterior standard deviations. The default, 2,
            covers 95 % of a Gaussian at each point: tight enough to learn quickly, and for smooth
            black boxes rarely wrong. Larger values explore more and give a more cautious bound.
        solver: Solves the auxiliary problem; multi-start search by default.
        initial: Sobol points tried first when hyper-parameters are learned; by default 2 (n + 1)
            for n variables, at most 20 and at most a third of the trials. With all
            hyper-parameters given there is no initial design.
        recommend: Whether to try believed-feasible points: in the last two trials, and earlier
            when one is predicted to close half of the gap.
    """

    beta: float = 2.0
    solver: Solver = field(default_factory=MultiStart)
    initial: int | None = None
    recommend: bool = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.beta) and self.beta > 0):
            raise ModelError(f"Optimistic(beta={self.beta!r}): beta must be a positive number")
        if self.initial is not None and self.initial < 1:
            raise ModelError(f"Optimistic(initial={self.initial!r}): at least 1, or None")

    def suggest(self, situation: Situation) -> Suggestion:
        """The next point of the initial design, of the algorithm, or of the recommendation."""
        problem, history = situation.problem, situation.history
        if len(history) < self._initial_points(situation):
            return Suggestion(TrialKind.INITIAL, _sobol_point(problem, situation))
        plausible = self._plausible_set(problem, history)
        incumbent = self.incumbent(situation)
        solution = self._solve_auxiliary(plausible, situation, incumbent)
        states, outputs = plausible.trace(solution.point)
        x = solution.point[: problem.program.size].numpy().copy()
        promise = solution.value if solution.feasible else None
        optimum = (x, outputs)
        if self.recommend:
            recommended = self._recommendation(plausible, situation, incumbent, promise)
            if recommended is not None:
                return Suggestion(
                    TrialKind.RECOMMENDED, recommended, promise=promise, optimum=optimum
                )
        # Nearly closed, every other trial still follows the bands; closed, none needs to.
        tolerance = _NEARLY_CLOSED if len(history) % 2 else _CLOSED
        if self._is_closed(situation, incumbent, promise, tolerance):
            plausible, solution = self._doubt(plausible, situation, incumbent)
            states, _ = plausible.trace(solution.point)
            x = solution.point[: problem.program.size].numpy().copy()
        queries = []
        if situation.evaluation == "separate":
            # Calls of the first layer are made along the chain anyway, at the same inputs.
            for index, call in enumerate(problem.program.calls):
                if call.box.separable and not call.first_layer:
                    queries.append(Query(index, states[index]))
        return Suggestion(TrialKind.OPTIMISTIC, x, tuple(queries), promise, optimum)

    def bound(self, situation: Situation) -> float | None:
        """The optimum of the auxiliary problem after the history, None if none was found."""
        if len(situation.history) < self._initial_points(situation):
            return None
        plausible = self._plausible_set(situation.problem, situation.history)
        solution = self._solve_auxiliary(plausible, situation, self.incumbent(situation))
        return solution.value if solution.feasible else None

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The best point tried; None before the first trial."""
        if not len(situation.history):
            return None
        program = situation.problem.program
        beliefs = believe(program, situation.history)
        return find_incumbent(program, situation.history, beliefs, self.beta)

    def _initial_points(self, situation: Situation) -> int:
        if not any(is_learned(box) for box in situation.problem.boxes):
            return 0
        if self.initial is not None:
            return self.initial
        usual = min(2 * (situation.problem.program.size + 1), 20)
        if situation.remaining is None:
            return usual
        return max(1, min(usual, (len(situation.history) + situation.remaining) // 3))

    def _plausible_set(self, problem: Problem, history: History) -> PlausibleSet:
        return PlausibleSet(problem.program, believe(problem.program, history), self.beta)

    def _solve_auxiliary(
        self, plausible: PlausibleSet, situation: Situation, incumbent: Incumbent | None
    ) -> Solution:
        trials = situation.history.trials
        hints: list[Tensor] = []
        if incumbent is not None:
            best = trials[incumbent.trial]
            hints.append(plausible.locate(best.x, best.chain))
        if trials and trials[-1].suggestion.optimum is not None:
            hints.append(plausible.locate(*trials[-1].suggestion.optimum))
        stacked = (
            torch.stack(hints) if hints else plausible.lower.new_zeros(0, len(plausible.lower))
        )
        return self.solver.solve(plausible.box_problem(), stacked, situation.trial_seed)

    def _is_closed(
        self,
        situation: Situation,
        incumbent: Incumbent | None,
        value: float | None,
        tolerance: float,
    ) -> bool:
        """Whether learned bands leave next to nothing to gain: they may be too narrow."""
        if not any(is_learned(box) for box in situation.problem.boxes):
            return False
        if incumbent is None or not incumbent.feasible or value is None:
            return False
        spread = float(np.std([t.objective for t in situation.history]))
        return incumbent.objective - value <= tolerance * spread

    def _doubt(
        self, plausible: PlausibleSet, situation: Situation, incumbent: Incumbent | None
    ) -> tuple[PlausibleSet, Solution]:
        """Solve the auxiliary problem with bands so wide that they leave something to gain."""
        beta = self.beta
        for _ in range(_DOUBLINGS):
            beta *= 2
            plausible = PlausibleSet(plausible.program, plausible.beliefs, beta)
            solution = self._solve_auxiliary(plausible, situation, incumbent)
            if not self._is_closed(situation, incumbent, solution.value, _NEARLY_CLOSED):
                break
        return plausible, solution

    def _recommendation(
        self,
        plausible: PlausibleSet,
        situation: Situation,
        incumbent: Incumbent | None,
        promise: float | None,
    ) -> Array | None:
        """A believed-feasible point worth a trial now, or None."""
        history = situation.history
        if incumbent is None:
            return None
        closing = situation.remaining is not None and situation.remaining <= 2
        just_did = history.trials[-1].suggestion.kind is TrialKind.RECOMMENDED
        if just_did and not closing:
            return None
        constraints = np.array([t.constraints for t in history])
        spread = constraints.std(0) + np.abs(constraints).mean(0)
        hints = torch.tensor(history.trials[incumbent.trial].x).unsqueeze(0)
        solution = _CAUTIOUS_SEARCH.solve(
            plausible.cautious_problem(1e-6 * torch.tensor(spread)), hints, situation.trial_seed
        )
        if not solution.feasible:
            return None
        if incumbent.feasible and promise is not None:
            gain = incumbent.objective - solution.value
            gap = incumbent.objective - promise
            if gain <= 0 or (gain < gap / 2 and not closing):
                return None
        return solution.point.numpy().copy()


def _sobol_point(problem: Problem, situation: Situation) -> Array:
    program = problem.program
    engine = torch.quasirandom.SobolEngine(program.size, scramble=True, seed=situation.seed)
    unit: Array = engine.draw(len(situation.history) + 1, dtype=torch.float64)[-1].numpy()
    return program.lower + (program.upper - program.lower) * unit
