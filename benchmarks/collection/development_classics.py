"""Classical test functions of global optimization, with parts of them unknown."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

_DIXON = "Dixon and Szego (1978), Towards Global Optimisation 2; grey-box form our own"
_MORE = "More, Garbow and Hillstrom (1981), Testing unconstrained optimization software; "
_MORE += "grey-box form our own"
_SURJANOVIC = "Surjanovic and Bingham, Virtual library of simulation experiments; grey-box form "
_SURJANOVIC += "our own"


@entry(
    "Branin",
    "smooth",
    "multimodal",
    optimum=0.39788735772973816,
    x=[np.pi, 2.275],
    source=_DIXON,
)
def branin(noise: float | None) -> Problem:
    """(y_1 + x_2)^2 + y_2 + 10, where y_1 is a bend of x_1 and y_2 a wave of x_1."""
    x1, x2 = Variable("x1", lower=-5, upper=10), Variable("x2", lower=0, upper=15)
    bend = BlackBox(
        lambda a: -5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6, name="bend", noise=noise
    )
    wave = BlackBox(lambda a: 10 * (1 - 1 / (8 * np.pi)) * np.cos(a), name="wave", noise=noise)
    return Problem(minimize=(bend(x1) + x2) ** 2 + wave(x1) + 10)


@entry(
    "Six-hump camel",
    "smooth",
    "multimodal",
    optimum=-1.031628453489877,
    x=[0.08984201310031, -0.712656403020],
    source=_DIXON,
)
def six_hump_camel(noise: float | None) -> Problem:
    """A hump of each variable is unknown, and their product is known."""
    x = Variable("x", 2, lower=[-3, -2], upper=[3, 2])
    along = BlackBox(lambda a: (4 - 2.1 * a**2 + a**4 / 3) * a**2, name="along", noise=noise)
    across = BlackBox(lambda b: (4 * b**2 - 4) * b**2, name="across", noise=noise)
    return Problem(minimize=along(x[0]) + x[0] * x[1] + across(x[1]))


@entry(
    "Himmelblau",
    "smooth",
    "multimodal",
    "calibration",
    optimum=0.0,
    x=[3, 2],
    source="Himmelblau (1972), Applied Nonlinear Programming; grey-box form our own",
)
def himmelblau(noise: float | None) -> Problem:
    """Two measured quantities, one of each box, are to be 11 and 7; four points do it."""
    x = Variable("x", 2, lower=-5, upper=5)
    first = BlackBox(lambda a, b: a**2 + b, name="first", noise=noise)
    second = BlackBox(lambda a, b: a + b**2, name="second", noise=noise)
    return Problem(minimize=(first(x[0], x[1]) - 11) ** 2 + (second(x[0], x[1]) - 7) ** 2)


@entry("Beale", "steep", "calibration", optimum=0.0, x=[3, 0.5], source=_MORE)
def beale(noise: float | None) -> Problem:
    """Three outputs x_1 (1 - x_2^k) of one box are to be 1.5, 2.25 and 2.625."""
    x = Variable("x", 2, lower=-4.5, upper=4.5)
    box = BlackBox(lambda a, b: a * (1 - b ** np.arange(1, 4)), name="h", outputs=3, noise=noise)
    return Problem(minimize=np.sum((box(x[0], x[1]) - np.array([1.5, 2.25, 2.625])) ** 2))


@entry(
    "Booth calibration",
    "smooth",
    "calibration",
    optimum=0.0,
    x=[1, 3],
    source=_SURJANOVIC,
)
def booth(noise: float | None) -> Problem:
    """A bent Booth function: two responses, one of each box, are to be 7 and 5."""
    x = Variable("x", 2, lower=-10, upper=10)
    one = BlackBox(lambda a, b: a + 2 * b + 0.02 * (a - 1) * (b - 3), name="one", noise=noise)
    two = BlackBox(lambda a, b: 2 * a + b + 0.5 * np.sin(a - 1), name="two", noise=noise)
    return Problem(minimize=(one(x[0], x[1]) - 7) ** 2 + (two(x[0], x[1]) - 5) ** 2)


@entry("Levy-2", "multimodal", optimum=0.0, x=[1, 1], source=_SURJANOVIC)
def levy(noise: float | None) -> Problem:
    """One box per variable; their sum is known."""
    x = Variable("x", 2, lower=-10, upper=10)

    def left(a: float) -> float:
        w = 1 + (a - 1) / 4
        return float(np.sin(np.pi * w) ** 2 + (w - 1) ** 2 * (1 + 10 * np.sin(np.pi * w + 1) ** 2))

    def right(b: float) -> float:
        w = 1 + (b - 1) / 4
        return float((w - 1) ** 2 * (1 + np.sin(2 * np.pi * w) ** 2))

    first = BlackBox(left, name="left", noise=noise)
    second = BlackBox(right, name="right", noise=noise)
    return Problem(minimize=first(x[0]) + second(x[1]))


@entry("Griewank-4", "multimodal", optimum=0.0, x=[0, 0, 0, 0], source=_SURJANOVIC)
def griewank(noise: float | None) -> Problem:
    """A known bowl, and two boxes of two variables each, whose product is a ripple."""
    x = Variable("x", 4, lower=-6, upper=5)
    first = BlackBox(lambda a, b: np.cos(a) * np.cos(b / np.sqrt(2)), name="first", noise=noise)
    second = BlackBox(
        lambda c, d: np.cos(c / np.sqrt(3)) * np.cos(d / 2), name="second", noise=noise
    )
    ripple = first(x[0], x[1]) * second(x[2], x[3])
    return Problem(minimize=np.sum(x**2) / 40 + 1 - ripple)


@entry("Rastrigin-2", "multimodal", "separable", optimum=0.0, x=[0, 0], source=_SURJANOVIC)
def rastrigin(noise: float | None) -> Problem:
    """The same box for both variables, called twice."""
    x = Variable("x", 2, lower=-2.5, upper=3)
    box = BlackBox(lambda a: a**2 - 10 * np.cos(2 * np.pi * a) + 10, name="ripple", noise=noise)
    return Problem(minimize=box(x[0]) + box(x[1]))


@entry(
    "Styblinski-Tang-3",
    "smooth",
    "multimodal",
    "separable",
    optimum=-117.49849711131425,
    x=[-2.903534027771, -2.903534027771, -2.903534027771],
    source=_SURJANOVIC,
)
def styblinski_tang(noise: float | None) -> Problem:
    """One box of one variable, and one box of two."""
    x = Variable("x", 3, lower=-5, upper=5)

    def well(a: Array) -> Array:
        return np.asarray((a**4 - 16 * a**2 + 5 * a) / 2)

    one = BlackBox(lambda a: float(well(a)), name="one", noise=noise)
    two = BlackBox(lambda x: float(well(x).sum()), name="two", noise=noise)
    return Problem(minimize=one(x[0]) + two(x[1:]))


@entry("Wood", "steep", optimum=0.0, x=[1, 1, 1, 1], source=_MORE + "; also called Colville")
def wood(noise: float | None) -> Problem:
    """Two valleys are unknown; the squares around them and the coupling are known."""
    x = Variable("x", 4, lower=-3, upper=3)
    left = BlackBox(lambda a, b: b - a**2, name="left", noise=noise)
    right = BlackBox(lambda c, d: d - c**2, name="right", noise=noise)
    valley = 100 * left(x[0], x[1]) ** 2 + 90 * right(x[2], x[3]) ** 2
    slope = (1 - x[0]) ** 2 + (1 - x[2]) ** 2
    coupling = 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2) + 19.8 * (x[1] - 1) * (x[3] - 1)
    return Problem(minimize=valley + slope + coupling)


@entry("Powell singular", "steep", optimum=0.0, x=[0, 0, 0, 0], source=_MORE)
def powell(noise: float | None) -> Problem:
    """Two linear terms are known, two boxes give fourth powers: the Hessian is singular."""
    x = Variable("x", 4, lower=-4, upper=5)
    inner = BlackBox(lambda b, c: (b - 2 * c) ** 4, name="inner", noise=noise)
    outer = BlackBox(lambda a, d: 10 * (a - d) ** 4, name="outer", noise=noise)
    known = (x[0] + 10 * x[1]) ** 2 + 5 * (x[2] - x[3]) ** 2
    return Problem(minimize=known + inner(x[1], x[2]) + outer(x[0], x[3]))
