"""A choice of catalyst: known prices, and a reactor whose kinetics depend on the label."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Choice, Variable
from grisaille.problems.known_problem import KnownProblem, Structure

PRICES = {"cobalt": 8.0, "palladium": 14.0, "platinum": 38.0, "nickel": 11.0}
"""Of each catalyst, in $/(kg h): they wear out."""

# For each catalyst, of A -> B and of B -> C: the rate at 400 K in 1/(kg h), and the activation
# energy in kJ/mol.
_KINETICS = {
    "cobalt": (1.6, 70.0, 0.08, 80.0),
    "palladium": (3.2, 50.0, 0.16, 75.0),
    "platinum": (4.0, 55.0, 0.10, 85.0),
    "nickel": (1.0, 60.0, 0.03, 95.0),
}
_GAS_CONSTANT = 8.314e-3  # kJ/(mol K)


def simulate(catalyst: str, temperature: float, time: float, amount: float) -> Array:
    """The parts of the feed A that a stirred reactor makes into B and C.

    Args:
        catalyst: Its name.
        temperature: In K.
        time: That the feed stays in the reactor, in h.
        amount: Of the catalyst, in kg.
    """
    rate_b, energy_b, rate_c, energy_c = _KINETICS[catalyst]
    warmth = (1 / temperature - 1 / 400) / _GAS_CONSTANT
    makes_b = amount * rate_b * np.exp(-energy_b * warmth) * time
    makes_c = amount * rate_c * np.exp(-energy_c * warmth) * time
    b = makes_b / ((1 + makes_b) * (1 + makes_c))
    return np.array([b, makes_c * b])


def catalyst_choice() -> KnownProblem:
    """Maximal profit in $/h of a reactor with one of four catalysts, under a limit on waste."""
    catalyst = Choice("catalyst", list(PRICES))
    temperature = Variable("temperature", lower=350, upper=450)
    time = Variable("time", lower=0.2, upper=4)
    amount = Variable("amount", lower=0.2, upper=3)
    reactor = BlackBox(simulate, name="reactor", outputs=["B", "C"], noise=0, lower=0, upper=1)
    y = reactor(catalyst, temperature, time, amount)
    price = np.array(list(PRICES.values())) @ catalyst.indicators
    running = 20 * time + 0.2 * (temperature - 350)
    return KnownProblem(
        "Catalyst choice",
        Problem(maximize=300 * y["B"] - 60 - price * amount - running, subject_to=[y["C"] <= 0.08]),
        optimum=96.628758029954,
        x=np.array([2, 413.48154959928, 0.9752981891555, 0.5133148464497]),
        source="written for this library",
        kind=Structure.CONSTRAINED,
    )
