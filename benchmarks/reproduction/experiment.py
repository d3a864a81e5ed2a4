"""The paper's experiment: paired random instances, two methods, three settings.

We chose what the paper leaves open as follows: one beta for both methods, no noise in the first
setting, multi-start search with its default settings, no initial design where the kernel is given,
and no recommended points, because every evaluation counts as a step of the algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch
from numpy.typing import NDArray

from grisaille.lab.problems.paper_examples import KERNEL, lp_with_embedded_gp, true_values
from grisaille.metrics import Metrics
from grisaille.search.multistart import MultiStart
from grisaille.strategies.config import CONFIG
from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.strategy import Strategy

Array = NDArray[np.float64]

STEPS = 20
BETA = 1.5
NOISE = 0.05
SOLVER = MultiStart()


class Setting(StrEnum):
    """What the methods know and observe.

    EXACT: the true kernel, no noise; NOISY: the true kernel, and noise of standard deviation 0.05;
    LEARNED: hyper-parameters learned, no noise.
    """

    EXACT = "exact"
    NOISY = "noisy"
    LEARNED = "learned"


class Method(StrEnum):
    """The grey-box method of the paper, or CONFIG."""

    OURS = "ours"
    CONFIG = "config"


@dataclass(frozen=True, slots=True, order=True)
class Job:
    """One run: a setting, an instance and a method."""

    setting: Setting
    instance: int
    method: Method


@dataclass(frozen=True, slots=True)
class Curve:
    """The results of one run at each step.

    Attributes:
        positive_regret: (STEPS,).
        violations: (STEPS, 2).
    """

    positive_regret: Array
    violations: Array

    @property
    def metrics(self) -> Metrics:
        """The paper's measures of the run."""
        return Metrics(self.positive_regret, self.violations, 0.0)


def strategy(job: Job) -> Strategy:
    """The strategy of a job; the two methods differ only in what they know."""
    if job.method is Method.OURS:
        return Optimistic(beta=BETA, solver=SOLVER, exploit=False)
    learned = job.setting is Setting.LEARNED
    # The outer coefficients have length 1, so that noise passes through them unchanged.
    noise = NOISE if job.setting is Setting.NOISY else 0.0
    kernel = None if learned else KERNEL
    return CONFIG(beta=BETA, solver=SOLVER, exploit=False, kernel=kernel, noise=noise)


def run(job: Job) -> Curve:
    """Make one run, and measure it by the true functions."""
    torch.set_num_threads(1)
    known = lp_with_embedded_gp(
        job.instance,
        learn=job.setting is Setting.LEARNED,
        noise=NOISE if job.setting is Setting.NOISY else 0.0,
    )
    result = known.problem.solve(STEPS, strategy=strategy(job), seed=job.instance, progress=False)
    points = torch.tensor(np.array([t.x for t in result.history]))
    objective, constraints = (v.numpy() for v in true_values(known.problem, points))
    metrics = Metrics(objective, constraints, known.optimum)
    return Curve(metrics.positive_regret, metrics.violations)
