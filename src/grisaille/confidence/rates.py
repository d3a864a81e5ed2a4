"""The kernel-specific rates of the paper's table (Tab. kern_spec_bounds), constants left out.

d is the number of inputs, which in the paper's notation, where every function may read everything
before it, is n + m.
"""

from __future__ import annotations

import math

from grisaille.errors import ModelError
from grisaille.surrogates.kernels import Kernel, Linear, Matern, SquaredExponential


def information_gain_rate(kernel: Kernel, steps: float, dimension: int) -> float:
    """How the maximum information gain grows with the number of steps T.

    Linear: d log T. Squared-exponential: (log T)^(d+1). Matérn: T^(d / (2 nu + d))
    (log T)^(2 nu / (2 nu + d)), for nu > d / 2.
    """
    _check(steps, dimension)
    logarithm = math.log(steps)
    if isinstance(kernel, Linear):
        return dimension * logarithm
    if isinstance(kernel, SquaredExponential):
        return float(logarithm ** (dimension + 1))
    if not isinstance(kernel, Matern):
        raise ModelError(
            f"no rate is known for {kernel!r}: pass gs.Linear(), gs.SquaredExponential() or "
            "gs.Matern()"
        )
    smoothness = kernel.smoothness
    if smoothness <= dimension / 2:
        raise ModelError(
            f"the rate of a Matérn kernel needs smoothness > d / 2, got {smoothness:g} with "
            f"d = {dimension}: take a smoother kernel or fewer inputs"
        )
    power = dimension / (2 * smoothness + dimension)
    return float(steps**power * logarithm ** (1 - power))


def regret_rate(kernel: Kernel, steps: float, dimension: int) -> float:
    """How the bound on cumulative regret grows: the maximum information gain times sqrt(T)."""
    return information_gain_rate(kernel, steps, dimension) * math.sqrt(steps)


def convergence_rate(kernel: Kernel, steps: float, dimension: int) -> float:
    """How the bound on the best iterate falls: the maximum information gain over sqrt(T)."""
    return information_gain_rate(kernel, steps, dimension) / math.sqrt(steps)


def _check(steps: float, dimension: int) -> None:
    if steps < 1 or dimension < 1:
        raise ModelError(f"steps={steps!r} and dimension={dimension!r}: both must be at least 1")
