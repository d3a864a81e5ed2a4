"""EI-FN: expected improvement for function networks (Astudillo and Frazier 2021).

Each black box has its own `SingleTaskGP`, fitted on its own observations. The objective has no
posterior in closed form, so the network is sampled node by node: each call answers mean +
deviation * base sample, where the base samples are fixed quasi-random normals. The average
improvement over the samples is a smooth function of the design point, which `optimize_acqf`
maximizes.

One difference from the published code makes this reference faster: all restarts are searched in
one batch instead of a few at a time. Another makes it sounder: a noise-free box has a noise
variance in proportion to that of its outputs, not 1e-6 whatever their units.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.models import ModelListGP, SingleTaskGP
from botorch.utils.safe_math import log_fatplus, logmeanexp
from botorch.utils.sampling import draw_sobol_normal_samples
from botorch.utils.transforms import t_batch_mode_transform
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.references.botorch_search import (
    SearchEffort,
    best_point,
    box_bounds,
    fitted_model,
    repeatable,
)
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program
from grisaille.records import History

Array = NDArray[np.float64]

# Noise variance of a noise-free black box, as a part of the variance of its outputs.
_NOISE_FREE = 1e-6
# Width of the smoothing of max(improvement, 0), as in BoTorch's qLogExpectedImprovement.
_IMPROVEMENT_SMOOTHING = 1e-6


class NetworkSampler:
    """Draws of a network's objective, the same base samples at every design point.

    Args:
        program: The network and the white boxes around it; its first output is the objective.
        models: A fitted model for each black box, by name.
        base_samples: (samples, outputs of all calls), standard normal.
    """

    def __init__(
        self, program: Program, models: dict[str, SingleTaskGP], base_samples: Tensor
    ) -> None:
        self.program = program
        self.models = models
        self.base_samples = base_samples

    def draw(self, design: Tensor) -> Tensor:
        """Samples of the minimized objective, (samples, batch), at design points (batch, n)."""
        samples, batch = len(self.base_samples), len(design)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            stacked = states.expand(samples * batch, -1).reshape(samples, batch, -1)
            if call.first_layer:  # all samples share the state, so one prediction serves them
                stacked = stacked[:1]
            # One point per batch entry: the states are not to be predicted jointly.
            posterior = self.models[call.box.name].posterior(stacked.unsqueeze(-2))
            mean = posterior.mean.squeeze(-2)
            deviation = posterior.variance.clamp_min(0).sqrt().squeeze(-2)
            answers = mean + deviation * self.base_samples[:, None, call.columns]
            return answers.reshape(samples * batch, -1)

        objective = self.program.run(design.repeat(samples, 1), resolve)[0]
        return objective.reshape(samples, batch)


class Acquisition(StrEnum):
    """What is maximized to find the next design point.

    IMPROVEMENT: the expected improvement, the mean of max(best - objective, 0). Far from the best
    point it vanishes on all samples, and a search that starts there ends there.
    PUBLISHED: the same, with one more start: the best point of the posterior mean, which is
    searched for just as hard. This is what the published code does.
    LOGARITHM: its smoothed logarithm, as in BoTorch's qLogExpectedImprovement, which has a slope
    everywhere.
    """

    IMPROVEMENT = "improvement"
    PUBLISHED = "published"
    LOGARITHM = "logarithm"


class NetworkMean(AcquisitionFunction):
    """The mean of a sampled network's objective, negated so that more is better.

    Args:
        sampler: Draws the network.
    """

    def __init__(self, sampler: NetworkSampler) -> None:
        super().__init__(model=ModelListGP(*sampler.models.values()))
        self.sampler = sampler

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:  # noqa: N803 (BoTorch passes it by this name)
        """The negated mean, (batch,), at design points (batch, 1, n)."""
        return -self.sampler.draw(X.squeeze(-2)).mean(0)


class NetworkImprovement(AcquisitionFunction):
    """Expected improvement of a sampled network over the best value observed.

    Args:
        sampler: Draws the network.
        best: The least objective observed.
        logarithmic: Whether to return the smoothed logarithm.
    """

    def __init__(self, sampler: NetworkSampler, best: float, *, logarithmic: bool = False) -> None:
        super().__init__(model=ModelListGP(*sampler.models.values()))
        self.sampler = sampler
        self.best = best
        self.logarithmic = logarithmic

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:  # noqa: N803 (BoTorch passes it by this name)
        """Expected improvement, (batch,), at design points (batch, 1, n)."""
        improvement = self.best - self.sampler.draw(X.squeeze(-2))
        if self.logarithmic:
            return logmeanexp(log_fatplus(improvement, tau=_IMPROVEMENT_SMOOTHING), dim=0)
        return improvement.clamp_min(0).mean(0)


def suggest_network(
    problem: Problem,
    history: History,
    *,
    seed: int = 0,
    samples: int = 128,
    acquisition: Acquisition = Acquisition.PUBLISHED,
    effort: SearchEffort | None = None,
) -> Array:
    """The next design point to try, flat.

    Args:
        problem: A problem without constraints.
        history: What was observed.
        seed: Makes the suggestion repeatable.
        samples: Quasi-random samples of the network.
        acquisition: What to maximize.
        effort: How hard to search; 10 d restarts from 100 d raw samples by default.
    """
    if problem.constraints:
        raise ValueError("EI-FN knows no constraints: pass a problem without them")
    program = problem.program
    bounds = box_bounds(program.lower, program.upper)
    effort = effort or SearchEffort()
    # All raw samples at once would be slower: each is a batch of network samples itself.
    initial_batch = effort.restarts * program.size
    logarithmic = acquisition is Acquisition.LOGARITHM
    with repeatable(seed):
        models = {box.name: fitted_box(box, history) for box in program.boxes}
        base = draw_sobol_normal_samples(
            program.box_outputs, samples, dtype=torch.float64, seed=seed
        )
        sampler = NetworkSampler(program, models, base)
        start = None
        if acquisition is Acquisition.PUBLISHED:
            start = best_point(NetworkMean(sampler), bounds, effort, initial_batch=initial_batch)
        return best_point(
            NetworkImprovement(
                sampler, min(trial.objective for trial in history), logarithmic=logarithmic
            ),
            bounds,
            effort,
            initial_batch=initial_batch,
            nonnegative=not logarithmic,
            extra_start=start,
        )


def fitted_box(box: BlackBox, history: History) -> SingleTaskGP:
    """A model of one black box, noise-free if it was declared so, ready to predict."""
    inputs, outputs = (
        torch.tensor(array) for array in history.data(box.name, box.inputs, box.outputs)
    )
    noise_variance = None
    if box.is_exact:
        noise_variance = (_NOISE_FREE * outputs.var(0)).expand_as(outputs)
    elif box.noise is not None:
        noise_variance = torch.tensor(box.noise**2).expand_as(outputs)
    model = fitted_model(inputs, outputs, noise_variance=noise_variance)
    model.eval()
    return model
