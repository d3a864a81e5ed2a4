"""A reactor and a separator with a recycle and a purge.

A becomes the product P, and two A become the waste W. The feed brings an inert that only leaves
with the purge. Streams are in kmol/h.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from grisaille.array_types import Array
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import join
from grisaille.language.problem import Problem
from grisaille.language.variable import Unknown, Variable

FEED = np.array([10.0, 0.5])
"""Of A and of the inert."""

_VOLUME = 2.0  # m3
_GAS_CONSTANT = 8.314e-3  # kJ/(mol K)


def react(stream: Array, temperature: float) -> Array:
    """What leaves a stirred reactor: A that is left, P and W.

    Args:
        stream: A and the inert that flow in.
        temperature: In K.
    """
    warmth = (1 / temperature - 1 / 400) / _GAS_CONSTANT
    makes_p = _VOLUME * 1.5 * np.exp(-60 * warmth)
    makes_w = _VOLUME * 0.03 * np.exp(-140 * warmth)
    flow = 0.1 * (stream[0] + stream[1])  # m3/h
    # The balance of A is quadratic in what is left of it.
    linear, square = 1 + makes_p / flow, 2 * makes_w / flow**2
    left = 2 * stream[0] / (linear + np.sqrt(linear**2 + 4 * square * stream[0]))
    return np.array([left, makes_p * left / flow, makes_w * (left / flow) ** 2])


def recover(reflux: float, load: float) -> float:
    """The part of A that goes overhead, for a reflux ratio and a load of A and inert."""
    return float(1 - 0.3 * np.exp(-1.1 * reflux) * (1 + 0.03 * load))


def recycle_of(temperature: float, purge: float, reflux: float) -> Array:
    """The recycle of A and of the inert that closes the loop."""
    inert = FEED[1] * (1 - purge) / purge

    def excess(recycled: float) -> float:
        left = react(FEED + np.array([recycled, inert]), temperature)[0]
        overhead = recover(reflux, left + FEED[1] + inert) * left
        return float((1 - purge) * overhead - recycled)

    return np.array([brentq(excess, 0, 100, xtol=1e-13, rtol=1e-14), inert])


def recycle_loop() -> KnownProblem:
    """Maximal profit in $/h of a reactor, a separator, a recycle and a purge.

    A simulator of the reactor and one of the separator are the black boxes. Balances, prices and
    the limits on purity and vapour are known; the recycle is unknown.
    """
    temperature = Variable("temperature", lower=370, upper=440)
    purge = Variable("purge", lower=0.02, upper=0.4)
    reflux = Variable("reflux", lower=0.5, upper=4)
    recycle = Unknown("recycle", 2, lower=0, upper=[60, 25])
    reactor = BlackBox(react, name="reactor", outputs=["A", "P", "W"], noise=0, lower=0)
    separator = BlackBox(recover, name="separator", noise=0, upper=1)
    y = reactor(FEED + recycle, temperature)
    inert = FEED[1] + recycle[1]
    recovery = separator(reflux, y["A"] + inert)
    overhead = recovery * y["A"]
    purity = y["P"] / (y["P"] + y["W"] + (1 - recovery) * y["A"])
    vapour = (1 + reflux) * (overhead + inert)
    returned = (1 - purge) * (overhead + inert)
    return KnownProblem(
        "Recycle loop",
        Problem(
            maximize=100 * y["P"] - 50 * y["W"] - 2 * vapour - returned,
            subject_to=[purity >= 0.93, vapour <= 25],
            equations=[recycle == (1 - purge) * join([overhead, inert], np.stack)],
        ),
        optimum=775.5749481282255,
        x=np.array(
            [1.417952254836, 1.584429424971, 415.5432730887862, 2.3803856608694, 0.23987379664199]
        ),
        source="written for this library",
        kind=Structure.CONSTRAINED,
    )
