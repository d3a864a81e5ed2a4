"""Problems of Hock and Schittkowski with odd numbers and inequalities, with parts unknown."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.collection.entry import Entry, Formulation, entry
from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable


def _problem(
    number: int, *tags: str, optimum: float, x: list[float]
) -> Callable[[Formulation], Entry]:
    source = "Hock and Schittkowski (1981), Test examples for nonlinear programming codes, problem "
    source += f"{number}; grey-box form our own"
    name = f"HS {number}"
    return entry(name, "constrained", *tags, optimum=optimum, x=x, source=source)


@_problem(15, "steep", optimum=306.5, x=[0.5, 2])
def hs_15(noise: float | None) -> Problem:
    """The valley is unknown; the squares and both constraints are known."""
    x = Variable("x", 2, lower=-2, upper=[0.5, 3])
    valley = BlackBox(lambda a, b: b - a**2, name="valley", noise=noise)
    return Problem(
        minimize=100 * valley(x[0], x[1]) ** 2 + (1 - x[0]) ** 2,
        subject_to=[x[0] * x[1] >= 1, x[0] + x[1] ** 2 >= 0],
    )


@_problem(
    19, "steep", "nearly infeasible", optimum=-6961.81387558015, x=[14.095, 0.8429607892154796]
)
def hs_19(noise: float | None) -> Problem:
    """Two discs, each a box, leave a sickle: less than 0.01 % of the domain is feasible."""
    x = Variable("x", 2, lower=[13, 0], upper=100)
    inner = BlackBox(lambda a, b: (a - 5) ** 2 + (b - 5) ** 2, name="inner", noise=noise)
    outer = BlackBox(lambda a, b: (a - 6) ** 2 + (b - 5) ** 2, name="outer", noise=noise)
    return Problem(
        minimize=(x[0] - 10) ** 3 + (x[1] - 20) ** 3,
        subject_to=[inner(x[0], x[1]) >= 100, outer(x[0], x[1]) <= 82.81],
    )


@_problem(21, "smooth", optimum=-99.96, x=[2, 0])
def hs_21(noise: float | None) -> Problem:
    """A flat bowl, unknown, with its optimum at a bound."""
    x = Variable("x", 2, lower=[2, -50], upper=50)
    bowl = BlackBox(lambda a, b: 0.01 * a**2 + b**2, name="bowl", noise=noise)
    return Problem(minimize=bowl(x[0], x[1]) - 100, subject_to=[10 * x[0] - x[1] >= 10])


@_problem(23, "smooth", optimum=2.0, x=[1, 1])
def hs_23(noise: float | None) -> Problem:
    """Five constraints that share one box, the square of a variable."""
    x = Variable("x", 2, lower=-50, upper=50)
    square = BlackBox(lambda a: a**2, name="square", noise=noise)
    first, second = square(x[0]), square(x[1])
    return Problem(
        minimize=first + second,
        subject_to=[
            x[0] + x[1] >= 1,
            first + second >= 1,
            9 * first + second >= 9,
            first >= x[1],
            second >= x[0],
        ],
    )


@_problem(29, "smooth", "multimodal", optimum=-16 * 2**0.5, x=[4, 8**0.5, 2])
def hs_29(noise: float | None) -> Problem:
    """The volume is known, the ellipsoid is not."""
    x = Variable("x", 3, lower=-5, upper=5)
    size = BlackBox(lambda x: x @ (np.array([1, 2, 4]) * x), name="size", noise=noise)
    return Problem(minimize=-x[0] * x[1] * x[2], subject_to=[size(x) <= 48])


@_problem(31, "smooth", optimum=6.0, x=[3**-0.5, 3**0.5, 0])
def hs_31(noise: float | None) -> Problem:
    """A product and a bowl, both unknown."""
    x = Variable("x", 3, lower=[-10, 1, -10], upper=[10, 10, 1])
    product = BlackBox(lambda a, b: a * b, name="product", noise=noise)
    bowl = BlackBox(lambda a, c: 9 * (a**2 + c**2), name="bowl", noise=noise)
    return Problem(minimize=bowl(x[0], x[2]) + x[1] ** 2, subject_to=[product(x[0], x[1]) >= 1])


@_problem(33, "smooth", "multimodal", optimum=2**0.5 - 6, x=[0, 2**0.5, 2**0.5])
def hs_33(noise: float | None) -> Problem:
    """An unknown cubic, and an unknown radius in two constraints that are not convex."""
    x = Variable("x", 3, lower=0, upper=5)
    cubic = BlackBox(lambda a: (a - 1) * (a - 2) * (a - 3), name="cubic", noise=noise)
    radius = BlackBox(lambda a, b: a**2 + b**2, name="radius", noise=noise)
    r = radius(x[0], x[1])
    return Problem(minimize=cubic(x[0]) + x[2], subject_to=[x[2] ** 2 - r >= 0, r + x[2] ** 2 >= 4])


@_problem(35, "smooth", optimum=1 / 9, x=[4 / 3, 7 / 9, 4 / 9])
def hs_35(noise: float | None) -> Problem:
    """The interactions are unknown, the rest of the quadratic is known."""
    x = Variable("x", 3, lower=0, upper=3)
    mixed = BlackBox(lambda x: 2 * x[0] * (x[1] + x[2]), name="mixed", noise=noise)
    known = 9 - np.array([8, 6, 4]) @ x + np.array([2, 2, 1]) @ x**2
    return Problem(minimize=known + mixed(x), subject_to=[x[0] + x[1] + 2 * x[2] <= 3])


@_problem(65, "smooth", optimum=0.95352885681, x=[3.650461726497, 3.650461725474, 4.620417555959])
def hs_65(noise: float | None) -> Problem:
    """Distances are known, the ball they must stay in is not."""
    x = Variable("x", 3, lower=[-4.5, -4.5, -5], upper=[4.5, 4.5, 5])
    ball = BlackBox(lambda x: x @ x, name="ball", noise=noise)
    gap = (x[0] - x[1]) ** 2 + (x[0] + x[1] - 10) ** 2 / 9 + (x[2] - 5) ** 2
    return Problem(minimize=gap, subject_to=[ball(x) <= 48])


@_problem(
    83,
    "smooth",
    "badly scaled",
    optimum=-30665.53867178,
    x=[78.0, 33.0, 29.99525602568, 45.0, 36.77581290579],
)
def hs_83(noise: float | None) -> Problem:
    """One simulator with three outputs, each between two limits; the cost is known."""
    x = Variable("x", 5, lower=[78, 33, 27, 27, 27], upper=[102, 45, 45, 45, 45])

    def states(x: Array) -> list[float]:
        a, b, c, d, e = x
        return [
            85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e,
            80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * c**2,
            9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d,
        ]

    y = BlackBox(states, name="states", outputs=3, noise=noise)(x)
    cost = 5.3578547 * x[2] ** 2 + 0.8356891 * x[0] * x[4] + 37.293239 * x[0] - 40792.141
    return Problem(
        minimize=cost,
        subject_to=[y >= np.array([0, 90, 20]), y <= np.array([92, 110, 25])],
    )


@_problem(
    93,
    "engineering",
    optimum=135.0759629,
    x=[5.33267026464, 4.65676038788, 10.4329794293, 12.0822730686, 0.75260787291, 0.878650103517],
)
def hs_93(noise: float | None) -> Problem:
    """Transformer: the volumes of core and winding are unknown, their costs are known."""
    low, high = [1, 1, 5, 5, 0.2, 0.2], [10, 10, 15, 20, 2, 2]
    x = Variable("x", 6, lower=low, upper=high)
    core = BlackBox(lambda a, b, c, d: a * d * (a + b + c) / 100, name="core", noise=noise)
    coil = BlackBox(lambda a, b, c, d: b * c * (a + 1.57 * b + d) / 100, name="coil", noise=noise)
    y, z = core(*x[:4]), coil(*x[:4])
    return Problem(
        minimize=2.04 * y + 1.87 * z + 6.07 * y * x[4] ** 2 + 4.37 * z * x[5] ** 2,
        subject_to=[
            0.001 * np.prod(x) >= 2.07,
            0.062 * y * x[4] ** 2 + 0.058 * z * x[5] ** 2 <= 1,
        ],
    )


_CHEMICALS = np.array([4.3, 31.8, 63.3, 15.8, 68.5, 4.7])


@_problem(95, "badly scaled", optimum=4.7 * 4.97 / 1495.5, x=[0, 0, 0, 0, 0, 4.97 / 1495.5])
def hs_95(noise: float | None) -> Problem:
    """The effects of six chemicals on four properties: linear parts known, two boxes interact."""
    x = Variable("x", 6, lower=0, upper=[0.31, 0.046, 0.068, 0.042, 0.028, 0.0134])

    def strong(x: Array) -> float:
        a, _, c, d, e, f = x
        return float(169 * a * c + 3580 * c * e + 3810 * d * e + 18500 * d * f + 24300 * e * f)

    def weak(x: Array) -> float:
        a, _, c, d, e, f = x
        return float(139 * a * c + 2450 * d * e + 16600 * d * f + 17200 * e * f)

    first = BlackBox(strong, name="strong", noise=noise)(x)
    second = BlackBox(weak, name="weak", noise=noise)(x)
    return Problem(
        minimize=_CHEMICALS @ x,
        subject_to=[
            np.array([17.1, 38.2, 204.2, 212.3, 623.4, 1495.5]) @ x - first >= 4.97,
            np.array([17.9, 36.8, 113.9, 169.7, 337.8, 1385.2]) @ x - second >= -1.88,
            -273 * x[1] - 70 * x[3] - 819 * x[4] + 26000 * x[3] * x[4] >= -29.08,
            159.9 * x[0] - 311 * x[1] + 587 * x[3] + 391 * x[4] + 2198 * x[5]
            - 14000 * x[0] * x[5] >= -78.02,
        ],
    )  # fmt: skip


@_problem(
    101,
    "steep",
    "badly scaled",
    optimum=1809.76476,
    x=[
        2.85615784744,
        0.610823052184,
        2.150812630386,
        4.712870707208,
        0.9994872702936,
        1.347506844967,
        0.03165276901514,
    ],
)
def hs_101(noise: float | None) -> Problem:
    """A geometric program: sums of powers, of which one term per constraint is unknown."""
    x = Variable("x", 7, lower=[0.5, 0.3, 0.5, 1, 0.3, 0.5, 0.01], upper=[5, 3, 5, 10, 3, 3, 1])
    a, b, c, d, e, f, g = x
    first = BlackBox(lambda b, c, d: 0.2 * c / (b * d**0.5), name="first", noise=noise)
    second = BlackBox(lambda c, d, e: 0.8 * c / (d * e), name="second", noise=noise)
    third = BlackBox(lambda b, c, e: 0.65 * c * e / b**2, name="third", noise=noise)
    fourth = BlackBox(lambda a, b, c: 0.4 * c / (a**3 * b**2), name="fourth", noise=noise)
    cost = 10 * a * d**2 / (b * f**3 * g**0.25) + 15 * c * d / (a * b**2 * e * g**0.5)
    cost += 20 * b * f / (a**2 * d * e**2) + 25 * a**2 * b**2 * e**0.5 * g / (c * f**2)
    return Problem(
        minimize=cost,
        subject_to=[
            0.5 * a**0.5 * g / (c * f**2) + 0.7 * a**3 * b * f * g**0.5 / c**2
            + first(b, c, d) * f ** (2 / 3) * g**0.25 <= 1,
            1.3 * b * f / (a**0.5 * c * e) + second(c, d, e) * f**2
            + 3.1 * b**0.5 * f ** (1 / 3) / (a * d**2 * e) <= 1,
            2 * a * e * g ** (1 / 3) / (c**1.5 * f) + 0.1 * b * e / (c**0.5 * f * g**0.5)
            + b * c**0.5 * e / a + third(b, c, e) * g / f <= 1,
            0.2 * b * e**0.5 * g ** (1 / 3) / (a**2 * d)
            + 0.3 * a**0.5 * b**2 * c * d ** (1 / 3) * g**0.25 / e ** (2 / 3)
            + fourth(a, b, c) * e * g**0.75 + 0.5 * d * g**0.5 / c**2 <= 1,
        ],
    )  # fmt: skip


@_problem(
    113,
    "smooth",
    optimum=24.30620906818,
    x=[2.17199353498, 2.36369055353, 8.77392816802, 5.09599073498, 0.990653606749,
       1.43056780649, 1.32163839718, 9.82872092195, 8.28009535473, 8.37595480043],
)  # fmt: skip
def hs_113(noise: float | None) -> Problem:
    """Ten variables, eight constraints; the four curved ones have an unknown bowl each."""
    x = Variable("x", 10, lower=-10, upper=10)
    a, b, c, d, e, f, g, h, i, j = x
    first = BlackBox(lambda a, b: 3 * (a - 2) ** 2 + 4 * (b - 3) ** 2, name="first", noise=noise)
    second = BlackBox(lambda a, c: 5 * a**2 + (c - 6) ** 2, name="second", noise=noise)
    third = BlackBox(lambda b, e: 2 * (b - 4) ** 2 + 3 * e**2, name="third", noise=noise)
    fourth = BlackBox(lambda a, b: a**2 + 2 * (b - 2) ** 2 - 2 * a * b, name="fourth", noise=noise)
    cost = a**2 + b**2 + a * b - 14 * a - 16 * b + (c - 10) ** 2 + 4 * (d - 5) ** 2 + (e - 3) ** 2
    cost += 2 * (f - 1) ** 2 + 5 * g**2 + 7 * (h - 11) ** 2 + 2 * (i - 10) ** 2 + (j - 7) ** 2 + 45
    return Problem(
        minimize=cost,
        subject_to=[
            4 * a + 5 * b - 3 * g + 9 * h <= 105,
            10 * a - 8 * b - 17 * g + 2 * h <= 0,
            -8 * a + 2 * b + 5 * i - 2 * j <= 12,
            first(a, b) + 2 * c**2 - 7 * d <= 120,
            second(a, c) + 8 * b - 2 * d <= 40,
            0.5 * (a - 8) ** 2 + third(b, e) - f <= 30,
            fourth(a, b) + 14 * e - 6 * f <= 0,
            -3 * a + 6 * b + 12 * (i - 8) ** 2 - 7 * j <= 0,
        ],
    )
