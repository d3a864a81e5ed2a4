"""Problems with the band of a Gaussian process: their data, and random instances.

Nothing of the library is used, and all data are NumPy's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BandData:
    """One output of a Gaussian process with a constant prior mean.

    Attributes:
        inputs: (n, d).
        outputs: (n,).
        lengthscale: (d,).
        variance: Of the prior, k(x, x).
        noise: Variance of the noise of the outputs.
        mean: Of the prior.
        kernel: "se", variance exp(-r^2 / 2), or "matern52", variance (1 + a + a^2 / 3) exp(-a)
            with a = sqrt(5) r; r is the distance of inputs divided by the length-scales.
    """

    inputs: Array
    outputs: Array
    lengthscale: Array
    variance: float
    noise: float
    mean: float = 0.0
    kernel: Literal["se", "matern52"] = "se"


@dataclass(frozen=True, slots=True)
class LinearProgram:
    """A problem for `solve_lp`: the data of its two outputs, and its coefficients.

    Attributes:
        bands: One for each of the two z.
        c1: (d,), cost of x.
        c2: (2,), cost of z.
        a1: (m, d), rows of x.
        a2: (m, 2), rows of z.
        b: (m,), constants of the rows.
    """

    bands: tuple[BandData, BandData]
    c1: Array
    c2: Array
    a1: Array
    a2: Array
    b: Array


def random_lcb(d: int, n: int, seed: int) -> BandData:
    """An instance for `minimize_lcb` over [-2, 2]^d: n values of a draw from the prior, with noise.

    To build it elsewhere: generator = numpy.random.default_rng([seed, d, n]); first inputs =
    generator.uniform(-2, 2, (n, d)), then outputs = L @ generator.standard_normal(n), L the lower
    Cholesky factor of K + noise I, with K_ij = exp(-|x_i - x_j|^2) / 2 (length-scale sqrt(1/2),
    variance 1/2), noise = 1e-4 * variance and prior mean 0.

    Args:
        d: Inputs of the function.
        n: Data.
        seed: Which instance.
    """
    return _draws(np.random.default_rng([seed, d, n]), d, n, 1)[0]


def random_lp(n: int, seed: int) -> LinearProgram:
    """An instance for `solve_lp` over [-2, 2]^2, after the linear program of the paper.

    To build it elsewhere: generator = numpy.random.default_rng([seed, 2, n, 2]); inputs and the
    outputs of the first draw as in `random_lcb`, then L @ generator.standard_normal(n) for the
    second; then seven angles generator.uniform(0, 2 pi, 7), whose (cos, sin) are c1, c2, b, the
    rows of a1 and the rows of a2. It need not be feasible.

    Args:
        n: Data.
        seed: Which instance.
    """
    generator = np.random.default_rng([seed, 2, n, 2])
    first, second = _draws(generator, 2, n, 2)
    angles = generator.uniform(0, 2 * np.pi, 7)
    c1, c2, b, *rows = np.stack([np.cos(angles), np.sin(angles)], 1)
    return LinearProgram((first, second), c1, c2, np.array(rows[:2]), np.array(rows[2:]), b)


def _draws(generator: np.random.Generator, d: int, n: int, outputs: int) -> list[BandData]:
    variance = 0.5
    inputs = generator.uniform(-2, 2, (n, d))
    lengthscale = np.full(d, np.sqrt(0.5))
    covariance = variance * correlation(inputs, inputs, lengthscale, "se")
    noise = 1e-4 * variance
    factor = np.linalg.cholesky(covariance + noise * np.eye(n))
    return [
        BandData(inputs, factor @ generator.standard_normal(n), lengthscale, variance, noise)
        for _ in range(outputs)
    ]


def correlation(first: Array, second: Array, lengthscale: Array, kernel: str) -> Array:
    """The kernel divided by its variance, (m, d) and (n, d) to (m, n)."""
    difference = (first[:, None, :] - second[None, :, :]) / lengthscale
    squared = (difference**2).sum(-1)
    if kernel == "se":
        return np.exp(-0.5 * squared)
    if kernel == "matern52":
        a = np.sqrt(5 * squared)
        return (1 + a + a**2 / 3) * np.exp(-a)
    raise ValueError(f"kernel must be 'se' or 'matern52', not {kernel!r}")


class Posterior:
    """Mean and standard deviation given the data, and the numbers that models are written with.

    Attributes:
        data: What it was made of.
        weights: (n,), alpha / variance: mu(x) = mean + weights' r(x).
        whitening: (n, n), lower triangular, variance L^-1: v(x) = whitening r(x).
        least_variance: sigma^2(x) is never below this.
        reach: |mu(x) - mean| is never above this.
    """

    def __init__(self, data: BandData) -> None:
        self.data = data
        n = len(data.inputs)
        covariance = data.variance * correlation(
            data.inputs, data.inputs, data.lengthscale, data.kernel
        )
        factor = np.linalg.cholesky(covariance + data.noise * np.eye(n))
        inverse = np.tril(np.linalg.inv(factor))
        alpha = inverse.T @ (inverse @ (data.outputs - data.mean))
        self.weights: Array = data.variance * alpha
        self.whitening: Array = data.variance * inverse
        # K is at least k k' / variance (a Schur complement), hence sigma^2 at least
        # variance^2 noise / (variance noise + |k|^2), and |k|^2 is at most n variance^2.
        self.least_variance = data.variance * data.noise / (data.noise + n * data.variance)
        self.reach = math.sqrt(max(data.variance * float(alpha @ covariance @ alpha), 0.0))

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Mean and standard deviation, (m, d) to (m,) each."""
        data = self.data
        values = correlation(x, data.inputs, data.lengthscale, data.kernel)
        squared = data.variance - ((values @ self.whitening.T) ** 2).sum(1)
        deviation = np.sqrt(np.maximum(squared, self.least_variance))
        return data.mean + values @ self.weights, deviation
