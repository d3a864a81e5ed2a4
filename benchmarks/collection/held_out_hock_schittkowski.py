"""Problems of Hock and Schittkowski with even numbers and inequality constraints only.

Variables without bounds in the book have finite ones here, and parts of each problem are unknown.
"""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

_SOURCE = "Hock and Schittkowski (1981), Test examples for nonlinear programming codes, number "
_OURS = "; grey-box form our own"


@entry("HS 12", "smooth", "constrained", optimum=-30.0, x=[2, 3], source=f"{_SOURCE}12{_OURS}")
def hs_12(noise: float | None) -> Problem:
    """An unknown cost against known prices, under an unknown limit."""
    x = Variable("x", 2, lower=-4, upper=6)
    cost = BlackBox(lambda a, b: 0.5 * a**2 + b**2 - a * b, name="cost", noise=noise)
    load = BlackBox(lambda a, b: 4 * a**2 + b**2, name="load", noise=noise)
    return Problem(
        minimize=cost(x[0], x[1]) - 7 * x[0] - 7 * x[1], subject_to=[load(x[0], x[1]) <= 25]
    )


@entry(
    "HS 18",
    "smooth",
    "constrained",
    optimum=5.0,
    x=[np.sqrt(250), np.sqrt(2.5)],
    source=f"{_SOURCE}18{_OURS}",
)
def hs_18(noise: float | None) -> Problem:
    """Two unknown quantities must reach 25; what is paid is known."""
    x = Variable("x", 2, lower=[2, 0], upper=50)
    area = BlackBox(lambda a, b: a * b, name="area", noise=noise)
    square = BlackBox(lambda a, b: a**2 + b**2, name="square", noise=noise)
    return Problem(
        minimize=0.01 * x[0] ** 2 + x[1] ** 2,
        subject_to=[area(x[0], x[1]) >= 25, square(x[0], x[1]) >= 25],
    )


@entry(
    "HS 20",
    "steep",
    "multimodal",
    "constrained",
    optimum=81.5 - 25 * np.sqrt(3),
    x=[0.5, np.sqrt(3) / 2],
    source=f"{_SOURCE}20{_OURS}",
)
def hs_20(noise: float | None) -> Problem:
    """Rosenbrock's valley outside a circle; the bend of the valley is unknown."""
    x = Variable("x", 2, lower=[-0.5, -2], upper=[0.5, 2])
    bend = BlackBox(lambda a, b: b - a**2, name="bend", noise=noise)
    radius = BlackBox(lambda a, b: a**2 + b**2, name="radius", noise=noise)
    return Problem(
        minimize=100 * bend(x[0], x[1]) ** 2 + (1 - x[0]) ** 2,
        subject_to=[
            x[0] + x[1] ** 2 >= 0,
            x[0] ** 2 + x[1] >= 0,
            radius(x[0], x[1]) >= 1,
        ],
    )


@entry(
    "HS 24",
    "smooth",
    "constrained",
    optimum=-1.0,
    x=[3, np.sqrt(3)],
    source=f"{_SOURCE}24{_OURS}",
)
def hs_24(noise: float | None) -> Problem:
    """Two unknown factors of a product, in a known triangle."""
    x = Variable("x", 2, lower=0, upper=6)
    root = np.sqrt(3)
    first = BlackBox(lambda a: (a - 3) ** 2 - 9, name="first", noise=noise)
    second = BlackBox(lambda b: b**3 / (27 * np.sqrt(3)), name="second", noise=noise)
    return Problem(
        minimize=first(x[0]) * second(x[1]),
        subject_to=[x[1] <= x[0] / root, x[0] + root * x[1] <= 6],
    )


@entry(
    "HS 36", "smooth", "constrained", optimum=-3300.0, x=[20, 11, 15], source=f"{_SOURCE}36{_OURS}"
)
def hs_36(noise: float | None) -> Problem:
    """The volume of a parcel is unknown, its girth is known; the optimum is a vertex."""
    x = Variable("x", 3, lower=0, upper=[20, 11, 42])
    volume = BlackBox(lambda x: np.prod(x), name="volume", noise=noise)
    return Problem(minimize=-volume(x), subject_to=[x[0] + 2 * x[1] + 2 * x[2] <= 72])


