"""A flowsheet: a stirred reactor that can extinguish, two columns and a recycle.

A becomes B, and B becomes the waste D: A -> B, 2 B -> D, in a solvent, both exothermic. The reactor
is a simulation in time. What comes after it is known: the first column takes most of the A that is
left back to the reactor, the second one most of D out of the product.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.integrate import solve_ivp

from grisaille.array_types import Array
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

HEAT_CAPACITY = 2000.0
"""Of the liquid, in kJ/(m3 K)."""
STORED_AT = 300.0
"""Temperature in K of what is fed, before it is heated."""

_GAS_CONSTANT = 8.314e-3  # kJ/(mol K)
# Heats of both reactions, in kJ/kmol of A and of D.
_HEAT_OF_B, _HEAT_OF_D = 80e3, 40e3
# Heat transfer of the jacket: 600 kJ/(h m2 K), over 5 m2 of a vessel of 1 m3.
_TRANSFER, _AREA = 600.0, 5.0
# The vessel and its jacket store twice as much heat as the liquid does, so temperatures are slow:
# without them some reactors would oscillate.
_INERTIA = 3.0
# After so many residence times the slowest reactor is at rest.
_RESIDENCE_TIMES = 600.0

_OUTPUTS = ("A", "B", "D", "temperature")


def simulate(
    flow: float, concentration: float, feed: float, coolant: float, volume: float
) -> Array:
    """The steady state that a hot reactor comes to: burning, or extinguished.

    Args:
        flow: In m3/h.
        concentration: Of A in what flows in, in kmol/m3.
        feed: Temperature of what flows in, in K.
        coolant: Temperature of the jacket, in K.
        volume: Of the reactor, in m3.

    Returns:
        Concentrations of A, B and D in what flows out, in kmol/m3, and the temperature in K.

    Raises:
        RuntimeError: The integration failed.
    """
    residence = volume / flow
    transfer = _TRANSFER * _AREA * volume ** (2 / 3)

    def slopes(_hours: float, state: Array) -> tuple[float, float, float]:
        a, b, kelvin = state
        warmth = (1 / kelvin - 1 / 400) / _GAS_CONSTANT
        makes_b = 15.0 * np.exp(-70 * warmth) * a
        makes_d = 0.02 * np.exp(-85 * warmth) * b * b
        heat = _HEAT_OF_B * makes_b + _HEAT_OF_D * makes_d
        gained = heat - transfer / volume * (kelvin - coolant)
        return (
            (concentration - a) / residence - makes_b,
            -b / residence + makes_b - 2 * makes_d,
            ((feed - kelvin) / residence + gained / HEAT_CAPACITY) / _INERTIA,
        )

    ignited = (0.0, concentration, feed + _HEAT_OF_B * concentration / HEAT_CAPACITY)
    end = _RESIDENCE_TIMES * residence
    run = solve_ivp(slopes, (0, end), ignited, method="LSODA", rtol=1e-10, atol=1e-12)
    if not run.success:
        raise RuntimeError(f"the reactor did not come to rest: {run.message}")
    a, b, kelvin = run.y[:, -1]
    return np.array([a, b, (concentration - a - b) / 2, kelvin])


def flowsheet() -> KnownProblem:
    """Maximal profit in $/h of a reactor, two columns and a recycle, under four limits.

    Noise is left out and nothing is declared, as in a first attempt at a problem of one's own.
    """
    exact = KnownProblem(
        "Flowsheet",
        _formulate(noise=0),
        optimum=688.1446394882,
        x=np.array([8, 2.310573811498, 323.6887915991, 360, 6.88837977288, 0.9191574821061]),
        source="written for this library",
        kind=Structure.CONSTRAINED,
    )
    return replace(exact, problem=_formulate(noise=None), truth=exact.measure)


def _formulate(noise: float | None) -> Problem:
    flow = Variable("flow", lower=2, upper=8)
    concentration = Variable("concentration", lower=1, upper=2.5)
    feed = Variable("feed", lower=310, upper=370)
    coolant = Variable("coolant", lower=310, upper=360)
    volume = Variable("volume", lower=2, upper=10)
    recovery = Variable("recovery", lower=0.8, upper=0.98)
    reactor = BlackBox(simulate, name="reactor", outputs=list(_OUTPUTS), noise=noise)
    y = reactor(flow, concentration, feed, coolant, volume)

    # Balances in kmol/h. What is chosen is the feed of the reactor, so the recycle is explicit.
    left, product, waste = flow * y["A"], flow * y["B"], flow * y["D"]
    recycle = recovery * left
    fresh = flow * concentration - recycle
    purity = product / (product + left - recycle + 0.1 * waste)
    vapour = recycle * (1 + 0.2 * recovery / (1 - recovery))

    heating = 0.035 * vapour + HEAT_CAPACITY / 1e6 * flow * (feed - STORED_AT)  # GJ/h
    costs = 90 * fresh + 20 * waste + 20 * heating + 20 * flow
    return Problem(
        maximize=160 * product - costs - 50 * volume**0.6,
        subject_to=[purity >= 0.985, y["temperature"] <= 390, vapour <= 8, waste <= 0.2],
    )
