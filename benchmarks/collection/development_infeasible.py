"""Problems without a feasible point; `x` has the least violation. Each docstring proves it."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

_NOTHING = float("nan")


@entry("Two discs", "infeasible", "constrained", "smooth", optimum=_NOTHING, x=[0, 0], source="own")
def two_discs(noise: float | None) -> Problem:
    """Two discs of radius 0.5 whose centres are 1.4 apart have no point in common.

    The squared distances sum to at least 2 * 0.7^2 = 0.98, and 0.5 is allowed: violation 0.24.
    """
    x = Variable("x", 2, lower=-1, upper=1)
    left = BlackBox(lambda a, b: (a + 0.7) ** 2 + b**2, name="left", noise=noise)
    right = BlackBox(lambda a, b: (a - 0.7) ** 2 + b**2, name="right", noise=noise)
    return Problem(
        minimize=x[0] + x[1],
        subject_to=[left(x[0], x[1]) <= 0.25, right(x[0], x[1]) <= 0.25],
    )


@entry(
    "Waves too low",
    "infeasible",
    "constrained",
    "multimodal",
    optimum=_NOTHING,
    x=[np.pi / 6, 0],
    source="own",
)
def waves_too_low(noise: float | None) -> Problem:
    """A sine and a cosine are to sum to 2.4, and cannot exceed 2: violation 0.4 of a range of 4."""
    x = Variable("x", 2, lower=-1, upper=2)
    sine = BlackBox(lambda a: np.sin(3 * a), name="sine", noise=noise)
    cosine = BlackBox(lambda b: np.cos(2 * b), name="cosine", noise=noise)
    return Problem(minimize=x[0] ** 2 + x[1], subject_to=[sine(x[0]) + cosine(x[1]) >= 2.4])


@entry(
    "Purity too high",
    "infeasible",
    "constrained",
    "nested",
    "process",
    optimum=_NOTHING,
    x=[0.5, 1, 1],
    source="own",
)
def purity_too_high(noise: float | None) -> Problem:
    """A reactor and a column in a row are to reach a purity of 0.95.

    The conversion is at most 0.8, reached at (0.5, 1), and the column grows with it and with the
    reflux: its purity is at most 0.8 * (1 - e^-2) < 0.692. Purities range from 0 to 0.692.
    """
    x = Variable("x", 3, lower=0, upper=1)
    reactor = BlackBox(
        lambda heat, time: 0.8 * (1 - (heat - 0.5) ** 2) * np.sin(np.pi / 2 * time),
        name="reactor",
        noise=noise,
    )
    column = BlackBox(lambda c, reflux: c * (1 - np.exp(-2 * reflux)), name="column", noise=noise)
    purity = column(reactor(x[0], x[1]), x[2])
    return Problem(maximize=purity - 0.1 * np.sum(x), subject_to=[purity >= 0.95])


@entry(
    "Beam too light",
    "infeasible",
    "constrained",
    "engineering",
    "steep",
    optimum=_NOTHING,
    x=[0.75, 2],
    source="own",
)
def beam_too_light(noise: float | None) -> Problem:
    """A beam of area at most 1 and height at most 2 is to have a stiffness b t^3 of 6.5.

    b t^3 = (b t) t^2 <= 1 * 4 = 4. Stiffnesses range from 0.0625 to 8.
    """
    b, t = Variable("b", lower=0.5, upper=1), Variable("t", lower=0.5, upper=2)
    stiffness = BlackBox(lambda b, t: b * t**3, name="stiffness", noise=noise)
    return Problem(minimize=b + t, subject_to=[stiffness(b, t) >= 6.5, b * t <= 1])


@entry(
    "Emissions too strict",
    "infeasible",
    "constrained",
    "nested",
    "network",
    optimum=_NOTHING,
    x=[0.4970012962006, 0.4970012962006, 1, 1],
    source="own",
)
def emissions_too_strict(noise: float | None) -> Problem:
    """Two burners are to give 1.6 of power with emissions of at most 0.6.

    A burner's power p is at most 1, its emissions are p^2 (1.2 - 0.4 c) with a cleaner c <= 1, so
    at least 0.8 p^2. For p_1 + p_2 >= 1.6 they sum to at least 2 * 0.8 * 0.64 = 1.024 of 2.4.
    """
    x = Variable("x", 4, lower=0, upper=1)
    burner = BlackBox(lambda fuel: np.sin(np.pi / 2 * fuel), name="burner", noise=noise)
    left = BlackBox(lambda p, c: p**2 * (1.2 - 0.4 * c), name="left", noise=noise)
    right = BlackBox(lambda p, c: p**2 * (1.2 - 0.4 * c**2), name="right", noise=noise)
    first, second = burner(x[0]), burner(x[1])
    return Problem(
        minimize=np.sum(x),
        subject_to=[first + second >= 1.6, left(first, x[2]) + right(second, x[3]) <= 0.6],
    )
