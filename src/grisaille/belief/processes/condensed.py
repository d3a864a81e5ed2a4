"""Posteriors of many observations, through a few chosen inputs.

A system that runs a hundred times per trial soon has thousands of rows. Most inputs then lie
close to others, so that a few of them hold nearly all information. All choices are functions of
the observations alone, so that a decision made again is the same.

Without noise, a surrogate rests on the most telling rows: a posterior given some of the rows is a
valid one, so that everything else, proofs included, stays as it is.
"""

from __future__ import annotations

from copy import copy

import numpy as np
import torch
from scipy.spatial.distance import cdist
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.processes.belief import Belief
from grisaille.belief.processes.draws import (
    Draws,
    PosteriorDraws,
    PriorDraws,
    can_be_drawn,
    chance,
    normal_numbers,
)
from grisaille.belief.processes.kernels import Hyperparameters, Kernel
from grisaille.belief.processes.noise import repetitions
from grisaille.belief.processes.posterior import LEAST_NOISE
from grisaille.belief.processes.radial import LEAST_VARIANCE

# --- row choice -----------------------------------------------------------------------------------
# The choice of those observations, out of many, that a surrogate rests on.
#
# All choices are functions of the observations alone, so that a decision made again is the
# same.

# Inputs are chosen while they have at least this part of their prior variance left.
_LEAST_LEFT = 1e-9
# Repeated inputs that are kept, because they say whether there is noise.
_REPEATS = 10


