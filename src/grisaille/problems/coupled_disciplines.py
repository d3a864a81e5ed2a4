"""Sellar's problem: two disciplines, each of which reads what the other one computes."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Unknown, Variable
from grisaille.problems.known_problem import KnownProblem, Structure


def first_discipline(z: Array, x: float, y2: float) -> float:
    """What the first discipline computes from the answer of the second one."""
    return float(z[0] ** 2 + z[1] + x - 0.2 * y2)


def second_discipline(z: Array, y1: float) -> float:
    """What the second discipline computes from the answer of the first one."""
    return float(np.sqrt(y1) + z[0] + z[1])


def coupled(z: Array, x: float) -> tuple[float, float]:
    """Both answers that agree, in closed form: sqrt(y1) solves a quadratic equation.

    Raises:
        ValueError: No answers agree.
    """
    given = z[0] ** 2 + z[1] + x - 0.2 * (z[0] + z[1])
    if given < 0:
        raise ValueError(f"no answers of both disciplines agree at z={z}, x={x}")
    root = np.sqrt(0.01 + given) - 0.1
    return float(root**2), float(root + z[0] + z[1])


def sellar() -> KnownProblem:
    """Sellar's problem, with what the disciplines tell each other as unknowns."""
    z = Variable("z", 2, lower=[-10, 0], upper=10)
    x = Variable("x", lower=0, upper=10)
    # Whatever z and x are, agreed answers lie in these ranges.
    y1 = Unknown("y1", lower=0, upper=125)
    y2 = Unknown("y2", lower=-10, upper=32)
    first = BlackBox(first_discipline, noise=0)
    second = BlackBox(second_discipline, noise=0)
    return KnownProblem(
        "Sellar",
        Problem(
            minimize=x**2 + z[1] + y1 + np.exp(-y2),
            subject_to=[y1 >= 3.16, y2 <= 24],
            equations=[y1 == first(z, x, y2), y2 == second(z, y1)],
        ),
        optimum=3.183393951640614,
        x=np.array([0, 1.9776388834631178, 0, 3.16, 3.7552777669262354]),
        source="Sellar, Batill and Renaud (1996)",
        kind=Structure.CONSTRAINED,
    )
