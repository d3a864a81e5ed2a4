"""A blend of four solvents: fractions sum to one, prices are known, properties are measured."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable
from grisaille.problems.known_problem import KnownProblem, Structure

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