def typical_rows(inputs: Array, count: int) -> list[int]:
    """Positions of rows to learn hyper-parameters from, in order: all if there are few.

    Half of them fill space, each being the one farthest from those before it. The others are spread
    evenly over the order of the rows, so that near neighbours are among them. A few repeated inputs
    are kept in any case.

    Args:
        inputs: (n, d), in the unit cube.
        count: How many.
    """
    if len(inputs) <= count:
        return list(range(len(inputs)))
    chosen = {int(i) for i in np.linspace(0, len(inputs) - 1, count // 2)}
    chosen.update(i for pair in repetitions(inputs)[:_REPEATS] for i in pair)
    distance = np.full(len(inputs), np.inf)
    farthest = 0
    while len(chosen) < count:
        chosen.add(farthest)
        distance = np.minimum(distance, cdist(inputs, inputs[farthest : farthest + 1])[:, 0])
        farthest = int(distance.argmax())
        if distance[farthest] == 0:
            break
    return sorted(chosen)


def telling_rows(
    kernel: Kernel, hyperparameters: Hyperparameters, inputs: Tensor, near: Tensor, count: int
) -> list[int]:
    """Positions of rows that a posterior of exact answers rests on, in order: all if few.

    Half of them are the nearest to given places, where digits count. The others, some of which may
    be among the nearest, are those that the rows before them tell least about. A posterior given
    some rows is one of less knowledge: it is valid, and its bands are wider.

    Args:
        kernel: The kernel family.
        hyperparameters: Its hyper-parameters.
        inputs: (n, d).
        near: (m, d), the places.
        count: The largest number of them.
    """
    if len(inputs) <= count:
        return list(range(len(inputs)))
    scaled = hyperparameters.scale(kernel, inputs)
    chosen: set[int] = set()
    if len(near):
        places = hyperparameters.scale(kernel, near)
        distance = torch.cdist(scaled, places).amin((0, 2))
        chosen.update(distance.argsort(stable=True)[: count // 2].tolist())
    chosen.update(least_told_rows(kernel, scaled, count - len(chosen), 0.0))
    return sorted(chosen)


def least_told_rows(kernel: Kernel, scaled: Tensor, most: int, enough: float) -> list[int]:
    """Positions of inputs that leave at most a part `enough` of any other's prior variance.

    By pivoted Cholesky factorization, the input of largest remaining variance first.

    Args:
        kernel: The kernel family.
        scaled: (k, n, d), inputs in length-scales.
        most: The largest number of positions.
        enough: The part.
    """
    prior = kernel.diagonal(scaled).clone()
    left = prior.clone()
    most = min(most, scaled.shape[1])
    rows = scaled.new_zeros(len(scaled), most, scaled.shape[1])
    chosen: list[int] = []
    while len(chosen) < most:
        # One choice for all outputs: the input with the largest remaining share in any of them.
        share, pivot = (left / prior.clamp_min(LEAST_VARIANCE)).amax(0).max(0)
        if float(share) < max(enough, _LEAST_LEFT):
            break
        position, known = int(pivot), rows[:, : len(chosen)]
        row = kernel.correlation(scaled[:, position : position + 1], scaled).squeeze(1)
        row = row - (known[:, :, position].unsqueeze(1) @ known).squeeze(1)
        row = row / left[:, position : position + 1].clamp_min(LEAST_VARIANCE).sqrt()
        left = (left - row.square()).clamp_min(0)
        left[:, position] = 0
        rows[:, len(chosen)] = row
        chosen.append(position)
    return chosen


# --- sparse ---------------------------------------------------------------------------------------
# The posterior of a Gaussian process with many observations, through a few chosen inputs.
#
# A system that runs a hundred times per trial soon has thousands of rows. Most inputs then lie
# close to others, so that a few of them hold nearly all information.

# Inputs are chosen until what is left of the prior variance, over all observations, is this part of
# the noise; or until there are that many.
_ENOUGH = 1e-3
_MOST = 192
# Keeps the factor of the chosen inputs' covariance well defined.
_JITTER = 1e-9


class CondensedPosterior(Belief):
    """Independent Gaussian processes for the outputs of one black box, given many observations.

    With U the chosen inputs and S = K_UU + K_Un K_nU / lambda: mean(s) = m + k_U(s)' S^-1 K_Un
    (y - m) / lambda, variance(s) = k(s, s) - k_U(s)' (K_UU^-1 - S^-1) k_U(s) (Titsias 2009,
    "Variational learning of inducing variables in sparse Gaussian processes"). U is chosen by
    pivoted Cholesky factorization, the input of largest remaining variance first. What U leaves
    unknown of an observed value is added to its lambda (Snelson and Ghahramani 2006, "Sparse
    Gaussian processes using pseudo-inputs").

    Args:
        kernel: The kernel family.
        hyperparameters: Its hyper-parameters.
        inputs: (n, d).
        outputs: (n, k).
        most: The largest number of chosen inputs.
    """

    kernel: Kernel
    hyperparameters: Hyperparameters

    def __init__(
        self,
        kernel: Kernel,
        hyperparameters: Hyperparameters,
        inputs: Tensor,
        outputs: Tensor,
        most: int = _MOST,
    ) -> None:
        self.kernel = kernel
        self.hyperparameters = hyperparameters
        self._answers, self._inputs = inputs.shape
        variance = hyperparameters.variance
        self._noise_variance = torch.maximum(hyperparameters.noise, LEAST_NOISE * variance)
        scaled = self.hyperparameters.scale(self.kernel, inputs)
        share = (self._noise_variance / variance).min() / max(len(inputs), 1)
        chosen = least_told_rows(kernel, scaled, most, _ENOUGH * float(share))
        self._chosen = scaled[:, chosen]
        prior = self._covariance(self._chosen, self._chosen)
        jitter = _JITTER * variance[:, None, None]
        self._factor = torch.linalg.cholesky(prior + jitter * torch.eye(len(chosen)).to(prior))
        cross = self._covariance(self._chosen, scaled)  # (k, m, n)
        white = torch.linalg.solve_triangular(self._factor, cross, upper=False)
        # What the chosen inputs leave unknown of an observed value counts as more noise of it:
        # without that, the condensed posterior would be too sure.
        own = variance[:, None] * kernel.diagonal(scaled)
        unknown = (own - white.square().sum(1)).clamp_min(0)
        noise = (self._noise_variance[:, None] + unknown).unsqueeze(1)
        # In whitened form, S = L (I + W W' / lambda) L', which is well conditioned.
        information = (white / noise) @ white.transpose(1, 2)
        residual = (outputs - hyperparameters.mean).T.unsqueeze(-1)
        self._set(information, (white / noise) @ residual)

    @property
    def noise(self) -> Tensor:
        """Standard deviation of the noise, (k,)."""
        return self.hyperparameters.noise.sqrt()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Conclusions made while learning, in a few words each."""
        return self.hyperparameters.remarks

    def described(self, is_learned: bool) -> str:
        """Return how many answers are condensed."""
        del is_learned
        return (
            f"it has {self._answers} answers, which are condensed to a Gaussian process of fewer "
            "inputs"
        )

    def predict(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and standard deviation of each output, (batch, d) to (batch, k) twice."""
        scaled = self.hyperparameters.scale(self.kernel, states)
        cross = self._covariance(self._chosen, scaled)  # (k, m, batch)
        mean = self.hyperparameters.mean[:, None] + (cross * self._weights).sum(1)
        prior = self.hyperparameters.variance[:, None] * self.kernel.diagonal(scaled)
        variance = prior - (self._root @ cross).square().sum(1)
        floor = LEAST_VARIANCE * self.hyperparameters.variance[:, None]
        return mean.T, torch.maximum(variance, floor).sqrt().T

    def predict_jointly(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior means (batch, q, k) and covariances (batch, k, q, q) at (batch, q, d)."""
        batch, q, d = states.shape
        scaled = self.hyperparameters.scale(self.kernel, states.reshape(batch * q, d))
        cross = self._covariance(self._chosen, scaled)
        mean = self.hyperparameters.mean[:, None] + (cross * self._weights).sum(1)
        known = self._root @ cross
        covariance = self.hyperparameters.joint_covariance(self.kernel, scaled, known, q)
        return mean.T.reshape(batch, q, len(mean)), covariance

    def draw(self, count: int, seed: int) -> Draws:
        """Draw functions with independent outputs; with a kernel of your own, as by default.

        First the values at the chosen inputs are drawn, L v with v of covariance
        (I + W W' / lambda)^-1. They take the place of answers.
        """
        if not can_be_drawn(self.kernel):
            return super().draw(count, seed)
        generator, sizes, (k, m, _) = chance(seed), self.hyperparameters, self._right.shape
        prior = PriorDraws(self.kernel, self._inputs, k, count, generator)
        values, vectors = torch.linalg.eigh(self._information)
        values = 1 + values.clamp_min(0).unsqueeze(2)
        white = vectors.transpose(1, 2) @ self._right / values
        white = vectors @ (white + normal_numbers(generator, k, m, count) / values.sqrt())
        seen = sizes.variance.sqrt()[:, None] * prior(self._chosen.unsqueeze(0))
        jitter = (_JITTER * sizes.variance).sqrt()[:, None]
        seen = seen + jitter * normal_numbers(generator, count, k, m)
        left = self._factor @ white - seen.permute(1, 2, 0)
        weights = torch.cholesky_solve(left, self._factor)
        return PosteriorDraws(self.kernel, sizes, prior, self._chosen, weights)

    def with_predicted(self, state: Tensor) -> CondensedPosterior:
        """The same mean, with the deviations that an observation at a state (d,) will leave."""
        scaled = self.hyperparameters.scale(self.kernel, state.unsqueeze(0))
        cross = self._covariance(self._chosen, scaled)  # (k, m, 1)
        white = torch.linalg.solve_triangular(self._factor, cross, upper=False)
        noise = self._noise_variance[:, None, None]
        predicted = (cross * self._weights).sum(1, keepdim=True)
        longer = copy(self)
        information = self._information + white @ white.transpose(1, 2) / noise
        longer._set(information, self._right + white * predicted / noise)
        return longer

    def _set(self, information: Tensor, right: Tensor) -> None:
        """Work out weights S^-1 K_Un (y - m) / lambda, and G with G'G = K_UU^-1 - S^-1.

        A search needs so many predictions that computing both matrices once is faster than solving.
        """
        self._information = information
        self._right = right
        values, vectors = torch.linalg.eigh(information)
        values = values.clamp_min(0)
        # In whitened form S^-1 is (I + W W' / lambda)^-1, and what is known the rest of I.
        solved = vectors / (1 + values).unsqueeze(1) @ (vectors.transpose(1, 2) @ right)
        known = (values / (1 + values)).sqrt().unsqueeze(2) * vectors.transpose(1, 2)
        upper = self._factor.transpose(1, 2)
        self._weights = torch.linalg.solve_triangular(upper, solved, upper=True)  # (k, m, 1)
        self._root = torch.linalg.solve_triangular(upper, known.transpose(1, 2), upper=True)
        self._root = self._root.transpose(1, 2).contiguous()

    def _covariance(self, first: Tensor, second: Tensor) -> Tensor:
        return self.hyperparameters.covariance(self.kernel, first, second)
