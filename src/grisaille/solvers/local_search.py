"""Local search from many starts at once.

Sequential quadratic programming in a trust region with an exact penalty (Fletcher's Sl1QP), run as
one batch: an iteration costs one forward pass for all starts.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from grisaille.solvers.quadratic import solve_quadratic
from grisaille.solvers.search_problem import (
    FEASIBILITY,
    EvaluateWithSlopes,
    Scale,
    SearchProblem,
    evaluate_in_chunks,
    rounded,
    slopes_at_once,
)

_SMALLEST_RADIUS = 1e-8
_SMALLEST_GAIN = 3e-10
_ONE_VALLEY = 0.02
_LARGEST_MARGIN = 1e6
# After warming up, a start is given up if this many steps like the next would not make it best.
_WARM_UP = 6
_STEPS_AHEAD = 30.0


def local_search(
    problem: SearchProblem,
    scale: Scale,
    starts: Tensor,
    iterations: int,
    target: float = float("inf"),
    left: int = 0,
) -> tuple[Tensor, int]:
    """Improve all starts at once; infeasible ends with a lower objective get a larger penalty.

    Whole numbers stay as they are.

    Args:
        problem: What to minimize.
        scale: Typical spreads.
        starts: (S, D).
        iterations: The largest number of steps.
        target: The best scaled objective known: starts that will not beat it are given up.
        left: Where at most so many starts are left to go on, the others having come to an end or
            been given up, they stop, too.

    Returns:
        The ends, and how many points were evaluated.
    """
    found = []
    evaluations = 0
    for penalty in (10.0, 1000.0):
        ends, steps = _trust_region(problem, scale, starts, penalty, iterations, target, left)
        found.append(ends)
        evaluations += steps + len(ends)
        objectives, constraints = evaluate_in_chunks(problem, ends)
        feasible = scale.violation(constraints) <= FEASIBILITY
        best = torch.where(feasible, objectives / scale.objective, torch.inf).amin()
        target = min(target, float(best))
        starts = ends[~feasible & (objectives / scale.objective < target)]
        if not len(starts):
            break
    return torch.cat(found), evaluations


def _trust_region(
    problem: SearchProblem,
    scale: Scale,
    starts: Tensor,
    penalty: float,
    iterations: int,
    target: float,
    left: int,
) -> tuple[Tensor, int]:
    """Sequential quadratic programming in coordinates from 0 to 1, batched over starts.

    Returns:
        The ends, and how many points were evaluated.
    """
    width = problem.upper - problem.lower
    unit = ((starts - problem.lower) / width).clamp(0, 1)
    dimensions = unit.shape[1]
    value, rows, gradient, jacobian = linearize(problem, scale, unit)
    hessian = torch.eye(dimensions, dtype=unit.dtype).repeat(len(unit), 1, 1)
    # A start where something is infinite or not a number does not move.
    radius = 0.2 * _all_finite(value, rows).to(unit.dtype)
    active = torch.arange(len(unit))
    evaluations = slope_points(problem, scale) * len(unit)

    for iteration in range(iterations):
        # Only starts that still move are continued, and of those in one valley only the best.
        if iteration % 4 == 3:
            merit = value + penalty * rows.clamp_min(0).sum(1)
            radius[_have_better_neighbour(unit, merit, problem.whole)] = 0.0
        active = active[radius[active] > _SMALLEST_RADIUS]
        if not len(active) or (len(active) <= left and iteration >= _WARM_UP):
            break
        a = active
        low = torch.maximum(-unit[a], -radius[a, None])
        high = torch.minimum(1 - unit[a], radius[a, None])
        step, multipliers = solve_quadratic(
            hessian[a], gradient[a], jacobian[a], -rows[a], low, high, penalty
        )
        if problem.whole is not None:  # where there is no slope, a step is not exactly 0
            step = torch.where(problem.whole, 0.0, step)
        curved = (step.unsqueeze(1) @ hessian[a] @ step.unsqueeze(2)).reshape(-1)
        linear = (gradient[a] * step).sum(1)
        predicted_rows = rows[a] + (jacobian[a] @ step.unsqueeze(2)).squeeze(2)
        before = value[a] + penalty * rows[a].clamp_min(0).sum(1)
        expected = before - (
            value[a] + linear + curved / 2 + penalty * predicted_rows.clamp_min(0).sum(1)
        )
        candidate = (unit[a] + step).clamp(0, 1)
        new_value, new_rows, new_gradient, new_jacobian = linearize(problem, scale, candidate)
        evaluations += slope_points(problem, scale) * len(candidate)
        after = new_value + penalty * new_rows.clamp_min(0).sum(1)
        gained = torch.where(_all_finite(new_value, new_rows), before - after, -torch.inf)
        ratio = gained / expected.clamp_min(1e-16)

        _update_hessian(
            hessian, a, step, gradient[a], jacobian[a], new_gradient, new_jacobian, multipliers
        )
        length = step.abs().amax(1)
        accepted = (ratio > 1e-4) & (gained > 0)
        shrink = torch.where(ratio < 0.25, 0.4 * torch.minimum(length, radius[a]), radius[a])
        grow = (ratio > 0.75) & (length > 0.9 * radius[a])
        radius[a] = torch.where(grow, (2 * radius[a]).clamp_max(1.0), shrink)
        finished = expected <= _SMALLEST_GAIN * (1 + before.abs())
        if iteration >= _WARM_UP:
            finished |= before - _STEPS_AHEAD * expected > min(float(before.amin()), target)
        radius[a] = torch.where(finished, 0.0, radius[a])
        moved = a[accepted]
        unit[moved] = candidate[accepted]
        value[moved] = new_value[accepted]
        rows[moved] = new_rows[accepted]
        gradient[moved] = new_gradient[accepted]
        jacobian[moved] = new_jacobian[accepted]
    return rounded(problem, problem.lower + width * unit), evaluations


def _all_finite(value: Tensor, rows: Tensor) -> Tensor:
    return torch.isfinite(value) & torch.isfinite(rows).all(1)


def _have_better_neighbour(unit: Tensor, merit: Tensor, whole: Tensor | None = None) -> Tensor:
    """Which points have a better one so near that both are taken to be in one valley.

    Those with different whole numbers never are.
    """
    # Memory grows with the square of the number of points, but not with their length.
    near = torch.cdist(unit, unit, p=math.inf) < _ONE_VALLEY
    if whole is not None:
        near &= torch.cdist(unit[:, whole], unit[:, whole], p=math.inf) == 0
    better = merit.unsqueeze(0) < merit.unsqueeze(1)
    # Of several equal ones, the first stays.
    equal = (merit.unsqueeze(0) == merit.unsqueeze(1)).triu(1).T
    return (near & (better | equal)).any(1)


def linearize(
    problem: SearchProblem, scale: Scale, unit: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Scaled objective (S,), constraints (S, K), gradient (S, D) and Jacobian (S, K, D).

    Slopes along whole numbers are 0.
    """
    # Each point is evaluated once per column, and each copy gives the slope of one column: a larger
    # batch costs less than a backward pass per column.
    at_once = slopes_at_once(problem)
    if at_once is not None:
        return _linearized_at_once(problem, at_once, scale, unit)
    copies = slope_points(problem, scale)
    points = unit.detach().repeat_interleave(copies, 0).requires_grad_(True)
    width = problem.upper - problem.lower
    with torch.enable_grad():  # a proof, which needs no slopes itself, searches now and then
        inside = rounded(problem, problem.lower + width * points)
        objectives, constraints = problem.evaluate(inside)
        columns = torch.cat(
            [(objectives / scale.objective).unsqueeze(1), constraints / scale.constraints], 1
        ).reshape(-1, copies, copies)
        slopes = torch.zeros_like(points)
        if columns.requires_grad:  # unlike a locally constant problem, such as floor(x)
            own = columns.diagonal(dim1=1, dim2=2).sum()
            (slopes,) = torch.autograd.grad(own, points, materialize_grads=True)
    # The branch of np.where that is not taken may have no derivative.
    slopes = torch.nan_to_num(slopes.detach(), nan=0.0, posinf=1e8, neginf=-1e8)
    jacobian = slopes.reshape(len(unit), copies, -1)
    values = columns.detach()[:, 0]
    # A constraint met by an infinite margin (y <= inf) counts as met by a large one.
    rows = values[:, 1:].clamp_min(-_LARGEST_MARGIN)
    return values[:, 0].clone(), rows, jacobian[:, 0].clone(), jacobian[:, 1:].clone()


