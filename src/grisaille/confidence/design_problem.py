"""A search over design points alone, in the coordinates that suit them."""

from __future__ import annotations

import torch
from torch import Tensor

from grisaille.language.program import Program
from grisaille.solvers.search_problem import Evaluate, SearchProblem


def design_problem(program: Program, evaluate: Evaluate) -> SearchProblem:
    """Minimize over the design points of a program, searched in their search coordinates.

    Args:
        program: Objective and constraints.
        evaluate: Objective, minimized, and constraints of design points (batch, n).
    """
    space = program.space

    def evaluate_searched(points: Tensor) -> tuple[Tensor, Tensor]:
        return evaluate(space.to_design(points))

    lower, upper = torch.tensor(space.search_lower), torch.tensor(space.search_upper)
    return SearchProblem(lower, upper, evaluate_searched, program.continuous)
