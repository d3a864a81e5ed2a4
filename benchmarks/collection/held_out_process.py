"""Process systems: prices and balances are known, units are simulated."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable


@entry(
    "Haverly pooling 3",
    "nearly infeasible",
    "process",
    "constrained",
    optimum=750.0,
    x=[0, 0, 0, 50, 150],
    source="Haverly (1978), the third case; the sulphur of the pool is unknown",
)
def haverly(noise: float | None) -> Problem:
    """Two crude oils are pooled, a third is added; an analyser gives the pool's sulphur."""
    high = Variable("high", lower=0, upper=300)
    low = Variable("low", lower=10, upper=300)
    pooled = Variable("pooled", lower=0, upper=100)  # from the pool to the first product
    added = Variable("added", 2, lower=0, upper=[100, 200])  # of the third oil, to each product
    analyser = BlackBox(lambda a, b: (3 * a + b) / (a + b), name="sulphur", noise=noise)
    sulphur = analyser(high, low)
    rest = high + low - pooled
    first, second = pooled + added[0], rest + added[1]
    return Problem(
        maximize=9 * first + 15 * second - 6 * high - 13 * low - 10 * np.sum(added),
        subject_to=[
            rest >= 0,
            first <= 100,
            second <= 200,
            sulphur * pooled + 2 * added[0] <= 2.5 * first,
            sulphur * rest + 2 * added[1] <= 1.5 * second,
        ],
    )


@entry(
    "Alkylation",
    "process",
    "nested",
    "constrained",
    optimum=1161.33660236,
    x=[1728.920894729, 10.41111831945, 90.61608880927],
    source="Bracken and McCormick (1968), with its balances solved for the other variables",
)
def alkylation(noise: float | None) -> Problem:
    """The profit of an alkylation unit; four regressions, of which two read others, are unknown."""
    olefin = Variable("olefin", lower=1000, upper=2000)
    ratio = Variable("ratio", lower=3, upper=12)
    strength = Variable("strength", lower=85, upper=93)
    alkylate = olefin * BlackBox(
        lambda r: 1.12 + 0.13167 * r - 0.00667 * r**2, name="yield", noise=noise
    )(ratio)
    octane = BlackBox(
        lambda r, s: 86.35 + 1.098 * r - 0.038 * r**2 + 0.325 * (s - 89), name="octane", noise=noise
    )(ratio, strength)
    performance = BlackBox(lambda o: -133 + 3 * o, name="performance", noise=noise)(octane)
    dilution = BlackBox(lambda p: 35.82 - 0.222 * p, name="dilution", noise=noise)(performance)
    makeup = 1.22 * alkylate - olefin
    recycle = ratio * olefin - makeup
    acid = alkylate * strength * dilution / (1000 * (98 - strength))
    costs = 5.04 * olefin + 0.035 * recycle + 10 * acid + 3.36 * makeup
    return Problem(
        maximize=0.063 * alkylate * octane - costs,
        subject_to=[
            recycle <= 16000,
            acid <= 120,
            alkylate <= 5000,
            makeup <= 2000,
            octane >= 90,
            octane <= 95,
            dilution >= 1.2,
            performance >= 145,
        ],
    )


@entry(
    "Batch recipe",
    "process",
    "nested",
    "constrained",
    optimum=6.7015518592,
    x=[337.2301307105, 331.0647446243, 2, 3],
    source="our own; consecutive first-order reactions A to B to C in closed form",
)
def batch_recipe(noise: float | None) -> Problem:
    """Two temperature steps of a batch; each step is the same box, called at its own state.

    The second call reads what the first leaves. Prices, heating and the total time are known.
    """
    kelvin = Variable("kelvin", 2, lower=320, upper=370)
    hours = Variable("hours", 2, lower=0.2, upper=3)

    def step(a: float, b: float, kelvin: float, hours: float) -> tuple[float, float]:
        first = np.exp(8000 * (1 / 345 - 1 / kelvin))
        second = 0.3 * np.exp(13000 * (1 / 345 - 1 / kelvin))
        if abs(first - second) < 1e-9:
            second += 2e-9
        left, lost = np.exp(-first * hours), np.exp(-second * hours)
        return a * left, b * lost + a * first / (second - first) * (left - lost)

    box = BlackBox(step, name="step", outputs=["a", "b"], noise=noise)
    middle = box(1.0, 0.0, kelvin[0], hours[0])
    end = box(middle["a"], middle["b"], kelvin[1], hours[1])
    heating = 0.002 * np.sum((kelvin - 320) * hours)
    return Problem(
        maximize=10 * end["b"] - heating,
        subject_to=[np.sum(hours) <= 5, end["a"] <= 0.1, 1 - end["a"] - end["b"] <= 0.3],
    )


