"""Engineering design and process problems, whose physics is unknown and whose costs are known."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable


@entry(
    "Pressure vessel",
    "constrained",
    "engineering",
    "badly scaled",
    optimum=5885.332773,
    x=[0.7781686413828, 40.3196187241, 200, 0.3846491626279],
    source="Sandgren (1990), Nonlinear integer and discrete programming in mechanical design "
    "optimization; all variables continuous; grey-box form our own",
)
def pressure_vessel(noise: float | None) -> Problem:
    """Material is known; what forming and welding cost, and what the vessel holds, are not."""
    shell = Variable("shell", lower=0.0625, upper=6)
    head = Variable("head", lower=0.0625, upper=6)
    radius, length = Variable("R", lower=10, upper=60), Variable("L", lower=10, upper=200)
    welding = BlackBox(
        lambda t, r, long: 3.1661 * t**2 * long + 19.84 * t**2 * r, name="welding", noise=noise
    )
    volume = BlackBox(
        lambda r, long: np.pi * r**2 * long + 4 / 3 * np.pi * r**3, name="volume", noise=noise
    )
    material = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
    return Problem(
        minimize=material + welding(shell, radius, length),
        subject_to=[
            0.0193 * radius <= shell,
            0.00954 * radius <= head,
            volume(radius, length) / 1296000 >= 1,
        ],
    )


def _shear(h: float, seam: float, t: float) -> float:
    """Shear stress in the weld in psi, for a load of 6000 lb at a distance of 14 in."""
    moment = 6000 * (14 + seam / 2)
    arm = np.sqrt(seam**2 / 4 + ((h + t) / 2) ** 2)
    polar = 2 * np.sqrt(2) * h * seam * (seam**2 / 12 + ((h + t) / 2) ** 2)
    primary, secondary = 6000 / (np.sqrt(2) * h * seam), moment * arm / polar
    return float(np.sqrt(primary**2 + primary * secondary * seam / arm + secondary**2))


def _buckling(t: float, b: float) -> float:
    """Load in lb at which the bar buckles."""
    return float(4.013 * 30e6 * t * b**3 / 6 / 14**2 * (1 - t / 28 * np.sqrt(30e6 / 48e6)))


@entry(
    "Welded beam",
    "constrained",
    "engineering",
    "steep",
    optimum=1.72485230859,
    x=[0.2057296387861, 3.470488687151, 9.036623910358, 0.2057296397861],
    source="Rao (1996), Engineering Optimization; grey-box form our own",
)
def welded_beam(noise: float | None) -> Problem:
    """Cost, bending stress and deflection are known; the weld's shear and buckling are not."""
    h, seam = Variable("h", lower=0.125, upper=2), Variable("seam", lower=0.5, upper=10)
    t, b = Variable("t", lower=1, upper=10), Variable("b", lower=0.1, upper=2)
    shear = BlackBox(_shear, name="shear", noise=noise)
    buckling = BlackBox(_buckling, name="buckling", noise=noise)
    return Problem(
        minimize=1.10471 * h**2 * seam + 0.04811 * t * b * (14 + seam),
        subject_to=[
            shear(h, seam, t) <= 13600,
            504000 / (b * t**2) <= 30000,
            h <= b,
            2.1952 / (b * t**3) <= 0.25,
            buckling(t, b) >= 6000,
        ],
    )


@entry(
    "Spring",
    "constrained",
    "engineering",
    "steep",
    "nearly infeasible",
    optimum=0.01266523278,
    x=[11.2889651636, 0.35671773947, 0.0516890605737],
    source="Arora (1989), Introduction to Optimum Design; grey-box form our own",
)
def spring(noise: float | None) -> Problem:
    """The weight is known; deflection, shear stress and surge frequency are three boxes."""
    d, wide = Variable("d", lower=0.05, upper=0.2), Variable("D", lower=0.25, upper=1.3)
    coils = Variable("N", lower=2, upper=15)
    deflection = BlackBox(lambda d, w, n: w**3 * n / (71785 * d**4), name="deflection", noise=noise)
    stress = BlackBox(
        lambda d, w: (4 * w**2 - d * w) / (12566 * (w * d**3 - d**4)) + 1 / (5108 * d**2),
        name="stress",
        noise=noise,
    )
    surge = BlackBox(lambda d, w, n: 140.45 * d / (w**2 * n), name="surge", noise=noise)
    return Problem(
        minimize=(coils + 2) * wide * d**2,
        subject_to=[
            deflection(d, wide, coils) >= 1,
            stress(d, wide) <= 1,
            surge(d, wide, coils) >= 1,
            d + wide <= 1.5,
        ],
    )


