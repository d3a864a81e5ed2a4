"""Design points that meet the linear inequalities of the variables: designs, and chance.

Without such inequalities nothing here is used. With them, points are uniform on what they leave.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

import numpy as np
import torch

from grisaille.array_types import Array, Flags
from grisaille.confidence.design_problem import design_region
from grisaille.language.linear_rows import LinearRows, linear_restrictions
from grisaille.language.linear_system import LinearSystem
from grisaille.language.program import Program

# Points of the box that show how rare those inside are, and how many of them must be inside for
# a sequence that fills the box to be used; else random walks are made, so many at once.
_LOOKED_AT = 4096
_ENOUGH = 64
_WALKS = 256
# What counts as rounding, in parts of a row's size.
_ROUNDING = 1e-12


def is_restricted(program: Program) -> bool:
    """Whether linear inequalities of the variables restrict the design points."""
    return len(_rows(program)) > 0


def restricted_sequence(program: Program, seed: int, count: int) -> Array:
    """The first points (count, n) of a sequence that fills what the inequalities leave."""
    found = _sobol_points(program, seed)
    blocks = [found]
    while sum(map(len, blocks)) < count:
        number = len(blocks) - 1
        generator = np.random.default_rng(np.random.SeedSequence([seed, number]))
        needed = min(_WALKS, count - sum(map(len, blocks)))
        blocks.append(_walked(program, generator, needed))
    return np.concatenate(blocks)[:count]


def random_point(program: Program, generator: np.random.Generator) -> Array:
    """A point (n,) drawn uniformly from what the inequalities leave."""
    space = program.space
    shape = (_LOOKED_AT, len(space.lower))
    drawn = space.spread(generator.uniform(space.search_lower, space.search_upper, shape))
    inside = drawn[_is_met(program, drawn)]
    return np.asarray(inside[0]) if len(inside) else _walked(program, generator, 1)[0]


@lru_cache(maxsize=8)
def _sobol_points(program: Program, seed: int) -> Array:
    """Those of the first points of a Sobol sequence that meet the inequalities; none if few do."""
    space = program.space
    engine = torch.quasirandom.SobolEngine(program.size, scramble=True, seed=seed)
    unit: Array = engine.draw(_LOOKED_AT, dtype=torch.float64).numpy()
    points = space.spread(space.search_lower + (space.search_upper - space.search_lower) * unit)
    found = points[_is_met(program, points)]
    return found if len(found) >= _ENOUGH else found[:0]


def _walked(program: Program, generator: np.random.Generator, needed: int) -> Array:
    """Return ends of random walks inside, on the steps of their variables: as many as needed.

    The first ones do not depend on how many are needed.
    """
    space, region = program.space, design_region(program)
    drawn = None if region is None else region.walked(_WALKS, generator)
    if drawn is None:  # there is no room for a walk: the nearest points to any
        shape = (_WALKS, program.size)
        drawn = generator.uniform(space.search_lower, space.search_upper, shape)
    points = space.on_steps(space.design(torch.tensor(drawn)))
    met = _is_met(program, points)
    if met.mean() >= 1 / 16:  # as uniform as what was drawn
        return np.resize(points[met], points.shape)[:needed]
    rows = _rows(program)
    system = LinearSystem(
        equal=np.zeros((0, program.size)),
        values=np.zeros(0),
        less=rows.matrix,
        limits=-rows.constants,
        lower=space.lower,
        upper=space.upper,
        steps=space.steps,
    )
    # What nothing can meet is left as it is: the study says so.
    near = system.nearest(points[0])
    if near is None:
        return points[:needed]
    # Each point is a search of its own, so no more are made than are needed.
    rest = (system.nearest(point) for point in points[1:])
    found = (point for point in rest if point is not None)
    return np.array([near, *islice(found, needed - 1)])


def _is_met(program: Program, points: Array) -> Flags:
    """Which design points (count, n) meet the inequalities, up to rounding."""
    rows = _rows(program)
    slack = _ROUNDING * (np.abs(rows.matrix) @ (program.upper - program.lower))
    return np.asarray((points @ rows.matrix.T + rows.constants <= slack).all(1))


@lru_cache(maxsize=8)
def _rows(program: Program) -> LinearRows:
    return linear_restrictions(program)