def _linearized_at_once(
    problem: SearchProblem, evaluate: EvaluateWithSlopes, scale: Scale, unit: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As `linearize`, where slopes come with the values."""
    width = problem.upper - problem.lower
    inside = rounded(problem, problem.lower + width * unit.detach())
    values, slopes = evaluate.with_slopes(inside.numpy())
    spreads = np.concatenate([[float(scale.objective)], scale.constraints.numpy()])
    values = values / spreads
    moves = width if problem.whole is None else torch.where(problem.whole, 0.0, width)
    slopes = slopes * (moves.numpy() / spreads[:, None])
    if not np.isfinite(slopes).all():
        slopes = np.nan_to_num(slopes, nan=0.0, posinf=1e8, neginf=-1e8)
    rows = np.maximum(values[:, 1:], -_LARGEST_MARGIN)
    jacobian = torch.from_numpy(np.ascontiguousarray(slopes))
    value = torch.from_numpy(values[:, 0].copy())
    return value, torch.from_numpy(rows), jacobian[:, 0].clone(), jacobian[:, 1:]


def slope_points(problem: SearchProblem, scale: Scale) -> int:
    """How many points `linearize` evaluates for one: at most a copy for each column."""
    return 1 if slopes_at_once(problem) is not None else 1 + len(scale.constraints)


def _update_hessian(
    hessian: Tensor,
    active: Tensor,
    step: Tensor,
    old_gradient: Tensor,
    old_jacobian: Tensor,
    new_gradient: Tensor,
    new_jacobian: Tensor,
    multipliers: Tensor,
) -> None:
    """Damped BFGS update of the Hessian of the Lagrangian, in place."""
    change = new_gradient - old_gradient
    change = change + ((new_jacobian - old_jacobian) * multipliers.unsqueeze(2)).sum(1)
    current = hessian[active]
    product = (current @ step.unsqueeze(2)).squeeze(2)
    curvature = (step * product).sum(1)
    slope = (step * change).sum(1)
    # Powell's damping keeps the matrix positive definite where the Lagrangian is not convex.
    damping = torch.where(
        slope >= 0.2 * curvature, 1.0, 0.8 * curvature / (curvature - slope).clamp_min(1e-300)
    ).unsqueeze(1)
    damped = damping * change + (1 - damping) * product
    denominator = (step * damped).sum(1)
    usable = (curvature > 1e-20) & (denominator > 1e-20) & torch.isfinite(damped).all(1)
    updated = (
        current
        - product.unsqueeze(2) * product.unsqueeze(1) / curvature.clamp_min(1e-300)[:, None, None]
        + damped.unsqueeze(2) * damped.unsqueeze(1) / denominator.clamp_min(1e-300)[:, None, None]
    )
    sound = usable & torch.isfinite(updated).all(2).all(1)
    hessian[active] = torch.where(sound[:, None, None], updated, current)
