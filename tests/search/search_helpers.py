"""Search problems from plain functions, and a look at what a solver answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.search.search_problem import Scale, SearchProblem, Solution

Function = Callable[[Tensor], Tensor]
"""Points (batch, D) to values (batch,)."""


def search_problem(
    lower: Any,
    upper: Any,
    objective: Function,
    constraints: Sequence[Function] = (),
    continuous: bool = True,
    whole: Sequence[bool] | None = None,
    nominal: Sequence[bool] | None = None,
) -> SearchProblem:
    """Minimize an objective where every constraint is <= 0."""

    def evaluate(points: Tensor) -> tuple[Tensor, Tensor]:
        columns = [g(points) for g in constraints]
        bodies = torch.stack(columns, 1) if columns else points.new_zeros(len(points), 0)
        return objective(points), bodies

    low, high = np.broadcast_arrays(np.atleast_1d(lower), np.atleast_1d(upper))
    return SearchProblem(
        torch.tensor(low.astype(float)),
        torch.tensor(high.astype(float)),
        evaluate,
        continuous,
        whole=None if whole is None else torch.tensor(whole),
        nominal=None if nominal is None else torch.tensor(nominal),
    )


class Counting:
    """An evaluate function that remembers every point it was asked for."""

    def __init__(self, problem: SearchProblem) -> None:
        self._evaluate = problem.evaluate
        self.batches: list[Tensor] = []
        self.problem = replace(problem, evaluate=self, relax=None)

    def __call__(self, points: Tensor) -> tuple[Tensor, Tensor]:
        self.batches.append(points.detach().clone())
        return self._evaluate(points)

    @property
    def points(self) -> Tensor:
        """All of them."""
        return torch.cat(self.batches)


def no_hints(problem: SearchProblem) -> Tensor:
    return torch.zeros(0, len(problem.lower), dtype=torch.float64)


def at(problem: SearchProblem, point: Tensor) -> tuple[float, np.ndarray]:
    """Objective and constraints at one point."""
    with torch.no_grad():
        objective, constraints = problem.evaluate(point.unsqueeze(0))
    return objective.item(), constraints[0].numpy()


def assert_honest(problem: SearchProblem, solution: Solution, tolerance: float = 1e-6) -> None:
    """The answer lies in the region, and says of itself what is true."""
    assert (solution.point >= problem.lower).all()
    assert (solution.point <= problem.upper).all()
    value, constraints = at(problem, solution.point)
    worst = max(constraints.max(initial=0.0), 0.0)
    # Alone or in a batch, a point's values may differ by rounding.
    np.testing.assert_allclose(solution.value, value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(solution.violation, worst, rtol=1e-9, atol=1e-12)
    assert solution.feasible == (worst <= tolerance)


def reference_minimum(problem: SearchProblem, per_dimension: int) -> float:
    """The least feasible objective on a fine grid."""
    axes = [
        torch.linspace(a, b, per_dimension, dtype=torch.float64)
        for a, b in zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    ]
    points = torch.cartesian_prod(*axes).reshape(-1, len(axes))
    with torch.no_grad():
        objective, constraints = problem.evaluate(points)
    feasible = (constraints <= 0).all(1)
    return objective[feasible].min().item()


def unit_scale(constraints: int) -> Scale:
    """Everything is compared as it is."""
    return Scale(torch.ones(()).double(), torch.ones(constraints).double())
