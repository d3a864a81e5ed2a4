"""Situations to choose in."""

from __future__ import annotations

from typing import Any

import numpy as np

import grisaille as gs
from grisaille.records import Situation

KERNEL = gs.SquaredExponential(lengthscale=0.8, variance=1.0)


def composite(**options: Any) -> gs.Problem:
    """One layer: a known function of two outputs of one black box and of another one."""
    x = gs.Variable("x", 2, lower=-1, upper=1)
    settings = {"noise": 0, "kernel": KERNEL, **options}
    h = gs.BlackBox(
        lambda x: np.array([np.sin(2 * x[0]), x[0] * x[1]]), name="h", outputs=2, **settings
    )
    k = gs.BlackBox(lambda a: np.cos(3 * a), name="k", **settings)
    y = h(x)
    return gs.Problem(minimize=(y[0] - 0.3) ** 2 + y[1] * k(x[1]) + 0.1 * x[0])


def network(**options: Any) -> gs.Problem:
    """Two layers, with known parts before, between and after."""
    x = gs.Variable("x", 2, lower=-1, upper=1)
    settings = {"noise": 0, "kernel": KERNEL, **options}
    first = gs.BlackBox(lambda a, b: np.sin(2 * a) + b, name="first", **settings)
    second = gs.BlackBox(lambda y, a: y * np.cos(a), name="second", **settings)
    y = first(x[0] ** 2, x[1])
    return gs.Problem(minimize=second(2 * y - 1, x[0]) ** 2 + 0.2 * x[1])


def constrained(**options: Any) -> gs.Problem:
    """One layer; one constraint reads a black box, one does not."""
    x = gs.Variable("x", 2, lower=-1, upper=1)
    settings = {"noise": 0, "kernel": KERNEL, **options}
    h = gs.BlackBox(lambda x: np.sin(2 * x[0]) + x[1] ** 2, name="h", **settings)
    g = gs.BlackBox(lambda x: x[0] - x[1] ** 2, name="g", **settings)
    return gs.Problem(minimize=h(x), subject_to=[g(x) >= -0.2, x[0] + x[1] <= 0.5])


def after(problem: gs.Problem, trials: int, seed: int = 0, **options: Any) -> Situation:
    """The situation after some Sobol points."""
    result = problem.solve(
        trials, strategy=gs.SobolSearch(), evaluation="chained", seed=seed, progress=False
    )
    return Situation(problem, result.history, seed, "chained", **options)


def grid(problem: gs.Problem, points: int = 7) -> np.ndarray:
    """Design points that fill a two-dimensional box."""
    lower, upper = problem.program.lower, problem.program.upper
    axes = [np.linspace(a, b, points) for a, b in zip(lower, upper, strict=True)]
    return np.stack(np.meshgrid(*axes), -1).reshape(-1, len(lower))
