"""TuRBO-1 (Eriksson et al. 2019) as BoTorch's tutorial describes it, one point at a time.

One Gaussian process models the objective as a function of all variables. Around the best point lies
a trust region, a rectangle with the proportions of the length-scales. Thompson sampling chooses
among candidates in it that differ from the best point in about twenty coordinates. The region grows
after ten successes in a row and shrinks after as many failures as there are variables; when it is
too small, everything starts again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import gpytorch
import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.generation import MaxPosteriorSampling
from botorch.models import SingleTaskGP
from gpytorch.constraints import Interval
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.typing import NDArray
from torch import Tensor
from torch.quasirandom import SobolEngine

from benchmarks.references.botorch_search import repeatable

Array = NDArray[np.float64]

_FIRST_LENGTH = 0.8
_SHORTEST = 0.5**7
_LONGEST = 1.6
_SUCCESSES = 10
_BETTER = 1e-3
_MOVED = 20
_MOST_CANDIDATES = 5000


@dataclass(frozen=True, slots=True)
class TrustRegion:
    """The trust region after the observations so far.

    Attributes:
        length: Its side, in ranges of the variables, before it takes the length-scales' shape.
        successes: Improvements in a row.
        failures: Other trials in a row.
        best: The least objective seen since the last start.
    """

    length: float = _FIRST_LENGTH
    successes: int = 0
    failures: int = 0
    best: float = math.inf

    @property
    def is_spent(self) -> bool:
        """Whether it is so small that the search starts again elsewhere."""
        return self.length < _SHORTEST

    def after(self, objective: float, dimensions: int) -> TrustRegion:
        """The region after one more objective, minimized.

        It doubles after ten successes in a row, and halves after `dimensions` failures, at least 4.
        """
        improved = objective < self.best - _BETTER * abs(self.best)
        successes, failures = (self.successes + 1, 0) if improved else (0, self.failures + 1)
        length = self.length
        if successes == _SUCCESSES:
            length, successes = min(2 * length, _LONGEST), 0
        elif failures == max(4, dimensions):
            length, failures = length / 2, 0
        return TrustRegion(length, successes, failures, min(self.best, objective))


def suggest_turbo(unit: Array, objectives: Array, region: TrustRegion, *, seed: int) -> Array:
    """The next point to try.

    Args:
        unit: (n, d), the points tried since the last start, in coordinates from 0 to 1.
        objectives: (n,), minimized.
        region: The trust region.
        seed: Makes the suggestion repeatable.
    """
    values = -(objectives - objectives.mean()) / objectives.std()
    x, y = torch.tensor(unit), torch.tensor(values).unsqueeze(1)
    with repeatable(seed), gpytorch.settings.max_cholesky_size(float("inf")):
        model, length_scales = _fitted(x, y)
        candidates = _candidates(x[y.argmax()], length_scales, region.length, seed)
        with torch.no_grad():
            chosen = MaxPosteriorSampling(model=model, replacement=False)(candidates, 1)
    return np.asarray(chosen[0].numpy(), dtype=float)


def _fitted(x: Tensor, y: Tensor) -> tuple[SingleTaskGP, Tensor]:
    """A fitted model, and its length-scales, (d,)."""
    scales = Interval(0.005, 4.0)
    matern = MaternKernel(nu=2.5, ard_num_dims=x.shape[1], lengthscale_constraint=scales)
    model = SingleTaskGP(
        x,
        y,
        covar_module=ScaleKernel(matern),
        likelihood=GaussianLikelihood(noise_constraint=Interval(1e-8, 1e-3)),
        outcome_transform=None,
    )
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model, matern.lengthscale.detach().flatten()


def _candidates(center: Tensor, length_scales: Tensor, length: float, seed: int) -> Tensor:
    """Sobol points of the trust region that share most coordinates with its center, (count, d)."""
    dimensions = len(center)
    weights = length_scales / length_scales.mean()
    weights = weights / weights.log().mean().exp()
    lower = (center - weights * length / 2).clamp(0, 1)
    upper = (center + weights * length / 2).clamp(0, 1)
    count = min(_MOST_CANDIDATES, max(2000, 200 * dimensions))
    unit = SobolEngine(dimensions, scramble=True, seed=seed).draw(count, dtype=center.dtype)
    moved = torch.rand(count, dimensions, dtype=center.dtype) <= min(_MOVED / dimensions, 1.0)
    still = torch.nonzero(~moved.any(1)).flatten()
    moved[still, torch.randint(0, dimensions, (len(still),))] = True
    return torch.where(moved, lower + (upper - lower) * unit, center)


@dataclass(frozen=True, slots=True)
class TurboRun:
    """The points of one run, and its trust region.

    Attributes:
        dimensions: The number of variables, d.
        initial: How many Sobol points a start begins with.
        seed: The seed.
        unit: Points tried since the last start, (d,) each.
        objectives: Theirs, minimized.
        region: The trust region.
        trials: Trials of all starts.
    """

    dimensions: int
    initial: int
    seed: int
    unit: tuple[Array, ...] = ()
    objectives: tuple[float, ...] = ()
    region: TrustRegion = TrustRegion()
    trials: int = 0

    def suggest(self) -> Array:
        """The next point, in coordinates from 0 to 1."""
        tried = len(self.unit)
        if tried < self.initial:
            start = self.seed + 1000 * (self.trials - tried)  # another design after each start
            engine = SobolEngine(self.dimensions, scramble=True, seed=start)
            return np.asarray(engine.draw(tried + 1, dtype=torch.float64)[-1].numpy())
        seed = 100_000 * self.seed + self.trials
        return suggest_turbo(np.array(self.unit), np.array(self.objectives), self.region, seed=seed)

    def told(self, point: Array, objective: float) -> TurboRun:
        """The run after one more trial."""
        unit, objectives = (*self.unit, point), (*self.objectives, objective)
        region = self.region
        if len(unit) == self.initial:
            region = replace(region, best=min(objectives))
        elif len(unit) > self.initial:
            region = region.after(objective, self.dimensions)
        trials = self.trials + 1
        if region.is_spent:
            return TurboRun(self.dimensions, self.initial, self.seed, trials=trials)
        return replace(self, unit=unit, objectives=objectives, region=region, trials=trials)
