"""Problems with whole numbers and labels: two machine designs, catalysts, additives."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Choice, Integer, Variable

# --- machine design -------------------------------------------------------------------------------
# Two design problems with whole numbers: a pressure vessel and a speed reducer.
#
# Both are old tests of mixed-integer optimization, where everything is known. Here the parts
# that a designer would take from a design code, a workshop or a simulation are black boxes.

SHEET = 0.0625
"""Sheets come in multiples of this thickness, in inches."""
CONTENT = 1_296_000.0
"""The least content of the vessel, in cubic inches."""


def required_thickness(radius: float) -> Array:
    """How thick shell and heads must be to bear the pressure, in inches."""
    return np.array([0.0193 * radius, 0.00954 * radius])


def welding(shell: int, radius: float, length: float) -> float:
    """What welding the vessel costs, in $, for a shell of so many sheets."""
    thickness = SHEET * shell
    return 3.1661 * thickness**2 * length + 19.84 * thickness**2 * radius


def pressure_vessel() -> KnownProblem:
    """Least cost of a cylinder with two half spheres; both thicknesses are numbers of sheets.

    A design code says how thick the walls must be, and a workshop what welding costs. What the
    sheets and their forming cost, and the content, follow from the geometry.
    """
    shell = Integer("shell", lower=1, upper=99)
    head = Integer("head", lower=1, upper=99)
    radius = Variable("radius", lower=10, upper=200)
    length = Variable("length", lower=10, upper=200)
    strength = BlackBox(
        required_thickness, name="strength", outputs=["shell", "head"], noise=0, lower=0
    )
    workshop = BlackBox(welding, name="welding", noise=0, lower=0)
    required = strength(radius)
    wall, cap = SHEET * shell, SHEET * head
    sheets = 0.6224 * wall * radius * length + 1.7781 * cap * radius**2
    content = np.pi * radius**2 * length + 4 / 3 * np.pi * radius**3
    return KnownProblem(
        "Pressure vessel",
        Problem(
            minimize=sheets + workshop(shell, radius, length),
            subject_to=[
                required["shell"] <= wall,
                required["head"] <= cap,
                content >= CONTENT,
            ],
        ),
        optimum=6059.714335048435,
        x=np.array([13, 42.09844559585492, 176.63659584243945, 7]),
        source="Sandgren (1990), with the box of Kannan and Kramer (1994); grey-box form ours",
        kind=Structure.CONSTRAINED,
    )


def input_shaft(pitch: float, length: float, diameter: float) -> Array:
    """Stress and deflection of the shaft of the pinion; the allowed ones are 1100 and 1."""
    return _shaft(pitch, length, diameter, 16.9e6)


def output_shaft(pitch: float, length: float, diameter: float) -> Array:
    """Stress and deflection of the shaft of the gear; the allowed ones are 850 and 1."""
    return _shaft(pitch, length, diameter, 157.5e6)


def _shaft(pitch: float, length: float, diameter: float, torque: float) -> Array:
    stress = np.sqrt((745 * length / pitch) ** 2 + torque) / (0.1 * diameter**3)
    return np.array([stress, 1.93 * length**3 / (pitch * diameter**4)])


def speed_reducer() -> KnownProblem:
    """Least weight of a gear box with a whole number of teeth, under eleven limits.

    A simulation of each shaft gives its stress and deflection. It reads the pitch diameter of the
    pinion, which is the module times the number of teeth. The weight and the other limits are
    known.
    """
    width = Variable("width", lower=2.6, upper=3.6)
    module = Variable("module", lower=0.7, upper=0.8)
    teeth = Integer("teeth", lower=17, upper=28)
    length = Variable("length", 2, lower=7.3, upper=8.3)
    diameter = Variable("diameter", 2, lower=[2.9, 5.0], upper=[3.9, 5.5])
    shafts = [
        BlackBox(shaft, outputs=["stress", "deflection"], noise=0, lower=0)
        for shaft in (input_shaft, output_shaft)
    ]
    pitch = module * teeth
    first, second = (shaft(pitch, length[k], diameter[k]) for k, shaft in enumerate(shafts))
    gears = 0.7854 * width * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
    shanks = 0.7854 * np.sum(length * diameter**2) + 7.4777 * np.sum(diameter**3)
    holes = 1.508 * width * np.sum(diameter**2)
    return KnownProblem(
        "Speed reducer",
        Problem(
            minimize=gears + shanks - holes,
            subject_to=[
                27 / (width * module**2 * teeth) <= 1,  # bending of the teeth
                397.5 / (width * module**2 * teeth**2) <= 1,  # pressure on the teeth
                first["deflection"] <= 1,
                second["deflection"] <= 1,
                first["stress"] <= 1100,
                second["stress"] <= 850,
                pitch <= 40,
                width >= 5 * module,
                width <= 12 * module,
                length[0] >= 1.5 * diameter[0] + 1.9,
                length[1] >= 1.1 * diameter[1] + 1.9,
            ],
        ),
        optimum=2994.471066146819,
        x=np.array([3.5, 0.7, 17, 7.3, 7.715319911478, 3.350214666097, 5.286654464981]),
        source="Golinski (1970), with a whole number of teeth; grey-box form ours",
        kind=Structure.CONSTRAINED,
    )


# --- catalysts ------------------------------------------------------------------------------------
# A choice of catalyst: known prices, and a reactor whose kinetics depend on the label.

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


# --- additives ------------------------------------------------------------------------------------
# At most three of eight additives: known costs, and an unknown response to what is combined.

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
