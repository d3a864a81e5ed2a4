"""Covariances of a kernel whose hyper-parameters are given, in the user's own units."""

from __future__ import annotations

import torch
from torch import Tensor

from grisaille.surrogates.composite import Composite, compiled
from grisaille.surrogates.kernel import Kernel, length_scales


def given_sizes(kernel: Composite) -> tuple[Tensor, Tensor, Tensor]:
    """Length-scales (1, columns), whole variance (1,) and shares (1, parts) as they were given."""
    given = [part.kernel.variance for part in kernel.parts]
    variances = torch.tensor([given], dtype=torch.float64)
    return torch.tensor([kernel.lengthscale], dtype=torch.float64), *kernel.sizes(variances)


def prior_covariance(kernel: Kernel, first: Tensor, second: Tensor) -> Tensor:
    """Covariances k(s, s') of states (n, d) and (m, d), as (n, m)."""
    kernel = compiled(kernel, first.shape[-1])
    if isinstance(kernel, Composite):
        scale, whole, shares = given_sizes(kernel)
        a, b = (kernel.scale(states, scale, shares) for states in (first, second))
        return whole * kernel.correlation(a, b)[0]
    scale = torch.tensor(length_scales(kernel), dtype=torch.float64)
    assert kernel.variance is not None
    return kernel.variance * kernel.correlation(first / scale, second / scale)


def prior_variance(kernel: Kernel, states: Tensor) -> Tensor:
    """Variances k(s, s) of states (n, d), as (n,)."""
    kernel = compiled(kernel, states.shape[-1])
    if isinstance(kernel, Composite):
        scale, whole, shares = given_sizes(kernel)
        return whole * kernel.diagonal(kernel.scale(states, scale, shares))[0]
    assert kernel.variance is not None
    return kernel.variance * kernel.diagonal(states / torch.tensor(length_scales(kernel)))
