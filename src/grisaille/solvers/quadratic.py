"""Batched quadratic programs by a primal-dual interior-point method.

    minimize  p' H p / 2 + g' p + penalty * sum(s)
    subject to  A p - s <= b,  s >= 0,  low <= p <= high

The slacks s make every program feasible. With a large penalty they vanish where possible. Programs
without rows are solved by an active set method, which nearly always takes two or three steps.

The programs are small, so that most of the time goes into calling functions: NumPy takes about half
as long for that as PyTorch, which only does the factorizations.
"""

from __future__ import annotations

import numpy as np
import torch

from grisaille.array_types import Array, Flags

_ITERATIONS = 40
_TOLERANCE = 1e-9
_GUESSES = 10


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
    for _ in range(_GUESSES):
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
    goal = _TOLERANCE * (size + penalty * np.maximum(-bound, 0).sum(1, keepdims=True))
    stuck = np.zeros_like(size, dtype=bool)
    diagonal = np.arange(d)

    pairs = 2 * (d + k)
    for _ in range(_ITERATIONS):
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


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])
