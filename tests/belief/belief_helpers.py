"""Problems with known boxes, and histories of what they really answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

import grisaille as gs
from grisaille.belief import rules
from grisaille.belief.learning import Beliefs
from grisaille.belief.plausible_set import PlausibleSet, constant_widths
from grisaille.belief.processes.belief import Belief
from grisaille.language.program import BoxCall, split_outputs
from grisaille.records import History, Observation, Suggestion, Trial, TrialKind


def known_kernel(lengthscale: Any = 1.0, variance: float = 1.0) -> gs.SquaredExponential:
    """A kernel with hyper-parameters, so that nothing is learned."""
    return gs.SquaredExponential(lengthscale=lengthscale, variance=variance)


def trial_at(problem: gs.Problem, number: int, x: np.ndarray, noise: float = 0.0) -> Trial:
    """The trial at x along the real chain; `noise` is added to every answer."""
    seen: list[Observation] = []

    def resolve(call: BoxCall, states: Tensor) -> Tensor:
        inputs = states[0].numpy().copy()
        outputs = call.box.evaluate(inputs) + noise
        seen.append(Observation(call.box.name, inputs, outputs))
        return torch.tensor(outputs)[None]

    values = problem.program.run(torch.tensor(x, dtype=torch.float64)[None], resolve)
    objective, constraints = split_outputs(values)
    return Trial(
        number,
        Suggestion(TrialKind.INITIAL, np.asarray(x, float)),
        objective.item(),
        constraints[0].numpy(),
        np.concatenate([o.outputs for o in seen]) if seen else np.zeros(0),
        tuple(seen),
    )


def history_at(
    problem: gs.Problem, points: Iterable[Any], noises: Iterable[float] | None = None
) -> History:
    """A history of trials at flat design points."""
    design = [np.atleast_1d(np.asarray(x, float)) for x in points]
    added = [0.0] * len(design) if noises is None else list(noises)
    pairs = enumerate(zip(design, added, strict=True), start=1)
    return History(tuple(trial_at(problem, i, x, noise) for i, (x, noise) in pairs))


def random_design(problem: gs.Problem, count: int, seed: int = 0) -> np.ndarray:
    """Design points that are uniform in search coordinates, flat."""
    space = problem.program.space
    low, high = space.search_lower, space.search_upper
    points = np.random.default_rng(seed).uniform(low, high, (count, len(low)))
    return np.array([space.spread(point) for point in points])


def plausible_set(problem: gs.Problem, history: History, beta: float = 2.0) -> PlausibleSet:
    """What the history leaves plausible."""
    return rules.plausible_set(problem.program, history, beta)


class Fixed(Belief):
    """A belief with a mean and a deviation that are known functions of the state."""

    def __init__(self, mean: Any, deviation: Any) -> None:
        self.mean, self.deviation = mean, deviation

    def predict(self, states: Tensor) -> tuple[Tensor, Tensor]:
        mean = self.mean(states) if callable(self.mean) else self.mean
        deviation = self.deviation(states) if callable(self.deviation) else self.deviation
        ones = torch.ones(len(states), 1, dtype=torch.float64)
        return (
            torch.as_tensor(mean, dtype=torch.float64) * ones,
            torch.as_tensor(deviation, dtype=torch.float64) * ones,
        )


def fixed_set(problem: gs.Problem, beliefs: dict[str, Fixed], beta: float = 2.0) -> PlausibleSet:
    """A plausible set whose bands are known in advance."""
    surrogates: Beliefs = dict(beliefs)
    return PlausibleSet(problem.program, surrogates, constant_widths(problem.program, beta))
