"""The posterior of a Gaussian process, frozen into plain tensors (Eq. mean_cov).

A search needs thousands of means and deviations with gradients, and plain tensors are several
times faster than GPyTorch's lazy operators.

The posterior keeps the Cholesky factor, not its inverse: triangular solves are as fast on 512
points, and more accurate.

A system that runs a hundred times per trial soon has thousands of rows. Most inputs then lie
close to others, so that a few of them hold nearly all information, and a condensed posterior rests
on these. Without noise, a posterior rests on the most telling rows: a posterior given some of the
rows is a valid one, so that everything else, proofs included, stays as it is. All choices are
functions of the observations alone, so that a decision made again is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, cast

import numpy as np
import torch
from scipy.spatial.distance import cdist
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.belief.processes.belief import Belief, Slopes
from grisaille.belief.processes.draws import (
    Draws,
    PosteriorDraws,
    PriorDraws,
    can_be_drawn,
    chance,
    normal_numbers,
)
from grisaille.belief.processes.kernels import Hyperparameters, Kernel, Radial
from grisaille.belief.processes.minorants import BandMinorants, can_be_bounded
from grisaille.belief.processes.noise import repetitions
from grisaille.belief.processes.radial import LEAST_VARIANCE as LEAST_VARIANCE
from grisaille.belief.processes.radial import RadialGroup, RadialPosterior
from grisaille.errors import ModelError, counted

# --- posterior ------------------------------------------------------------------------------------

# Noise is never taken to be below this part of an observation's prior variance. It keeps every
# Cholesky factor well defined however many inputs coincide (they do near convergence), and adds at
# most 1e-5 prior standard deviations to a deviation: bands can close that far.
LEAST_NOISE = 1e-10
# A mean contradicts exact answers if it misses one by this part of their spread, and by so many of
# the standard deviations that are taken for rounding.
_MISS = 1e-3
_MISSES = 10.0
# How many points a user's own model is asked for at once where that takes their covariance.
_JOINTLY = 64


class NoFactorError(Exception):
    """Rounding leaves the covariance of many observations no Cholesky factor."""


class Posterior(Belief):
    """Independent Gaussian processes for the outputs of one black box, given observations.

    mean(s) = m + k(s)' (K + lambda I)^-1 (y - m), variance(s) = k(s, s) - k(s)' (K + lambda I)^-1
    k(s), through the Cholesky factor L of K + lambda I.

    Args:
        kernel: The kernel family.
        hyperparameters: Its hyper-parameters.
        inputs: (n, d).
        outputs: (n, k).

    Attributes:
        scaled: The inputs in length-scales, (k, n, d).
        factor: L, (k, n, n).
        weights: alpha = (K + lambda I)^-1 (y - m), (k, n, 1).
    """

    kernel: Kernel
    hyperparameters: Hyperparameters

    def __init__(
        self, kernel: Kernel, hyperparameters: Hyperparameters, inputs: Tensor, outputs: Tensor
    ) -> None:
        self.kernel = kernel
        self.hyperparameters = hyperparameters
        self.inputs = inputs
        self.outputs = outputs
        self.scaled = self.scale(inputs)
        # Outputs that are alike share one factor.
        some = self.scaled[:1] if hyperparameters.are_alike else self.scaled
        covariance = self.covariance(some, some)
        covariance.diagonal(dim1=1, dim2=2).add_(self.regularization(self.scaled)[: len(some)])
        factor, failed = torch.linalg.cholesky_ex(covariance)
        if failed.any():
            raise NoFactorError
        self._set_factor(factor.expand(outputs.shape[1], -1, -1))

    def extended(self, inputs: Tensor, outputs: Tensor) -> Posterior:
        """The posterior with one more observation, inputs (d,) and outputs (k,), in O(n^2)."""
        longer = copy(self)
        longer.inputs = torch.cat([self.inputs, inputs.unsqueeze(0)])
        longer.outputs = torch.cat([self.outputs, outputs.unsqueeze(0)])
        longer.scaled = self.scale(longer.inputs)
        new = longer.scaled[:, -1:, :]
        column = self.covariance(self.scaled, new)
        row = torch.linalg.solve_triangular(self.factor, column, upper=False).transpose(1, 2)
        noise = self.regularization(new)
        left = self.covariance_diagonal(new) + noise - (row * row).sum(-1)
        corner = torch.maximum(left, noise).sqrt().unsqueeze(-1)  # what is left is at least lambda
        zeros = torch.zeros_like(row).transpose(1, 2)
        longer._set_factor(
            torch.cat([torch.cat([self.factor, zeros], 2), torch.cat([row, corner], 2)], 1)
        )
        return longer

    def predict(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and standard deviation of each output, (batch, d) to (batch, k) twice."""
        if self.kernel._is_radial and states.device.type == "cpu":
            return self._radial().predict(self.hyperparameters.from_origin(states))
        scaled = self.scale(states)
        cross = self.covariance(self.scaled, scaled)  # (k, n, batch)
        mean = self.hyperparameters.mean[:, None] + (self.weights * cross).sum(1)
        solved = torch.linalg.solve_triangular(self.factor, cross, upper=False)
        variance = self.covariance_diagonal(scaled) - (solved * solved).sum(1)
        floor = LEAST_VARIANCE * self.hyperparameters.variance[:, None]
        return mean.T, torch.maximum(variance, floor).sqrt().T

    @property
    def with_slopes(self) -> Slopes | None:
        """Predicts with slopes in closed form, for plain kernels of the distance."""
        return self._sloped if self.kernel._is_radial else None

    def _sloped(self, states: Array) -> tuple[Array, Array, Array, Array]:
        radial, rates = self._radial(), self.hyperparameters.slopes_from_origin(states)
        if rates is None:
            return radial.with_slopes(states - self.hyperparameters.center.numpy())
        places = self.hyperparameters.from_origin(torch.from_numpy(states)).numpy()
        mean, deviation, by_mean, by_deviation = radial.with_slopes(places)
        return mean, deviation, by_mean * rates[:, None], by_deviation * rates[:, None]

    def predict_jointly(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior means (batch, q, k) and covariances (batch, k, q, q) at (batch, q, d)."""
        batch, q, d = states.shape
        scaled = self.scale(states.reshape(batch * q, d))  # (k, batch * q, d)
        cross = self.covariance(self.scaled, scaled)
        mean = self.hyperparameters.mean[:, None] + (self.weights * cross).sum(1)
        solved = torch.linalg.solve_triangular(self.factor, cross, upper=False)
        covariance = self.hyperparameters.joint_covariance(self.kernel, scaled, solved, q)
        return mean.T.reshape(batch, q, len(mean)), covariance

    def with_predicted(self, state: Tensor) -> Posterior:
        """The same mean, with the deviations that an observation at a state (d,) will leave."""
        return self.extended(state, self.predict(state.unsqueeze(0))[0][0])

    def draw(self, count: int, seed: int) -> Draws:
        """Draw functions with independent outputs; with a kernel of your own, as by default."""
        if not can_be_drawn(self.kernel):
            return super().draw(count, seed)
        generator, (n, k) = chance(seed), self.outputs.shape
        prior = PriorDraws(self.kernel, self.inputs.shape[1], k, count, generator)
        sizes, noise = self.hyperparameters, self.regularization(self.scaled).sqrt()
        seen = sizes.variance.sqrt()[:, None] * prior(self.scaled.unsqueeze(0))
        seen = seen + noise * normal_numbers(generator, count, k, n)
        left = (self.outputs - sizes.mean).T - seen  # (draws, k, n)
        weights = torch.cholesky_solve(left.permute(1, 2, 0), self.factor)
        return PosteriorDraws(self.kernel, sizes, prior, self.scaled, weights)

    @property
    def unbounded(self) -> str:
        """Why its bands cannot be bounded over regions; empty for given kernels and their sums."""
        if can_be_bounded(self.kernel):
            return ""
        return (
            "a product of kernels or a kernel of its own, whose bands are not bounded over regions"
        )

    def minorants(self, beta: Tensor) -> BandMinorants | None:
        """Return quadratics below bands of half-width beta, (k,)."""
        return None if self.unbounded else BandMinorants(self, beta)

    def of_logarithms(self, flags: Flags) -> Posterior:
        """Return the same posterior as a function of the logarithms that it was learned in."""
        del flags
        hyperparameters, inputs = self.hyperparameters.of_logarithms(self.inputs)
        if hyperparameters is self.hyperparameters:
            return self
        same = copy(self)
        same._arrays = None
        same.inputs, same.hyperparameters = inputs, hyperparameters
        return same

    def on(self, device: torch.device) -> Posterior:
        """The same posterior on a device."""
        if self.inputs.device.type == device.type:
            return self
        moved = copy(self)
        moved.hyperparameters = self.hyperparameters.on(device)
        for name in ("inputs", "outputs", "scaled", "factor", "weights"):
            setattr(moved, name, getattr(self, name).to(device))
        return moved

    def misses(self) -> Tensor:
        """Return how far the mean is from each output it was given, (n, k): lambda alpha."""
        return (self.regularization(self.scaled) * self.weights.squeeze(-1)).abs().T

    @property
    def noise(self) -> Tensor:
        """Standard deviation of the noise of an answer, (k,)."""
        return self.hyperparameters.noise.sqrt()

    @property
    def is_exact(self) -> bool:
        """True if answers have no noise."""
        return not self.hyperparameters.noise.any()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Conclusions made while learning, in a few words each."""
        return self.hyperparameters.remarks

    def described(self, is_learned: bool) -> str:
        """Return its kernel, and where the hyper-parameters come from."""
        kernel, source = type(self.kernel).__name__, "learned" if is_learned else "given"
        return f"a Gaussian process with a {kernel} kernel, hyper-parameters {source}"

    @property
    def contradiction(self) -> float:
        """By how much the mean misses answers, beyond rounding; 0 if it goes through all.

        With noise 0 it does, unless no function that the kernel describes goes through them. A
        lambda of the theory takes exact answers for noisy ones.
        """
        if not len(self.outputs):
            return 0.0
        rounding = self.regularization(self.scaled)
        if (self.hyperparameters.noise[:, None] > rounding.min()).any():
            return 0.0
        misses = self.misses()
        spread = self.outputs.amax(0) - self.outputs.amin(0)
        small = misses <= torch.maximum(_MISS * spread, _MISSES * rounding.sqrt().T)
        return 0.0 if small.all() else float(misses.max())

    def degrees(self, answers: int) -> Array:
        """Return how many independent values the answers tell: tr (K (K + lambda I)^-1), (k,)."""
        del answers
        inverse = torch.cholesky_inverse(self.factor).diagonal(dim1=1, dim2=2)
        return (1 - self.regularization(self.scaled) * inverse).sum(1).numpy()

    def in_turn(self, inputs: Tensor, outputs: Tensor, sizes: Sequence[int]) -> tuple[Array, Array]:
        """Predict later answers, each part of them from all parts before it.

        With L the Cholesky factor of all answers and v = L^-1 (y - m), the error of a part p is
        L_pp v_p, and its variance, noise included, the squared length of its rows of L_pp.

        Raises:
            NoFactorError: Rounding leaves all answers no Cholesky factor.
        """
        x, y = torch.cat([self.inputs, inputs]), torch.cat([self.outputs, outputs])
        whole = Posterior(self.kernel, self.hyperparameters, x, y)
        residual = (y - self.hyperparameters.mean).T.unsqueeze(-1)
        solved = torch.linalg.solve_triangular(whole.factor, residual, upper=False)
        rounding = whole.regularization(whole.scaled)
        errors, deviations, start = [], [], len(self.inputs)
        for size in sizes:
            part = slice(start, start + size)
            block = whole.factor[:, part, part]
            errors.append((block @ solved[:, part]).squeeze(-1).T.abs())
            variance = block.square().sum(2) - rounding[:, part]
            deviations.append(variance.clamp_min(0).sqrt().T)
            start += size
        return torch.cat(errors).numpy(), torch.cat(deviations).numpy()

    def left_out(self, inputs: Array, outputs: Array) -> tuple[Array, Array]:
        """Predict each answer from all the others, with the hyper-parameters as they are.

        With C = (K + lambda I)^-1 the mean is y_i - alpha_i / C_ii, and the variance 1 / C_ii. A
        posterior that rests on some of the answers predicts the others from all of these.
        """
        inverse = torch.cholesky_inverse(self.factor).diagonal(dim1=1, dim2=2)  # (k, n)
        miss = self.weights.squeeze(-1) / inverse
        mean, deviation = self.outputs - miss.T, inverse.rsqrt().T
        if len(mean) == len(outputs):
            return mean.numpy(), deviation.numpy()
        means, deviations = np.empty((2, *outputs.shape))
        told = np.zeros(len(means), dtype=bool)
        told[self._rests_on(inputs, outputs)] = True
        means[told], deviations[told] = mean.numpy(), deviation.numpy()
        states = torch.tensor(inputs[~told])
        noise = self.regularization(self.scale(states)).T.numpy()
        with torch.no_grad():
            mean, deviation = self.predict(states)
        means[~told] = mean.numpy()
        deviations[~told] = np.sqrt(deviation.numpy() ** 2 + noise)
        return means, deviations

    def _rests_on(self, inputs: Array, outputs: Array) -> list[int]:
        """Return the rows that it was given, which keep their order."""
        rows = (np.hstack([inputs, outputs]) + 0.0).tolist()
        given = (torch.hstack([self.inputs, self.outputs]) + 0.0).tolist()
        found: list[int] = []
        for row in given:
            found.append(rows.index(row, found[-1] + 1 if found else 0))
        return found

    def _set_factor(self, factor: Tensor) -> None:
        self.factor = factor
        residual = self.outputs - self.hyperparameters.mean
        if self.hyperparameters.are_alike:
            self.weights = torch.cholesky_solve(residual, factor[0]).T.unsqueeze(-1)
        else:
            self.weights = torch.cholesky_solve(residual.T.unsqueeze(-1), factor)  # (k, n, 1)
        self._arrays: RadialPosterior | None = None

    def _radial(self) -> RadialPosterior:
        """The same in arrays."""
        if self._arrays is None:
            sizes, k = self.hyperparameters, self.outputs.shape[1]
            alike = [list(range(k))] if sizes.are_alike else [[i] for i in range(k)]
            self._arrays = RadialPosterior(
                [
                    RadialGroup(
                        cast(Radial, self.kernel),
                        outputs,
                        sizes.lengthscale[outputs[0]].numpy(),
                        float(sizes.variance[outputs[0]]),
                        sizes.mean[outputs].numpy(),
                        self.scaled[outputs[0]].numpy(),
                        np.asfortranarray(self.factor[outputs[0]].numpy()),
                        self.weights[outputs, :, 0].numpy(),
                    )
                    for outputs in alike
                ]
            )
        return self._arrays

    def scale(self, states: Tensor) -> Tensor:
        """Inputs in length-scales from the origin of each output, (batch, d) to (k, batch, d)."""
        return self.hyperparameters.scale(self.kernel, states)

    def covariance(self, first: Tensor, second: Tensor) -> Tensor:
        """Prior covariances of scaled inputs, (k, n, d) and (k, m, d) to (k, n, m)."""
        return self.hyperparameters.covariance(self.kernel, first, second)

    def regularization(self, scaled: Tensor) -> Tensor:
        """Lambda as used: the noise, but not less than rounding needs; (k, n, d) to (k, n)."""
        variance = self.hyperparameters.variance[:, None]
        prior = torch.maximum(self.covariance_diagonal(scaled), variance)
        return torch.maximum(self.hyperparameters.noise[:, None], LEAST_NOISE * prior)

    def covariance_diagonal(self, scaled: Tensor) -> Tensor:
        """Prior variances k(s, s) of scaled inputs, (k, n, d) to (k, n)."""
        return self.hyperparameters.variance[:, None] * self.kernel.diagonal(scaled)


class ModelSurrogate(Belief):
    """A user's own BoTorch model as a surrogate, slower than `Posterior`.

    Args:
        model: Anything with BoTorch's `posterior(X)`, in the user's own units.
        box: Name of the black box it stands for.
        outputs: How many outputs that has.
        jointly: Whether to ask for many points as one set, not as a batch of single points: slower,
            but some models of several outputs cannot be differentiated in batches.
    """

    def __init__(self, model: object, box: str, outputs: int, jointly: bool = False) -> None:
        self.model = model
        self.box = box
        self.outputs = outputs
        self._jointly = jointly

    @classmethod
    def tried(cls, model: object, box: str, outputs: int, state: Tensor) -> ModelSurrogate:
        """The surrogate that asks a model in a way that works near a state (d,).

        If none does, what the model raised is raised again.
        """
        apart = torch.arange(outputs + 3, dtype=torch.float64).unsqueeze(1)
        states = state + 1e-3 * (1 + state.abs()) * apart
        found = cls(model, box, outputs)
        try:
            found._differentiate(states)
        except RuntimeError as batched:
            found = cls(model, box, outputs, jointly=True)
            try:
                found._differentiate(states)
            except RuntimeError:
                raise batched from None
        return found

    def predict(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and standard deviation of each output, (batch, d) to (batch, k) twice."""
        if self._jointly:
            parts = [self._moments(part.unsqueeze(0)) for part in states.split(_JOINTLY)]
            mean, variance = (
                torch.cat(side, 1).transpose(0, 1) for side in zip(*parts, strict=True)
            )
        else:
            mean, variance = self._moments(states.unsqueeze(1))
        if not (torch.isfinite(mean).all() and torch.isfinite(variance).all()):
            raise ModelError(
                f"the model of black box {self.box!r} predicts numbers that are not finite: "
                "check what model= returns"
            )
        # The floor keeps the root differentiable where nothing is left to learn.
        return mean.squeeze(1), variance.clamp_min(1e-300).sqrt().squeeze(1)

    def predict_jointly(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior means (batch, q, k) and covariances (batch, k, q, q) at (batch, q, d)."""
        posterior = self._posterior(states)
        mean, _ = self._moments_of(posterior, states)
        if self.outputs == 1:
            return mean, self._covariance(posterior).unsqueeze(1)
        try:
            parts = [
                self.model.posterior(states, output_indices=[i])  # type: ignore[attr-defined]
                for i in range(self.outputs)
            ]
            covariances = [self._covariance(part) for part in parts]
        except ValueError:  # BoTorch's models of independent outputs cannot be asked for one
            covariances = self._split_covariance(posterior, states.shape[1])
        return mean, torch.stack(covariances, 1)

    def with_predicted(self, state: Tensor) -> ModelSurrogate:
        """The same mean, with narrower deviations if the model can be conditioned; else itself."""
        if not hasattr(self.model, "condition_on_observations"):
            return self
        place = state.unsqueeze(0)
        mean = self.predict(place)[0].detach()
        try:
            conditioned = self.model.condition_on_observations(place, mean)
        except NotImplementedError:  # BoTorch's models that cannot be conditioned say so
            return self
        return ModelSurrogate(conditioned, self.box, self.outputs, self._jointly)

    def described(self, is_learned: bool) -> str:
        """Return the class of the model."""
        del is_learned
        return f"its model is your own, a {type(self.model).__name__}"

    def _posterior(self, points: Tensor) -> Any:
        try:
            return self.model.posterior(points)  # type: ignore[attr-defined]
        except Exception as error:
            error.add_note(
                f"The model of black box {self.box!r} could not predict: it must take float64 "
                f"tensors of shape (batch, q, {points.shape[-1]})."
            )
            raise

    def _moments(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Means and variances (batch, q, k) at (batch, q, d)."""
        return self._moments_of(self._posterior(points), points)

    def _moments_of(self, posterior: Any, points: Tensor) -> tuple[Tensor, Tensor]:
        # A fully Bayesian model is a mixture, of which each sample has a mean.
        mixed = "mixture_" if hasattr(posterior, "mixture_mean") else ""
        moments = [getattr(posterior, f"{mixed}{name}") for name in ("mean", "variance")]
        for value in moments:
            if not torch.is_tensor(value):
                raise ModelError(
                    f"the model of black box {self.box!r} predicts {type(value).__name__}, not "
                    "tensors: mean and variance of its posterior must be PyTorch tensors"
                )
        mean, variance = (value.to(torch.float64) for value in moments)
        expected = (*points.shape[:-1], self.outputs)
        if mean.shape != expected or variance.shape != expected:
            raise ModelError(
                f"the model of black box {self.box!r} predicts {tuple(mean.shape[1:])} numbers per "
                f"point, not {expected[1:]}: model= must return a model of "
                f"{counted(self.outputs, 'output')}"
            )
        return mean, variance

    def _covariance(self, posterior: Any) -> Tensor:
        """Covariances (batch, q, q) of one output."""
        distribution = getattr(posterior, "distribution", None)
        # BoTorch's Kronecker posterior has a diagonal in its place.
        if not hasattr(distribution, "covariance_matrix") or hasattr(
            posterior, "joint_covariance_matrix"
        ):
            raise ModelError(
                f"black box {self.box!r} is called more than once, and its model tells no "
                "covariance between the calls: its posterior needs distribution.covariance_matrix"
            )
        covariance: Tensor = distribution.covariance_matrix  # type: ignore[union-attr]
        if hasattr(posterior, "mixture_mean"):  # (batch, samples, q, q): covariance of a mixture
            apart = (posterior.mean - posterior.mixture_mean.unsqueeze(1)).squeeze(-1)
            between = apart.unsqueeze(-1) * apart.unsqueeze(-2)
            covariance = (covariance + between).mean(1)
        return covariance

    def _split_covariance(self, posterior: Any, q: int) -> list[Tensor]:
        """Covariances (batch, q, q) of each output, from the joint one of all of them."""
        whole = self._covariance(posterior)
        # GPyTorch orders a joint distribution point by point, or else output by output.
        if getattr(posterior.distribution, "_interleaved", True):
            return [whole[:, i :: self.outputs, i :: self.outputs] for i in range(self.outputs)]
        ranges = [slice(i * q, (i + 1) * q) for i in range(self.outputs)]
        return [whole[:, part, part] for part in ranges]

    def _differentiate(self, states: Tensor) -> None:
        leaf = states.detach().clone().requires_grad_()
        mean, deviation = self.predict(leaf)
        value = mean.sum() + deviation.sum()
        if value.requires_grad:
            torch.autograd.grad(value, leaf, allow_unused=True)


# --- constant process -----------------------------------------------------------------------------
# Belief about a black box without inputs: a constant that is observed with noise.


class ConstantProcess(Belief):
    """Mean and disturbance of a black box without inputs, from n answers.

    mean = average of the answers, deviation of the mean = s / sqrt(n), where s is the standard
    deviation of the disturbance.

    Args:
        mean: (k,).
        noise: s, (k,).
        answers: n; 1 if there is none, so that the deviation stays finite.
    """

    def __init__(self, mean: Tensor, noise: Tensor, answers: int) -> None:
        self.mean = mean
        self._noise = noise
        self.answers = answers

    @property
    def noise(self) -> Tensor:
        """S, (k,)."""
        return self._noise

    @staticmethod
    def of(outputs: Tensor, noise: Tensor | None) -> ConstantProcess:
        """The belief after answers (n, k); `noise` is s, (k,), None to take that of the sample."""
        n, k = outputs.shape
        mean = outputs.mean(0) if n else outputs.new_zeros(k)
        if noise is None:
            # One answer has no spread: its own size is a guess in the right units.
            guess = torch.where(mean != 0, mean.abs(), torch.ones_like(mean))
            noise = outputs.std(0) if n > 1 else guess
        return ConstantProcess(mean, noise, max(n, 1))

    def predict(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of the mean, (batch, 0) to (batch, k) twice."""
        deviation = self.noise / self.answers**0.5
        return self.mean.expand(len(states), -1), deviation.expand(len(states), -1)

    def predict_jointly(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The same for q states each, which are all alike: (batch, q, k) and (batch, k, q, q)."""
        batch, q = states.shape[:2]
        variance = self.noise**2 / self.answers
        return self.mean.expand(batch, q, -1), variance[:, None, None].expand(batch, -1, q, q)

    def with_predicted(self, state: Tensor) -> ConstantProcess:
        """The same mean, one answer more."""
        del state
        return ConstantProcess(self.mean, self.noise, self.answers + 1)

    def described(self, is_learned: bool) -> str:
        """Return that there are no inputs."""
        del is_learned
        return "it has no inputs, and is described by mean and spread of its answers"

    def left_out(self, inputs: Array, outputs: Array) -> tuple[Array, Array]:
        """Predict each answer from the others: their mean; NaN without others."""
        del inputs
        others = max(len(outputs) - 1, 0)
        if not others:
            return tuple(np.full((2, *outputs.shape), np.nan))
        mean = (outputs.sum(0) - outputs) / others
        deviation = self.noise.numpy() * np.sqrt(1 + 1 / others)
        return mean, np.broadcast_to(deviation, mean.shape)


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
