"""`Problem.solve`: a study in memory, run to its end."""

from __future__ import annotations

from functools import partial
from typing import Any

from grisaille.language.elimination import points_to_try
from grisaille.language.problem import Problem
from grisaille.records import Evaluation, History
from grisaille.strategies.likely_unknowns import with_likely_unknowns
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
    fill = partial(with_likely_unknowns, problem, History())
    first = None if x0 is None else points_to_try(problem, x0, "x0", fill)
    if not problem.boxes:
        return solve_without_black_boxes(problem, seed or 0)
    study = Study(problem, strategy=strategy, evaluation=evaluation, seed=seed)
    if first is not None:
        study.enqueue(first)
    return study.run(**options)
