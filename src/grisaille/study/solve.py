"""`Problem.solve`: a study in memory, run to its end."""

from __future__ import annotations

from typing import Any

from grisaille.language.design_points import own_points
from grisaille.language.problem import Problem
from grisaille.records import Evaluation
from grisaille.strategies.strategy import Strategy
from grisaille.study.argument_checks import check_run, check_settings
from grisaille.study.presolve import solve_without_black_boxes
from grisaille.study.result import Result
from grisaille.study.study import Study


def solve(
    problem: Problem,
    *,
    x0: Any,
    strategy: Strategy | None,
    evaluation: Evaluation,
    seed: int,
    **options: Any,
) -> Result:
    """See `Problem.solve`; the options are those of `Study.run`."""
    check_settings(strategy, seed, evaluation)
    check_run(**options)
    if x0 is not None:
        own_points(problem.program, x0, "x0")  # so that messages name x0
    if not problem.boxes:
        return solve_without_black_boxes(problem, seed or 0)
    study = Study(problem, strategy=strategy, evaluation=evaluation, seed=seed)
    if x0 is not None:
        study.enqueue(x0)
    return study.run(**options)
