"""What rivals share: surrogates, the best point so far, and a search of the design space."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.confidence.failures import Avoidance
from grisaille.confidence.incumbent import Incumbent, find_incumbent
from grisaille.confidence.pending import hallucinated
from grisaille.confidence.plausible_set import PlausibleSet, plausible_set
from grisaille.errors import ModelError
from grisaille.language.problem import Problem
from grisaille.records import Bound, History, Situation
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.search_problem import Evaluate, SearchProblem, Solution
from grisaille.theory.theory import Theory

Array = NDArray[np.float64]

# Confidence with which constraints must hold at a point tried, where observations are noisy.
_CONFIDENCE = 2.0
# Local searches and points to start them from, per design variable: the effort of the publications
# on EI-CF and EI-FN.
_STARTS = 10
_SAMPLES = 100


def check_solver(who: str, solver: object, usual: str) -> None:
    """Refuse a solver that is none.

    Args:
        who: The strategy.
        solver: What it was given.
        usual: Those to pass.

    Raises:
        ModelError: It is neither None nor something that solves.
    """
    if solver is not None and (isinstance(solver, type) or not hasattr(solver, "solve")):
        raise ModelError(f"{who}(solver={solver!r}): pass {usual}, or None")


class Rival:
    """What strategies have in common that learn each black box, and know no bound."""

    __slots__ = ()

    def bound(self, situation: Situation) -> Bound:
        """None."""
        return Bound(reason=f"{type(self).__name__} gives no bound")

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The best point tried; None before the first trial."""
        return best_trial(situation)

    def learned(self, problem: Problem) -> list[str]:
        """Names of the black boxes whose hyper-parameters are learned."""
        return [box.name for box in problem.boxes if box.is_learned]


def believed(situation: Situation) -> PlausibleSet:
    """What is believed of every black box, as if trials under way had come out as predicted."""
    plausible = plausible_set(
        situation.problem.program, situation.history, _CONFIDENCE, situation.at_once
    )
    return hallucinated(plausible, situation.pending)


def best_trial(situation: Situation, beta: float | Theory = _CONFIDENCE) -> Incumbent | None:
    """The best point tried, judged by posterior means where observations are noisy."""
    program, history = situation.problem.program, situation.history
    exact = situation.problem.is_exact
    # A system answers with every variable of every run: what counts is their average, which a
    # trial has already.
    if not len(history) or exact or situation.problem.causal is not None:
        return find_incumbent(history, None)
    return find_incumbent(history, plausible_set(program, history, beta, situation.at_once))


def search_designs(situation: Situation, plausible: PlausibleSet, evaluate: Evaluate) -> Solution:
    """The design point of least acquisition, away from where black boxes failed.

    Args:
        situation: The situation; its incumbent is one of the starts.
        plausible: What is believed.
        evaluate: Acquisition, minimized, and constraints of design points (batch, n).
    """
    program, history = situation.problem.program, situation.history
    lower, upper = torch.tensor(program.lower), torch.tensor(program.upper)
    problem = SearchProblem(lower, upper, evaluate, program.continuous)
    avoidance = Avoidance(program, history)
    if avoidance:
        problem = avoidance.around(plausible, problem)
    incumbent = best_trial(situation)
    hints: Tensor = lower.new_zeros(0, program.size)
    if incumbent is not None:
        hints = torch.tensor(history.trials[incumbent.position].x).unsqueeze(0)
    effort = MultiStart(_STARTS * program.size, _SAMPLES * program.size, again=False)
    return effort.solve(problem, hints, situation.trial_seed)


def spreads(history: History) -> tuple[float, Tensor]:
    """Standard deviations of the objectives and of each constraint (K,) seen, 1 where none is."""
    rows = np.array([[t.objective, *t.constraints] for t in history])
    rows = np.where(np.isfinite(rows), rows, np.nan)
    rows = rows[~np.isnan(rows).any(1)]
    found = rows.std(0) if len(rows) > 1 else np.ones(rows.shape[1])
    found = np.where(found > 0, found, 1.0)
    return float(found[0]), torch.tensor(found[1:])
