"""A search over design points alone, in the coordinates that suit them."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from grisaille.language.linear_system import linear_restrictions
from grisaille.language.program import Program
from grisaille.search.polytope import Polytope
from grisaille.search.search_problem import Blocks, Evaluate, SearchProblem


def design_problem(program: Program, evaluate: Evaluate) -> SearchProblem:
    """Minimize over the design points of a program, searched in their search coordinates.

    Args:
        program: Objective and constraints.
        evaluate: Objective, minimized, and constraints of design points (batch, n).
    """
    space = program.space
    lower, upper = torch.tensor(space.search_lower), torch.tensor(space.search_upper)
    region = design_region(program)
    return between(program, lower, upper, lambda p: evaluate(space.to_design(p)), region)


def between(
    program: Program,
    lower: Tensor,
    upper: Tensor,
    evaluate: Evaluate,
    region: Polytope | None = None,
    blocks: Blocks | None = None,
) -> SearchProblem:
    """Minimize over points that start with a design point of a program, between bounds.

    Args:
        program: Objective and constraints.
        lower: (D,), the first entries in search coordinates.
        upper: (D,).
        evaluate: Objective, minimized, and constraints of points (batch, D).
        region: `SearchProblem.region`.
        blocks: `SearchProblem.blocks`.
    """
    whole, nominal = whole_entries(program, len(lower))
    return SearchProblem(
        lower,
        upper,
        evaluate,
        program.continuous,
        whole=whole,
        nominal=nominal,
        region=region,
        blocks=blocks,
        steps=program.space if program.space.has_steps else None,
    )


@lru_cache(maxsize=16)
def design_region(program: Program) -> Polytope | None:
    """What linear inequalities of the variables alone leave of a program's design space.

    In search coordinates, so that inequalities of a variable with `log=True` do not count. None if
    there are no others.
    """
    space, rows = program.space, linear_restrictions(program)
    usable = ~rows.matrix[:, space.logarithmic].any(1)
    if not usable.any():
        return None
    ends = space.search_lower, space.search_upper
    return Polytope(rows.matrix[usable], -rows.constants[usable], *ends, space.whole)


def whole_entries(program: Program, entries: int) -> tuple[Tensor | None, Tensor | None]:
    """Which entries of a point that starts with a design point are whole, and which nominal."""
    space = program.space
    if not space.whole.any():
        return None, None
    flags = torch.zeros(2, entries, dtype=torch.bool)
    flags[0, : program.size] = torch.tensor(space.whole)
    flags[1, : program.size] = torch.tensor(space.nominal)
    return flags[0], flags[1]
