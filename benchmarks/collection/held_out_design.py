"""Engineering design: weights and costs are known, stresses and deflections are simulated."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable


@entry(
    "Speed reducer",
    "nearly infeasible",
    "engineering",
    "constrained",
    "badly scaled",
    optimum=2994.47107008,
    x=[3.50000001, 0.7, 17, 7.3, 7.715319911478, 3.350214666107, 5.28665446498],
    source="Golinski (1970), continuous; the three constraints that others imply are left out",
)
def speed_reducer(noise: float | None) -> Problem:
    """The weight of a gear box is known; stresses of its two shafts are simulated."""
    x = Variable(
        "x",
        7,
        lower=[2.6, 0.7, 17, 7.3, 7.3, 2.9, 5.0],
        upper=[3.6, 0.8, 28, 8.3, 8.3, 3.9, 5.5],
    )

    def stress(load: float) -> BlackBox:
        def shaft(module: float, teeth: float, length: float, diameter: float) -> float:
            moment = np.sqrt((745 * length / (module * teeth)) ** 2 + load * 1e6)
            return float(moment / (0.1 * diameter**3))

        return BlackBox(shaft, name=f"stress{load:g}", noise=noise)

    deflection = BlackBox(
        lambda length, diameter: 1.93 * length**3 / diameter**4, name="deflection", noise=noise
    )
    gears = 3.3333 * x[2] ** 2 + 14.9334 * x[2] - 43.0934
    weight = 0.7854 * x[0] * x[1] ** 2 * gears - 1.508 * x[0] * (x[5] ** 2 + x[6] ** 2)
    weight = weight + 7.4777 * (x[5] ** 3 + x[6] ** 3)
    weight = weight + 0.7854 * (x[3] * x[5] ** 2 + x[4] * x[6] ** 2)
    return Problem(
        minimize=weight,
        subject_to=[
            27 / (x[0] * x[1] ** 2 * x[2]) <= 1,
            deflection(x[3], x[5]) <= x[1] * x[2],
            deflection(x[4], x[6]) <= x[1] * x[2],
            stress(16.9)(x[1], x[2], x[3], x[5]) <= 1100,
            stress(157.5)(x[1], x[2], x[4], x[6]) <= 850,
            5 * x[1] <= x[0],
            1.5 * x[5] + 1.9 <= x[3],
            1.1 * x[6] + 1.9 <= x[4],
        ],
    )


@entry(
    "Three-bar truss",
    "engineering",
    "constrained",
    "smooth",
    optimum=263.895842928,
    x=[0.7886751357019, 0.4082482828436],
    source="Nowacki (1973), after Ray and Saini (2001); grey-box form our own",
)
def three_bar_truss(noise: float | None) -> Problem:
    """The volume of a truss is known; one simulation gives the stresses of its bars."""
    area = Variable("area", 2, lower=0.1, upper=1)

    def stresses(area: Array) -> Array:
        root = np.sqrt(2)
        outer, inner = area
        whole = root * outer**2 + 2 * outer * inner
        return np.array([(root * outer + inner) / whole, inner / whole, 1 / (outer + root * inner)])

    stress = BlackBox(stresses, name="stresses", outputs=3, noise=noise)(area)
    volume = 100 * (2 * np.sqrt(2) * area[0] + area[1])
    return Problem(minimize=volume, subject_to=[2 * stress[k] <= 2 for k in range(3)])


@entry(
    "Cantilever beam",
    "engineering",
    "constrained",
    "steep",
    "separable",
    optimum=1.339956353,
    x=[6.016015920032, 5.309173567171, 4.494329630826, 3.501475806218, 2.152664578951],
    source="Fleury and Braibant (1986); grey-box form our own",
)
def cantilever_beam(noise: float | None) -> Problem:
    """Five segments with one unknown flexibility, called five times; the weight is known."""
    x = Variable("x", 5, lower=1, upper=10)
    flexibility = BlackBox(lambda height: height**-3, name="flexibility", noise=noise)
    factors = (61, 37, 19, 7, 1)
    bent = sum(factor * flexibility(x[k]) for k, factor in enumerate(factors))
    return Problem(minimize=0.0624 * np.sum(x), subject_to=[bent <= 1])


@entry(
    "I-beam",
    "nearly infeasible",
    "engineering",
    "constrained",
    "badly scaled",
    optimum=0.0130741189052,
    x=[80, 50, 0.9, 2.321792260693],
    source="Gold and Krishnamurty (1997); grey-box form our own",
)
def i_beam(noise: float | None) -> Problem:
    """The least deflection of a beam with a known cross-section area and a simulated stress."""
    x = Variable("x", 4, lower=[30, 10, 0.9, 0.9], upper=[80, 50, 5, 5])

    def deflection(height: float, width: float, web: float, flange: float) -> float:
        inner = height - 2 * flange
        arm = (height - flange) / 2
        inertia = web * inner**3 / 12 + width * flange**3 / 6 + 2 * width * flange * arm**2
        return float(5000 / inertia)

    def stress(height: float, width: float, web: float, flange: float) -> float:
        inner = height - 2 * flange
        upright = web * inner**3 + 2 * width * flange * (4 * flange**2 + 3 * height * inner)
        sideways = inner * web**3 + 2 * flange * width**3
        return float(18e4 * height / upright + 15e3 * width / sideways)

    bent = BlackBox(deflection, name="deflection", noise=noise)
    stressed = BlackBox(stress, name="stress", noise=noise)
    height, width, web, flange = x
    return Problem(
        minimize=bent(height, width, web, flange),
        subject_to=[
            2 * width * flange + web * (height - 2 * flange) <= 300,
            stressed(height, width, web, flange) <= 6,
        ],
    )


@entry(
    "Tubular column",
    "engineering",
    "constrained",
    "smooth",
    optimum=26.4994968298,
    x=[5.451156214852, 0.2919654777543],
    source="Rao, Engineering Optimization; grey-box form our own",
)
def tubular_column(noise: float | None) -> Problem:
    """The cost of a column is known; yield and buckling are simulated."""
    diameter = Variable("diameter", lower=2, upper=14)
    wall = Variable("wall", lower=0.2, upper=0.8)
    crushing = BlackBox(lambda d, t: 2500 / (np.pi * d * t * 500), name="crushing", noise=noise)
    buckling = BlackBox(
        lambda d, t: 8 * 2500 * 250**2 / (np.pi**3 * 0.85e6 * d * t * (d**2 + t**2)),
        name="buckling",
        noise=noise,
    )
    return Problem(
        minimize=9.8 * diameter * wall + 2 * diameter,
        subject_to=[crushing(diameter, wall) <= 1, buckling(diameter, wall) <= 1],
    )


@entry(
    "Feedback gains",
    "engineering",
    "constrained",
    "smooth",
    optimum=0.602941315156,
    x=[5.898167863289, 2.352006272078],
    source="our own; the closed-form step response of a second-order loop",
)
def feedback_gains(noise: float | None) -> Problem:
    """Two gains of a position control: one experiment gives its step response.

    The loop s^2 + (1 + k_d) s + k_p has frequency w = sqrt(k_p) and damping z = (1 + k_d) / (2 w).
    The squared error is (1 + 4 z^2) / (4 z w), the overshoot exp(-pi z / sqrt(1 - z^2)) if z < 1.
    """
    proportional = Variable("proportional", lower=0.5, upper=30)
    derivative = Variable("derivative", lower=0, upper=10)

    def response(proportional: float, derivative: float) -> tuple[float, float]:
        frequency = np.sqrt(proportional)
        damping = (1 + derivative) / (2 * frequency)
        error = (1 + 4 * damping**2) / (4 * damping * frequency)
        if damping >= 1:
            return float(error), 0.0
        return float(error), float(np.exp(-np.pi * damping / np.sqrt(1 - damping**2)))

    loop = BlackBox(response, name="response", outputs=["error", "overshoot"], noise=noise)
    seen = loop(proportional, derivative)
    effort = 0.01 * proportional + 0.02 * derivative**2
    return Problem(minimize=seen["error"] + effort, subject_to=[seen["overshoot"] <= 0.05])
