"""Histories to measure with: the same design points in every run."""

from __future__ import annotations

import torch

from grisaille.language.problem import Problem
from grisaille.records import History, Suggestion, TrialKind
from grisaille.study.chain import evaluated


def sobol_history(problem: Problem, trials: int, seed: int) -> History:
    """A history of scrambled Sobol points, each evaluated along the real chain."""
    program = problem.program
    engine = torch.quasirandom.SobolEngine(program.size, scramble=True, seed=seed)
    unit = engine.draw(trials, dtype=torch.float64).numpy()
    design = program.lower + (program.upper - program.lower) * unit
    return History(
        tuple(
            evaluated(problem, Suggestion(TrialKind.INITIAL, x), number)
            for number, x in enumerate(design, 1)
        )
    )
