"""Own problems: chains of unit operations, calibration, and functions that are hard to learn."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable


@entry(
    "Gramacy-Lee",
    "multimodal",
    optimum=-0.8690111349894995,
    x=[0.5485634445],
    source="Gramacy and Lee (2012), Cases for the nugget in modeling computer experiments",
)
def gramacy_lee(noise: float | None) -> Problem:
    """One variable: a damped wave is unknown, a fourth power is known."""
    x = Variable("x", lower=0.5, upper=2.5)
    wave = BlackBox(lambda x: np.sin(10 * np.pi * x) / (2 * x), name="wave", noise=noise)
    return Problem(minimize=wave(x) + (x - 1) ** 4)


@entry(
    "Schwefel-2",
    "multimodal",
    "separable",
    optimum=-837.9657745448674,
    x=[420.968746, 420.968746],
    source="Schwefel (1981), Numerical Optimization of Computer Models; grey-box form our own",
)
def schwefel(noise: float | None) -> Problem:
    """One box per variable; the best basin lies far from the second best."""
    x = Variable("x", 2, lower=-500, upper=500)
    boxes = [
        BlackBox(lambda a: -a * np.sin(np.sqrt(abs(a))), name=name, noise=noise)
        for name in ("left", "right")
    ]
    return Problem(minimize=boxes[0](x[0]) + boxes[1](x[1]))


_WELLS = np.array([[0.2, 0.3], [0.75, 0.8], [0.8, 0.2], [0.25, 0.85], [0.5, 0.5]])
_DEPTHS = np.array([1.0, 1.5, 1.1, 0.9, 0.7])


@entry(
    "Shekel wells",
    "multimodal",
    optimum=-1.47015886708,
    x=[0.748691053391, 0.798748807115],
    source="own, after Shekel (1971), Test functions for multimodal search techniques",
)
def shekel_wells(noise: float | None) -> Problem:
    """Five wells in a unit square, in two boxes; the deepest is narrow."""
    x = Variable("x", 2, lower=0, upper=1)

    def wells(which: slice) -> BlackBox:
        def depth(x: Array) -> float:
            distances = ((x - _WELLS[which]) ** 2).sum(1)
            return float(-(_DEPTHS[which] * 0.01 / (0.01 + distances)).sum())

        return BlackBox(depth, name=f"wells{which.start}", noise=noise)

    return Problem(minimize=wells(slice(0, 2))(x) + wells(slice(2, 5))(x) + 0.1 * np.sum(x))


@entry("Tariff", "kinked", optimum=1.25, x=[0.5, 0.75], source="own")
def tariff(noise: float | None) -> Problem:
    """A tariff with a kink at 0.5 and an imbalance |b - a|, both unknown.

    Between b = a and a = 0.5, where a costs 1 below and 3 above, 2 + 8 (b - 1) = 0 gives b = 0.75.
    """
    a, b = Variable("a", lower=0, upper=2), Variable("b", lower=0, upper=2)
    price = BlackBox(lambda a: max(a, 3 * a - 1), name="price", noise=noise)
    imbalance = BlackBox(lambda a, b: abs(b - a), name="imbalance", noise=noise)
    return Problem(minimize=price(a) + 2 * imbalance(a, b) + 4 * (b - 1) ** 2)


@entry(
    "Kinked chain",
    "kinked",
    "nested",
    "constrained",
    optimum=-1.86,
    x=[0.76, 1],
    source="own",
)
def kinked_chain(noise: float | None) -> Problem:
    """A pump with a dead zone feeds a tank that overflows at 0.6.

    The level may not exceed 0.76. A unit of flow takes 1 of it and earns 1, a unit of x_2 takes 0.4
    and earns 1.5: so x_2 = 1, and 0.36 are left for the flow x_1 - 0.4.
    """
    x = Variable("x", 2, lower=[0, -1], upper=1)
    pump = BlackBox(lambda a: max(a - 0.4, 0.0), name="pump", noise=noise)
    tank = BlackBox(lambda f, b: min(f, 0.6) + 0.4 * abs(b), name="tank", noise=noise)
    flow = pump(x[0])
    return Problem(minimize=-flow - 1.5 * x[1], subject_to=[tank(flow, x[1]) <= 0.76])


@entry("Runaway", "steep", "constrained", "multimodal", optimum=3.4, x=[1, 0.2], source="own")
def runaway(noise: float | None) -> Problem:
    """A heat rate that grows from e^-5 to e^8 must stay below 1.

    On its boundary y = 1 / (2 x) - 0.3, so 3 x + 2 y is convex in x: the best end is x = 1.
    """
    x, y = Variable("x", lower=0, upper=1), Variable("y", lower=0, upper=1)
    rate = BlackBox(lambda x, y: np.exp(10 * x * y + 3 * x - 5), name="rate", noise=noise)
    return Problem(maximize=3 * x + 2 * y, subject_to=[rate(x, y) <= 1])


@entry(
    "Far scales",
    "badly scaled",
    "constrained",
    "nested",
    optimum=0.325155139324,
    x=[249610.900481, 3.93480739325e-07],
    source="own",
)
def far_scales(noise: float | None) -> Problem:
    """A load in newtons up to 1e6, a gap in metres below 1e-6, and a box that reads both."""
    load, gap = Variable("load", lower=0, upper=1e6), Variable("gap", lower=0, upper=1e-6)
    leakage = BlackBox(
        lambda n, h: 1e-6 * (1 + (1e6 * h) ** 2) * np.exp(-2e-6 * n), name="leakage", noise=noise
    )
    friction = BlackBox(
        lambda n, q: 1e6 * (0.2 + (1e-6 * n) ** 2) / (1 + 1e6 * abs(q)),
        name="friction",
        noise=noise,
    )
    leak = leakage(load, gap)
    loss = friction(load, leak)
    return Problem(minimize=1e-6 * loss + 3e5 * leak - 1e5 * gap, subject_to=[1e6 * leak <= 0.8])


@entry(
    "Needle",
    "nearly infeasible",
    "constrained",
    "smooth",
    optimum=0.355051023874,
    x=[0.659175093517, 0.118350441389, 0.540824952421],
    source="own",
)
def needle(noise: float | None) -> Problem:
    """A ball and a wave, both unknown, leave less than 0.5 % of the unit cube."""
    x = Variable("x", 3, lower=0, upper=1)
    ball = BlackBox(lambda x: ((x - [0.7, 0.2, 0.5]) ** 2).sum(), name="ball", noise=noise)
    wave = BlackBox(lambda a, c: np.sin(4 * a) + c**2, name="wave", noise=noise)
    return Problem(
        minimize=x[0] + 2 * x[1] - x[2],
        subject_to=[ball(x) <= 0.01, wave(x[0], x[2]) >= 0.6],
    )


@entry(
    "Four unit operations",
    "nested",
    "network",
    "process",
    "smooth",
    "constrained",
    optimum=0.502968665966,
    x=[0.551760873584, 0.408058060222, 0.744162308288, 0.92717824163, 0.692024388255],
    source="own",
)
def four_units(noise: float | None) -> Problem:
    """A reactor, a flash, a column and a dryer in a row; prices of what drives them are known."""
    x = Variable("x", 5, lower=0, upper=1)
    reactor = BlackBox(
        lambda ratio, heat: np.exp(-3 * (ratio - 0.6) ** 2) * np.tanh(0.3 + 2 * heat),
        name="reactor",
        noise=noise,
    )
    flash = BlackBox(lambda c, p: c / (1 + np.exp(-4 * (p - 0.3))), name="flash", noise=noise)
    column = BlackBox(
        lambda s, reflux: 1 - (1 - 0.9 * s) * np.exp(-1.5 * reflux * (0.5 + s)),
        name="column",
        noise=noise,
    )
    dryer = BlackBox(lambda s, heat: s * (0.6 + 0.8 * heat - 0.5 * heat**2), name="dryer",
                     noise=noise)  # fmt: skip
    conversion = reactor(x[0], x[1])
    purity = column(flash(conversion, x[2]), x[3])
    product = dryer(purity, x[4])
    prices = np.array([0.05, 0.15, 0.1, 0.12, 0.1])
    return Problem(maximize=product - prices @ x, subject_to=[purity >= 0.85])


@entry(
    "Two lines",
    "nested",
    "network",
    "process",
    optimum=-0.884573263972,
    x=[0.4595895792798, -1.396773252615e-08, 1.0, -7.883941499642e-09, 0.5454650581193, -1.0],
    source="own",
)
def two_lines(noise: float | None) -> Problem:
    """Two lines of two boxes each meet in a blender, which a press reads: six boxes, depth 4."""
    x = Variable("x", 6, lower=-1, upper=1)
    left = BlackBox(lambda a, b: np.sin(2 * a) + 0.5 * b**2, name="left", noise=noise)
    right = BlackBox(lambda c, d: np.cos(3 * c) * d, name="right", noise=noise)
    mill = BlackBox(lambda y, a: np.tanh(y) + 0.3 * a * y, name="mill", noise=noise)
    kiln = BlackBox(lambda z, c: z**2 / (1 + z**2) - 0.4 * c, name="kiln", noise=noise)
    blender = BlackBox(lambda u, v, e: u * v + 0.5 * (u - e) ** 2, name="blender", noise=noise)
    press = BlackBox(lambda w, f: np.sin(w + f) + 0.2 * w, name="press", noise=noise)
    first, second = mill(left(x[0], x[1]), x[0]), kiln(right(x[2], x[3]), x[2])
    blend = blender(first, second, x[4])
    return Problem(minimize=press(blend, x[5]) + 0.3 * second + 0.1 * np.sum(x**2))


_TARGETS = np.linspace(-0.8, 0.8, 14)


@entry(
    "Seven plants",
    "separable",
    "constrained",
    "smooth",
    optimum=-0.12175996455,
    x=[
        -0.9999999999195,
        0.7982028228642,
        -0.8712750808679,
        0.5369655637512,
        -0.6912184473619,
        0.2642914421391,
        -0.5248439977207,
        -0.01438784768007,
        -0.367391445562,
        -0.3014707169489,
        -0.2159265615248,
        -0.6003623868241,
        -0.06845164466381,
        -0.9164559188657,
        0.02767578056822,
    ],
    source="own",
)
def seven_plants(noise: float | None) -> Problem:
    """Seven plants of two inputs each, a box per plant, and a shared budget that can be raised."""
    x, extra = Variable("x", 14, lower=-1, upper=1), Variable("extra", lower=0, upper=1)

    def plant(k: int) -> BlackBox:
        a, b = _TARGETS[k], _TARGETS[13 - 2 * k]
        return BlackBox(
            lambda u, v: (
                (1 + 0.2 * k) * (u - a) ** 2 + np.exp(0.5 * v) * (v - b) ** 2 + 0.3 * u * v
            ),
            name=f"plant{k + 1}",
            noise=noise,
        )

    losses = [plant(k)(x[2 * k], x[2 * k + 1]) for k in range(7)]
    return Problem(
        minimize=sum(losses[1:], losses[0]) + 0.25 * extra + extra**2,
        subject_to=[np.sum(x) <= -4 + extra],
    )


_TIMES = np.array([0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
_DECAY = np.array([1.2, 1.6, 0.7, 0.35])


def _decays(first: float, fast: float, second: float, slow: float) -> Array:
    """Two decays that overlap, at eight times."""
    return np.asarray(first * np.exp(-fast * _TIMES) + second * np.exp(-slow * _TIMES))


@entry(
    "Two decays",
    "calibration",
    "smooth",
    optimum=0.0,
    x=_DECAY.tolist(),
    source="own, after Lanczos (1956), Applied Analysis",
)
def two_decays(noise: float | None) -> Problem:
    """Eight readings of two overlapping decays determine four parameters."""
    first, fast = Variable("first", lower=0.2, upper=2), Variable("fast", lower=0.8, upper=3)
    second, slow = Variable("second", lower=0.2, upper=2), Variable("slow", lower=0.1, upper=0.7)
    box = BlackBox(_decays, name="decays", outputs=8, noise=noise)
    misfit = box(first, fast, second, slow) - _decays(*_DECAY)
    return Problem(minimize=np.sum(misfit**2))


@entry(
    "Oscillator",
    "calibration",
    "multimodal",
    optimum=0.0,
    x=[0.4, 3.0, 0.6],
    source="own",
)
def oscillator(noise: float | None) -> Problem:
    """Ten readings of a damped oscillation; wrong frequencies fit in part, in several minima."""
    damping = Variable("damping", lower=0.1, upper=1)
    frequency, phase = Variable("frequency", lower=1, upper=6), Variable("phase", lower=-1, upper=2)
    times = np.linspace(0.2, 3, 10)

    def readings(damping: float, frequency: float, phase: float) -> Array:
        return np.asarray(np.exp(-damping * times) * np.cos(frequency * times + phase))

    box = BlackBox(readings, name="readings", outputs=10, noise=noise)
    return Problem(minimize=np.sum((box(damping, frequency, phase) - readings(0.4, 3, 0.6)) ** 2))
