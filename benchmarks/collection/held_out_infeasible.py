"""Problems whose constraints cannot be met, each with the reason."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

_NAN = float("nan")


@entry(
    "Infeasible wave",
    "infeasible",
    "constrained",
    "multimodal",
    optimum=float("nan"),
    x=[0.5116203135182],
    source="our own",
)
def infeasible_wave(noise: float | None) -> Problem:
    """A signal of one variable must reach 1.5, and never does.

    sin(3 a) exp(-a / 4) + a / 8 is at most exp(-a / 4) + a / 8, which is convex and so at most
    1, its value at 0; at 6 it is 0.97.
    """
    x = Variable("x", lower=0, upper=6)
    signal = BlackBox(lambda a: np.sin(3 * a) * np.exp(-a / 4) + a / 8, name="signal", noise=noise)
    return Problem(minimize=x, subject_to=[signal(x) >= 1.5])


@entry(
    "Infeasible yield",
    "infeasible",
    "constrained",
    "process",
    "nested",
    optimum=float("nan"),
    x=[0.6, 2.524961204624, 0.1855768563146],
    source="our own; consecutive reactions A to B to C",
)
def infeasible_yield(noise: float | None) -> Problem:
    """A reactor and a purification must give a yield that the reaction does not allow.

    With rates k and 0.5 k^1.4 the share of B after any time is at most r^(r / (1 - r)), where
    r = 0.5 k^0.4 is at least 0.5 * 0.6^0.4 = 0.408; that is 0.54. The purification loses some.
    """
    rate = Variable("rate", lower=0.6, upper=2)
    hours = Variable("hours", lower=0.1, upper=5)
    sharpness = Variable("sharpness", lower=0, upper=1)

    def react(rate: float, hours: float) -> float:
        other = 0.5 * rate**1.4
        left, lost = np.exp(-rate * hours), np.exp(-other * hours)
        return float(rate / (other - rate) * (left - lost))

    made = BlackBox(react, name="react", noise=noise)(rate, hours)
    kept = BlackBox(lambda b, s: b * (1 - 0.2 * s**2), name="purify", noise=noise)(made, sharpness)
    return Problem(
        minimize=rate + hours - 2 * sharpness, subject_to=[kept >= 0.65, sharpness >= 0.3]
    )


@entry(
    "Infeasible pair",
    "infeasible",
    "constrained",
    "smooth",
    optimum=float("nan"),
    x=[1.333884187952, 0.7115826621382],
    source="our own",
)
def infeasible_pair(noise: float | None) -> Problem:
    """Two limits that can be met, but not at once.

    The load a^2 + 2 b^2 is at most 2, so a + b is at most sqrt(2 * 1.5) = 1.74 by Cauchy and
    Schwarz. The gain a + b + 0.2 sin(a b) is then below 1.94, and it must be 3.
    """
    x = Variable("x", 2, lower=-2, upper=2)
    load = BlackBox(lambda a, b: a**2 + 2 * b**2, name="load", noise=noise)
    gain = BlackBox(lambda a, b: a + b + 0.2 * np.sin(a * b), name="gain", noise=noise)
    return Problem(minimize=np.sum(x**2), subject_to=[load(x[0], x[1]) <= 2, gain(x[0], x[1]) >= 3])


@entry(
    "Infeasible cooling",
    "infeasible",
    "constrained",
    "engineering",
    "nested",
    "kinked",
    optimum=float("nan"),
    x=[1, 3, 2],
    source="our own",
)
def infeasible_cooling(noise: float | None) -> Problem:
    """A chip that is too hot at every setting of fan, fins and clock.

    The power is at least 20 + 15 = 35 W, because the clock is at least 1. The resistance is at
    least 0.5 + 1 / (1 + 3 + 2) = 0.667 K/W. So it is at least 23.3 K warmer than the air, and
    may be 15 K warmer.
    """
    fan = Variable("fan", lower=0, upper=3)
    fins = Variable("fins", lower=0, upper=2)
    clock = Variable("clock", lower=1, upper=3)
    power = BlackBox(lambda c: 20 + 15 * c**1.5 + 5 * max(c - 2, 0.0), name="power", noise=noise)
    resistance = BlackBox(
        lambda fan, fins: 0.5 + 1 / (1 + fan + fins), name="resistance", noise=noise
    )
    warmer = BlackBox(lambda p, r: p * r * (1 + 0.001 * p), name="warmer", noise=noise)
    return Problem(
        maximize=clock - 0.1 * fan - 0.1 * fins,
        subject_to=[warmer(power(clock), resistance(fan, fins)) <= 15, fan + fins <= 4.5],
    )


@entry(
    "Infeasible blend",
    "infeasible",
    "constrained",
    "process",
    optimum=float("nan"),
    x=[0.5441225609831, 0.9159254167054, 0, 1, 0.6823213900316],
    source="our own",
)
def infeasible_blend(noise: float | None) -> Problem:
    """Five components whose octane and vapour pressure cannot both be met.

    Octane is at most 86 + 12 x_1 + 4 (x_1 is butane, other terms are within 4), so an octane of
    99 needs x_1 of 0.75; the vapour pressure is at least 4 + 10 x_1 - 1, 10.5 there, and
    may be 6.
    """
    x = Variable("x", 5, lower=0, upper=1)
    octane = BlackBox(
        lambda x: 86 + 12 * x[0] + 2 * np.tanh(x[1] - x[2]) + 2 * np.sin(2 * x[3] * x[4]),
        name="octane",
        noise=noise,
    )
    vapour = BlackBox(
        lambda x: 4 + 10 * x[0] - np.cos(x[1]) + x[2] * x[3] + 0.5 * x[4] ** 2,
        name="vapour",
        noise=noise,
    )
    prices = np.array([1.0, 1.4, 0.8, 1.1, 0.9])
    return Problem(
        minimize=prices @ x,
        subject_to=[octane(x) >= 99, vapour(x) <= 6, np.sum(x) >= 1, x[1] + x[3] <= 1.5],
    )
