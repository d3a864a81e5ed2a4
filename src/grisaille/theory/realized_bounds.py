"""Bounds for a finished study, from the posterior deviations at its points."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.confidence.plausible_set import plausible_set
from grisaille.confidence.prediction import check_answered
from grisaille.language.problem import Problem
from grisaille.records import History, TrialKind
from grisaille.theory.amplification import Form
from grisaille.theory.contraction import closed_amplification, loops_of
from grisaille.theory.lipschitz import KnownSlopes, Lipschitz, known_slopes, lipschitz
from grisaille.theory.theory import Theory, refuse_steps


def discrepancy_bounds(
    problem: Problem, history: History, beta: float | Theory, form: Form
) -> Array:
    """sum_i A_i beta_{i,t} sigma_{i,t-1}(s̄_i^t) of each trial (Lemma discrepancy_bound).

    While the bands hold, the objective and each constraint of a trial are at most this far from
    their optimistic values. So its regret and its violations are not larger, unless no plausible
    feasible point was found for it. With loops, this holds for its decisions with their loops
    closed.

    Args:
        problem: The problem.
        history: Its trials.
        beta: The beta of the strategy.
        form: Which A_i.

    Returns:
        (T, 1 + K), for the objective and each constraint; NaN for trials that the algorithm of the
        paper did not choose.

    Raises:
        ModelError: Variables have steps, so that trials are beside what was optimistic; or an
            unknown declares no contraction.
    """
    program = problem.program
    refuse_steps(program)
    loops = loops_of(problem)
    constants, known = constants_of(problem, history, beta)
    factors, offsets = closed_amplification(problem, loops, constants, known, form)
    bounds = np.full((len(history), len(factors)), np.nan)
    for t, trial in enumerate(history):
        optimum = trial.suggestion.optimum
        if trial.suggestion.kind is TrialKind.OPTIMISTIC and optimum is not None:
            before = plausible_set(program, history.before(trial), beta)
            bounds[t] = factors @ before.reaches(*optimum) + offsets
    return bounds


def constants_of(
    problem: Problem, history: History, beta: float | Theory
) -> tuple[dict[str, Lipschitz], KnownSlopes]:
    """Lipschitz constants of each black box, and slopes of the known parts, after a study."""
    program = problem.program
    check_answered([box for box in problem.boxes if box.is_learned], history)
    beliefs = plausible_set(program, history, beta).beliefs
    constants = {b.name: lipschitz(program, b, beliefs[b.name], history) for b in program.boxes}
    return constants, known_slopes(program, history)
