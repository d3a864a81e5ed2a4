"""Randomly generated programs: boxes drawn from sums of waves, in networks of depth 1 to 4."""

from __future__ import annotations

import numpy as np

from benchmarks.collection.entry import Entry, entry
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

_WAVES = 20
_LENGTH_SCALE = 0.8


def _drawn_box(
    generator: np.random.Generator, inputs: int, name: str, noise: float | None
) -> BlackBox:
    """h(s) = sqrt(2 / W) sum_w cos(omega_w . s + phi_w): nearly a draw of a Gaussian process."""
    frequencies = generator.normal(size=(_WAVES, inputs)) / _LENGTH_SCALE
    phases = generator.uniform(0, 2 * np.pi, _WAVES)

    def waves(*state: float) -> float:
        return float(np.sqrt(2 / _WAVES) * np.cos(frequencies @ np.array(state) + phases).sum())

    return BlackBox(waves, name=name, noise=noise)


def random_program(depth: int, seed: int, noise: float | None) -> Problem:
    """Two chains of `depth` boxes each; every box reads its own variable and the box before it.

    minimize y_1 y_2 + y_1 - y_2 + 0.1 |x|^2 subject to y_1 + y_2 <= 0.5, where y_1 and y_2 are the
    ends of the chains. Where there is no box before, the first chain starts from the first
    variable, and the second chain from the last variable of the first chain.

    Args:
        depth: How many boxes lie one after the other.
        seed: Draws the boxes.
        noise: What every box is declared with.
    """
    generator = np.random.default_rng(seed)
    x = Variable("x", 2 * depth, lower=-1, upper=1)
    ends: list[Expression] = []
    for chain in range(2):
        y: Expression = x[chain * (depth - 1)]
        for layer in range(depth):
            box = _drawn_box(generator, 2, f"h{chain + 1}{layer + 1}", noise)
            y = box(y, x[chain * depth + layer])
        ends.append(y)
    first, second = ends
    return Problem(
        minimize=first * second + first - second + 0.1 * np.sum(x**2),
        subject_to=[first + second <= 0.5],
    )


def _entry(depth: int, optimum: float, x: list[float]) -> Entry:
    tags = ["random", "constrained", *(["nested", "network"] if depth > 1 else [])]
    make = entry(f"Random {depth}", *tags, optimum=optimum, x=x, source="own, drawn at random")
    return make(lambda noise: random_program(depth, 160 + depth, noise))


random_1 = _entry(1, -0.880575941186, [0.03632291455733, -1.0])
random_2 = _entry(2, -0.153574860276, [1.0, 1.0, -1.0, -1.0])
random_3 = _entry(
    3,
    -2.39685256445,
    [-0.214624431966, -1.0, 0.5601101042769, -1.0, 0.09443764889506, 0.720237434566],
)
random_4 = _entry(
    4,
    -7.42483322933,
    [
        -0.5196537328288,
        0.01466810632558,
        0.2694907178805,
        -0.3608716563291,
        -0.682532028553,
        0.3889631529179,
        0.06671419834905,
        -1.0,
    ],
)
