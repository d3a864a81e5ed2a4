"""Expected improvement and feasibility of normal variables, as logarithms."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Below these arguments the closed form of h loses its digits, and its scaled one too.
_DIRECT = -1.0
_SCALED = -1e4


def log_improvement(mean: Tensor, deviation: Tensor, best: float) -> Tensor:
    """Log E[max(best - f, 0)] for f ~ N(mean, deviation^2), of any shape.

    log deviation + log h(u), h(u) = phi(u) + u Phi(u), u = (best - mean) / deviation. For u < -1,
    h(u) = phi(u) (1 - |u| R(|u|)), with R the ratio (1 - Phi) / phi; and h(u) -> phi(u) / u^2.
    """
    floor = torch.finfo(mean.dtype).tiny
    deviation = deviation.clamp_min(math.sqrt(floor))
    u = (best - mean) / deviation
    # Each branch sees arguments that suit it, so that no gradient of an unused one is infinite.
    near = u.clamp_min(_DIRECT)
    direct = (_density(near).exp() + near * torch.special.ndtr(near)).log()
    middle = -u.clamp(_SCALED, _DIRECT)
    ratio = math.sqrt(math.pi / 2) * torch.special.erfcx(middle / math.sqrt(2))
    scaled = torch.log1p(-(middle * ratio).clamp_max(1 - 1e-12)) + _density(middle)
    far = -u.clamp_max(_SCALED)
    limit = _density(far) - 2 * far.log()
    return deviation.log() + torch.where(
        u > _DIRECT, direct, torch.where(u > _SCALED, scaled, limit)
    )


def log_worth(deviation: Tensor, noise: float) -> Tensor:
    """Log (1 - noise / sqrt(deviation^2 + noise^2)): how much of an answer is news, of any shape.

    The factor of augmented expected improvement (Huang, Allen, Notz and Zeng 2006); without noise
    it is 1.

    Args:
        deviation: Of what is asked for.
        noise: Standard deviation of the answer's noise.
    """
    floor = torch.finfo(deviation.dtype).tiny
    deviation = deviation.clamp_min(math.sqrt(floor))
    whole = (deviation.square() + noise**2).sqrt()
    return 2 * deviation.log() - whole.log() - (whole + noise).log()  # the same, without cancelling


def log_feasibility(means: Tensor, deviations: Tensor) -> Tensor:
    """Sum over k of log P(g_k <= 0) for g_k ~ N(mean, deviation^2), (batch, K) to (batch,)."""
    floor = torch.finfo(means.dtype).tiny
    logarithm: Tensor = torch.special.log_ndtr(-means / deviations.clamp_min(math.sqrt(floor)))
    return logarithm.sum(-1)


def _density(u: Tensor) -> Tensor:
    """Logarithm of the standard normal density."""
    return -0.5 * u.square() - 0.5 * math.log(2 * math.pi)
