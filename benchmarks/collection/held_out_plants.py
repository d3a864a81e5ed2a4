"""Larger problems: a plant of seven units, and models fitted to what was observed."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

_HOURS = np.array([0.25, 0.5, 1, 2, 3, 5, 8, 12])
_DOSE = (1.4, 0.22, 18.0)


@entry(
    "Seven-unit plant",
    "network",
    "nested",
    "process",
    "constrained",
    optimum=3.91333936028,
    x=[
        0.1792012666809,
        0.5327914212772,
        0.3027005063865,
        0.6906920940797,
        0.3634188555229,
        0.1949333254499,
        0.5999453664659,
        0.3602653467004,
        0.7586754697831,
        0.5254806370435,
        0.2818651717095,
        0.6356960821863,
        0.4371690738507,
        0.2130387212168,
    ],
    source="our own; saturating units in series and in parallel",
)
def seven_unit_plant(noise: float | None) -> Problem:
    """Two feeds, two reactors, a mixer and two finishing units: 14 settings, two for each unit.

    Each unit u gives y = a tanh(s) + s exp(-|p - c|^2), where s is what it receives and p are its
    settings. Units 1 and 2 read settings only; 3 reads 1, 4 reads 2, 5 reads 3 and 4, 6 reads 5,
    7 reads 5 and a known share of 1. Prices of products and settings are known.
    """
    settings = Variable("settings", (7, 2), lower=0, upper=1)
    best = 0.2 + 0.6 * ((np.arange(14).reshape(7, 2) * 0.618034) % 1)
    prices = 0.05 + 0.1 * ((np.arange(14).reshape(7, 2) * 0.414214) % 1)

    def unit(k: int) -> BlackBox:
        def outcome(received: float, settings: Array) -> float:
            away = ((settings - best[k]) ** 2).sum()
            return float(0.4 * np.tanh(received) + received * np.exp(-2 * away))

        return BlackBox(outcome, name=f"unit{k + 1}", noise=noise)

    first, second = unit(0)(1.0, settings[0]), unit(1)(0.8, settings[1])
    third, fourth = unit(2)(first, settings[2]), unit(3)(second, settings[3])
    fifth = unit(4)(0.5 * third + 0.5 * fourth, settings[4])
    sixth = unit(5)(fifth, settings[5])
    last = unit(6)(0.7 * fifth + 0.2 * first, settings[6])
    return Problem(
        maximize=sixth + 1.2 * last - np.sum(prices * settings),
        subject_to=[third <= 1.6, fifth <= 1.9, np.sum(settings[:, 0]) <= 3, sixth - last <= 0.3],
    )


def _blood(absorption: float, elimination: float, volume: float) -> Array:
    """The concentration after one oral dose: one compartment, first-order absorption."""
    gap = absorption - elimination
    left = np.exp(-elimination * _HOURS) - np.exp(-absorption * _HOURS)
    return np.asarray(100 * absorption / (volume * gap) * left)


@entry(
    "Oral dose",
    "calibration",
    "smooth",
    optimum=0.0,
    x=_DOSE,
    source="Bateman's equation, as in textbooks of pharmacokinetics; grey-box form our own",
)
def oral_dose(noise: float | None) -> Problem:
    """Three rates of a body from eight concentrations; one simulation gives all."""
    rates = (
        Variable("absorption", lower=0.7, upper=3),
        Variable("elimination", lower=0.05, upper=0.5),
        Variable("volume", lower=8, upper=40),
    )
    simulated = BlackBox(_blood, name="blood", outputs=8, noise=noise)(*rates)
    return Problem(minimize=np.sum((simulated - _blood(*_DOSE)) ** 2))


_SUCTIONS = np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6])
_SOIL = (0.08, 0.43, 3.6, 1.56)


def _retention(dry: float, wet: float, scale: float, shape: float) -> Array:
    """The water that a soil holds at ten suctions, in per cent."""
    drained = (1 + (scale * _SUCTIONS) ** shape) ** (1 / shape - 1)
    return np.asarray(100 * (dry + (wet - dry) * drained))


@entry(
    "Soil water",
    "calibration",
    "smooth",
    optimum=0.0,
    x=_SOIL,
    source="van Genuchten (1980), parameters of his order for a loam; grey-box form our own",
)
def soil_water(noise: float | None) -> Problem:
    """Four parameters of a soil from ten water contents; one simulation gives all."""
    parameters = (
        Variable("dry", lower=0, upper=0.2),
        Variable("wet", lower=0.3, upper=0.6),
        Variable("scale", lower=0.5, upper=15),
        Variable("shape", lower=1.1, upper=3),
    )
    simulated = BlackBox(_retention, name="retention", outputs=10, noise=noise)(*parameters)
    return Problem(minimize=np.mean((simulated - _retention(*_SOIL)) ** 2))


@entry(
    "Eight wells",
    "separable",
    "constrained",
    "kinked",
    "multimodal",
    optimum=14.8921482734,
    x=[
        0.7089813561854,
        1.01091721757,
        0.9647516137409,
        1.246342573289,
        1.210803081078,
        0,
        1.449374040121,
        1.408830118512,
    ],
    source="our own; gas-lift allocation, after Kanu, Mach and Brown (1981)",
)
def eight_wells(noise: float | None) -> Problem:
    """Known compression shares gas among eight wells; the oil of each is a box of its gas.

    Wells do not flow below a least rate: each curve has a kink there.
    """
    gas = Variable("gas", 8, lower=0, upper=3)

    def well(k: int) -> BlackBox:
        start, gain = 0.2 + 0.08 * k, 3 + ((5 * k) % 8) / 3

        def oil(gas: float) -> float:
            flowing = max(gas - start, 0.0)
            return float(gain * flowing / (0.5 + flowing) - 0.15 * flowing**2)

        return BlackBox(oil, name=f"well{k + 1}", noise=noise)

    oils = [well(k)(gas[k]) for k in range(8)]
    total = sum(oils[1:], start=oils[0])
    return Problem(
        maximize=total - 0.25 * np.sum(gas),
        subject_to=[np.sum(gas) <= 8, total <= 20, oils[0] + oils[1] >= 2],
    )