@entry(
    "Haverly pooling",
    "constrained",
    "process",
    "multimodal",
    optimum=400.0,
    x=[0, 0, 100, 100, 0],
    source="Haverly (1978), Studies of the behavior of recursion for the pooling problem; "
    "flows that balance by construction; grey-box form our own",
)
def haverly(noise: float | None) -> Problem:
    """What a pool of two crudes is like in sulphur is unknown; all flows and prices are known."""
    share = Variable("share", lower=0, upper=1)
    pool_x, direct_x = Variable("Px", lower=0, upper=100), Variable("Cx", lower=0, upper=100)
    pool_y, direct_y = Variable("Py", lower=0, upper=200), Variable("Cy", lower=0, upper=200)
    sulphur = BlackBox(lambda q: 1 + 2 * q, name="sulphur", noise=noise)
    pooled = sulphur(share)
    x, y = pool_x + direct_x, pool_y + direct_y
    crude = (6 * share + 16 * (1 - share)) * (pool_x + pool_y) + 10 * (direct_x + direct_y)
    return Problem(
        maximize=9 * x + 15 * y - crude,
        subject_to=[
            pooled * pool_x + 2 * direct_x <= 2.5 * x,
            pooled * pool_y + 2 * direct_y <= 1.5 * y,
            x <= 100,
            y <= 200,
        ],
    )


def _reactor(a: float, b: float, kelvin: float) -> Array:
    """A and B behind a stirred tank with A -> B -> C, both of first order, for a residence of 1."""
    fast, slow = 4e4 * np.exp(-3600 / kelvin), 6e8 * np.exp(-7200 / kelvin)
    rest = a / (1 + fast)
    return np.array([rest, (b + fast * rest) / (1 + slow)])


@entry(
    "CSTR cascade",
    "constrained",
    "process",
    "nested",
    "network",
    "smooth",
    optimum=0.111055492,
    x=[370.033961573, 354.463602656, 348.774187768],
    source="own; a cascade as in Levenspiel, Chemical Reaction Engineering",
)
def cstr_cascade(noise: float | None) -> Problem:
    """Three tanks in a row, each a box; the temperatures maximize B less the cost of heat."""
    temperature = Variable("T", 3, lower=300, upper=400)
    a, b = 1.0, 0.0
    for k in range(3):
        tank = BlackBox(_reactor, name=f"tank{k + 1}", outputs=["A", "B"], noise=noise)
        out = tank(a, b, temperature[k])
        a, b = out["A"], out["B"]
    heat = np.sum(temperature - 300) / 3000
    return Problem(maximize=b - heat, subject_to=[a <= 0.05, temperature[0] <= temperature[1] + 20])


@entry(
    "Heat exchanger network",
    "constrained",
    "process",
    "steep",
    "badly scaled",
    optimum=7049.24802053,
    x=[
        579.306770917,
        1359.97063398,
        5109.97061563,
        182.017706805,
        295.601175375,
        217.982293195,
        286.41653143,
        395.601175375,
    ],
    source="Avriel and Williams (1971), An extension of geometric programming with applications "
    "in engineering optimization; Hock and Schittkowski (1981), problem 106; grey-box form our own",
)
def heat_exchangers(noise: float | None) -> Problem:
    """The sum of three areas is least; what each exchanger transfers is a box."""
    area = Variable("area", 3, lower=[100, 1000, 1000], upper=10000)
    t = Variable("t", 5, lower=10, upper=1000)
    transfer = [
        BlackBox(lambda area, hot, cold: area * (hot - cold), name=f"exchanger{k + 1}", noise=noise)
        for k in range(3)
    ]
    return Problem(
        minimize=np.sum(area),
        subject_to=[
            t[0] + t[2] <= 400,
            t[1] + t[3] - t[0] <= 400,
            t[4] - t[1] <= 100,
            transfer[0](area[0], t[2], 100) / 833.33252 >= t[0] - 83333.333 / 833.33252,
            transfer[1](area[1], t[3], t[0]) / 1250 >= t[1] - t[0],
            transfer[2](area[2], t[4], t[1]) / 2500 >= 500 - t[1],
        ],
    )
