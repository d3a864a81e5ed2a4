"""Histories to measure with: the same design points in every run."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from grisaille.language.problem import Problem
from grisaille.records import History, Suggestion, TrialKind
from grisaille.study.writer import evaluated


def sobol_history(problem: Problem, trials: int, seed: int) -> History:
    """A history of scrambled Sobol points, each evaluated along the real chain."""
    program = problem.program
    engine = torch.quasirandom.SobolEngine(program.size, scramble=True, seed=seed)
    unit = engine.draw(trials, dtype=torch.float64).numpy()
    return _evaluated(problem, program.lower + (program.upper - program.lower) * unit)


def random_history(problem: Problem, trials: int, seed: int) -> History:
    """A history of uniformly random points, each evaluated along the real chain."""
    program = problem.program
    generator = np.random.default_rng(seed)
    return _evaluated(
        problem, generator.uniform(program.lower, program.upper, (trials, program.size))
    )


def clustered_history(problem: Problem, trials: int, near: int, seed: int) -> History:
    """A Sobol history and `near` points within 5 % of its best one, as in an optimizer's run."""
    program = problem.program
    history = sobol_history(problem, trials, seed)
    best = min(history, key=lambda trial: (trial.violation, trial.objective))
    reach = 0.05 * (program.upper - program.lower)
    generator = np.random.default_rng(seed)
    design = best.x + reach * generator.uniform(-1, 1, (near, program.size))
    design = np.clip(design, program.lower, program.upper)
    return _evaluated(problem, np.concatenate([[trial.x for trial in history], design]))


def _evaluated(problem: Problem, design: NDArray[np.float64]) -> History:
    return History(
        tuple(
            evaluated(problem, Suggestion(TrialKind.INITIAL, x), number)
            for number, x in enumerate(design, 1)
        )
    )
