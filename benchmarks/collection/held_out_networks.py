"""Networks of black boxes that read one another, with known costs and balances around them."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable


@entry(
    "Fermentation line",
    "network",
    "nested",
    "constrained",
    optimum=22.9711173678,
    x=[12.6465428531, 5.768179106569, 4.140424616455, 63.56356605307],
    source="our own; growth, adsorption and drying curves of textbooks",
)
def fermentation_line(noise: float | None) -> Problem:
    """A fermenter, a purification and a dryer in a row; each is a box, and prices are known."""
    sugar = Variable("sugar", lower=5, upper=40)
    acidity = Variable("acidity", lower=4, upper=8)
    resin = Variable("resin", lower=1, upper=10)
    heat = Variable("heat", lower=40, upper=90)

    def ferment(sugar: float, acidity: float) -> tuple[float, float]:
        product = 12 * sugar / (10 + sugar + sugar**2 / 60) * np.exp(-((acidity - 5.8) ** 2) / 2)
        return float(product), float(0.5 + 0.04 * sugar + 0.1 * (acidity - 5) ** 2)

    def purify(product: float, dirt: float, resin: float) -> tuple[float, float]:
        kept = product * (1 - 0.04 * resin)
        left = dirt * np.exp(-0.35 * resin)
        return float(kept), float(left)

    def dry(kept: float, heat: float) -> float:
        return float(kept * (1 - 0.25 * np.exp(-(heat - 40) / 12)) * (1 - ((heat - 40) / 90) ** 3))

    broth = BlackBox(ferment, name="ferment", outputs=["product", "dirt"], noise=noise)(
        sugar, acidity
    )
    pure = BlackBox(purify, name="purify", outputs=["kept", "left"], noise=noise)(
        broth["product"], broth["dirt"], resin
    )
    powder = BlackBox(dry, name="dry", noise=noise)(pure["kept"], heat)
    costs = 0.2 * sugar + 0.4 * resin + 0.02 * heat
    return Problem(
        maximize=6 * powder - costs, subject_to=[pure["left"] <= 0.25, pure["kept"] <= 5]
    )


@entry(
    "Spare parts",
    "network",
    "nested",
    "kinked",
    optimum=12.098287275062,
    x=[2.16588059058554, 3.94822203885748],
    source="our own; the newsvendor's known kinked cost behind two unknown units",
)
def spare_parts(noise: float | None) -> Problem:
    """A press feeds a finishing unit of limited speed; what is short or too much is paid for.

    The finishing box has a kink where it reaches its capacity, and the known cost has one where
    the demand is met.
    """
    speed = Variable("speed", lower=1, upper=10)
    staff = Variable("staff", lower=1, upper=6)
    press = BlackBox(lambda s: 9 * s / (1 + 0.05 * s**2), name="press", noise=noise)
    finish = BlackBox(
        lambda made, staff: min(0.95 * made, 5 * staff**0.8), name="finish", noise=noise
    )
    finished = finish(press(speed), staff)
    gap = finished - 15
    paid = np.maximum(4 * gap, -10 * gap)
    return Problem(minimize=paid + 1.5 * speed + 2 * staff + 0.3 * (speed - staff) ** 2)


@entry(
    "Light-off",
    "network",
    "nested",
    "steep",
    "constrained",
    optimum=3.52090349892,
    x=[0.6051248722005, 0.4952791379194],
    source="our own; the ignition of a catalyst as a steep sigmoid",
)
def light_off(noise: float | None) -> Problem:
    """A burner heats a catalyst, which lights off within a few degrees; emissions are limited."""
    fuel = Variable("fuel", lower=0, upper=1)
    air = Variable("air", lower=0, upper=1)
    burner = BlackBox(
        lambda fuel, air: 300 + 260 * fuel * np.exp(-4 * (air - 0.35 - 0.3 * fuel) ** 2),
        name="burner",
        noise=noise,
    )
    catalyst = BlackBox(
        lambda kelvin, air: (0.6 + 0.39 * np.sqrt(1 + air)) / (1 + np.exp(-(kelvin - 450) / 4)),
        name="catalyst",
        noise=noise,
    )
    conversion = catalyst(burner(fuel, air), air)
    return Problem(
        minimize=5 * fuel + air, subject_to=[conversion >= 0.9, 1 + fuel - conversion <= 0.8]
    )


@entry(
    "Membrane in SI units",
    "network",
    "nested",
    "badly scaled",
    "constrained",
    optimum=397.685933992,
    x=[578203.7246119, 2.229494220217e-06],
    source="our own; filtration with pressures in Pa and channels in m",
)
def membrane(noise: float | None) -> Problem:
    """Pressures of 1e6 and channels of 1e-6: flux, then fouling, and known costs in euros."""
    pressure = Variable("pressure", lower=1e5, upper=5e6)
    radius = Variable("radius", lower=2e-7, upper=3e-6)
    flux = BlackBox(lambda p, r: 5e5 * r**2 * p / (1 + p / 2e6), name="flux", noise=noise)(
        pressure, radius
    )
    fouling = BlackBox(lambda j, r: 4e12 * r * (1 + j**2), name="fouling", noise=noise)(
        flux, radius
    )
    return Problem(
        maximize=400 * flux - 1e-6 * pressure**1.2 - 2e-6 * fouling,
        subject_to=[fouling / 2e7 <= 1, flux / (5e5 * radius) <= 1],
    )


@entry(
    "Two narrow windows",
    "network",
    "nested",
    "nearly infeasible",
    "constrained",
    optimum=0.706485152279,
    x=[171.1501632933, 0, 3.683692033639],
    source="our own; less than 1 % of the domain is feasible",
)
def two_narrow_windows(noise: float | None) -> Problem:
    """A melt must have a viscosity within one window and, after a die, a swell within another."""
    x = Variable("x", 3, lower=[150, 0, 1], upper=[250, 1, 9])
    viscosity = BlackBox(
        lambda heat, filler: 8 * np.exp(-(heat - 150) / 45) * (1 + 2.5 * filler + 4 * filler**2),
        name="viscosity",
        noise=noise,
    )(x[0], x[1])
    swell = BlackBox(
        lambda v, gap: 1 + 0.9 * np.tanh(v / 6) + 0.6 * np.sin(gap) / gap, name="swell", noise=noise
    )(viscosity, x[2])
    return Problem(
        minimize=0.02 * (x[0] - 150) + (x[2] - 2) ** 2 / 10 - x[1],
        subject_to=[viscosity >= 5, viscosity <= 5.8, swell >= 1.47, swell <= 1.53],
    )


@entry(
    "Coated lens",
    "multimodal",
    "smooth",
    "engineering",
    optimum=3.05596368757,
    x=[1.391368818385, 0.4855954432432],
    source="our own; reflection at a single layer on glass (Airy), at three colours",
)
def coated_lens(noise: float | None) -> Problem:
    """Reflections at three colours from one box are to be near known targets.

    Several thicknesses nearly do it; a known preference chooses between them.
    """
    index = Variable("index", lower=1.2, upper=2.0)
    microns = Variable("microns", lower=0.05, upper=0.9)
    colours = np.array([0.45, 0.55, 0.65])

    def reflections(index: float, microns: float) -> Array:
        above, below = (1 - index) / (1 + index), (index - 1.52) / (index + 1.52)
        wave = np.cos(4 * np.pi * index * microns / colours)
        both = above**2 + below**2 + 2 * above * below * wave
        return np.asarray(100 * both / (1 + (above * below) ** 2 + 2 * above * below * wave))

    seen = BlackBox(reflections, name="reflections", outputs=3, noise=noise)(index, microns)
    target = np.array([6.0, 1.5, 4.0])
    return Problem(
        minimize=np.sum((seen - target) ** 2) + 0.5 * (microns - 0.5) ** 2 + (index - 1.5) ** 2
    )


@entry(
    "Resonator chain",
    "network",
    "nested",
    "multimodal",
    optimum=1.41070961564,
    x=[2.78369508308, 1.47889371832],
    source="our own; two resonances in a row",
)
def resonator_chain(noise: float | None) -> Problem:
    """The frequency of a first resonator drives a second one; the gain has many peaks."""
    x = Variable("x", 2, lower=[0, 0], upper=[4, 3])
    first = BlackBox(lambda a: 2 + np.sin(2.3 * a) + 0.35 * a, name="first", noise=noise)(x[0])
    second = BlackBox(
        lambda f, b: np.cos(3 * f - 2 * b) * np.exp(-((b - 1.2) ** 2)) + 0.2 * np.sin(5 * b),
        name="second",
        noise=noise,
    )(first, x[1])
    return Problem(maximize=second - 0.05 * (x[0] - 3) ** 2 + 0.1 * first)


@entry(
    "Depth four",
    "network",
    "nested",
    "smooth",
    optimum=1.23458692638,
    x=[0.8145203853196, 0.7638233618862, 0.6395285995934, 0.4599951449261],
    source="our own; four units in a chain, each with one setting",
)
def depth_four(noise: float | None) -> Problem:
    """Crushing, leaching, extraction and electrolysis of an ore, one setting each."""
    x = Variable("x", 4, lower=0, upper=1)
    size = BlackBox(lambda power: 0.2 + np.exp(-2.5 * power), name="crush", noise=noise)(x[0])
    leached = BlackBox(
        lambda size, acid: (0.4 + 0.9 * np.tanh(2 * acid)) * np.exp(-size),
        name="leach",
        noise=noise,
    )(size, x[1])
    extracted = BlackBox(
        lambda c, flow: c * (1 - np.exp(-3 * flow)) * (1 - 0.3 * flow), name="extract", noise=noise
    )(leached, x[2])
    copper = BlackBox(
        lambda c, current: c * np.sin(1 + 1.2 * current) - 0.3 * (current - c) ** 2,
        name="electrolysis",
        noise=noise,
    )(extracted, x[3])
    return Problem(maximize=5 * copper - x @ np.array([0.9, 0.7, 0.4, 0.5]))
