"""Gaussian processes of many outputs that share one kernel: curves, fields, spectra.

With one correlation matrix C = Q D Q' for all outputs, a thousand of them cost little more than
one: a prediction is one vector of correlations and a product of matrices.

With one kernel and covariances S of the outputs, the posterior covariance is sigma(s)^2 S at every
point. So the eigenvectors of S are the same patterns everywhere, and the answers estimate them. A
search moves patterns (`Controls` in `belief/plausible_set.py`), and each output keeps a band, so
that clipping, proofs and audits need not know of patterns. Principal components with a kernel each
were the alternative: on a field of 1,000 outputs they needed 20 fits instead of one, and predicted
worse near the optimum, because the mean loses what is cut off. One radius for all outputs, a ball,
would need the best point of a ball for every known operation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.belief.processes.belief import Belief
from grisaille.belief.processes.draws import (
    Draws,
    PriorDraws,
    can_be_drawn,
    chance,
    normal_numbers,
)
from grisaille.belief.processes.kernels import (
    Composite,
    Hyperparameters,
    Kernel,
    as_composite,
)
from grisaille.belief.processes.likelihood import (
    NOISE_FREE,
    NOISE_PRIOR,
    VARIANCE_PRIOR,
    CompositeLikelihood,
    Data,
    Fit,
    LogNormal,
    scale_prior,
)
from grisaille.belief.processes.noise import NoiseVerdict, judge_noise
from grisaille.belief.processes.posterior import LEAST_NOISE, Posterior
from grisaille.belief.processes.radial import LEAST_VARIANCE

# --- shared kernel --------------------------------------------------------------------------------
# The posterior of many outputs that share one kernel: curves, fields, spectra.

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
    def with_slopes(self) -> None:
        """None: its outputs move along patterns, whose slopes are differentiated."""
        return

    def in_turn(self, inputs: Tensor, outputs: Tensor, sizes: Sequence[int]) -> tuple[Array, Array]:
        """Predict later answers from what is known now: it stays as it was."""
        return Belief.in_turn(self, inputs, outputs, sizes)

    def described(self, is_learned: bool) -> str:
        """Return its kernel, and where the hyper-parameters come from."""
        return f"{super().described(is_learned)}, shared by all outputs"

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

    def draw(self, count: int, seed: int) -> Draws:
        """Draw functions whose outputs go together in the `patterns` that the answers show.

        With a kernel of your own, draws are as by default: their outputs are independent.
        """
        if not can_be_drawn(self.kernel):
            return super().draw(count, seed)
        together = self.patterns / self.patterns.norm(dim=1, keepdim=True)
        generator, (n, k) = chance(seed), self.outputs.shape
        prior = PriorDraws(self.kernel, self.inputs.shape[1], together.shape[1], count, generator)
        mean, size = self.hyperparameters.mean, self.hyperparameters.variance.sqrt()

        def at_prior(scaled: Tensor) -> Tensor:  # (draws or 1, batch, D) to (draws, batch, k)
            found: Tensor = prior(scaled.unsqueeze(1)).transpose(1, 2) @ together.T
            return found

        noise = self._ratio.sqrt() * normal_numbers(generator, count, n, k)
        left = (self.outputs - mean) / size - at_prior(self._own.unsqueeze(0)) - noise
        weights = self._vectors @ (self._shrinkage * (self._vectors.T @ left))  # (draws, n, k)

        def values(states: Tensor) -> Tensor:
            scaled = self._scale_once(states.flatten(0, -2))
            scaled = scaled.reshape(-1, states.shape[-2], scaled.shape[-1])
            update = self.kernel.correlation(scaled, self._own) @ weights
            drawn: Tensor = mean + size * (at_prior(scaled) + update)
            return drawn

        return values

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

    def of_logarithms(self, flags: Flags) -> SharedPosterior:
        """Return the same posterior as a function of the logarithms that it was learned in."""
        plain = super().of_logarithms(flags)
        if plain is self:
            return self
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


# --- shared likelihood ----------------------------------------------------------------------------
# The posterior density of hyper-parameters that many outputs share, with its gradient.


def effective_outputs(outputs: Array) -> float:
    """How many independent outputs say as much as the given ones, (n, k), at least 1.

    (sum e_i)^2 / sum e_i^2, with e the eigenvalues of their covariance: k for k independent outputs
    that vary alike, 1 for outputs that are multiples of each other.
    """
    if not outputs.size:
        return 1.0
    values = np.linalg.svd(outputs - outputs.mean(0), compute_uv=False) ** 2
    squares = float(np.sum(np.square(values)))
    return max(1.0, float(np.sum(values)) ** 2 / squares) if squares > 0 else 1.0


class SharedLikelihood(CompositeLikelihood):
    """Minus the log posterior density of the hyper-parameters of all outputs together.

    -c / k sum_j log p(y_j | l, v, lambda) - log p(l, v, lambda), where c is how many independent
    outputs the k outputs are worth: a thousand neighbours on a curve say little more than a few.
    One factor serves all outputs: the sum needs only K^-1 Y, and its gradient K^-1 Y Y' K^-1.

    Args:
        kernel: The kernel.
        inputs: (n, d), in the unit cube.
        outputs: (n, k), standardized.
        noise: The noise variance; None if it is a parameter.
        scales: A prior of the length-scales of each part; None for a flat one.
        variance: Prior of each variance.
        noise_prior: Prior of the noise variance; None for a flat one.
    """

    def __init__(
        self,
        kernel: Composite,
        inputs: Array,
        outputs: Array,
        noise: float | None,
        scales: Sequence[LogNormal | None],
        variance: LogNormal,
        noise_prior: LogNormal | None,
    ) -> None:
        super().__init__(kernel, inputs, outputs, noise, scales, variance, noise_prior)
        self._count = effective_outputs(outputs)
        self._share = self._count / max(outputs.shape[1], 1)
        # Only Y Y' matters, so that n columns stand for any number of outputs.
        left, sizes, _ = np.linalg.svd(outputs, full_matrices=False)
        self._columns = torch.tensor(left * sizes)

    def __call__(self, logarithms: Array) -> tuple[float, Array]:
        """The loss and its gradient; (inf, zeros) where the covariance has no Cholesky factor."""
        parameters = torch.tensor(logarithms, requires_grad=True)
        with torch.enable_grad():
            covariance = self._covariance(parameters)
        factor, failed = torch.linalg.cholesky_ex(covariance.detach())
        if failed or not covariance.isfinite().all():
            return math.inf, np.zeros_like(logarithms)
        inverse = torch.cholesky_inverse(factor)
        residual = self._columns - _best_means(inverse, self._columns)
        weights = inverse @ residual
        fit = 0.5 * self._share * float((residual * weights).sum())
        loss = fit + self._count * float(factor.diagonal().log().sum())
        sensitivity = self._count * inverse - self._share * (weights @ weights.T)
        (slopes,) = torch.autograd.grad(covariance, parameters, sensitivity / 2)
        gradient = slopes.numpy()
        for part, prior in self._priors:
            more, derivative = prior.loss(logarithms[part])
            loss += more
            gradient[part] += derivative
        return loss, gradient

    def independent_parts(self, logarithms: Array, outputs: Array) -> tuple[Array, Array, Array]:
        """Standardized answers (n, k) in parts that are independent of each other.

        Returns:
            The means m (k,) of largest likelihood; Q' (y - m), (n, k); and the eigenvalues D (n,)
            of the correlations Q D Q', so that part i of an output of variance v has variance
            v D_i and its noise.
        """
        parameters = torch.tensor(logarithms)
        _, whole, _, noise = self._sizes(parameters)
        covariance, answers = self._covariance(parameters), torch.tensor(outputs)
        factor, failed = torch.linalg.cholesky_ex(covariance)
        means = answers.new_zeros(answers.shape[1])
        if not failed and len(answers):
            means = _best_means(torch.cholesky_inverse(factor), answers)
        values, vectors = torch.linalg.eigh(covariance)
        values = ((values - noise) / whole).clamp_min(LEAST_NOISE)
        return means.numpy(), (vectors.T @ (answers - means)).numpy(), values.numpy()

    def mean(self, _logarithms: Array) -> float:
        """0: there is a mean for each output (`independent_parts`)."""
        return 0.0


def _best_means(inverse: Tensor, outputs: Tensor) -> Tensor:
    """The constant prior mean of largest likelihood of each output, (n, k) to (k,)."""
    ones = inverse.sum(0)
    return ones @ outputs / ones.sum()


# --- shared fitting -------------------------------------------------------------------------------
# Hyper-parameters that all outputs of a black box share, learned from all of them together.
#
# Length-scales and noise are those of largest posterior probability for all standardized
# outputs (`SharedLikelihood`). Then each output has a variance of its own, and noise if that is
# to be learned, by its own likelihood. What is learned of one output of a thousand is
# uncertain, so that the common size counts as well.

# Sizes that are tried for each output, in sizes that are common to all.
_SIZES = np.concatenate(
    [np.geomspace(1e-12, 1e-4, 40, endpoint=False), np.geomspace(1e-4, 1e4, 81)]
)
_TURNS = 3
# Outputs of which noise is a larger part say little about length-scales.
_MOSTLY_NOISE = 0.5


@lru_cache(maxsize=128)  # an audit asks again for what every earlier decision learned
def learn_together(data: Data) -> Hyperparameters:
    """Return hyper-parameters of maximum posterior probability that all outputs share."""
    unit, standard, declared = data.unit, data.standard, data.declared
    k = standard.shape[1]
    together = as_composite(data.kernel, unit.shape[1])
    fit, verdict = _fit(together, unit, standard, declared)
    is_exact = verdict is not None and verdict.is_exact
    levels = np.full(k, fit.noise) if declared is None else np.maximum(declared, NOISE_FREE)
    is_known = declared is not None or is_exact
    means, variance, levels = _own_sizes(fit, standard, levels, is_known)
    if not is_known and (levels >= _MOSTLY_NOISE).any():
        # Outputs that are mostly noise made the others look rough: learn once more without them.
        fit, _ = _fit(together, unit, standard, levels)
        means, variance, levels = _own_sizes(fit, standard, levels, False)
    if is_known:
        levels = np.zeros(k) if declared is None else declared
    return data.found(
        np.tile(fit.lengthscale, (k, 1)),
        variance,
        levels,
        means,
        np.tile(fit.shares, (k, 1)),
        ["" if verdict is None else verdict.reason, fit.remark],
    )


def _fit(
    kernel: Composite, inputs: Array, outputs: Array, noise: Array | None
) -> tuple[Fit, NoiseVerdict | None]:
    """The fit, and the verdict about noise that was left out (None if declared).

    Args:
        kernel: The kernel family.
        inputs: (n, d) in the unit cube.
        outputs: (n, k), standardized.
        noise: Noise variances (k,); None to learn whether there is any.
    """
    share = np.zeros(outputs.shape[1]) if noise is None else noise
    telling = outputs.any(0) & (share < _MOSTLY_NOISE)  # constant outputs tell nothing, too
    some = outputs[:, telling] if telling.any() else outputs

    priors = [scale_prior(part.kernel, len(part.inputs)) for part in kernel.parts]
    # Together, the parts of a sum vary as much as one kernel would.
    many = sum(part.has_variance for part in kernel.parts)
    variance = LogNormal(VARIANCE_PRIOR.mean - math.log(max(many, 1)), VARIANCE_PRIOR.deviation)

    def fit(level: float | None, prior: LogNormal | None) -> Fit:
        return Fit(SharedLikelihood(kernel, inputs, some, level, priors, variance, prior))

    if noise is not None:
        level = float(noise[telling].mean()) if telling.any() else float(noise.mean())
        return fit(max(level, NOISE_FREE), None), None
    exact, noisy = fit(NOISE_FREE, None), fit(None, NOISE_PRIOR)
    # The prior of the noise favours noise of a certain size; the verdict is to rest on the data.
    gain = exact.loss - (noisy.loss - NOISE_PRIOR.loss(noisy.logarithms[-1:])[0])
    verdict = judge_noise(inputs, outputs, np.nan_to_num([gain]))
    return (exact if verdict.is_exact else noisy), verdict


def _own_sizes(
    fit: Fit, outputs: Array, noise: Array, is_known: bool
) -> tuple[Array, Array, Array]:
    """The mean, variance and noise variance of each output, (k,) each, given length-scales.

    Sizes are those of largest likelihood among some that are tried, where part i of an output is a
    normal number of variance v D_i + lambda. Noise that is not known is learned in turns with v.

    Args:
        fit: The fit of all outputs together.
        outputs: (n, k), standardized.
        noise: (k,), noise variances.
        is_known: Whether the noise variances stay as they are.
    """
    assert isinstance(fit.likelihood, SharedLikelihood)
    means, parts, values = fit.likelihood.independent_parts(fit.logarithms, outputs)
    shape = np.broadcast_to(values[:, None], parts.shape)
    ones = np.ones_like(parts)
    variance = _likeliest(parts, shape, noise * ones, fit.variance)
    if is_known:
        return means, variance, noise
    level = float(np.median(noise)) if len(noise) else NOISE_FREE
    for _ in range(_TURNS):
        noise = np.maximum(_likeliest(parts, ones, variance * shape, level), NOISE_FREE)
        variance = _likeliest(parts, shape, noise * ones, fit.variance)
    return means, variance, noise


def _likeliest(parts: Array, shape: Array, others: Array, common: float) -> Array:
    """The size a of largest likelihood, (k,), where parts have variances a * shape + others.

    The prior is that of a variance, in common sizes: an output that never changes may be small.

    Args:
        parts: (n, k).
        shape: (n, k).
        others: (n, k).
        common: The common size.
    """
    tried = common * _SIZES
    losses = np.empty((len(tried), parts.shape[1]))
    for place, size in enumerate(tried):
        spreads = size * shape + others
        loss = (np.log(spreads) + parts**2 / spreads).sum(0)
        losses[place] = loss + 2 * VARIANCE_PRIOR.loss(np.log([size / common]))[0]
    return np.asarray(tried[losses.argmin(0)])
