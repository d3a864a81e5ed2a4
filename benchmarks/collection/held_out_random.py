"""Randomly generated programs: layers of boxes with random features inside random known sums.

A box of d inputs is either a small random network, sum_k v_k tanh(w_k . z + b_k) with six
features, or a random polynomial of degree three in z; z are its inputs, brought to about [-1, 1].
Each box of a layer reads two outputs of the layer before and one or two variables. The seed
fixes everything.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.collection.entry import entry
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

_SOURCE = "generated here; the optimum is that of multi-start local search on the true functions"


@entry(
    "Random tanh, depth 1",
    "random",
    "smooth",
    optimum=-0.557406618504,
    x=[0.879113132319, 0.3779211706218, 0.01903847609859],
    source=_SOURCE,
)
def random_depth_1(noise: float | None) -> Problem:
    """Three variables, two boxes of all of them, no constraints."""
    return _generated(noise, seed=101, variables=3, layers=(2,), constraints=0, tanh=True)


@entry(
    "Random polynomial, depth 2",
    "random",
    "nested",
    "constrained",
    optimum=0.273820858927,
    x=[-0.9768868895178, -0.2700776972493, -0.5016185645932, 0.08801925386955],
    source=_SOURCE,
)
def random_depth_2(noise: float | None) -> Problem:
    """Four variables, two and two boxes, two constraints."""
    return _generated(noise, seed=202, variables=4, layers=(2, 2), constraints=2, tanh=False)


@entry(
    "Random tanh, depth 3",
    "random",
    "nested",
    "constrained",
    optimum=0.237615327368,
    x=[-0.587121414443, -0.2748448768284, 0.7806451039309, -1, 0.6177251678748],
    source=_SOURCE,
)
def random_depth_3(noise: float | None) -> Problem:
    """Five variables, two, two and one boxes, three constraints."""
    return _generated(noise, seed=303, variables=5, layers=(2, 2, 1), constraints=3, tanh=True)


@entry(
    "Random tanh, depth 4",
    "random",
    "nested",
    "constrained",
    optimum=-0.168475679752,
    x=[
        -0.09313233416399,
        -0.1075713748211,
        -0.2373708837063,
        0.05468075527632,
        -0.03014257824305,
        0.2590347551967,
    ],
    source=_SOURCE,
)
def random_depth_4(noise: float | None) -> Problem:
    """Six variables, two, two, two and one boxes, one constraint."""
    return _generated(noise, seed=404, variables=6, layers=(2, 2, 2, 1), constraints=1, tanh=True)


def _generated(
    noise: float | None,
    *,
    seed: int,
    variables: int,
    layers: tuple[int, ...],
    constraints: int,
    tanh: bool,
) -> Problem:
    """A random program.

    Every constraint holds at a random point with some room, so the program is feasible.

    Args:
        noise: What every black box is declared with.
        seed: It fixes everything random.
        variables: How many variables there are, each between -1 and 1.
        layers: How many boxes each layer has.
        constraints: How many constraints there are.
        tanh: Whether boxes are networks of tanh features; otherwise they are polynomials.
    """
    generator = np.random.default_rng(seed)
    x = Variable("x", variables, lower=-1, upper=1)
    inside = generator.uniform(-0.7, 0.7, variables)
    before: list[tuple[Expression, float]] = []
    every: list[tuple[Expression, float]] = []
    for layer, count in enumerate(layers):
        after = []
        for number in range(count):
            size = variables if layer == 0 else 1 + number % 2
            picked = generator.choice(variables, size, replace=False)
            read = [(x[int(k)], float(inside[k])) for k in picked] + before[:2]
            function = _network(generator, len(read)) if tanh else _cubic(generator, len(read))
            box = BlackBox(function, name=f"box{layer}_{number}", noise=noise)
            after.append((box(*(e for e, _ in read)), function(*(v for _, v in read))))
        before = after
        every += after
    weights = generator.normal(size=len(before))
    objective = sum(float(w) * e for w, (e, _) in zip(weights, before, strict=True))
    limits = []
    for number in range(constraints):
        output, value = every[number % len(every)]
        slope = generator.normal(size=variables)
        limits.append(output + 0.3 * (slope @ x) <= value + 0.3 * float(slope @ inside) + 0.1)
    return Problem(minimize=objective + 0.1 * np.sum((x - inside) ** 2), subject_to=limits)


def _network(generator: np.random.Generator, size: int) -> Callable[..., float]:
    """A random sum of six tanh features."""
    slopes = generator.normal(size=(6, size)) * 2.5 / np.sqrt(size)
    shifts, heights = generator.normal(size=6), generator.normal(size=6) / np.sqrt(6)
    return lambda *z: float(heights @ np.tanh(slopes @ np.array(z) + shifts))


def _cubic(generator: np.random.Generator, size: int) -> Callable[..., float]:
    """A random polynomial of degree three: a sum of four cubics of random directions."""
    slopes = generator.normal(size=(4, size)) / np.sqrt(size)
    powers = generator.normal(size=(3, 4)) / np.array([[2.0], [2.0], [3.0]])

    def polynomial(*z: float) -> float:
        along = slopes @ np.array(z)
        return float(powers[0] @ along + powers[1] @ along**2 + powers[2] @ along**3)

    return polynomial
