"""Batched quadratic programs by a primal-dual interior-point method.

    minimize  p' H p / 2 + g' p + penalty * sum(s)
    subject to  A p - s <= b,  s >= 0,  low <= p <= high

The slacks s make every program feasible. With a large penalty they vanish where possible.
"""

from __future__ import annotations

import torch
from torch import Tensor

_ITERATIONS = 40
_TOLERANCE = 1e-9


def solve_quadratic(
    hessian: Tensor,
    gradient: Tensor,
    matrix: Tensor,
    bound: Tensor,
    low: Tensor,
    high: Tensor,
    penalty: float,
) -> tuple[Tensor, Tensor]:
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
    d = gradient.shape[-1]
    # The step is measured from the middle of [low, high] in half-widths, so that all unknowns have
    # one scale: u in [-1, 1].
    half, middle = (high - low) / 2, (high + low) / 2
    bound = bound - _times(matrix, middle)
    gradient = (gradient + _times(hessian, middle)) * half
    hessian = hessian * half.unsqueeze(-1) * half.unsqueeze(-2)
    matrix = matrix * half.unsqueeze(-2)
    transposed = matrix.transpose(-1, -2)

    size = gradient.abs().amax(-1, keepdim=True).clamp_min(1e-8)
    u = torch.zeros_like(gradient)
    slack = (-bound).clamp_min(0) + 1.0
    # Four groups of quantities that stay positive, and their multipliers: the distances from the
    # lower and upper ends, the distance of each row from its bound, and the slacks.
    distances = torch.cat([u + 1, 1 - u, slack + bound, slack], -1)
    multipliers = torch.cat(
        [size.expand_as(u), size.expand_as(u), *[torch.full_like(bound, penalty / 2)] * 2], -1
    )
    rows, slacks = slice(2 * d, 2 * d + bound.shape[-1]), slice(2 * d + bound.shape[-1], None)
    constrained = bound.shape[-1] > 0
    centering = torch.full_like(size, 0.1)
    # The most that can be gained per unknown: by the slope, and by removing violations.
    goal = _TOLERANCE * (size + penalty * (-bound).clamp_min(0).sum(-1, keepdim=True))
    stuck = torch.zeros_like(size, dtype=torch.bool)

    for _ in range(_ITERATIONS):
        complementarity = (distances * multipliers).mean(-1, keepdim=True)
        if bool(((complementarity <= goal) | stuck).all()):
            break
        target = centering * complementarity
        push = target / distances
        curvature = multipliers / distances
        system = hessian
        right = push[:, :d] - push[:, d : 2 * d] - gradient - _times(hessian, u)
        if constrained:
            pull = target / multipliers - distances
            ratio = distances / multipliers
            weight = 1 / (ratio[:, rows] + ratio[:, slacks])
            offset = _times(matrix, u) - distances[:, slacks] + distances[:, rows] - bound
            offset = offset + pull[:, rows] - pull[:, slacks]
            system = system + transposed @ (weight.unsqueeze(-1) * matrix)
            right = right - _times(transposed, multipliers[:, rows] + weight * offset)
        system = system + torch.diag_embed(
            curvature[:, :d] + curvature[:, d : 2 * d] + 1e-12 * size
        )
        factor, failed = torch.linalg.cholesky_ex(system)
        stuck = stuck | (failed > 0).unsqueeze(-1)
        du = torch.cholesky_solve(right.unsqueeze(-1), factor).squeeze(-1)
        moves = torch.cat([du, -du], -1)
        if constrained:
            dy = weight * (_times(matrix, du) + offset)
            row_moves = pull[:, rows] - ratio[:, rows] * dy
            slack_moves = pull[:, slacks] + ratio[:, slacks] * dy
            moves = torch.cat([moves, row_moves, slack_moves], -1)
        changes = push - multipliers - curvature * moves
        if bool(stuck.any()):
            # Rounding, usually at the very end: these steps are good enough, the others continue.
            du, moves, changes = (torch.where(stuck, 0.0, t) for t in (du, moves, changes))
        values, steps = torch.cat([distances, multipliers], -1), torch.cat([moves, changes], -1)
        reach = torch.where(steps < 0, -values / steps, torch.inf).amin(-1, keepdim=True)
        longest = (0.995 * reach).clamp_max(1.0)
        u, distances, multipliers = (
            u + longest * du,
            distances + longest * moves,
            multipliers + longest * changes,
        )
        # After a long step, the next one may aim for smaller complementarity.
        centering = (1 - longest).square().clamp(0.01, 0.3)
    return torch.clamp(middle + half * u, low, high), multipliers[:, rows]


def _times(matrices: Tensor, vectors: Tensor) -> Tensor:
    return (matrices @ vectors.unsqueeze(-1)).squeeze(-1)
