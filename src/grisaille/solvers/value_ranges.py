"""The least and the greatest values of many functions over the cube [-1, 1]^m, all at once."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

# All corners are tried up to this many coordinates; beyond, as many that are drawn by chance.
_FEW = 6
_INSIDE = 16
# Local searches per function and end, their largest number of steps, and the smallest step.
_STARTS = 2
_STEPS = 40
_SMALLEST_STEP = 1e-4
# Steps of a local search begin with this length, and are at most as long as the cube.
_FIRST_STEP = 0.5
_LONGEST_STEP = 2.0
_CHUNK = 2048

Family = Callable[[Tensor, Tensor], Tensor]
"""`(members (rows,), points (rows, m)) -> values (rows, P)`: P functions of each member."""


def value_ranges(family: Family, members: int, dimensions: int) -> tuple[Tensor, Tensor]:
    """The least and the greatest value of every function of every member of a family.

    Corners and points inside are tried first; local searches go on from the best of them. The range
    is one from inside: a search may miss something, and proves nothing. Values that are no numbers
    are left out; a function that has none has the range NaN.

    Args:
        family: The functions, differentiable where smooth.
        members: How many members there are.
        dimensions: m.

    Returns:
        (members, P) twice.
    """
    points = _screening_points(dimensions)
    rows = torch.arange(members).repeat_interleave(len(points))
    tried = _in_chunks(family, rows, points.repeat(members, 1))
    values = tried.reshape(members, len(points), -1).permute(0, 2, 1)  # (members, P, points)
    ends = []
    for sign in (-1.0, 1.0):
        best, found = _best(sign * values, min(_STARTS, len(points)))
        moves = (values.nan_to_num(0.0).amax(2) > values.nan_to_num(0.0).amin(2)).unsqueeze(2)
        wanted = (moves & torch.isfinite(best)).nonzero()  # (searches, 3): member, function, start
        if len(wanted):
            starts = points[found[tuple(wanted.T)]]
            _climb(family, wanted, starts, sign, best)
        end = best.amax(2)
        ends.append(sign * torch.where(end == -torch.inf, torch.nan, end))
    return ends[0], ends[1]


def _screening_points(dimensions: int) -> Tensor:
    """The middle, the ends of the axes, corners, and points inside: (points, m)."""
    if not dimensions:
        return torch.zeros(1, 0, dtype=torch.float64)
    axes = torch.eye(dimensions, dtype=torch.float64)
    if dimensions <= _FEW:
        bits = torch.arange(2**dimensions).unsqueeze(1) >> torch.arange(dimensions)
        corners = 2.0 * (bits & 1).to(axes) - 1
    else:
        generator = torch.Generator().manual_seed(0)
        corners = 2.0 * torch.randint(2, (2**_FEW, dimensions), generator=generator).to(axes) - 1
    engine = torch.quasirandom.SobolEngine(dimensions, scramble=True, seed=0)
    inside = 2 * engine.draw(_INSIDE, dtype=torch.float64) - 1
    return torch.cat([torch.zeros_like(axes[:1]), axes, -axes, corners, inside])


def _best(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The greatest values along the last axis, and where they are; NaN counts as the least."""
    known = torch.where(values.isnan(), -torch.inf, values)
    best, found = known.topk(count, dim=-1)
    return best, found


def _climb(family: Family, wanted: Tensor, starts: Tensor, sign: float, best: Tensor) -> None:
    """Local searches for greater values of `sign` times each function; `best` is improved.

    Each step tries two directions: the gradient, which settles inside the cube, and its sign, which
    reaches corners at once.

    Args:
        family: The functions.
        wanted: (searches, 3), member, function and place in `best` of each search.
        starts: (searches, m).
        sign: 1 for the greatest values, -1 for the least.
        best: (members, P, starts), `sign` times the values so far.
    """
    member, column, _ = wanted.T
    place = starts.clone()
    value = best[tuple(wanted.T)].clone()
    step = torch.full_like(value, _FIRST_STEP)
    slope = _slopes(family, member, column, place, sign)
    active = torch.arange(len(wanted))
    for _ in range(_STEPS):
        # A search ends where no step leads anywhere: at a corner, or where the slope is 0.
        ahead = _moved(place[active], slope[active].sign())
        moving = (ahead != place[active]).any(1) & (step[active] > _SMALLEST_STEP)
        active = active[moving]
        if not len(active):
            break
        a = active
        steepest = slope[a] / slope[a].abs().amax(1, keepdim=True)
        length = step[a].unsqueeze(1)
        tries = [_moved(place[a], length * way) for way in (slope[a].sign(), steepest)]
        values = [_own(family, member[a], column[a], there, sign) for there in tries]
        second = values[1] > values[0]
        there = torch.where(second.unsqueeze(1), tries[1], tries[0])
        reached = torch.where(second, values[1], values[0])
        gained = reached > value[a]
        step[a] = torch.where(gained, (2 * step[a]).clamp_max(_LONGEST_STEP), step[a] / 4)
        moved = a[gained]
        place[moved], value[moved] = there[gained], reached[gained]
        if len(moved):
            slope[moved] = _slopes(family, member[moved], column[moved], place[moved], sign)
    best[tuple(wanted.T)] = value


def _moved(place: Tensor, way: Tensor) -> Tensor:
    return (place + way).clamp(-1, 1)


def _own(family: Family, member: Tensor, column: Tensor, place: Tensor, sign: float) -> Tensor:
    """`sign` times the value of each search's own function; minus infinity if it has none."""
    values = _in_chunks(family, member, place).gather(1, column.unsqueeze(1)).squeeze(1)
    return torch.nan_to_num(sign * values, nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf)


def _slopes(family: Family, member: Tensor, column: Tensor, place: Tensor, sign: float) -> Tensor:
    """The gradient of each search's own function, times `sign`; 0 where it has none."""
    found = []
    for rows in torch.arange(len(place)).split(_CHUNK):
        points = place[rows].clone().requires_grad_(True)
        with torch.enable_grad():
            own = family(member[rows], points).gather(1, column[rows].unsqueeze(1)).sum()
            slope = torch.zeros_like(points)
            if own.requires_grad:
                (slope,) = torch.autograd.grad(own, points, materialize_grads=True)
        found.append(sign * torch.nan_to_num(slope.detach(), nan=0.0, posinf=1e8, neginf=-1e8))
    return torch.cat(found)


def _in_chunks(family: Family, members: Tensor, points: Tensor) -> Tensor:
    with torch.no_grad():
        parts = zip(members.split(_CHUNK), points.split(_CHUNK), strict=True)
        return torch.cat([family(*part) for part in parts])
