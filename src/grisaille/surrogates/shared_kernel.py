"""The posterior of many outputs that share one kernel: curves, fields, spectra.

With one correlation matrix C = Q D Q' for all outputs, a thousand of them cost little more than
one: a prediction is one vector of correlations and a product of matrices.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from grisaille.surrogates.hyperparameters import Hyperparameters
from grisaille.surrogates.kernel import Kernel
from grisaille.surrogates.posterior import LEAST_NOISE, Posterior
from grisaille.surrogates.radial_prediction import LEAST_VARIANCE

# Patterns are kept until they hold this part of what varies; or until there are that many.
_SHARE_OF_PATTERNS = 0.999
_MOST_PATTERNS = 8


class SharedPosterior(Posterior):
    """Gaussian processes for the outputs of one black box, all with the same length-scales.

    Output j has variance v_j, noise lambda_j = r_j v_j and mean m_j. With correlations c(s) and
    C = Q D Q': mean_j(s) = m_j + c(s)' Q (D + r_j)^-1 Q' (y_j - m_j), and variance_j(s) =
    v_j (c(s, s) - |(D + r_j)^-1/2 Q' c(s)|^2). These are the formulas of `Posterior`.

    Args:
        kernel: The kernel family.
        hyperparameters: Its hyper-parameters; all outputs have the same length-scales and shares.
        inputs: (n, d).
        outputs: (n, k).
    """

    def __init__(
        self, kernel: Kernel, hyperparameters: Hyperparameters, inputs: Tensor, outputs: Tensor
    ) -> None:
        self.kernel = kernel
        self.hyperparameters = hyperparameters
        self.inputs = inputs
        self.outputs = outputs
        self._own = self._scale_once(inputs)
        correlation = kernel.correlation(self._own, self._own)
        values, self._vectors = torch.linalg.eigh(correlation)
        ratio = hyperparameters.noise / hyperparameters.variance
        largest = kernel.diagonal(self._own).amax() if len(inputs) else ratio.new_ones(())
        ratio = torch.maximum(ratio, LEAST_NOISE * largest.clamp_min(1.0))
        self._ratio = ratio[:1] if (ratio == ratio[0]).all() else ratio
        # (D + r_j)^-1, (n, k), or (n, 1) if all outputs have the same ratio
        self._values = values.clamp_min(0).unsqueeze(1)
        self._shrinkage = 1 / (self._values + self._ratio)
        self._projected = self._vectors.T @ (outputs - hyperparameters.mean)
        self._coefficients = self._vectors @ (self._shrinkage * self._projected)
        # What proofs and tables read, output by output.
        self.scaled = self._own.expand(outputs.shape[1], *self._own.shape)
        self.weights = (self._coefficients / hyperparameters.variance).T.unsqueeze(-1)

    def predict(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and standard deviation of each output, (batch, d) to (batch, k) twice."""
        mean, deviation = self._predict_once(states)
        return mean, deviation * self.hyperparameters.variance.sqrt()

    @property
    def has_slopes(self) -> bool:
        """False: its outputs move along patterns, whose slopes are differentiated."""
        return False

    def predict_jointly(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior means (batch, q, k) and covariances (batch, k, q, q) at (batch, q, d)."""
        batch, q, d = states.shape
        scaled = self._scale_once(states.reshape(batch * q, d))
        cross = self.kernel.correlation(self._own, scaled)
        mean = self.hyperparameters.mean + cross.T @ self._coefficients
        seen = (self._vectors.T @ cross).reshape(-1, batch, q)
        pairs = scaled.reshape(batch, q, scaled.shape[-1])
        prior = self.kernel.correlation(pairs, pairs).unsqueeze(1)
        explained = torch.einsum("nbp,nbq,nk->bkpq", seen, seen, self._shrinkage)
        variance = self.hyperparameters.variance[:, None, None]
        return mean.reshape(batch, q, -1), variance * (prior - explained)

    def extended(self, inputs: Tensor, outputs: Tensor) -> SharedPosterior:
        """The posterior with one more observation, inputs (d,) and outputs (k,)."""
        return SharedPosterior(
            self.kernel,
            self.hyperparameters,
            torch.cat([self.inputs, inputs.unsqueeze(0)]),
            torch.cat([self.outputs, outputs.unsqueeze(0)]),
        )

    def with_predicted(self, state: Tensor) -> SharedPosterior:
        """The same mean and patterns, with the deviations that an observation will leave."""
        longer = self.extended(state, self.predict(state.unsqueeze(0))[0][0])
        longer.patterns = self.patterns  # a prediction says nothing about them
        return longer

    @cached_property
    def patterns(self) -> Tensor:
        """How errors of the outputs go together, in their standard deviations, (k, patterns).

        Outputs with correlations S between them have errors sigma(s) S^1/2 xi, whatever s is. The
        answers estimate S: with W = D^1/2 (D + r)^-1 Q' (y - m) / sqrt(v), (n, k), which is
        standard normal up to noise, it is W'W / n. Its leading eigenvectors, times the roots of
        their eigenvalues, are the patterns. What an output lacks of a whole standard deviation is
        added to its largest entry: so every output can reach both ends of its band, also where few
        answers, or few patterns, leave something out.
        """
        n, k = self.outputs.shape
        if not n:
            return self.outputs.new_ones(k, 1)
        white = self._values.sqrt() * self._shrinkage * self._projected
        white = white / self.hyperparameters.variance.sqrt()
        values, vectors = torch.linalg.eigh(white @ white.T / n)
        values, vectors = values.flip(0).clamp_min(0), vectors.flip(1)
        total = values.sum()
        share = values.cumsum(0) / torch.where(total > 0, total, 1.0)
        count = min(_MOST_PATTERNS, k, int((share < _SHARE_OF_PATTERNS).sum()) + 1)
        found = (vectors[:, :count].T @ white / n**0.5).T
        size = found.norm(dim=1, keepdim=True)
        found = found / size.clamp_min(1.0)
        largest = found.abs().argmax(1, keepdim=True)
        sign = torch.where(found.gather(1, largest) < 0, -1.0, 1.0)
        whole: Tensor = found.scatter_add(1, largest, sign * (1 - size).clamp_min(0))
        return whole

    def on(self, device: torch.device) -> SharedPosterior:
        """The same posterior on a device."""
        if self.inputs.device.type == device.type:
            return self
        moved = copy(self)
        moved.hyperparameters = self.hyperparameters.on(device)
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(moved, name, value.to(device))
        return moved

    def of_logarithms(self) -> SharedPosterior:
        """The same posterior as a function of the logarithms themselves, where inputs have one."""
        if self.hyperparameters.logarithmic is None:
            return self
        plain = super().of_logarithms()
        same = copy(self)
        same.inputs, same.hyperparameters = plain.inputs, plain.hyperparameters
        return same

    @cached_property
    def factor(self) -> Tensor:  # type: ignore[override]
        """The Cholesky factor of K + lambda I, (k, n, n): made only for proofs and tables."""
        covariance = self.covariance(self.scaled, self.scaled)
        noise = torch.diag_embed(self.regularization(self.scaled))
        factor: Tensor = torch.linalg.cholesky(covariance + noise)
        return factor

    def regularization(self, scaled: Tensor) -> Tensor:
        """Lambda as used, (k, n, d) to (k, n): the same for all observations of an output."""
        level = self._ratio * self.hyperparameters.variance
        return level.unsqueeze(1).expand(-1, scaled.shape[1])

    def _predict_once(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Means (batch, k), and deviations (batch, k) or (batch, 1) for variances of 1."""
        scaled = self._scale_once(states)
        cross = self.kernel.correlation(self._own, scaled)  # (n, batch)
        mean = self.hyperparameters.mean + cross.T @ self._coefficients
        seen = self._vectors.T @ cross
        prior = self.kernel.diagonal(scaled).unsqueeze(1)
        variance = prior - (seen * seen).T @ self._shrinkage
        return mean, variance.clamp_min(LEAST_VARIANCE).sqrt()

    def _scale_once(self, states: Tensor) -> Tensor:
        """Inputs in length-scales, (batch, d) to (batch, d): the same for all outputs."""
        whole = self.hyperparameters
        shares = None if whole.shares is None else whole.shares[:1]
        one = replace(whole, lengthscale=whole.lengthscale[:1], shares=shares)
        return one.scale(self.kernel, states)[0]
