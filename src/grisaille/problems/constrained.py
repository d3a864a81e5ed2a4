"""Constrained problems with one layer of black boxes."""

from __future__ import annotations

import numpy as np

from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable
from grisaille.problems.known_problem import KnownProblem, Structure


def rosen_suzuki() -> KnownProblem:
    """Four variables, three constraints, two black boxes of two variables each."""
    x = Variable("x", 4, lower=-2, upper=2)
    first = BlackBox(lambda a, b: 2 * a**2 - 21 * a + 7 * b, name="y1", noise=0)
    second = BlackBox(lambda a, b: a**2 + 2 * b**2, name="y2", noise=0)
    y1, y2 = first(x[2], x[3]), second(x[2], x[3])
    objective = x[0] ** 2 + x[1] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] + y1
    constraints = [
        np.sum(x**2) + x[0] - x[1] + x[2] - x[3] <= 8,
        x[0] ** 2 + 2 * x[1] ** 2 + y2 - x[0] - x[3] <= 10,
        2 * x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + 2 * x[0] - x[1] - x[3] <= 5,
    ]
    return KnownProblem(
        "Rosen-Suzuki",
        Problem(minimize=objective, subject_to=constraints),
        optimum=-44.0,
        x=np.array([0.0, 1.0, 2.0, -1.0]),
        source="Rosen and Suzuki (1965); grey-box form after Lu and Paulson (2023)",
        kind=Structure.CONSTRAINED,
    )


def bazaraa() -> KnownProblem:
    """Two variables, two constraints, two black boxes."""
    x = Variable("x", 2, lower=0.01, upper=1)
    first = BlackBox(lambda b: 2 * b**2, name="y1", noise=0)
    second = BlackBox(lambda a, b: 2 * a * b + 6 * a + 4 * b, name="y2", noise=0)
    y1, y2 = first(x[1]), second(x[0], x[1])
    corner = (np.sqrt(201) - 1) / 20  # both constraints are active: 10 x_2^2 + x_2 = 5
    return KnownProblem(
        "Bazaraa",
        Problem(
            minimize=2 * x[0] ** 2 + 2 * x[1] ** 2 - y2,
            subject_to=[5 * x[0] + x[1] <= 5, y1 - x[0] <= 0],
        ),
        optimum=-6.613085467349,
        x=np.array([1 - corner / 5, corner]),
        source="Bazaraa, Sherali and Shetty; grey-box form after Lu and Paulson (2023)",
        kind=Structure.CONSTRAINED,
    )


def sinusoidal() -> KnownProblem:
    """Two variables; objective and constraint are black boxes, and nothing is known.

    minimize cos(2 x_1) cos(x_2) + sin(x_1) subject to cos(x_1 + x_2) + 0.2 <= 0.
    """
    x = Variable("x", 2, lower=0, upper=6)
    f = BlackBox(lambda a, b: np.cos(2 * a) * np.cos(b) + np.sin(a), name="f", noise=0)
    g = BlackBox(lambda a, b: np.cos(a + b) + 0.2, name="g", noise=0)
    return KnownProblem(
        "Sinusoidal",
        Problem(minimize=f(x[0], x[1]), subject_to=[g(x[0], x[1]) <= 0]),
        optimum=-1 - float(np.cos(6)),
        x=np.array([1.5 * np.pi, 6.0]),
        source="after Gardner et al. (2014), Bayesian optimization with inequality constraints",
        kind=Structure.CONSTRAINED,
    )
