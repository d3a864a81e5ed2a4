"""Local search from many starts at once.

Sequential quadratic programming in a trust region with an exact penalty (Fletcher's Sl1QP), run
as one batch: an iteration costs one forward pass for all starts, and one batch of quadratic
programs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial.distance import cdist
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.search.search_problem import (
    SEARCH,
    Scale,
    SearchProblem,
    evaluate_in_chunks,
    rounded,
    slopes_at_once,
)

# --- quadratic ------------------------------------------------------------------------------------
# Batched quadratic programs by a primal-dual interior-point method.
#
#     minimize  p' H p / 2 + g' p + penalty * sum(s)
#     subject to  A p - s <= b,  s >= 0,  low <= p <= high
#
# The slacks s make every program feasible. With a large penalty they vanish where possible.
# Programs without rows are solved by an active set method, which nearly always takes two or
# three steps.
#
# The programs are small, so that most of the time goes into calling functions: NumPy takes
# about half as long for that as PyTorch, which only does the factorizations.


@dataclass(frozen=True, slots=True)
class LocalSearchConstants:
    """The constants of local searches and their quadratic programs.

    Attributes:
        iterations: Steps of a quadratic program. Halved and doubled: no decision of 11 runs changed
            (benchmarks.constants).
        tolerance: Relative residual at which it ends. Measured: docs/benchmarks.md, Speed; looser
            tolerances save three steps only.
        guesses: Steps of the active set method. Halved and doubled: no decision of 8 runs changed
            (benchmarks.constants).
        smallest_radius: Trust region at which a search ends. Halved and doubled: no decision of 13
            runs changed (benchmarks.constants).
        smallest_gain: Expected gain at which a search ends. Halved: 2 of 13 runs change; doubled: 5
            (benchmarks.constants).
        one_valley: Searches that come this near are merged, in widths of the search space. Halved:
            2 of 13 runs change; doubled: 4 (benchmarks.constants).
        largest_margin: Constraints that are met by more than this count as met by this much. Halved
            and doubled: no decision of 13 runs changed (benchmarks.constants).
        warm_up: Steps before a search may be given up. Halved: 4 of 13 runs change; doubled: 3
            (benchmarks.constants).
        steps_ahead: A search is given up if this many steps like the next one would not make it
            best. Halved: 6 of 13 runs change; doubled: 2 (benchmarks.constants).
    """

    iterations: int = 40
    tolerance: float = 1e-9
    guesses: int = 10
    smallest_radius: float = 1e-8
    smallest_gain: float = 3e-10
    one_valley: float = 0.02
    largest_margin: float = 1e6
    warm_up: int = 6
    steps_ahead: float = 30.0


LOCAL_SEARCH = LocalSearchConstants()


def solve_quadratic(
    hessian: Array,
    gradient: Array,
    matrix: Array,
    bound: Array,
    low: Array,
    high: Array,
    penalty: float,
) -> tuple[Array, Array]:
    """Solve S programs of D unknowns and K rows at once.

    Args:
        hessian: (S, D, D), positive definite.
        gradient: (S, D).
        matrix: A, (S, K, D).
        bound: b, (S, K).
        low: (S, D), below `high`.
        high: (S, D).
        penalty: Price of a unit of slack.

    Returns:
        The steps p, (S, D), between `low` and `high`, and the multipliers of the rows, (S, K).
    """
    with np.errstate(all="ignore"):  # a program that overflows stops alone
        if bound.shape[1]:
            return _solve(penalty, hessian, gradient, matrix, bound, low, high)
        steps, solved = _solve_by_guessing(hessian, gradient, low, high)
        if not solved.all():
            parts = (hessian, gradient, matrix, bound, low, high)
            steps[~solved] = _solve(penalty, *(part[~solved] for part in parts))[0]
    return steps, np.zeros((len(steps), 0))


def _solve_by_guessing(
    hessian: Array, gradient: Array, low: Array, high: Array
) -> tuple[Array, Flags]:
    """Solve S programs without rows by guessing which unknowns are at an end of their range.

    A guess gives a point and the slopes of the cost there, and these the next guess: a primal-dual
    active set method (Hintermueller, Ito and Kunisch 2002). A guess that confirms itself is the
    solution, to rounding. It nearly always does after two or three; it may never.

    Returns:
        The steps (S, D), and which of them are solutions, (S,).
    """
    count, d = gradient.shape
    curvature = hessian[:, np.arange(d), np.arange(d)]
    steps, pushes = np.zeros_like(gradient), -gradient
    guess = np.full(gradient.shape, 2)
    solved = np.zeros(count, dtype=bool)
    eye = np.eye(d)
    for _ in range(LOCAL_SEARCH.guesses):
        reached = steps + pushes / curvature
        before, guess = guess, (reached > high) * 1 - (reached < low)
        solved = (guess == before).all(1)
        if solved.all():
            break
        fixed = guess != 0
        ends = np.where(guess > 0, high, low)
        system = np.where(fixed[:, :, None], eye, hessian)
        right = np.where(fixed, ends, -gradient)
        try:
            steps = np.linalg.solve(system, right[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            return steps, np.zeros(count, dtype=bool)
        pushes = np.where(fixed, -gradient - _times(hessian, steps), 0.0)
    solved &= np.isfinite(steps).all(1)
    return np.clip(steps, low, high), solved


def _solve(
    penalty: float,
    hessian: Array,
    gradient: Array,
    matrix: Array,
    bound: Array,
    low: Array,
    high: Array,
) -> tuple[Array, Array]:
    count, d = gradient.shape
    k = bound.shape[1]
    # The step is measured from the middle of [low, high] in half-widths, so that all unknowns have
    # one scale: u in [-1, 1].
    half, middle = (high - low) / 2, (high + low) / 2
    bound = bound - _times(matrix, middle)
    gradient = (gradient + _times(hessian, middle)) * half
    hessian = hessian * half[:, :, None] * half[:, None, :]
    matrix = matrix * half[:, None, :]
    transposed = matrix.transpose(0, 2, 1)

    size = np.maximum(np.abs(gradient).max(1, keepdims=True), 1e-8)
    u = np.zeros_like(gradient)
    # Four groups of quantities that stay positive, and their multipliers: the distances from the
    # lower and upper ends, the distance of each row from its bound, and the slacks. Moves of the
    # positive quantities and of their multipliers share one array.
    lows, highs, rows, slacks = (slice(i, j) for i, j in _groups(d, k))
    values = np.empty((count, 2, 2 * (d + k)))
    distances, multipliers = values[:, 0], values[:, 1]
    distances[:, : 2 * d] = 1.0
    distances[:, slacks] = np.maximum(-bound, 0) + 0.1
    distances[:, rows] = distances[:, slacks] + bound
    multipliers[:, : 2 * d] = size
    # Those of a row and of its slack add up to the penalty.
    multipliers[:, rows] = np.minimum(size, penalty / 2)
    multipliers[:, slacks] = penalty - multipliers[:, rows]
    steps = np.empty_like(values)
    moves = steps[:, 0]
    centering = np.full_like(size, 0.1)
    # The most that can be gained per unknown: by the slope, and by removing violations.
    goal = LOCAL_SEARCH.tolerance * (size + penalty * np.maximum(-bound, 0).sum(1, keepdims=True))
    stuck = np.zeros_like(size, dtype=bool)
    diagonal = np.arange(d)

    pairs = 2 * (d + k)
    for _ in range(LOCAL_SEARCH.iterations):
        complementarity = np.einsum("ij,ij->i", distances, multipliers)[:, None] / pairs
        if ((complementarity <= goal) | stuck).all():
            break
        target = centering * complementarity
        push = target / distances
        curvature = multipliers / distances
        right = push[:, lows] - push[:, highs] - gradient - _times(hessian, u)
        system = hessian.copy()
        if k:
            ratio = 1 / curvature[:, 2 * d :]
            pull = target / multipliers[:, 2 * d :] - distances[:, 2 * d :]
            weight = 1 / (ratio[:, :k] + ratio[:, k:])
            offset = _times(matrix, u) - distances[:, slacks] + distances[:, rows] - bound
            offset += pull[:, :k] - pull[:, k:]
            system += transposed @ (weight[:, :, None] * matrix)
            right -= _times(transposed, multipliers[:, rows] + weight * offset)
        system[:, diagonal, diagonal] += curvature[:, lows] + curvature[:, highs] + 1e-12 * size
        factor, failed = torch.linalg.cholesky_ex(torch.from_numpy(system))
        du = torch.cholesky_solve(torch.from_numpy(right[:, :, None]), factor).numpy()[:, :, 0]
        moves[:, lows], moves[:, highs] = du, -du
        if k:
            dy = weight * (_times(matrix, du) + offset)
            moves[:, rows] = pull[:, :k] - ratio[:, :k] * dy
            moves[:, slacks] = pull[:, k:] + ratio[:, k:] * dy
        steps[:, 1] = push - multipliers - curvature * moves
        stuck |= failed.numpy()[:, None] > 0
        if stuck.any():
            # Rounding, usually at the very end: these steps are good enough, the others continue.
            du = np.where(stuck, 0.0, du)
            steps[stuck[:, 0]] = 0.0
        # How far it is to where something that stays positive would be 0.
        closest = np.maximum((-steps / values).max((1, 2)), 1e-300)[:, None]
        longest = np.minimum(0.995 / closest, 1.0)
        u += longest * du
        values += longest[:, :, None] * steps
        # After a long step, the next one may aim for smaller complementarity.
        centering = np.minimum(np.maximum((1 - longest) ** 2, 0.01), 0.1)
    return np.clip(middle + half * u, low, high), multipliers[:, rows].copy()


def _groups(d: int, k: int) -> list[tuple[int, int]]:
    """Where the four groups of 2 d + 2 k quantities begin and end."""
    return [(0, d), (d, 2 * d), (2 * d, 2 * d + k), (2 * d + k, 2 * d + 2 * k)]


# --- local search ---------------------------------------------------------------------------------


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
        feasible = scale.violation(constraints) <= SEARCH.feasibility
        best = torch.where(feasible, objectives / scale.objective, torch.inf).amin()
        target = min(target, float(best))
        starts = ends[~feasible & (objectives / scale.objective < target)]
        if not len(starts):
            break
    return torch.cat(found), evaluations


@np.errstate(all="ignore")  # far away, values may overflow
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
    lower, width = problem.lower.numpy(), (problem.upper - problem.lower).numpy()
    whole = None if problem.whole is None else problem.whole.numpy()
    unit = ((starts.numpy() - lower) / width).clip(0, 1)
    value, rows, gradient, jacobian = linearize(problem, scale, unit)
    hessian = np.tile(np.eye(unit.shape[1]), (len(unit), 1, 1))
    # A start where something is infinite or not a number does not move.
    radius = 0.2 * _all_finite(value, rows)
    active = np.arange(len(unit))
    evaluations = slope_points(problem, scale) * len(unit)

    for iteration in range(iterations):
        # Only starts that still move are continued, and of those in one valley only the best.
        if iteration % 4 == 3:
            merit = _penalized(value, rows, penalty)
            radius[_have_better_neighbour(unit, merit, whole)] = 0.0
        active = active[radius[active] > LOCAL_SEARCH.smallest_radius]
        if not len(active) or (len(active) <= left and iteration >= LOCAL_SEARCH.warm_up):
            break
        a = active
        reach = radius[a, None]
        old = unit[a], value[a], rows[a], gradient[a], jacobian[a], hessian[a]
        here, old_value, old_rows, old_gradient, old_jacobian, curvature = old
        low, high = np.maximum(-here, -reach), np.minimum(1 - here, reach)
        step, multipliers = solve_quadratic(
            curvature, old_gradient, old_jacobian, -old_rows, low, high, penalty
        )
        if whole is not None:  # where there is no slope, a step is not exactly 0
            step = np.where(whole, 0.0, step)
        bent = _times(curvature, step)
        model = old_value + _dot(old_gradient, step) + _dot(step, bent) / 2
        before = _penalized(old_value, old_rows, penalty)
        expected = before - _penalized(model, old_rows + _times(old_jacobian, step), penalty)
        candidate = (here + step).clip(0, 1)
        new_value, new_rows, new_gradient, new_jacobian = linearize(problem, scale, candidate)
        evaluations += slope_points(problem, scale) * len(candidate)
        after = _penalized(new_value, new_rows, penalty)
        gained = np.where(_all_finite(new_value, new_rows), before - after, -np.inf)
        ratio = gained / np.maximum(expected, 1e-16)

        change = new_gradient - old_gradient
        change += _times((new_jacobian - old_jacobian).transpose(0, 2, 1), multipliers)
        hessian[a] = _updated_hessian(curvature, step, bent, change)
        length = np.abs(step).max(1)
        accepted = (ratio > 1e-4) & (gained > 0)
        shrink = np.where(ratio < 0.25, 0.4 * np.minimum(length, radius[a]), radius[a])
        grow = (ratio > 0.75) & (length > 0.9 * radius[a])
        finished = expected <= LOCAL_SEARCH.smallest_gain * (1 + np.abs(before))
        if iteration >= LOCAL_SEARCH.warm_up:
            finished |= before - LOCAL_SEARCH.steps_ahead * expected > min(
                float(before.min()), target
            )
        radius[a] = np.where(finished, 0.0, np.where(grow, np.minimum(2 * radius[a], 1.0), shrink))
        moved = a[accepted]
        unit[moved] = candidate[accepted]
        value[moved] = new_value[accepted]
        rows[moved] = new_rows[accepted]
        gradient[moved] = new_gradient[accepted]
        jacobian[moved] = new_jacobian[accepted]
    return rounded(problem, torch.from_numpy(lower + width * unit)), evaluations


def _penalized(value: Array, rows: Array, penalty: float) -> Array:
    return np.asarray(value + penalty * np.maximum(rows, 0).sum(1))


def _dot(one: Array, other: Array) -> Array:
    return np.asarray((one * other).sum(1))


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _all_finite(value: Array, rows: Array) -> Flags:
    return np.asarray(np.isfinite(value) & np.isfinite(rows).all(1))


def _have_better_neighbour(unit: Array, merit: Array, whole: Flags | None = None) -> Flags:
    """Which points have a better one so near that both are taken to be in one valley.

    Those with different whole numbers never are.
    """
    # Memory grows with the square of the number of points, but not with their length.
    near = cdist(unit, unit, "chebyshev") < LOCAL_SEARCH.one_valley
    if whole is not None:
        near &= cdist(unit[:, whole], unit[:, whole], "chebyshev") == 0
    better = merit[None, :] < merit[:, None]
    # Of several equal ones, the first stays.
    equal = np.tril(merit[None, :] == merit[:, None], -1)
    return np.asarray((near & (better | equal)).any(1))


@np.errstate(all="ignore")
def linearize(
    problem: SearchProblem, scale: Scale, unit: Array
) -> tuple[Array, Array, Array, Array]:
    """Scaled objective (S,), constraints (S, K), gradient (S, D) and Jacobian (S, K, D).

    Slopes along whole numbers are 0.
    """
    at_once = slopes_at_once(problem)
    lower, width = problem.lower.numpy(), (problem.upper - problem.lower).numpy()
    spreads = np.array([scale.objective.item(), *scale.constraints.tolist()])
    if at_once is not None:
        inside, moves = lower + width * unit, width
        if problem.whole is not None:
            whole = problem.whole.numpy()
            inside, moves = np.where(whole, inside.round(), inside), np.where(whole, 0.0, width)
        values, slopes = at_once.with_slopes(inside)
        slopes = slopes * (moves / spreads[:, None])
    else:
        values, slopes = _differentiated(problem, unit, len(spreads))
        slopes = slopes / spreads[:, None]
    values = values / spreads
    # The branch of np.where that is not taken may have no derivative.
    if not np.isfinite(slopes).all():
        slopes = np.nan_to_num(slopes, nan=0.0, posinf=1e8, neginf=-1e8)
    # A constraint met by an infinite margin (y <= inf) counts as met by a large one.
    rows = np.maximum(values[:, 1:], -LOCAL_SEARCH.largest_margin)
    return values[:, 0], rows, slopes[:, 0], slopes[:, 1:]


def _differentiated(problem: SearchProblem, unit: Array, copies: int) -> tuple[Array, Array]:
    """Objective and constraints (S, 1 + K) and slopes by coordinates from 0 to 1, by PyTorch."""
    # Each point is evaluated once per column, and each copy gives the slope of one column: a larger
    # batch costs less than a backward pass per column.
    points = torch.tensor(unit).repeat_interleave(copies, 0).requires_grad_(True)
    width = problem.upper - problem.lower
    with torch.enable_grad():  # a proof, which needs no slopes itself, searches now and then
        inside = rounded(problem, problem.lower + width * points)
        objectives, constraints = problem.evaluate(inside)
        columns = torch.cat([objectives.unsqueeze(1), constraints], 1)
        columns = columns.reshape(-1, copies, copies)
        slopes = torch.zeros_like(points)
        if columns.requires_grad:  # unlike a locally constant problem, such as floor(x)
            own = columns.diagonal(dim1=1, dim2=2).sum()
            (slopes,) = torch.autograd.grad(own, points, materialize_grads=True)
    return columns.detach()[:, 0].numpy(), slopes.reshape(len(unit), copies, -1).numpy()


def slope_points(problem: SearchProblem, scale: Scale) -> int:
    """How many points `linearize` evaluates for one: at most a copy for each column."""
    return 1 if slopes_at_once(problem) is not None else 1 + len(scale.constraints)


def _updated_hessian(current: Array, step: Array, bent: Array, change: Array) -> Array:
    """Damped BFGS update of the Hessians of Lagrangians.

    Args:
        current: (S, D, D).
        step: (S, D).
        bent: (S, D), the Hessian times the step.
        change: (S, D), of the slopes of the Lagrangian along the step.
    """
    curvature, slope = _dot(step, bent), _dot(step, change)
    # Powell's damping keeps the matrix positive definite where the Lagrangian is not convex.
    damping = np.where(
        slope >= 0.2 * curvature, 1.0, 0.8 * curvature / np.maximum(curvature - slope, 1e-300)
    )[:, None]
    damped = damping * change + (1 - damping) * bent
    denominator = _dot(step, damped)
    usable = (curvature > 1e-20) & (denominator > 1e-20) & np.isfinite(damped).all(1)
    less = bent / np.sqrt(np.maximum(curvature, 1e-300))[:, None]
    more = damped / np.sqrt(np.maximum(denominator, 1e-300))[:, None]
    updated = current - less[:, :, None] * less[:, None] + more[:, :, None] * more[:, None]
    sound = usable & np.isfinite(updated).all((1, 2))
    return np.where(sound[:, None, None], updated, current)