@entry(
    "Shortcut column",
    "process",
    "nested",
    "constrained",
    optimum=44.4689404441,
    x=[0.02351542345134, 0.9764845765754, 1.34292888612],
    source="our own; Fenske, Underwood and Gilliland equations for a binary column",
)
def shortcut_column(noise: float | None) -> Problem:
    """The cost of a distillation column, from two correlations in a row and known balances.

    The second correlation has no value for a reflux below the least one.
    """
    top = Variable("top", lower=0.9, upper=0.995)
    bottom = Variable("bottom", lower=0.005, upper=0.1)
    excess = Variable("excess", lower=1.05, upper=2)

    def limits(top: float, bottom: float) -> tuple[float, float]:
        volatility = 2.4
        stages = np.log(top / (1 - top) * (1 - bottom) / bottom) / np.log(volatility)
        reflux = (top / 0.5 - volatility * (1 - top) / 0.5) / (volatility - 1)
        return float(stages), float(reflux)

    least = BlackBox(limits, name="limits", outputs=["stages", "reflux"], noise=noise)(top, bottom)
    reflux = excess * least["reflux"]
    gilliland = BlackBox(
        lambda u: 0.75 * (1 - u**0.5668), name="gilliland", noise=noise, input_lower=0
    )
    share = gilliland((reflux - least["reflux"]) / (reflux + 1))
    stages = (least["stages"] + share) / (1 - share)
    distillate = (0.5 - bottom) / (top - bottom)
    revenue = 300 * distillate * (top - 0.5)
    return Problem(
        maximize=revenue - 0.6 * stages - 12 * distillate * (reflux + 1),
        subject_to=[distillate * top >= 0.46, stages <= 20],
    )


@entry(
    "Compressor train",
    "process",
    "constrained",
    "smooth",
    optimum=5.38807184315,
    x=[3.393806773809, 11.87337149838],
    source="our own; three stages with intercooling, after textbooks of thermodynamics",
)
def compressor_train(noise: float | None) -> Problem:
    """The work of three compressors, each a box of its known pressure ratio; heat limits one."""
    pressure = Variable("pressure", 2, lower=[1.2, 8], upper=[8, 25])

    def stage(number: int, exponent: float, efficiency: float) -> BlackBox:
        return BlackBox(
            lambda ratio: (ratio**exponent - 1) / (exponent * efficiency),
            name=f"stage{number}",
            noise=noise,
        )

    low = stage(1, 0.30, 0.82)(pressure[0])
    middle = stage(2, 0.28, 0.75)(pressure[1] / pressure[0])
    high = stage(3, 0.26, 0.66)(30 / pressure[1])
    return Problem(
        minimize=low + middle + high,
        subject_to=[low <= 1.8, middle <= 2.0, pressure[1] - pressure[0] <= 9],
    )


@entry(
    "Pump station",
    "process",
    "constrained",
    "separable",
    optimum=8.29197051212,
    x=[31.03838665949, 36.0489860118, 43.16931192712, 49.74331540158],
    source="our own; parallel pumps with efficiency curves",
)
def pump_station(noise: float | None) -> Problem:
    """Four pumps share a known demand; the power of each is a box of its flow.

    The unit price of power is known, and so is the wear of each pump. The efficiency has a
    maximum, so that the power is not convex and the best split is not the even one.
    """
    flow = Variable("flow", 4, lower=5, upper=[60, 60, 80, 80])
    boxes = [
        BlackBox(
            lambda q, rated=rated, head=head: (
                q * (head + 0.002 * q**2) / (0.3 + 0.5 * np.exp(-(((q - rated) / 25) ** 2)))
            ),
            name=f"power{k}",
            noise=noise,
        )
        for k, (rated, head) in enumerate([(30, 20), (40, 22), (50, 18), (60, 21)])
    ]
    power = sum(box(flow[k]) for k, box in enumerate(boxes))
    return Problem(
        minimize=0.001 * power + 0.0005 * np.sum(flow**2),
        subject_to=[np.sum(flow) >= 160, flow[0] + flow[1] >= 50],
    )
