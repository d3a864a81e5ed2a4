"""The hyper-parameters of a Gaussian process, and prior covariances."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from grisaille.surrogates.composite import Composite
from grisaille.surrogates.kernel import Kernel


def logarithms(states: Tensor, flags: Tensor) -> Tensor:
    """States (..., d) with the logarithm of those inputs that are flagged, (d,)."""
    positive = torch.where(flags, states, 1.0).clamp_min(1e-300)
    return torch.where(flags, positive.log(), states)


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """All parameters of a Gaussian process, for k outputs and d inputs.

    Attributes:
        lengthscale: (k, d), in the inputs' units, or of their logarithms if these are learned; of
            a composite kernel, one per column.
        variance: (k,), kernel variance in squared output units.
        noise: (k,), noise variance lambda in squared output units.
        mean: (k,), constant prior mean.
        center: (d,), the point that is taken as the origin of inputs, or of their logarithms.
        remarks: What was concluded while learning them, in a few words each.
        shares: (k, parts), how the parts of a composite kernel share the variance; else None.
        logarithmic: (d,), which inputs count by their logarithm; None for none of them.
    """

    lengthscale: Tensor
    variance: Tensor
    noise: Tensor
    mean: Tensor
    center: Tensor
    remarks: tuple[str, ...] = ()
    shares: Tensor | None = None
    logarithmic: Tensor | None = None

    def on(self, device: torch.device) -> Hyperparameters:
        """The same on a device."""
        moved = copy(self)
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Tensor):
                object.__setattr__(moved, f.name, value.to(device))
        return moved

    @property
    def are_alike(self) -> bool:
        """Whether all outputs have the same kernel and the same noise."""
        parts = [self.lengthscale, self.variance, self.noise, self.shares]
        return all(bool((part == part[:1]).all()) for part in parts if part is not None)

    def from_origin(self, states: Tensor) -> Tensor:
        """Inputs, or their logarithms, from the point that is taken as the origin, (batch, d)."""
        if self.logarithmic is not None:
            states = logarithms(states, self.logarithmic)
        return states - self.center

    def scale(self, kernel: Kernel, states: Tensor) -> Tensor:
        """Inputs in length-scales from the origin of each output, (batch, d) to (k, batch, d).

        For a composite kernel, what it takes as scaled inputs.
        """
        places = self.from_origin(states)
        if isinstance(kernel, Composite) and self.shares is not None:
            return kernel.scale(places, self.lengthscale, self.shares)
        return places / self.lengthscale.unsqueeze(1)

    def covariance(self, kernel: Kernel, first: Tensor, second: Tensor) -> Tensor:
        """Prior covariances of scaled inputs, (k, n, d) and (k, m, d) to (k, n, m).

        With inputs of the first outputs only, those of these outputs.
        """
        return self.variance[: len(first), None, None] * kernel.correlation(first, second)

    def joint_covariance(self, kernel: Kernel, scaled: Tensor, known: Tensor, q: int) -> Tensor:
        """Posterior covariances (batch, k, q, q) of q states each, (k, batch * q, d).

        Inner products of the columns of `known`, (k, n, batch * q), are what observations explain.
        """
        k, total, d = scaled.shape
        known = known.reshape(k, known.shape[1], total // q, q).permute(2, 0, 3, 1)
        pairs = scaled.reshape(k * (total // q), q, d)
        correlation = kernel.correlation(pairs, pairs).reshape(k, total // q, q, q)
        prior = (self.variance[:, None, None, None] * correlation).transpose(0, 1)
        return prior - known @ known.transpose(-1, -2)
