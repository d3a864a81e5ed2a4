"""Problems that are quick to study."""

from __future__ import annotations

from typing import Any

import numpy as np

import grisaille as gs

QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


def parabola(**options: Any) -> gs.Problem:
    """One variable, one black box; the optimum is 0.5 at 1."""
    x = gs.Variable("x", lower=-2, upper=3)
    box = gs.BlackBox(lambda x: (x - 1) ** 2, name="f", **{"noise": 0, **options})
    return gs.Problem(minimize=box(x) + 0.5)


def nested(bend: Any = None, **options: Any) -> gs.Problem:
    """Two black boxes in a chain, so that trials have a second query and a probe."""
    x = gs.Variable("x", 2, lower=-1, upper=1)
    first = gs.BlackBox(
        lambda x: np.array([x[0] + 0.5 * x[1], x[1] ** 2]), name="first", outputs=2, noise=0
    )
    second = gs.BlackBox(bend or (lambda y: float(y[0] ** 2 + y[1])), name="second", **options)
    return gs.Problem(minimize=second(first(x)), subject_to=[first(x)[0] >= -0.5])


def answer(problem: gs.Problem, query: gs.Query) -> Any:
    """What the black box of a query says."""
    box = next(b for b in problem.boxes if b.name == query.box)
    return box.fn(*query.arguments)


def decisions(study: gs.Study) -> list[list[float]]:
    """Every suggested point, in order."""
    return [t.suggestion.x.tolist() for t in study.state.trials.values()]