@entry(
    "HS 44",
    "multimodal",
    "constrained",
    optimum=-15.0,
    x=[0, 3, 0, 4],
    source=f"{_SOURCE}44{_OURS}",
)
def hs_44(noise: float | None) -> Problem:
    """Two unknown bilinear gains over a known polytope; several vertices are local optima."""
    x = Variable("x", 4, lower=0, upper=[3, 4, 4, 5])
    first = BlackBox(lambda a, c, d: a * (d - c), name="first", noise=noise)
    second = BlackBox(lambda b, c, d: b * (c - d), name="second", noise=noise)
    gains = first(x[0], x[2], x[3]) + second(x[1], x[2], x[3])
    return Problem(
        minimize=x[0] - x[1] - x[2] + gains,
        subject_to=[
            x[0] + 2 * x[1] <= 8,
            4 * x[0] + x[1] <= 12,
            3 * x[0] + 4 * x[1] <= 12,
            2 * x[2] + x[3] <= 8,
            x[2] + 2 * x[3] <= 8,
            x[2] + x[3] <= 5,
        ],
    )


@entry(
    "HS 64",
    "steep",
    "badly scaled",
    "constrained",
    "separable",
    optimum=6299.84242592,
    x=[108.734873568, 85.12633470449, 204.3243891555],
    source=f"{_SOURCE}64{_OURS}",
)
def hs_64(noise: float | None) -> Problem:
    """Costs of setting up three machines are unknown; storage costs and the limit are known."""
    x = Variable("x", 3, lower=[10, 40, 130], upper=300)
    setup = [
        BlackBox(lambda a, price=price: price / a, name=f"setup{k}", noise=noise)
        for k, price in enumerate((5e4, 7.2e4, 1.44e5))
    ]
    costs = setup[0](x[0]) + setup[1](x[1]) + setup[2](x[2])
    return Problem(
        minimize=5 * x[0] + 20 * x[1] + 10 * x[2] + costs,
        subject_to=[4 / x[0] + 32 / x[1] + 120 / x[2] <= 1],
    )


@entry(
    "HS 66",
    "steep",
    "constrained",
    optimum=0.51816327237,
    x=[0.1841261440745, 1.202167458587, 3.327320938149],
    source=f"{_SOURCE}66{_OURS}",
)
def hs_66(noise: float | None) -> Problem:
    """An unknown growth, called twice, limits each variable by the one before."""
    x = Variable("x", 3, lower=0, upper=[3, 5, 10])
    growth = BlackBox(np.exp, name="growth", noise=noise)
    return Problem(
        minimize=0.2 * x[2] - 0.8 * x[0],
        subject_to=[growth(x[0]) <= x[1], growth(x[1]) <= x[2]],
    )


@entry(
    "HS 76",
    "smooth",
    "constrained",
    optimum=-103 / 22,
    x=[3 / 11, 23 / 11, 0, 6 / 11],
    source=f"{_SOURCE}76{_OURS}",
)
def hs_76(noise: float | None) -> Problem:
    """The interaction of four quantities is unknown; squares, prices and limits are known."""
    x = Variable("x", 4, lower=0, upper=[2, 3, 3, 5])
    interaction = BlackBox(lambda a, c, d: c * (d - a), name="interaction", noise=noise)
    squares = x[0] ** 2 + 0.5 * x[1] ** 2 + x[2] ** 2 + 0.5 * x[3] ** 2
    return Problem(
        minimize=squares + interaction(x[0], x[2], x[3]) - x[0] - 3 * x[1] + x[2] - x[3],
        subject_to=[
            x[0] + 2 * x[1] + x[2] + x[3] <= 5,
            3 * x[0] + x[1] + 2 * x[2] - x[3] <= 4,
            x[1] + 4 * x[2] >= 1.5,
        ],
    )


@entry(
    "HS 84",
    "badly scaled",
    "nearly infeasible",
    "constrained",
    optimum=-5280335.13321,
    x=[4.5374309746554, 2.4, 60, 9.3, 7],
    source=f"{_SOURCE}84{_OURS}",
)
def hs_84(noise: float | None) -> Problem:
    """Profit and three loads of a plant, per unit of its feed, are unknown and of size 1e6."""
    feed = Variable("feed", lower=0, upper=1000)
    x = Variable("x", 4, lower=[1.2, 20, 9, 6.5], upper=[2.4, 60, 9.3, 7])
    profit = np.array([-8720288.849, 150512.5253, -156.6950325, 476470.3222, 729482.8271])
    loads = np.array(
        [
            [-145421.402, 2931.1506, -40.427932, 5106.192, 15711.36],
            [-155011.1084, 4360.53352, 12.9492344, 10236.884, 13176.786],
            [-326669.5104, 7390.68412, -27.8986976, 16643.076, 30988.146],
        ]
    )
    earned = BlackBox(lambda x: profit[0] + profit[1:] @ x, name="profit", noise=noise)
    loaded = BlackBox(
        lambda x: loads[:, 0] + loads[:, 1:] @ x, name="loads", outputs=3, noise=noise
    )
    used = feed * loaded(x)
    limits = (294000, 294000, 277200)
    return Problem(
        minimize=24345 - feed * earned(x),
        subject_to=[
            *(used[k] >= 0 for k in range(3)),
            *(used[k] <= limit for k, limit in enumerate(limits)),
        ],
    )


