"""A search over design points alone, in the coordinates and blocks that suit them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.language.linear_system import linear_restrictions
from grisaille.language.program import BoxCall, Program
from grisaille.records import History
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


# --- blocks of variables --------------------------------------------------------------------------

# With fewer design entries than this, a search moves all of them at once.
_MANY = 15
# Places where we look whether an entry makes a difference.
_PLACES = 3
# The most trials whose parts are worth trying again.
_MOST_TRIALS = 256


def blocks_of(program: Program, entries: int, controls: Sequence[slice] = ()) -> Blocks | None:
    """The entries that each call reads, and the eta of its outputs, as blocks.

    None where there are few design entries, one block would hold them all, or linear inequalities
    tie the entries to one another. Entries that no call reads itself are a block of their own.

    Args:
        program: Objective and constraints.
        entries: D, the length of a point that starts with a design point.
        controls: Where the controls of each call stand after it, if they do.
    """
    n = program.size
    if n < _MANY or design_region(program) is not None:
        return None
    sets: dict[frozenset[int], None] = {}
    for number, read in enumerate(entries_read(program)):
        own = set(np.flatnonzero(read).tolist())
        for columns in controls[number : number + 1]:
            own |= set(range(n + columns.start, n + columns.stop))
        sets[frozenset(own)] = None  # in order, and each once
    sets.pop(frozenset(), None)
    rest = frozenset(range(entries)).difference(*sets)
    if rest:
        sets[rest] = None
    if len(sets) < 2:
        return None
    blocks = tuple(torch.tensor(sorted(block)) for block in sets)
    return Blocks(blocks, torch.zeros(0, entries, dtype=torch.float64))


def entries_read(program: Program) -> list[Array]:
    """Which design entries change the inputs of each call, given the outputs of other calls.

    Each entry in turn gets another value at a few places. An entry that makes no difference at any
    of them may be missed, which costs a search some quality and nothing else.

    Returns:
        (n,) for each call, true where it reads an entry.
    """
    n, space = program.size, program.space
    generator = np.random.default_rng(0)
    reads = [np.zeros(n, dtype=bool) for _ in program.calls]
    width = space.search_upper - space.search_lower
    for _ in range(_PLACES):
        here, there = space.search_lower + width * generator.uniform(size=(2, n))
        points = np.where(np.vstack([np.zeros((1, n)), np.eye(n)]) > 0, there, here)
        design = space.to_design(torch.tensor(points)).numpy()
        states: list[Array] = []

        def resolve(call: BoxCall, inputs: Tensor, found: list[Array] = states) -> Tensor:
            found.append(inputs.numpy())
            return torch.full((len(inputs), call.box.outputs), 0.5, dtype=torch.float64)

        with torch.no_grad():
            program.run(torch.tensor(design), resolve)
        for read, inputs in zip(reads, states, strict=True):
            same = (inputs == inputs[:1]) | (np.isnan(inputs) & np.isnan(inputs[:1]))
            if len(inputs) > 1:  # one row only where it reads no variable
                read |= ~same.all(1)[1:]
    return reads


def with_tried_parts(problem: SearchProblem, program: Program, history: History) -> SearchProblem:
    """The same problem, whose search also tries the blocks of points that were tried.

    Each black box may have had its best answer in another trial.

    Args:
        problem: A problem whose points start with a design point in search coordinates.
        program: What it is a search of.
        history: What was tried.
    """
    blocks, trials = problem.blocks, history.trials[-_MOST_TRIALS:]
    if blocks is None or not trials:
        return problem
    latest = program.space.to_search(torch.tensor(np.array([trial.x for trial in trials])))
    rest = latest.new_zeros(len(latest), len(problem.lower) - latest.shape[1])
    return replace(problem, blocks=replace(blocks, donors=torch.cat([latest, rest], 1)))
