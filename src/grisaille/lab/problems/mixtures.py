"""Mixtures: a flash of three components, and a blend of four solvents."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Unknown, Variable

# --- flash drum -----------------------------------------------------------------------------------
# A flash of three components: the balance of Rachford and Rice is known, equilibria are not.

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


# --- mixtures -------------------------------------------------------------------------------------
# A blend of four solvents: fractions sum to one, prices are known, properties are measured.

PRICES = np.array([1.3, 0.9, 1.6, 0.7])
"""Of acetone, ethanol, toluene and a cheap ester, in $/kg."""

_VISCOSITIES = np.array([0.6, 1.1, 2.4, 0.35])  # mPa s
# How much more viscous pairs are than their parts, in the logarithm.
_PAIRS = np.array([[0, 0.5, -0.6, 0.3], [0, 0, 0.8, -0.4], [0, 0, 0, 1.1], [0, 0, 0, 0]])
# Solubility parameters of each solvent (dispersion, polar, hydrogen bonds), and of the resin.
_PARAMETERS = np.array([[15.5, 10.4, 7.0], [15.8, 8.8, 19.4], [18.0, 1.4, 2.0], [15.3, 6.1, 4.1]])
_RESIN = np.array([16.4, 6.8, 8.2])


def viscosity(fractions: Array) -> float:
    """The viscosity of a blend in mPa s, by Grunberg and Nissan's rule."""
    return float(np.exp(fractions @ np.log(_VISCOSITIES) + fractions @ _PAIRS @ fractions))


def solubility(fractions: Array) -> float:
    """How much resin a blend dissolves in g/L: the less, the further their parameters are."""
    away = fractions @ _PARAMETERS - _RESIN
    squared = 4 * away[0] ** 2 + away[1] ** 2 + away[2] ** 2
    return float(100 / (1 + squared / 16))


def solvent_blend() -> KnownProblem:
    """The cheapest blend that dissolves enough resin and is viscous enough."""
    fractions = Variable("fractions", 4, lower=0, upper=1)
    thick = BlackBox(viscosity, noise=0, lower=0)
    dissolves = BlackBox(solubility, noise=0, lower=0, upper=100)
    return KnownProblem(
        "Solvent blend",
        Problem(
            minimize=PRICES @ fractions,
            subject_to=[
                fractions.sum() == 1,
                thick(fractions) >= 0.6,
                dissolves(fractions) >= 80,
            ],
        ),
        optimum=0.837159782146895,
        x=np.array([0, 0.36763424964889, 0.07070325801902, 0.56166249233209]),
        source="written for this library",
        kind=Structure.CONSTRAINED,
    )
