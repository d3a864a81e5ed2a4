"""A situation as ordinary Bayesian optimization sees it: inside, nothing is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grisaille.language.problem import Problem
from grisaille.language.values import design_kinds, expanded
from grisaille.records import History, Observation, Pending, Situation, Trial
from grisaille.reductions.collapse import COLLAPSED, unknown_outputs


def collapsed(situation: Situation, problem: Problem) -> Situation:
    """The situation of a collapsed problem, given that of the problem it was made from."""
    kinds = design_kinds(problem.variables)
    trials = _as_collapsed(situation.problem, situation.history)
    # Answers of broken-off trials are of boxes inside, which nothing is known about here.
    failures = tuple(
        replace(f, box=COLLAPSED, inputs=expanded(kinds, f.x))
        for f in situation.history.failures
        if len(f.x) == problem.program.size  # the problem may have been changed since
    )
    return replace(
        situation,
        problem=problem,
        history=History(trials, failures=failures),
        pending=tuple(Pending(p.suggestion) for p in situation.pending),
    )


def _as_collapsed(problem: Problem, history: History) -> tuple[Trial, ...]:
    """Trials as the collapsed problem would have recorded them.

    An output without a value (the root of a negative number, say) counts as the worst one seen:
    a surrogate cannot learn from it as it is, and from nothing it would suggest the point for ever.
    """
    if not len(history):
        return ()
    rows = [[problem.sense * t.objective, *t.constraints] for t in history]
    values = np.array(rows)[:, unknown_outputs(problem)]
    # Large is bad, but for an objective to be maximized.
    signs = np.ones(values.shape[1])
    signs[0] = problem.sense if unknown_outputs(problem)[0] else 1
    finite = np.where(np.isfinite(values), values * signs, -np.inf)
    worst = np.where(np.isfinite(finite.max(0)), finite.max(0), 0.0)
    values = np.where(np.isfinite(values), values, worst * signs)
    # A black box takes one number per label, and a design point holds its position.
    kinds = design_kinds(problem.variables)
    return tuple(
        replace(t, chain=row, observations=(Observation(COLLAPSED, expanded(kinds, t.x), row),))
        for t, row in zip(history, values, strict=True)
    )
