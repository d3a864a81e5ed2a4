"""Optuna's GP sampler and SMAC on problems with whole numbers and labels, with their defaults.

Both see a problem as a function of its flat design points: whole numbers as whole numbers, and
labels as labels.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import torch

from grisaille.lab.problems import KnownProblem
from grisaille.lab.problems.known_problem import call_boxes
from grisaille.language.program import split_outputs
from grisaille.metrics import violations

# Points from which SMAC is told how large a cost can be.
_SAMPLES = 1000


def run_optuna(known: KnownProblem, trials: int, seed: int) -> np.ndarray | None:
    """The best feasible point that Optuna's GP sampler tried; it knows the constraints."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = known.problem.program.space
    tried = _Tried(known)

    def objective(trial: optuna.Trial) -> float:
        point = []
        for entry, (lower, upper) in enumerate(zip(space.lower, space.upper, strict=True)):
            name = f"x{entry}"
            if space.nominal[entry]:
                point.append(trial.suggest_categorical(name, list(range(int(upper) + 1))))
            elif space.whole[entry]:
                point.append(trial.suggest_int(name, int(lower), int(upper)))
            else:
                point.append(trial.suggest_float(name, lower, upper))
        value, limits = tried.evaluate(np.array(point, dtype=float))
        for label, limit in zip(known.problem.constraint_names, limits, strict=True):
            trial.set_constraint(label, float(limit))
        return value

    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed))
    study.optimize(objective, n_trials=trials)
    return tried.best


def run_smac(known: KnownProblem, trials: int, seed: int) -> np.ndarray | None:
    """The best feasible point that SMAC's Gaussian process tried.

    SMAC knows no constraints. A point that breaks them costs more than any of a thousand random
    points, and the more the further it breaks them: a favour, since that needs the black boxes.
    """
    import ConfigSpace
    from smac import BlackBoxFacade, Scenario

    space = known.problem.program.space
    tried = _Tried(known)
    generator = np.random.default_rng(seed)
    drawn = generator.uniform(space.lower, space.upper, (_SAMPLES, len(space.lower)))
    worst = max(_Tried(known).evaluate(space.spread(point))[0] for point in drawn)

    parameters: list[Any] = []
    for entry, (lower, upper) in enumerate(zip(space.lower, space.upper, strict=True)):
        name = f"x{entry}"
        if space.nominal[entry]:
            parameters.append(ConfigSpace.Categorical(name, list(range(int(upper) + 1))))
        elif space.whole[entry]:
            parameters.append(ConfigSpace.Integer(name, (int(lower), int(upper))))
        else:
            parameters.append(ConfigSpace.Float(name, (lower, upper)))
    searched = ConfigSpace.ConfigurationSpace(seed=seed)
    searched.add(*parameters)

    def cost(configuration: Any, seed: int = 0) -> float:  # SMAC asks for an argument `seed`
        point = np.array([configuration[f"x{i}"] for i in range(len(space.lower))], dtype=float)
        value, limits = tried.evaluate(point)
        broken = np.maximum(limits, 0).sum()
        return value if broken <= 0 else worst + float(np.log1p(broken))

    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            searched, n_trials=trials, deterministic=True, seed=seed, output_directory=folder
        )
        BlackBoxFacade(scenario, cost, overwrite=True, logging_level=40).optimize()
    return tried.best


class _Tried:
    """Evaluates points and keeps the best feasible one."""

    def __init__(self, known: KnownProblem) -> None:
        self._problem = known.problem
        self._least = np.inf
        self.best: np.ndarray | None = None

    def evaluate(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective, minimized, and the constraints, met when <= 0."""
        at = torch.tensor(point).unsqueeze(0)
        minimized, constraints = split_outputs(self._problem.program.run(at, call_boxes))
        value, limits = float(minimized[0]), constraints[0].numpy()
        (allowed,) = self._problem.allowances.needed(at, call_boxes, constraints.numpy())
        broken = violations(limits, 0.0 if allowed is None else allowed)
        if not broken.any() and value < self._least:
            self._least, self.best = value, point
        return value, limits
