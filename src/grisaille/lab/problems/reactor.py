"""The Williams-Otto reactor: known prices, and product fractions from a simulator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

FEED_A = 1.8275
"""Feed of A in kg/s."""
MASS = 2105.2
"""Reactor hold-up in kg."""

_OUTPUTS = ("Xa", "Xe", "Xp", "Xg")


def simulate(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mass fractions of A, E, P and G at steady state, for u = (feed of B in kg/s, °C).

    Raises:
        RuntimeError: The steady state was not found.
    """
    feed_b, celsius = u
    kelvin = celsius + 273.15
    k1 = 1.6599e6 * np.exp(-6666.7 / kelvin)
    k2 = 7.2117e8 * np.exp(-8333.3 / kelvin)
    k3 = 2.6745e12 * np.exp(-11111.0 / kelvin)
    outflow = FEED_A + feed_b

    def balances(fractions: NDArray[np.float64]) -> list[float]:
        a, b, c, e, p, g = fractions
        r1, r2, r3 = k1 * a * b * MASS, k2 * b * c * MASS, k3 * c * p * MASS
        return [
            FEED_A - r1 - outflow * a,
            feed_b - r1 - r2 - outflow * b,
            2 * r1 - 2 * r2 - r3 - outflow * c,
            2 * r2 - outflow * e,
            r2 - 0.5 * r3 - outflow * p,
            1.5 * r3 - outflow * g,
        ]

    steady = root(balances, [0.1, 0.4, 0.02, 0.3, 0.1, 0.05], tol=1e-12)
    if not steady.success or (steady.x < -1e-9).any():
        raise RuntimeError(f"no steady state found: {steady.message}")
    return np.asarray(steady.x[[0, 3, 4, 5]])


def williams_otto() -> KnownProblem:
    """Maximal profit of the Williams-Otto reactor under two purity limits, as a minimization.

    One call of the simulator gives all four fractions; prices and balances are known.
    """
    u = Variable("u", 2, lower=[4.0, 70.0], upper=[7.0, 100.0])
    reactor = BlackBox(simulate, name="reactor", outputs=list(_OUTPUTS), noise=0)
    y = reactor(u)
    outflow = FEED_A + u[0]
    profit = (
        1043.38 * y["Xp"] * outflow + 20.92 * y["Xe"] * outflow - 79.23 * FEED_A - 118.34 * u[0]
    )
    return KnownProblem(
        "Williams-Otto",
        Problem(minimize=-profit, subject_to=[y["Xa"] <= 0.12, y["Xg"] <= 0.08]),
        optimum=-75.819953201521,
        x=np.array([4.389358031324, 80.494819408505]),
        source="Williams and Otto (1960), as used in real-time optimization and by CONFIG",
        kind=Structure.CONSTRAINED,
    )
