"""Batched quadratic programs by a primal-dual interior-point method.

    minimize  p' H p / 2 + g' p + penalty * sum(s)
    subject to  A p - s <= b,  s >= 0,  low <= p <= high

The slacks s make every program feasible; with a large penalty they vanish where they can.
"""

from __future__ import annotations

import torch
from torch import Tensor

_ITERATIONS = 40
_TOLERANCE = 1e-11


def solve_quadratic(
    hessian: Tensor,
    gradient: Tensor,
    matrix: Tensor,
    bound: Tensor,
    low: Tensor,
    high: Tensor,
    penalty: Tensor,
) -> tuple[Tensor, Tensor]:
    """Solve S programs of D unknowns and K rows at once.

    Args:
        hessian: (S, D, D), positive definite.
        gradient: (S, D).
        matrix: A, (S, K, D).
        bound: b, (S, K).
        low: (S, D), below `high`.
        high: (S, D).
        penalty: (S,), price of a unit of slack.

    Returns:
        The steps p, (S, D), inside their box, and the multipliers of the rows, (S, K).
    """
    penalty = penalty.unsqueeze(-1)
    width = high - low
    # The step is measured from the middle in half-widths, so all unknowns are of one size.
    half, middle = width / 2, (high + low) / 2
    scaled_hessian = hessian * half.unsqueeze(-1) * half.unsqueeze(-2)
    scaled_gradient = (gradient + (hessian @ middle.unsqueeze(-1)).squeeze(-1)) * half
    matrix = matrix * half.unsqueeze(-2)
    bound = bound - (matrix / half.unsqueeze(-2) @ middle.unsqueeze(-1)).squeeze(-1)

    size = scaled_gradient.abs().amax(-1, keepdim=True).clamp_min(1e-8)
    p = torch.zeros_like(scaled_gradient)
    z_low, z_high = (size + torch.zeros_like(p) for _ in range(2))
    y = penalty * 0.5 + torch.zeros_like(bound)
    excess = (matrix @ p.unsqueeze(-1)).squeeze(-1) - bound
    s = excess.clamp_min(0) + 1.0
    w = s - excess
    count = 2 * p.shape[-1] + 2 * bound.shape[-1]
    goal = _TOLERANCE * (size + penalty)

    for _ in range(_ITERATIONS):
        room_low, room_high = p + 1, 1 - p
        v = penalty - y
        complementarity = (
            (z_low * room_low).sum(-1)
            + (z_high * room_high).sum(-1)
            + (y * w).sum(-1)
            + (v * s).sum(-1)
        ).unsqueeze(-1) / count
        if bool((complementarity <= goal).all()):
            break
        target = 0.1 * complementarity
        primal = (matrix @ p.unsqueeze(-1)).squeeze(-1) - s + w - bound
        dual = (
            (scaled_hessian @ p.unsqueeze(-1)).squeeze(-1)
            + scaled_gradient
            + (matrix.transpose(-1, -2) @ y.unsqueeze(-1)).squeeze(-1)
        )
        weight = 1 / (w / y + s / v)
        offset = primal + (target / y - w) - (target / v - s)
        diagonal = z_low / room_low + z_high / room_high
        system = scaled_hessian + matrix.transpose(-1, -2) @ (weight.unsqueeze(-1) * matrix)
        system = system + torch.diag_embed(diagonal + 1e-12 * size)
        right = (
            -dual
            + target / room_low
            - target / room_high
            - (matrix.transpose(-1, -2) @ (weight * offset).unsqueeze(-1)).squeeze(-1)
        )
        factor, failed = torch.linalg.cholesky_ex(system)
        if bool(failed.any()):  # rounding at the very end: the steps so far are good enough
            break
        dp = torch.cholesky_solve(right.unsqueeze(-1), factor).squeeze(-1)
        dy = weight * ((matrix @ dp.unsqueeze(-1)).squeeze(-1) + offset)
        dw = target / y - w - w / y * dy
        ds = target / v - s + s / v * dy
        dz_low = target / room_low - z_low - z_low / room_low * dp
        dz_high = target / room_high - z_high + z_high / room_high * dp
        pairs = (
            (room_low, dp),
            (room_high, -dp),
            (z_low, dz_low),
            (z_high, dz_high),
            (y, dy),
            (v, -dy),
            (w, dw),
            (s, ds),
        )
        longest = torch.ones_like(size)
        for value, change in pairs:
            if value.shape[-1]:
                ratio = torch.where(change < 0, -value / change, torch.inf)
                longest = torch.minimum(longest, 0.995 * ratio.amin(-1, keepdim=True))
        p, y, w, s = p + longest * dp, y + longest * dy, w + longest * dw, s + longest * ds
        z_low, z_high = z_low + longest * dz_low, z_high + longest * dz_high
    return torch.clamp(middle + half * p, low, high), y
