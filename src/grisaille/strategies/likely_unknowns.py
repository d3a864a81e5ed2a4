"""Where unknowns probably are, before anything is predicted."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.language.loops import Loops
from grisaille.language.problem import Problem
from grisaille.records import History, Trial

# The part of its range that a torn stream is tried over before points go on from answers.
_SPREAD = 0.25


def with_likely_unknowns(
    problem: Problem, history: History, x: Array, is_spread: bool = False
) -> Array:
    """A design point with its unknowns where equations and the latest answers put them.

    What goes around a loop is what came back in the latest trial, which is nearer to its solutions
    than most of the space of unknowns, most of which no plant ever sees. Unknowns that equations
    without black boxes fix are solved for.

    Args:
        problem: The problem.
        history: What was observed.
        x: The point; its unknowns are kept where nothing is known of them, and those that are NaN
            are put in the middle between their bounds.
        is_spread: Whether x fills the space of unknowns as well, and is to do so until these were
            tried over a part of their ranges. Else a loop that is drawn to one solution would tell
            nothing of others, and little of its black boxes.
    """
    loops = Loops(problem)
    if not loops:
        return x
    program = problem.program
    x = np.where(np.isnan(x), (program.lower + program.upper) / 2, x)
    trials = [t for t in history.trials if len(t.chain) == program.box_outputs]
    if loops.can_go_around and trials and not (is_spread and _are_close(loops, problem, trials)):
        latest = trials[-1]
        answers = {i: latest.chain[call.columns] for i, call in enumerate(program.calls)}
        back = loops.image(latest.x, answers)
        known = np.isfinite(back)
        x[loops.torn[known]] = back[known]
    return loops.settled(np.clip(x, program.lower, program.upper))


def _are_close(loops: Loops, problem: Problem, trials: list[Trial]) -> bool:
    """Whether a stream through black boxes was tried over a small part of its range only."""
    free = np.setdiff1d(loops.torn, loops.settling)
    tried = np.array([trial.x[free] for trial in trials])
    width = (problem.program.upper - problem.program.lower)[free]
    return bool((np.ptp(tried, axis=0) < _SPREAD * width).any())
