"""The last digits: how far a point is from a local optimum, and a way to get there.

The spread of an objective over its whole space may be millions of times its spread around the
optimum. Whether a point is a local optimum is therefore asked in local units: the spreads over a
small neighbourhood of the point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize
from torch import Tensor

from grisaille.search.local_search import linearize, slope_points
from grisaille.search.search_problem import (
    Scale,
    SearchProblem,
    Solution,
    best_of,
    evaluate_in_chunks,
    rounded,
)


@dataclass(frozen=True, slots=True)
class PolishConstants:
    """The constants of a polish.

    Attributes:
        neighbourhood: Half the width of the neighbourhood, in widths of the search space. Halved: 1
            of 11 runs changes; doubled: 1 (benchmarks.constants).
        samples: Points by which its spreads are measured. Halved: 1 of 11 runs changes; doubled: 1
            (benchmarks.constants).
        converged: Stationarity of a local optimum. Halved and doubled: no decision of 11 runs
            changed (benchmarks.constants).
        far: Stationarity of a point that is far from a local optimum. Halved and doubled: no
            decision of 8 runs changed (benchmarks.constants).
        next_to_nothing: Gain at a kink, as a part of the spread of the objective around it. Halved
            and doubled: no decision of 8 runs changed (benchmarks.constants).
        iterations: Steps of SLSQP. Halved and doubled: no decision of 8 runs changed
            (benchmarks.constants).
        tries: Points that it may try for each step. Halved and doubled: no decision of 8 runs
            changed (benchmarks.constants).
        tolerance: Its tolerance. Halved: 1 of 8 runs changes; doubled: 0 (benchmarks.constants).
        patience: Points in a row without a gain that show a kink. Halved: 1 of 8 runs changes;
            doubled: 1 (benchmarks.constants).
        more_patience: The same for a point that is far from a local optimum: line searches along
            curved limits gain nothing for longer. Halved and doubled: no decision of 1 run changed
            (benchmarks.constants).
        smallest_gain: The smallest change that counts as a gain, in local units. Halved and
            doubled: no decision of 8 runs changed (benchmarks.constants).
        least_part: A polish is given up if its gains are less than this part of what is missing to
            the best point. Halved and doubled: no decision of 8 runs changed
            (benchmarks.constants).
        same: It leads to the best point if it comes this near. Halved and doubled: no decision of 8
            runs changed (benchmarks.constants).
        penalty: Weight of violations in the merit of what it tries. Halved and doubled: no decision
            of 8 runs changed (benchmarks.constants).
    """

    neighbourhood: float = 0.02
    samples: int = 128
    converged: float = 1e-6
    far: float = 1e-3
    next_to_nothing: float = 1e-5
    iterations: int = 240
    tries: int = 2
    tolerance: float = 1e-13
    patience: int = 10
    more_patience: int = 60
    smallest_gain: float = 1e-7
    least_part: float = 0.2
    same: float = 1e-3
    penalty: float = 1000.0


POLISH = PolishConstants()


_Vector = NDArray[np.float64]


def local_scale(problem: SearchProblem, point: Tensor, fallback: Scale) -> Scale:
    """Spreads of objective and constraints over the neighbourhood of a point, (D,).

    All points of the neighbourhood have the same whole numbers.

    Args:
        problem: The problem.
        point: The point.
        fallback: The spreads to take where the neighbourhood has none.
    """
    engine = torch.quasirandom.SobolEngine(len(point), scramble=True, seed=0)
    offsets = 2 * engine.draw(POLISH.samples, dtype=torch.float64) - 1
    width = problem.upper - problem.lower
    near = point + POLISH.neighbourhood * width * offsets
    if problem.whole is not None:
        near = torch.where(problem.whole, point, near)
    values = evaluate_in_chunks(problem, torch.clamp(near, problem.lower, problem.upper))
    spreads = []
    for column, spread in zip(
        [values[0], *values[1].T], [fallback.objective, *fallback.constraints], strict=True
    ):
        finite = column[torch.isfinite(column)]
        found = (finite.amax() - finite.amin()) / 2 if len(finite) > 1 else spread
        # Below that, what is seen is rounding.
        rounding = 1e-9 * finite.abs().amax() if len(finite) else spread
        spreads.append(found if found > rounding else spread)
    return Scale(spreads[0], torch.stack(spreads[1:]) if spreads[1:] else fallback.constraints)


def stationarity(problem: SearchProblem, point: Tensor, scale: Scale) -> float:
    """How far a feasible point is from meeting the first-order conditions.

        max  -g'd   subject to  J d <= max(-c, 0),  |d| <= 0.02,  0 <= u + d <= 1

    with the point u in coordinates from 0 to 1, and c, g and J the constraints and slopes in local
    units: what the best step within the neighbourhood gains to first order, as a part of what the
    objective varies there. It is 0 exactly where the first-order conditions hold (Conn, Gould and
    Toint's measure of criticality), whatever the units. Whole numbers have no slopes: it is about
    the other entries.

    Args:
        problem: The problem.
        point: (D,), feasible.
        scale: The spreads around the point, `local_scale`.
    """
    unit = _to_unit(problem, point)
    value, rows, gradient, jacobian = (p[0] for p in linearize(problem, scale, unit[None]))
    if not (np.isfinite(value) and np.isfinite(rows).all()):
        return math.inf
    low, high = np.maximum(-unit, -POLISH.neighbourhood), np.minimum(1 - unit, POLISH.neighbourhood)
    room = np.maximum(-rows, 0)
    free = np.where(gradient > 0, low, high)  # the best step between the bounds
    if (jacobian @ free <= room).all():
        return max(0.0, -float(gradient @ free))
    bounds = np.column_stack([low, high])
    answer = linprog(gradient, A_ub=jacobian, b_ub=room, bounds=bounds, method="highs")
    return max(0.0, -float(answer.fun)) if answer.fun is not None else math.inf


def polished(
    problem: SearchProblem, scale: Scale, found: Solution, others: Tensor, iterations: int
) -> Solution:
    """Go on from a point until it meets the first-order conditions, or is as good as it gets.

    Where they are far from being met, the search has not told better ends of local searches from
    worse ones: then the others go on, too.

    Args:
        problem: What to minimize.
        scale: Typical spreads, by which a point is feasible.
        found: The best point found.
        others: (S, D), good ends of local searches.
        iterations: The largest number of steps from a point.
    """
    near = local_scale(problem, found.point, scale)
    found = _with_stationarity(problem, near, _with_samples(found))
    if found.stationarity is not None and found.stationarity <= POLISH.converged:
        return found
    far = found.stationarity is None or found.stationarity > POLISH.far
    patience = POLISH.patience
    best = _polished_from(
        problem, scale, near, found, found.point, iterations, patience, first=True
    )
    gains = found.value - best.value > POLISH.next_to_nothing * float(near.objective)
    # At a kink, or where nothing is feasible, a polish gains nothing, and more of them do not help.
    if far and best.feasible and (gains or not found.feasible):
        for start in others:
            if torch.equal(start, found.point):  # it was the first to go on
                continue
            around = local_scale(problem, start, scale)
            best = _polished_from(
                problem, scale, around, _with_samples(best), start, iterations, patience
            )
    best = with_stationarity(problem, scale, best)
    if best.stationarity is None or best.stationarity <= POLISH.far:
        return best
    # Along curved limits, many points may gain nothing before one does.
    near = local_scale(problem, best.point, scale)
    again = _polished_from(
        problem,
        scale,
        near,
        best,
        best.point,
        POLISH.iterations,
        POLISH.more_patience,
        first=True,
    )
    return with_stationarity(problem, scale, _with_samples(again))


def _polished_from(
    problem: SearchProblem,
    scale: Scale,
    near: Scale,
    best: Solution,
    start: Tensor,
    iterations: int,
    patience: int,
    first: bool = False,
) -> Solution:
    """The better of a solution and of the end of a polish, with the spreads around its start.

    The first polish has nothing to compare with: the solution is where it starts.
    """
    rival = best if best.feasible and not first else None
    end, steps = _by_slsqp(
        problem, near, start, min(iterations, POLISH.iterations), rival, patience
    )
    points = torch.stack([best.point, end])
    evaluations = best.evaluations + steps + len(points)
    return best_of(points, *evaluate_in_chunks(problem, points), scale, evaluations)


def with_stationarity(problem: SearchProblem, scale: Scale, found: Solution) -> Solution:
    """The same solution, with its stationarity if it is feasible."""
    if not found.feasible:
        return found
    near = local_scale(problem, found.point, scale)
    return _with_stationarity(problem, near, _with_samples(found))


def _with_samples(found: Solution) -> Solution:
    """The same, with the points counted that a local scale is worked out from."""
    return replace(found, evaluations=found.evaluations + POLISH.samples)


def _with_stationarity(problem: SearchProblem, near: Scale, found: Solution) -> Solution:
    """The same, with the spreads around the point."""
    if not found.feasible:
        return found
    return replace(
        found,
        stationarity=stationarity(problem, found.point, near),
        evaluations=found.evaluations + slope_points(problem, near),
    )


def _by_slsqp(
    problem: SearchProblem,
    near: Scale,
    start: Tensor,
    iterations: int,
    rival: Solution | None,
    patience: int,
) -> tuple[Tensor, int]:
    """Improve a point, (D,), by SciPy's SLSQP in local units.

    With a rival, it is given up where it leads to that point, or will not be better.

    Returns:
        The end, and how many points were evaluated.
    """
    least, since = math.inf, 0
    best, reached = _to_unit(problem, start), math.inf
    to_beat, other = math.inf, np.full(len(start), np.inf)
    if rival is not None:
        to_beat, other = rival.value / float(near.objective), _to_unit(problem, rival.point)

    @lru_cache(maxsize=1)
    def at(place: bytes) -> tuple[_Vector, ...]:
        nonlocal best, reached, least, since
        unit = (POLISH.neighbourhood * np.frombuffer(place)).clip(0, 1)
        value, rows, gradient, jacobian = (p[0] for p in linearize(problem, near, unit[None]))
        if at.cache_info().misses > POLISH.tries * iterations:
            raise _StopError
        if not (np.isfinite(value) and np.isfinite(rows).all()):
            raise _StopError
        merit = float(value) + POLISH.penalty * float(np.maximum(rows, 0).sum())
        if merit < reached:
            best, reached = unit, merit
        since += 1
        if merit < least - max(POLISH.smallest_gain, POLISH.least_part * (merit - to_beat)):
            least, since = merit, 0
        if np.abs(best - other).max() < POLISH.same:
            best = other
            raise _StopError
        if since > patience:
            raise _StopError
        return value, rows, POLISH.neighbourhood * gradient, POLISH.neighbourhood * jacobian

    def part(index: int, sign: float = 1.0) -> Callable[[_Vector], Any]:
        return lambda place: sign * at(place.tobytes())[index]

    rows = {"type": "ineq", "fun": part(1, -1.0), "jac": part(3, -1.0)}
    with suppress(_StopError):
        answer = minimize(
            part(0),
            best / POLISH.neighbourhood,
            jac=part(2),
            bounds=[(0.0, 1 / POLISH.neighbourhood)] * len(start),
            constraints=[rows] if len(near.constraints) else [],
            method="SLSQP",
            options={"maxiter": iterations, "ftol": POLISH.tolerance},
        )
        best = np.nan_to_num(POLISH.neighbourhood * answer.x)
    inside = torch.tensor(best).clamp(0, 1)
    end = rounded(problem, problem.lower + (problem.upper - problem.lower) * inside)
    tried = slope_points(problem, near) * at.cache_info().misses
    return torch.clamp(end, problem.lower, problem.upper), tried


class _StopError(Exception):
    """SLSQP tries too many points, gains nothing, or something is infinite or not a number."""


def _to_unit(problem: SearchProblem, point: Tensor) -> _Vector:
    unit = (point - problem.lower) / (problem.upper - problem.lower)
    return np.asarray(unit.clamp(0, 1).numpy())
