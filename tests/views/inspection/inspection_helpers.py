"""Studies that are quick to look at."""

from __future__ import annotations

from functools import cache

import numpy as np

import grisaille as gs
from grisaille.views.inspection.inspection import Inspection
from tests.study.study_helpers import QUICK


@cache
def two_boxes() -> gs.Result:
    """A known sum of an important and an unimportant black box, with a constraint."""
    x = gs.Variable("x", lower=-2, upper=3, unit="m")
    n = gs.Integer("n", lower=0, upper=4)
    large = gs.BlackBox(lambda x: np.sin(3 * x) * x, name="large", noise=0)
    small = gs.BlackBox(lambda n: 0.01 * n, name="small", noise=0)
    problem = gs.Problem(minimize=10 * large(x) + small(n), subject_to={"roof": large(x) <= 2})
    return problem.solve(trials=12, seed=0, strategy=QUICK, progress=False)


@cache
def with_choice() -> gs.Result:
    """A black box that reads a choice and a number, maximized."""
    kind = gs.Choice("kind", ["flat", "steep"])
    x = gs.Variable("x", lower=0.1, upper=10, log=True)

    def rise(kind: str, x: float) -> list[float]:
        slope = {"flat": 0.1, "steep": 1.0}[kind]
        return [slope * np.log(x), x]

    box = gs.BlackBox(rise, name="rise", outputs=["height", "length"], noise=0)
    height = gs.named("height of the tower", box(kind, x)["height"])
    problem = gs.Problem(maximize=height)
    return problem.solve(trials=10, seed=0, strategy=QUICK, progress=False)


def inspection_of(result: gs.Result) -> Inspection:
    """What can be looked at in a result."""
    return Inspection(result.problem, result.history, result.strategy)
