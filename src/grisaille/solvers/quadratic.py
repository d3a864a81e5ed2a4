"""Batched quadratic programs by a primal-dual interior-point method.

    minimize  p' H p / 2 + g' p + penalty * sum(s)
    subject to  A p - s <= b,  s >= 0,  low <= p <= high

The slacks s make every program feasible; with a large penalty they vanish where they can.
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
        The steps p, (S, D), inside their box, and the multipliers of the rows, (S, K).
    """
    d = gradient.shape[-1]
    # The step is measured from the middle of its box in half-widths, so all unknowns are of one
    # size: u in [-1, 1].
    half, middle = (high - low) / 2, (high + low) / 2
    bound = bound - _times(matrix, middle)
    gradient = (gradient + _times(hessian, middle)) * half
    hessian = hessian * half.unsqueeze(-1) * half.unsqueeze(-2)
    matrix = matrix * half.unsqueeze(-2)
    transposed = matrix.transpose(-1, -2)

    size = gradient.abs().amax(-1, keepdim=True).clamp_min(1e-8)
    u = torch.zeros_like(gradient)
    slack = (-bound).clamp_min(0) + 1.0
    # Four groups of quantities that stay positive, and their multipliers: the rooms to the lower
    # and upper ends of the box, the room of each row, and the slacks.
    rooms = torch.cat([u + 1, 1 - u, slack + bound, slack], -1)
    prices = torch.cat(
        [size.expand_as(u), size.expand_as(u), *[torch.full_like(bound, penalty / 2)] * 2], -1
    )
    rows, slacks = slice(2 * d, 2 * d + bound.shape[-1]), slice(2 * d + bound.shape[-1], None)
    constrained = bound.shape[-1] > 0
    centering = torch.full_like(size, 0.1)
    # What there is to gain at most, per unknown: by the slope, and by violations that may vanish.
    goal = _TOLERANCE * (size + penalty * (-bound).clamp_min(0).sum(-1, keepdim=True))
    stuck = torch.zeros_like(size, dtype=torch.bool)

    for _ in range(_ITERATIONS):
        complementarity = (rooms * prices).mean(-1, keepdim=True)
        if bool(((complementarity <= goal) | stuck).all()):
            break
        target = centering * complementarity
        push = target / rooms
        curvature = prices / rooms
        system = hessian
        right = push[:, :d] - push[:, d : 2 * d] - gradient - _times(hessian, u)
        if constrained:
            pull = target / prices - rooms
            ratio = rooms / prices
            weight = 1 / (ratio[:, rows] + ratio[:, slacks])
            offset = _times(matrix, u) - rooms[:, slacks] + rooms[:, rows] - bound
            offset = offset + pull[:, rows] - pull[:, slacks]
            system = system + transposed @ (weight.unsqueeze(-1) * matrix)
            right = right - _times(transposed, prices[:, rows] + weight * offset)
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
        changes = push - prices - curvature * moves
        if bool(stuck.any()):
            # Rounding, at the very end as a rule: these steps are good enough, the others go on.
            du, moves, changes = (torch.where(stuck, 0.0, t) for t in (du, moves, changes))
        values, steps = torch.cat([rooms, prices], -1), torch.cat([moves, changes], -1)
        reach = torch.where(steps < 0, -values / steps, torch.inf).amin(-1, keepdim=True)
        longest = (0.995 * reach).clamp_max(1.0)
        u, rooms, prices = u + longest * du, rooms + longest * moves, prices + longest * changes
        # A long step was possible, so the next one may aim lower.
        centering = (1 - longest).square().clamp(0.01, 0.3)
    return torch.clamp(middle + half * u, low, high), prices[:, rows]


def _times(matrices: Tensor, vectors: Tensor) -> Tensor:
    return (matrices @ vectors.unsqueeze(-1)).squeeze(-1)
