"""The kernel-specific rates of the paper's table (Tab. kern_spec_bounds), without constants.

d is the number of inputs. It is n + m in the paper, where every function may read everything before
it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grisaille.belief.processes.kernels import Kernel, Linear, Matern, SquaredExponential
from grisaille.checks import is_count, real_numbers
from grisaille.errors import ModelError, shortened


def information_gain_rate(kernel: Kernel, steps: ArrayLike, dimension: int) -> Any:
    """How the maximum information gain grows with the number of steps T, a number or an array.

    Linear: d log T. Squared-exponential: (log T)^(d+1). Matérn: T^(d / (2 nu + d))
    (log T)^(2 nu / (2 nu + d)), for nu > d / 2.
    """
    number = _checked(steps, dimension)
    logarithm = np.log(number)
    if isinstance(kernel, Linear):
        return _float_if_scalar(dimension * logarithm)
    if isinstance(kernel, SquaredExponential):
        return _float_if_scalar(logarithm ** (dimension + 1))
    if not isinstance(kernel, Matern):
        raise ModelError(
            f"no rate is known for {shortened(kernel)}: pass gs.Linear(), "
            "gs.SquaredExponential() or gs.Matern()"
        )
    smoothness = kernel.smoothness
    if smoothness <= dimension / 2:
        raise ModelError(
            f"the rate of a Matérn kernel needs smoothness > d / 2, got {smoothness:g} with "
            f"d = {dimension}: take a smoother kernel or fewer inputs"
        )
    power = dimension / (2 * smoothness + dimension)
    return _float_if_scalar(number**power * logarithm ** (1 - power))


def regret_rate(kernel: Kernel, steps: ArrayLike, dimension: int) -> Any:
    """How the bound on cumulative regret grows: the maximum information gain times sqrt(T)."""
    return information_gain_rate(kernel, steps, dimension) * _float_if_scalar(
        np.sqrt(_checked(steps, dimension))
    )


def convergence_rate(kernel: Kernel, steps: ArrayLike, dimension: int) -> Any:
    """How the bound on the best iterate falls: the maximum information gain over sqrt(T)."""
    return information_gain_rate(kernel, steps, dimension) / _float_if_scalar(
        np.sqrt(_checked(steps, dimension))
    )


def _float_if_scalar(value: Any) -> Any:
    """A float for a single number, and arrays as they are."""
    return float(value) if np.ndim(value) == 0 else value


def _checked(steps: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """The steps as an array; raises ModelError if they or the dimension are below 1."""
    try:
        number = real_numbers(steps)
    except (TypeError, ValueError):
        number = np.array(np.nan)
    if not ((number >= 1) & (number < np.inf)).all() or not is_count(dimension):
        raise ModelError(
            f"steps={shortened(steps)} and dimension={shortened(dimension)}: both must be numbers "
            "of at least 1, the dimension a whole one"
        )
    return number
