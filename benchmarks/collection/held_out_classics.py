"""Classical test functions of global optimization, with parts of them unknown."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

_SURJANOVIC = "Surjanovic and Bingham, Virtual library of simulation experiments; grey-box form "
_SURJANOVIC += "our own"
_JAMIL = "Jamil and Yang (2013), A literature survey of benchmark functions; grey-box form our own"
_HARTMANN = "Hartmann (1972), after Dixon and Szego (1978); grey-box form our own"

_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_WIDTHS_3 = np.array([[3.0, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
_CENTRES_3 = 1e-4 * np.array(
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)
_WIDTHS_6 = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_CENTRES_6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


@entry(
    "Zilinskas waves",
    "multimodal",
    optimum=-1.60130754649,
    x=[5.199778371682],
    source="Zilinskas, after Hansen, Jaumard and Lu (1992), problem 7; grey-box form our own",
)
def zilinskas(noise: float | None) -> Problem:
    """Two waves are unknown; the slope below them is known."""
    x = Variable("x", lower=2.7, upper=7.5)
    waves = BlackBox(lambda a: np.sin(a) + np.sin(10 * a / 3), name="waves", noise=noise)
    return Problem(minimize=waves(x) + np.log(x) - 0.84 * x + 3)


@entry("Three-hump camel", "multimodal", "steep", optimum=0.0, x=[0, 0], source=_JAMIL)
def three_hump_camel(noise: float | None) -> Problem:
    """The humps along one variable are unknown; the coupling is known."""
    x = Variable("x", 2, lower=-4, upper=5)
    humps = BlackBox(lambda a: 2 * a**2 - 1.05 * a**4 + a**6 / 6, name="humps", noise=noise)
    return Problem(minimize=humps(x[0]) + x[0] * x[1] + x[1] ** 2)


@entry("Wide Easom", "multimodal", "separable", optimum=-1.0, x=[np.pi, np.pi], source=_JAMIL)
def easom(noise: float | None) -> Problem:
    """Minus the product of one box at both variables; its well is wider than in the original.

    The box is at least -1 and at most 1, so the product is at most 1.
    """
    x = Variable("x", 2, lower=-3, upper=8)
    well = BlackBox(lambda a: np.cos(a) * np.exp(-((a - np.pi) ** 2) / 6), name="well", noise=noise)
    return Problem(minimize=-(well(x[0]) * well(x[1])))


@entry(
    "McCormick",
    "smooth",
    optimum=-np.sqrt(3) / 2 - np.pi / 3,
    x=[0.5 - np.pi / 3, -0.5 - np.pi / 3],
    source=_JAMIL,
)
def mccormick(noise: float | None) -> Problem:
    """A wave of the sum is unknown; the valley and the slope are known."""
    x = Variable("x", 2, lower=[-1.5, -3], upper=[4, 4])
    wave = BlackBox(np.sin, name="wave", noise=noise)
    valley = (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1
    return Problem(minimize=wave(x[0] + x[1]) + valley)


@entry("Bohachevsky", "multimodal", "separable", optimum=0.0, x=[0, 0], source=_SURJANOVIC)
def bohachevsky(noise: float | None) -> Problem:
    """A known bowl with one unknown ripple per variable."""
    x = Variable("x", 2, lower=-1.5, upper=2)
    first = BlackBox(lambda a: 0.3 - 0.3 * np.cos(3 * np.pi * a), name="first", noise=noise)
    second = BlackBox(lambda b: 0.4 - 0.4 * np.cos(4 * np.pi * b), name="second", noise=noise)
    return Problem(minimize=x[0] ** 2 + 2 * x[1] ** 2 + first(x[0]) + second(x[1]))


@entry("Zakharov-3", "steep", optimum=0.0, x=[0, 0, 0], source=_SURJANOVIC)
def zakharov(noise: float | None) -> Problem:
    """A known bowl, and an unknown steep valley s^2 + s^4 along one direction."""
    x = Variable("x", 3, lower=-5, upper=10)

    def valley(x: Array) -> float:
        along = 0.5 * x[0] + x[1] + 1.5 * x[2]
        return float(along**2 + along**4)

    return Problem(minimize=np.sum(x**2) + BlackBox(valley, name="valley", noise=noise)(x))


@entry(
    "Dixon-Price-4",
    "smooth",
    "calibration",
    optimum=0.0,
    x=[1, 2**-0.5, 2**-0.75, 2**-0.875],
    source=_SURJANOVIC,
)
def dixon_price(noise: float | None) -> Problem:
    """The residual 2 b^2 - a of neighbours is one box, called three times; squares are known."""
    x = Variable("x", 4, lower=-3, upper=4)
    residual = BlackBox(lambda a, b: 2 * b**2 - a, name="residual", noise=noise)
    squares = [k * residual(x[k - 2], x[k - 1]) ** 2 for k in (2, 3, 4)]
    return Problem(minimize=(x[0] - 1) ** 2 + squares[0] + squares[1] + squares[2])


@entry(
    "Hartmann-3",
    "multimodal",
    "smooth",
    optimum=3.86277978733,
    x=[0.1145888767909, 0.5556488940297, 0.8525469848588],
    source=_HARTMANN,
)
def hartmann_3(noise: float | None) -> Problem:
    """Four bumps, one box each; their heights and their sum are known."""
    x = Variable("x", 3, lower=0, upper=1)

    def bump(k: int) -> BlackBox:
        return BlackBox(
            lambda x: np.exp(-_WIDTHS_3[k] @ (x - _CENTRES_3[k]) ** 2), name=f"bump{k}", noise=noise
        )

    first, second, third, fourth = (_HEIGHTS[k] * bump(k)(x) for k in range(4))
    return Problem(maximize=first + second + third + fourth)


@entry(
    "Hartmann-6",
    "multimodal",
    "smooth",
    optimum=-3.32236801142,
    x=[
        0.2016895110348,
        0.1500106918807,
        0.476873974533,
        0.2753324303675,
        0.3116516167216,
        0.6573005340239,
    ],
    source=_HARTMANN,
)
def hartmann_6(noise: float | None) -> Problem:
    """One box gives four squared distances; the sum of bumps is known."""
    x = Variable("x", 6, lower=0, upper=1)
    distances = BlackBox(
        lambda x: (_WIDTHS_6 * (x - _CENTRES_6) ** 2).sum(1),
        name="distances",
        outputs=4,
        noise=noise,
    )
    return Problem(minimize=-(_HEIGHTS @ np.exp(-distances(x))))


@entry(
    "Michalewicz-2",
    "multimodal",
    "steep",
    "separable",
    optimum=-1.8013034101,
    x=[2.202905520155, 1.570796326042],
    source=_JAMIL,
)
def michalewicz(noise: float | None) -> Problem:
    """One narrow valley per variable, each a box."""
    x = Variable("x", 2, lower=0, upper=np.pi)

    def valley(k: int) -> BlackBox:
        return BlackBox(
            lambda a: np.sin(a) * np.sin(k * a**2 / np.pi) ** 20, name=f"valley{k}", noise=noise
        )

    return Problem(minimize=-valley(1)(x[0]) - valley(2)(x[1]))


@entry("Ackley-2", "multimodal", "kinked", optimum=0.0, x=[0, 0], source=_SURJANOVIC)
def ackley_2(noise: float | None) -> Problem:
    """A radius with a kink at the optimum, and a ripple; how they enter is known."""
    x = Variable("x", 2, lower=-3, upper=4)
    radius = BlackBox(lambda x: np.sqrt(np.mean(x**2)), name="radius", noise=noise)
    ripple = BlackBox(lambda x: np.mean(np.cos(2 * np.pi * x)), name="ripple", noise=noise)
    return Problem(minimize=20 - 20 * np.exp(-0.2 * radius(x)) + np.e - np.exp(ripple(x)))


@entry("Trid-5", "smooth", optimum=-30.0, x=[5, 8, 9, 8, 5], source=_SURJANOVIC)
def trid(noise: float | None) -> Problem:
    """Squares are known; the products of neighbours come from a box."""
    x = Variable("x", 5, lower=-25, upper=25)
    coupling = BlackBox(lambda x: x[1:] @ x[:-1], name="coupling", noise=noise)
    return Problem(minimize=np.sum((x - 1) ** 2) - coupling(x))


@entry("Schaffer 2", "multimodal", optimum=0.0, x=[0, 0], source=_JAMIL)
def schaffer(noise: float | None) -> Problem:
    """Fringes of a known difference of squares, damped by a known factor."""
    x = Variable("x", 2, lower=-2, upper=2.5)
    fringes = BlackBox(lambda u: np.sin(u) ** 2, name="fringes", noise=noise)
    fringe = fringes(x[0] ** 2 - x[1] ** 2)
    return Problem(minimize=0.5 + (fringe - 0.5) / (1 + 0.05 * np.sum(x**2)) ** 2)


@entry(
    "Cross-in-tray",
    "kinked",
    "multimodal",
    "steep",
    optimum=-2.06261187082,
    x=[1.349406616786, 1.349406622374],
    source=_JAMIL,
)
def cross_in_tray(noise: float | None) -> Problem:
    """A standing wave is one box, called twice; the cross they form is known, with its kinks."""
    x = Variable("x", 2, lower=0.5, upper=6)
    wave = BlackBox(np.sin, name="wave", noise=noise)
    distance = np.sqrt(np.sum(x**2))
    cross = np.abs(wave(x[0]) * wave(x[1])) * np.exp(100 - distance / np.pi)
    return Problem(minimize=-1e-4 * (cross + 1) ** 0.1)


@entry("Perm-3", "calibration", "steep", optimum=0.0, x=[1, 2, 3], source=_SURJANOVIC)
def perm(noise: float | None) -> Problem:
    """Three sums of powers from one box are to be 0."""
    x = Variable("x", 3, lower=-3, upper=4)
    numbers = np.arange(1.0, 4.0)
    powers = numbers[:, None]

    def sums(x: Array) -> Array:
        return np.asarray(((numbers**powers + 0.5) * ((x / numbers) ** powers - 1)).sum(1))

    return Problem(minimize=np.sum(BlackBox(sums, name="sums", outputs=3, noise=noise)(x) ** 2))
