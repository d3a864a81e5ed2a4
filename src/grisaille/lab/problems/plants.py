"""Chemical plants: flowsheets with recycles, a reactor of known prices, a flash, and a blend.

`flowsheet`: A becomes B, and B becomes the waste D: A -> B, 2 B -> D, in a solvent, both
exothermic. The reactor is a simulation in time. What comes after it is known: the first column
takes most of the A that is left back to the reactor, the second one most of D out of the product.

`recycle_loop`: A becomes the product P, and two A become the waste W. The feed brings an inert that
only leaves with the purge. Streams are in kmol/h.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root

from grisaille.array_types import Array
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import join
from grisaille.language.problem import Problem
from grisaille.language.variable import Unknown, Variable

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


# --- recycle loop ---------------------------------------------------------------------------------

FEED = np.array([10.0, 0.5])
"""Of A and of the inert."""

_VOLUME = 2.0  # m3


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


# --- williams-otto --------------------------------------------------------------------------------

FEED_A = 1.8275
"""Feed of A in kg/s."""
MASS = 2105.2
"""Reactor hold-up in kg."""

_PRODUCTS = ("Xa", "Xe", "Xp", "Xg")


def simulate_products(u: NDArray[np.float64]) -> NDArray[np.float64]:
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
    reactor = BlackBox(simulate_products, name="reactor", outputs=list(_PRODUCTS), noise=0)
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


# --- flash drum -----------------------------------------------------------------------------------
# A flash of three components: the balance of Rachford and Rice is known, equilibria are not.

FLASH_FEED = np.array([0.4, 0.35, 0.25])
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
    liquid = FLASH_FEED / (1 + vapour * (k - 1))
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
