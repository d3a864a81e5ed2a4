"""The belief about one black box: everything that the rest of the library asks of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.belief.processes.draws import Draws, chance, normal_numbers
from grisaille.belief.processes.kernels import Hyperparameters, Kernel
from grisaille.belief.processes.minorants import BandMinorants

# Pairs of points that show over which distance errors vary, and how near they are, in parts of the
# range of an input.
_PAIRS = 64
_NEAR = 0.01

Slopes = Callable[[Array], tuple[Array, Array, Array, Array]]
"""Means and deviations (batch, k) at states (batch, d), and the slopes (batch, k, d) of both."""


class Belief(Protocol):
    """Belief about one black box with d inputs and k outputs.

    A belief says what it predicts. For all other questions there is an answer that holds if a
    belief knows no more.

    Attributes:
        kernel: Its kernel; None without one.
        hyperparameters: The hyper-parameters of its kernel; None without one.
    """

    kernel: Kernel | None = None
    hyperparameters: Hyperparameters | None = None

    def predict(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and standard deviation of each output, (batch, d) to (batch, k) twice."""
        ...

    def predict_jointly(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior means and covariances of q states each, from (batch, q, d).

        Returns:
            Means (batch, q, k) and covariances of each output (batch, k, q, q).
        """
        ...

    def with_predicted(self, state: Tensor) -> Belief:
        """Return the same mean, with the deviations that an observation at (d,) will leave."""
        ...

    def draw(self, count: int, seed: int) -> Draws:
        """Draw functions that the answers allow, with all outputs; the seed decides which.

        By default a draw is mean(s) + deviation(s) w, with a normal number w for each output. That
        is exact at each state, and at states that are fully correlated. The covariance of others
        is too large.
        """

        def values(states: Tensor) -> Tensor:
            mean, deviation = self.predict(states.flatten(0, -2))
            normal = normal_numbers(chance(seed), count, 1, mean.shape[-1])
            return _like(states, mean) + _like(states, deviation) * normal

        return values

    def described(self, is_learned: bool) -> str:
        """Return in a few words what it is; `is_learned` if its hyper-parameters are learned."""
        ...

    # --- noise, and what was concluded

    @property
    def noise(self) -> Tensor | None:
        """Standard deviation of the noise of an answer, (k,), as learned; None if not known."""
        return None

    @property
    def is_exact(self) -> bool:
        """True if it was concluded that answers have no noise."""
        return False

    @property
    def remarks(self) -> tuple[str, ...]:
        """Conclusions made while learning, in a few words each."""
        return ()

    @property
    def contradiction(self) -> float:
        """By how much the mean misses exact answers that it should go through; 0 if it does."""
        return 0.0

    # --- predictions of known answers

    def in_turn(self, inputs: Tensor, outputs: Tensor, sizes: Sequence[int]) -> tuple[Array, Array]:
        """Predict later answers, each part of them from all parts before it.

        A belief that cannot be given single answers predicts all of them from what it knows.

        Args:
            inputs: (n, d).
            outputs: (n, k).
            sizes: How many answers each part has.

        Returns:
            Absolute errors (n, k), and standard deviations (n, k) without the noise of an answer.
        """
        del sizes
        with torch.no_grad():
            mean, deviation = self.predict(inputs)
        return (outputs - mean).abs().numpy(), deviation.numpy()

    def left_out(self, inputs: Array, outputs: Array) -> tuple[Array, Array] | None:
        """Predict each of its answers from all the others.

        Args:
            inputs: All answered inputs, (n, d).
            outputs: All answers, (n, k).

        Returns:
            Mean and standard deviation of an answer, noise included, (n, k) each; None if it does
            not know how.
        """
        return None

    def degrees(self, answers: int) -> Array:
        """Return how many independent values its answers tell of each output, (k,) or (1,).

        Args:
            answers: How many there are. Without noise, each tells one.
        """
        return np.array([float(answers)])

    @property
    def patterns(self) -> Tensor | None:
        """Patterns of the errors of the outputs, (k, patterns); None if they are independent."""
        return None

    # --- distances

    def in_lengthscales(self, states: Tensor, lower: Array, upper: Array) -> Tensor:
        """Return states (batch, d) in coordinates along which outputs vary over about 1.

        A kernel of the distance has length-scales. For others, errors at pairs of near points
        show over which distance they vary.

        Args:
            states: (batch, d).
            lower: (d,), the lower end of the inputs.
            upper: (d,), the upper end.

        Returns:
            (k, batch, d).
        """
        if self.kernel is not None and self.kernel._is_radial and self.hyperparameters is not None:
            return self.hyperparameters.scale(self.kernel, states)
        low, width = torch.tensor(lower), torch.tensor(upper - lower)
        d = len(low)
        unit = torch.quasirandom.SobolEngine(d, seed=0).draw(_PAIRS, dtype=torch.float64)
        step = _NEAR * torch.eye(d, dtype=torch.float64)
        pairs = torch.stack([(u * (1 - _NEAR) + s) for u in unit for s in (0 * step[0], *step)])
        points = (low + width * pairs).reshape(_PAIRS, d + 1, d)
        with torch.no_grad():
            _, covariance = self.predict_jointly(points)  # (pairs, k, d + 1, d + 1)
        own = covariance.diagonal(dim1=2, dim2=3).clamp_min(1e-300)
        scale = (own[:, :, :1] * own[:, :, 1:]).sqrt()
        correlation = (covariance[:, :, 0, 1:] / scale).median(0).values  # (k, d)
        # 1 - r = t^2 / 2 at a distance of t length-scales
        widths = (2 * (1 - correlation)).clamp_min(0).sqrt() / _NEAR
        place = (states - low) / width.clamp_min(1e-300)
        return widths.unsqueeze(1) * place

    # --- searches and proofs

    @property
    def with_slopes(self) -> Slopes | None:
        """Predicts with slopes in closed form; None if only PyTorch can differentiate."""
        return None

    @property
    def unbounded(self) -> str:
        """Why its bands cannot be bounded over regions: what the black box has; else empty."""
        return "a model of its own, which proofs know nothing about: leave model= out to have one"

    def minorants(self, beta: Tensor) -> BandMinorants | None:
        """Return quadratics below bands of half-width beta, (k,); None if it is `unbounded`."""
        del beta
        return None

    def of_logarithms(self, flags: Flags) -> Belief:
        """Return the same as a function of the logarithms of those inputs that are flagged, (d,).

        Only a belief with minorants is asked: it was learned in these logarithms.
        """
        del flags
        return self

    def on(self, device: torch.device) -> Belief:
        """Return the same on a device, if it has minorants: proofs may use another device."""
        del device
        return self


def _like(states: Tensor, values: Tensor) -> Tensor:
    """Return values (..., k) of flattened states, for states (batch, d) or (draws, batch, d)."""
    return values.reshape(*states.shape[:-1], values.shape[-1])
