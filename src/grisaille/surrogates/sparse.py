"""The posterior of a Gaussian process with many observations, through a few chosen inputs.

A system that runs a hundred times per trial soon has thousands of rows. Most inputs then lie close
to others, so that a few of them hold nearly all information.
"""

from __future__ import annotations

from copy import copy

import torch
from torch import Tensor

from grisaille.surrogates.hyperparameters import Hyperparameters
from grisaille.surrogates.kernel import Kernel
from grisaille.surrogates.posterior import LEAST_NOISE
from grisaille.surrogates.radial_prediction import LEAST_VARIANCE
from grisaille.surrogates.row_choice import least_told_rows

# Inputs are chosen until what is left of the prior variance, over all observations, is this part of
# the noise; or until there are that many.
_ENOUGH = 1e-3
_MOST = 192
# Keeps the factor of the chosen inputs' covariance well defined.
_JITTER = 1e-9


class CondensedPosterior:
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
