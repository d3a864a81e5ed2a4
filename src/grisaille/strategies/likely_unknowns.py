"""Where unknowns probably are, before anything is predicted."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.language.loops import Loops
from grisaille.language.problem import Problem
from grisaille.records import History


def with_likely_unknowns(problem: Problem, history: History, x: Array) -> Array:
    """A design point with its unknowns where equations and the latest answers put them.

    What goes around a loop is what came back in the latest trial, so that points that fill the
    space of decisions come closer to its solutions from trial to trial, instead of filling the
    space of unknowns, most of which no plant ever sees. Unknowns that equations without black boxes
    fix are solved for.

    Args:
        problem: The problem.
        history: What was observed.
        x: The point; its unknowns are kept where nothing is known of them, and those that are NaN
            are put in the middle between their bounds.
    """
    loops = Loops(problem)
    if not loops:
        return x
    program = problem.program
    x = np.where(np.isnan(x), (program.lower + program.upper) / 2, x)
    trials = [t for t in history.trials if len(t.chain) == program.box_outputs]
    if loops.can_go_around and trials:
        latest = trials[-1]
        answers = {i: latest.chain[call.columns] for i, call in enumerate(program.calls)}
        back = loops.image(latest.x, answers)
        known = np.isfinite(back)
        x[loops.torn[known]] = back[known]
    return loops.settled(np.clip(x, program.lower, program.upper))
