"""A flash of three components: the balance of Rachford and Rice is known, equilibria are not."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Unknown, Variable
from grisaille.problems.known_problem import KnownProblem, Structure

FEED = np.array([0.4, 0.35, 0.25])
"""Fractions in the feed, the lightest component first."""


def equilibrium(temperature: float, pressure: float) -> Array:
    """Fraction in the vapour over fraction in the liquid, of each component; K and bar."""
    ideal = np.exp(np.array([10.2, 10.5, 10.9]) - np.array([2700, 3200, 3900]) / temperature)
    return ideal / pressure * (1 + 0.03 * pressure * np.array([-0.5, 0.2, 0.8]))


def flash() -> KnownProblem:
    """Maximal profit from the lightest component in the vapour, which must be pure enough.

    The balance determines the vapour fraction. It falls as the fraction rises, so that there is
    one solution; without two phases there is none, and the conditions are infeasible.
    """
    temperature = Variable("temperature", lower=310, upper=360)
    pressure = Variable("pressure", lower=2, upper=5)
    vapour = Unknown("vapour", lower=0.02, upper=0.98)
    constants = BlackBox(equilibrium, outputs=3, noise=0, lower=0)
    k = constants(temperature, pressure)
    liquid = FEED / (1 + vapour * (k - 1))
    light = k[0] * liquid[0]
    compression = 40 * vapour * np.log(6 / pressure)
    return KnownProblem(
        "Flash",
        Problem(
            maximize=100 * vapour * light - compression - 0.2 * (temperature - 310),
            subject_to=[light >= 0.6],
            equations=[np.sum((k - 1) * liquid) == 0],
        ),
        optimum=13.916160934319228,
        x=np.array([0.4297258521886422, 353.66729371187, 5]),
        source="written for this library; the balance is Rachford and Rice's (1952)",
        kind=Structure.CONSTRAINED,
    )
