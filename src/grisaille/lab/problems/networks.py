"""Nested problems: networks of black boxes, and two disciplines that read each other."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import ModelError, shortened
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem
from grisaille.language.variable import Unknown, Variable

# --- networks -------------------------------------------------------------------------------------
# Nested problems: networks of black boxes, whose last output is maximized.

_SOURCE = "Astudillo and Frazier (2021), Bayesian optimization of function networks"


def drop_wave() -> KnownProblem:
    """Two nodes in a chain: a distance, and a wave of it."""
    x = Variable("x", 2, lower=-5.12, upper=5.12)
    distance = BlackBox(lambda x: np.hypot(x[0], x[1]), name="distance", noise=0, lower=0)
    wave = BlackBox(
        lambda r: (1 + np.cos(12 * r)) / (2 + 0.5 * r**2), name="wave", noise=0, input_lower=0
    )
    problem = Problem(maximize=wave(distance(x)))
    return KnownProblem("Drop-Wave", problem, 1.0, np.zeros(2), _SOURCE, Structure.NESTED)


def ackley() -> KnownProblem:
    """Six variables, two nodes that read them, and one that reads these."""
    x = Variable("x", 6, lower=-2, upper=2)
    squares = BlackBox(lambda x: np.mean(x**2), name="squares", noise=0, lower=0)
    cosines = BlackBox(lambda x: np.mean(np.cos(2 * np.pi * x)), name="cosines", noise=0)
    last = BlackBox(
        lambda a, b: 20 * np.exp(-0.2 * np.sqrt(a)) + np.exp(b) - 20 - np.e,
        name="last",
        noise=0,
        input_lower=[0.0, -np.inf],
    )
    problem = Problem(maximize=last(squares(x), cosines(x)))
    return KnownProblem("Ackley-6", problem, 0.0, np.zeros(6), _SOURCE, Structure.NESTED)


def rosenbrock() -> KnownProblem:
    """Five variables, four nodes in a chain; each reads two variables and the node before."""
    x = Variable("x", 5, lower=-2, upper=2)

    def first(a: float, b: float) -> float:
        return -(100 * (b - a**2) ** 2 + (a - 1) ** 2)

    y: Expression = BlackBox(first, name="y1", noise=0)(x[0], x[1])
    for k in range(1, 4):
        box = BlackBox(lambda a, b, before: first(a, b) + before, name=f"y{k + 1}", noise=0)
        y = box(x[k], x[k + 1], y)
    problem = Problem(maximize=y)
    return KnownProblem("Rosenbrock-5", problem, 0.0, np.ones(5), _SOURCE, Structure.NESTED)


def ackley_sine(costs: tuple[float, float] = (1.0, 49.0)) -> KnownProblem:
    """A cheap black box of six variables, and an expensive one that reads its output."""
    if not isinstance(costs, list | tuple) or len(costs) != 2:
        raise ModelError(f"ackley_sine(costs={shortened(costs)}): pass two numbers")
    x = Variable("x", 6, lower=-2, upper=2)

    def ackley_function(x: Array) -> float:
        root = np.sqrt(np.mean(x**2))
        return float(20 * np.exp(-0.2 * root) + np.exp(np.mean(np.cos(2 * np.pi * x))) - 20 - np.e)

    first = BlackBox(ackley_function, name="ackley", noise=0, cost=costs[0])
    second = BlackBox(
        lambda y: float(-y * np.sin(5 * y / (6 * np.pi))), name="sine", noise=0, cost=costs[1]
    )
    source = "Buathong et al. (2024), Bayesian optimization of function networks with partial "
    source += "evaluations"
    problem = Problem(maximize=second(first(x)))
    return KnownProblem("AckS", problem, 0.0, np.zeros(6), source, Structure.NESTED)


# --- coupled disciplines --------------------------------------------------------------------------
# Sellar's problem: two disciplines, each of which reads what the other one computes.


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
