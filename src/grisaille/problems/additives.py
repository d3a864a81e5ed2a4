"""At most three of eight additives: known costs, and an unknown response to what is combined."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Integer
from grisaille.problems.known_problem import KnownProblem, Structure

COSTS = np.array([3.0, 2.5, 1.5, 1.0, 2.5, 0.5, 1.5, 0.5])
"""Of each additive, in $."""

# What each additive does on its own, and what pairs of them add to that or take from it.
_ALONE = np.array([6.0, 5.5, 4.0, 3.0, 5.0, 2.0, 3.5, 1.0])
_TOGETHER = {
    (0, 1): -3.0,
    (0, 4): -1.5,
    (1, 4): -2.0,
    (1, 6): -1.0,
    (2, 5): 2.5,
    (3, 6): 2.0,
    (5, 7): 2.0,
    (2, 7): 1.5,
    (3, 5): 1.0,
    (0, 7): 1.0,
}


def strength(chosen: Array) -> float:
    """The strength that additives give, which comes to rest at 20 the more they do."""
    together = sum(
        effect * chosen[first] * chosen[second] for (first, second), effect in _TOGETHER.items()
    )
    return float(20 * (1 - np.exp(-(_ALONE @ chosen + together) / 12)))


def additive_choice() -> KnownProblem:
    """Maximal worth of at most three of eight additives.

    The three that are strongest on their own hinder each other. The best three are weak ones, the
    weakest among them, that help each other.
    """
    chosen = Integer("chosen", 8, lower=0, upper=1)
    product = BlackBox(strength, noise=0, lower=0, upper=20)
    return KnownProblem(
        "Additive choice",
        Problem(maximize=1.5 * product(chosen) - COSTS @ chosen, subject_to=[chosen.sum() <= 3]),
        optimum=17.346037246797735,
        x=np.array([0, 0, 1, 0, 0, 1, 0, 1]),
        source="written for this library",
        kind=Structure.CONSTRAINED,
    )
