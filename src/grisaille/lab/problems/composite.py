"""Problems with one layer of black boxes inside a known formula, with and without constraints."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

# --- composite ------------------------------------------------------------------------------------
# Unconstrained problems with one layer of black boxes inside a known formula.

PLACES = np.array([0.0, 1.0, 2.5])
"""Where the environmental model is observed."""
TIMES = np.array([15.0, 30.0, 45.0, 60.0])
"""When the environmental model is observed."""
SPILL = np.array([10.0, 0.07, 1.505, 30.1525])
"""The mass, diffusion rate, place and time of the spills that are to be found."""

_CENTRES = np.array([[3.0, 5.0, 2.0, 1.0, 7.0], [5.0, 2.0, 1.0, 4.0, 9.0]])
_WEIGHTS = np.array([1.0, 2.0, 5.0, 2.0, 3.0])


def concentrations(mass: float, diffusion: float, place: float, time: float) -> Array:
    """What is left of two spills into a channel, at 3 places and 4 times, (12,).

    c(s, t) = M / sqrt(4 pi D t) exp(-s^2 / (4 D t))
    + [t > tau] M / sqrt(4 pi D (t - tau)) exp(-(s - L)^2 / (4 D (t - tau))).

    Args:
        mass: M, spilled each time.
        diffusion: D, the rate of diffusion.
        place: L, where the second spill happens; the first one happens at 0.
        time: tau, when the second spill happens; the first one happens at 0.
    """
    return spills(PLACES, TIMES, mass, diffusion, place, time).ravel()


def spills(
    places: Array, times: Array, mass: float, diffusion: float, place: float, time: float
) -> Array:
    """What is left of two spills into a channel, at any places and times: (places, times)."""
    across = places[:, None]
    later = time < times
    left = _spread(mass, diffusion, across, times)
    left[:, later] += _spread(mass, diffusion, across - place, times[later] - time)
    return left


def environmental() -> KnownProblem:
    """Find the mass, diffusion rate, place and time of two spills from 12 concentrations.

    minimize sum_st (c(s, t) - c*(s, t))^2, where c* are the concentrations of the true spills. One
    call of the simulator gives all twelve.
    """
    variables = spill_variables()
    box = BlackBox(concentrations, name="concentrations", outputs=12, noise=0, lower=0)
    misfit = box(*variables) - concentrations(*SPILL)
    return KnownProblem(
        "Environmental model",
        Problem(minimize=np.sum(misfit**2)),
        optimum=0.0,
        x=SPILL.copy(),
        source="Bliznyuk et al. (2008); composite form after Astudillo and Frazier (2019)",
        kind=Structure.ONE_LAYER,
    )


def spill_variables() -> tuple[Variable, ...]:
    """The mass, diffusion rate, place and time of the spills."""
    return (
        Variable("M", lower=7, upper=13),
        Variable("D", lower=0.02, upper=0.12),
        Variable("L", lower=0.01, upper=3),
        Variable("tau", lower=30.01, upper=30.295),
    )


def langermann() -> KnownProblem:
    """Five squared distances from a black box, in a known sum of waves.

    maximize -sum_j c_j exp(-y_j / pi) cos(pi y_j), where y_j = (x_1 - A_1j)^2 + (x_2 - A_2j)^2.
    """
    x = Variable("x", 2, lower=0, upper=10)

    def distances(x: Array) -> Array:
        return np.asarray(((x[:, None] - _CENTRES) ** 2).sum(0))

    y = BlackBox(distances, name="distances", outputs=5, noise=0, lower=0)(x)
    return KnownProblem(
        "Langermann",
        Problem(maximize=-(_WEIGHTS @ (np.exp(-y / np.pi) * np.cos(np.pi * y)))),
        optimum=4.155809291848,
        x=np.array([2.793402207, 1.597232504]),
        source="Langermann's function; composite form after Astudillo and Frazier (2019)",
        kind=Structure.ONE_LAYER,
    )


def goldstein_price() -> KnownProblem:
    """Two polynomials from black boxes, in a known polynomial.

    minimize (1 + (x_1 + x_2 + 1)^2 (19 - 14 x_1 + 3 x_1^2 + y_2))
    (30 + y_1 (18 - 32 x_1 + 12 x_1^2 + 48 x_2 - 36 x_1 x_2 + 27 x_2^2)),
    where y_1 = (2 x_1 - 3 x_2)^2 and y_2 = -14 x_2 + 6 x_1 x_2 + 3 x_2^2.
    """
    x = Variable("x", 2, lower=-2, upper=2)
    a, b = x[0], x[1]
    first = BlackBox(lambda a, b: (2 * a - 3 * b) ** 2, name="y1", noise=0, lower=0)
    second = BlackBox(lambda a, b: -14 * b + 6 * a * b + 3 * b**2, name="y2", noise=0)
    y1, y2 = first(a, b), second(a, b)
    left = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 + y2)
    right = 30 + y1 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    return KnownProblem(
        "Goldstein-Price",
        Problem(minimize=left * right),
        optimum=3.0,
        x=np.array([0.0, -1.0]),
        source="Goldstein and Price (1971), in grey-box form",
        kind=Structure.ONE_LAYER,
    )


def _spread(mass: float, diffusion: float, distance: Array, time: Array) -> Array:
    """The concentration at a distance from a spill and a time after it."""
    width = 4 * diffusion * time
    return np.asarray(mass / np.sqrt(np.pi * width) * np.exp(-(distance**2) / width))


# --- constrained ----------------------------------------------------------------------------------
# Constrained problems with one layer of black boxes.


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