@entry(
    "HS 100",
    "badly scaled",
    "constrained",
    optimum=680.630057374,
    x=[
        2.330499372778,
        1.95137237277,
        -0.4775413917873,
        4.365726233821,
        -0.6244869693433,
        1.038131018579,
        1.594226711411,
    ],
    source=f"{_SOURCE}100{_OURS}",
)
def hs_100(noise: float | None) -> Problem:
    """Seven variables, four constraints; four boxes of two or three variables."""
    x = Variable("x", 7, lower=-5, upper=6)
    pair = BlackBox(lambda a, b: 2 * a**2 + 3 * b**4, name="pair", noise=noise)
    steep = BlackBox(lambda e: 10 * e**6, name="steep", noise=noise)
    last = BlackBox(lambda f, g: 7 * f**2 + g**4 - 4 * f * g, name="last", noise=noise)
    cross = BlackBox(
        lambda a, b, c: 4 * a**2 + b**2 - 3 * a * b + 2 * c**2, name="cross", noise=noise
    )
    known = (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2
    return Problem(
        minimize=known + steep(x[4]) + last(x[5], x[6]) - 10 * x[5] - 8 * x[6],
        subject_to=[
            pair(x[0], x[1]) + x[2] + 4 * x[3] ** 2 + 5 * x[4] <= 127,
            7 * x[0] + 3 * x[1] + 10 * x[2] ** 2 + x[3] - x[4] <= 282,
            23 * x[0] + x[1] ** 2 + 6 * x[5] ** 2 - 8 * x[6] <= 196,
            cross(x[0], x[1], x[2]) + 5 * x[5] - 11 * x[6] <= 0,
        ],
    )


@entry(
    "HS 104",
    "steep",
    "constrained",
    "process",
    "nearly infeasible",
    optimum=3.9511634396,
    x=[
        6.465144853459,
        2.232665851567,
        0.6674433407309,
        0.5957650291377,
        5.932670518241,
        5.52723694826,
        1.013314025098,
        0.4006717090612,
    ],
    source=f"{_SOURCE}104 (optimal reactor design){_OURS}",
)
def hs_104(noise: float | None) -> Problem:
    """Two reactors: what their volumes cost and how fast they react are unknown powers."""
    x = Variable("x", 8, lower=0.1, upper=10)
    volume = BlackBox(lambda a, b: 0.4 * a**0.67 * b**-0.67, name="volume", noise=noise)
    rate = BlackBox(lambda a, b: 4 * a / b + 2 * a**-0.71 / b, name="rate", noise=noise)
    loss = BlackBox(lambda a, b: 0.0588 * a**-1.3 * b, name="loss", noise=noise)
    cost = volume(x[0], x[6]) + volume(x[1], x[7]) + 10 - x[0] - x[1]
    return Problem(
        minimize=cost,
        subject_to=[
            0.0588 * x[4] * x[6] + 0.1 * x[0] <= 1,
            0.0588 * x[5] * x[7] + 0.1 * x[0] + 0.1 * x[1] <= 1,
            rate(x[2], x[4]) + loss(x[2], x[6]) <= 1,
            rate(x[3], x[5]) + loss(x[3], x[7]) <= 1,
        ],
    )


@entry(
    "HS 106",
    "badly scaled",
    "nearly infeasible",
    "constrained",
    "process",
    optimum=7049.2479213,
    x=[
        579.3024215211,
        1359.967261013,
        5109.97823877,
        182.0173474992,
        295.6008704493,
        217.9826525008,
        286.4164770499,
        395.6008704493,
    ],
    source=f"{_SOURCE}106 (heat exchanger design){_OURS}",
)
def hs_106(noise: float | None) -> Problem:
    """Three heat exchangers: the heat that each transfers is an unknown product."""
    area = Variable("area", 3, lower=[100, 1000, 1000], upper=10000)
    x = Variable("x", 5, lower=10, upper=1000)
    transfer = BlackBox(lambda a, t: a * t, name="transfer", noise=noise)
    return Problem(
        minimize=np.sum(area),
        subject_to=[
            0.0025 * (x[0] + x[2]) <= 1,
            0.0025 * (x[1] + x[3] - x[0]) <= 1,
            0.01 * (x[4] - x[1]) <= 1,
            1e-6 * (100 * area[0] + 833.33252 * x[0] - 83333.333 - transfer(area[0], x[2])) <= 0,
            1e-6 * (area[1] * x[0] + 1250 * (x[1] - x[0]) - transfer(area[1], x[3])) <= 0,
            1e-6 * (1.25e6 + area[2] * x[1] - 2500 * x[1] - transfer(area[2], x[4])) <= 0,
        ],
    )
