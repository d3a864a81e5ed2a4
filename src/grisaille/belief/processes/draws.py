"""Draws of functions that the answers of a black box allow.

A draw can be evaluated anywhere, and PyTorch differentiates it. Matheron's rule adds to a draw g
of the prior what the answers change (Wilson et al. 2020, "Efficiently sampling functions from
Gaussian process posteriors"):

    f(s) = m + g(s) + k(s)' (K + lambda I)^-1 (y - m - g(X) - e), e ~ N(0, lambda I).

A draw of the prior is a sum of random functions phi_j with normal weights, where the products
phi_j(s) phi_j(s') have the mean k(s, s'). Functions differ between draws. So mean and
covariance over draws are exact for any number of them, and a draw of many is nearly normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from grisaille.belief.processes.kernels import (
    Composite,
    Hyperparameters,
    Kernel,
    Matern,
    as_composite,
    is_plain,
)

# The number of random functions that a draw of the prior adds up.
_FUNCTIONS = 256

Draws = Callable[[Tensor], Tensor]
"""Values (draws, batch, k) at states (batch, d), or at states of each draw, (draws, batch, d)."""


def chance(seed: int) -> torch.Generator:
    """Return a generator that depends on the seed alone."""
    return torch.Generator().manual_seed(seed)


def normal_numbers(generator: torch.Generator, *shape: int) -> Tensor:
    """Draw standard normal numbers."""
    return torch.randn(shape, generator=generator, dtype=torch.float64)


class PriorDraws:
    """Draws of functions with mean 0 and a kernel's correlation, k for each draw.

    Args:
        kernel: A given kernel, or one that consists of given ones.
        inputs: How many scaled inputs a plain kernel has.
        outputs: k.
        count: How many draws.
        generator: Where chance comes from.
    """

    def __init__(
        self, kernel: Kernel, inputs: int, outputs: int, count: int, generator: torch.Generator
    ) -> None:
        self._kernel = kernel
        shape = (count, outputs, _FUNCTIONS)
        self._parts = [
            _random_functions(part.kernel, len(part.inputs), shape, generator)
            for part in as_composite(kernel, inputs).parts
        ]
        self._weights = normal_numbers(generator, *shape)

    def __call__(self, scaled: Tensor) -> Tensor:
        """Return values (draws, k, batch) at scaled inputs (draws or 1, k or 1, batch, D)."""
        if isinstance(self._kernel, Composite):
            split = self._kernel.split(scaled)
            found = [root * part(own) for part, (own, root) in zip(self._parts, split, strict=True)]
            functions = self._kernel.branch.combine(found)
        else:
            functions = self._parts[0](scaled)
        return (functions @ self._weights.unsqueeze(-1)).squeeze(-1) / math.sqrt(_FUNCTIONS)


def can_be_drawn(kernel: Kernel) -> bool:
    """Return True if `PriorDraws` knows random functions of a kernel: it has no own ones."""
    return all(is_plain(part.kernel) for part in as_composite(kernel, 0).parts)


def _random_functions(
    kernel: Kernel, inputs: int, shape: tuple[int, ...], generator: torch.Generator
) -> Callable[[Tensor], Tensor]:
    """Draw functions of mean 0 whose products phi(s) phi(s') have the correlation as mean.

    These are linear functions with normal slopes, or waves sqrt(2) cos(w's + b). Frequencies w are
    normal for a squared-exponential kernel. For a Matérn kernel they have Student's distribution
    with 2 * smoothness degrees of freedom.

    Args:
        kernel: A given kernel.
        inputs: d.
        shape: How many, (..., functions).
        generator: Where chance comes from.

    Returns:
        A function of scaled inputs (..., n, d), with values (..., n, functions).
    """
    slopes = normal_numbers(generator, *shape, inputs)
    if not kernel._is_radial:
        return lambda scaled: scaled @ slopes.transpose(-1, -2)
    if isinstance(kernel, Matern):
        squares = normal_numbers(generator, *shape, round(2 * kernel.smoothness)).square()
        slopes = slopes / squares.mean(-1, keepdim=True).sqrt()
    unit = torch.rand(shape, generator=generator, dtype=torch.float64).unsqueeze(-2)
    phases = 2 * math.pi * unit
    return lambda scaled: math.sqrt(2) * torch.cos(scaled @ slopes.transpose(-1, -2) + phases)


class PosteriorDraws:
    """Draws m + g(s) + k(s)' w of independent Gaussian processes.

    Args:
        kernel: The kernel family.
        hyperparameters: Its hyper-parameters.
        prior: Draws of the prior, g, for variances of 1.
        places: Scaled inputs that the answers are known through, (k, n, D).
        weights: w, (k, n, draws).
    """

    def __init__(
        self,
        kernel: Kernel,
        hyperparameters: Hyperparameters,
        prior: PriorDraws,
        places: Tensor,
        weights: Tensor,
    ) -> None:
        self._kernel = kernel
        self._hyperparameters = hyperparameters
        self._prior = prior
        self._places = places
        self._weights = weights

    def __call__(self, states: Tensor) -> Tensor:
        """Return values (draws, batch, k) at states (batch, d) or (draws, batch, d)."""
        sizes, shape = self._hyperparameters, states.shape[:-1]
        scaled = sizes.scale(self._kernel, states.flatten(0, -2))
        cross = sizes.covariance(self._kernel, self._places, scaled).unflatten(2, shape)
        update = torch.einsum(f"knc,kn{'cb'[-len(shape) :]}->ckb", self._weights, cross)
        places = scaled.reshape(len(scaled), -1, shape[-1], scaled.shape[-1]).transpose(0, 1)
        values = sizes.variance.sqrt()[:, None] * self._prior(places) + update
        return sizes.mean + values.transpose(1, 2)
