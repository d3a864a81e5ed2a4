"""A small pool of Lagrangian multipliers and Farkas rays, learned where they are missing.

The bound of a region is a concave function of the weights of objective and constraints, and its
slopes are known. Cutting planes therefore find the best weights for one region: a small linear
program over all slopes seen so far proposes weights, whose bound gives the next slopes. Weights
that help one region help its neighbours too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

_MOST = 12
_ROUNDS = 6
# Largest multiplier in typical spreads. Where a larger one would be needed, a ray refutes better.
_LARGEST = 1e3


class MultiplierPool:
    """Weights of objective and constraints, (weights, 1 + K), the first of them (1, 0, ..., 0).

    Args:
        scale: (1 + K,), typical spreads of objective and constraints.
    """

    def __init__(self, scale: Tensor) -> None:
        self._scale = scale.to(torch.float64)
        self.weights = torch.eye(len(scale), dtype=torch.float64, device=scale.device)
        # When each was last the best for a region. The first K + 1 are never dropped.
        self._fixed = len(self.weights)
        self._used = [0] * len(self.weights)
        self._clock = 0

    def best_bounds(self, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Take the best of the bounds for all weights, (regions, weights), in each region.

        Returns:
            The bound on the objective, (regions,); the largest bound on a sum of constraints whose
            weights sum to 1, (regions,), which if positive proves that the region contains no
            feasible point; and these weights, (regions, K).
        """
        self._clock += 1
        dual = self.weights[:, 0] > 0
        bound, best = values[:, dual].max(1)
        self._note_use(torch.nonzero(dual).flatten()[best])
        if self.weights.shape[1] == 1:
            nothing = torch.full_like(bound, -torch.inf)
            return bound, nothing, values.new_zeros(len(values), 0)
        excess, best = values[:, ~dual].max(1)
        rays = torch.nonzero(~dual).flatten()[best]
        self._note_use(rays)
        return bound, excess, self.weights[rays, 1:]

    def _note_use(self, rows: Tensor) -> None:
        for row in set(rows.tolist()):
            self._used[row] = self._clock

    def learn(self, bound: Callable[[Tensor], Tensor], target: float) -> bool:
        """Add weights that are better for one region than those in the pool; False if none are.

        Args:
            bound: The region's bounds for weights, (weights, 1 + K) to (weights,).
            target: What the objective's bound should reach; infinite to look for rays only.
        """
        values, cuts = _with_slopes(bound, self.weights)
        learned = False
        for rays in (True,) if target == torch.inf else (False, True):
            best = self._merit(values, self.weights, target, rays).max()
            for _ in range(_ROUNDS):
                proposal, promise = self._propose(cuts, target, rays)
                # The cuts allow nothing much better than what is known.
                if proposal is None or promise <= best + 0.01 * abs(best):
                    break
                value, slopes = _with_slopes(bound, proposal)
                merit = self._merit(value, proposal, target, rays)[0]
                if merit > best + 0.01 * abs(best):
                    best = merit
                    self._add(proposal)
                    learned = True
                if merit > 0:
                    return True
                cuts = torch.cat([cuts, slopes])
            if proposal is not None and not rays and promise <= 0:
                break  # the best multiplier is known, and no ray proves more than it does
            values, _ = _with_slopes(bound, self.weights)
        return learned

    def _merit(self, values: Tensor, weights: Tensor, target: float, rays: bool) -> Tensor:
        """How much weights prove, in typical spreads; positive if they close the region."""
        if rays:
            proved = values / (weights * self._scale).sum(1)
            return torch.where(weights[:, 0] > 0, -torch.inf, proved)
        return torch.where(weights[:, 0] > 0, (values - target) / self._scale[0], -torch.inf)

    def _propose(self, cuts: Tensor, target: float, rays: bool) -> tuple[Tensor | None, float]:
        """The best weights according to the cuts, and what they would prove: a linear program.

        Args:
            cuts: Slopes of the bound, each an upper bound of it for all weights.
            target: What the objective's bound should reach.
            rays: Whether to weight only the constraints, or also the objective, with weight 1.
        """
        slopes = (cuts / self._scale).cpu().numpy()
        slopes = slopes[np.isfinite(slopes).all(1)]
        if not len(slopes):
            return None, 0.0
        rest = slopes[:, 1:]
        offset = np.zeros(len(slopes)) if rays else slopes[:, 0] - target / float(self._scale[0])
        count = rest.shape[1]
        answer = linprog(
            np.append(np.zeros(count), -1.0),
            A_ub=np.column_stack([-rest, np.ones(len(slopes))]),
            b_ub=offset,
            A_eq=np.append(np.ones(count), 0.0)[None] if rays else None,
            b_eq=[1.0] if rays else None,
            bounds=[*[(0.0, 1.0 if rays else _LARGEST)] * count, (None, None)],
            method="highs",
        )
        if answer.x is None:
            return None, 0.0
        scale = self._scale.cpu().numpy()
        weights = np.zeros(1 + count)
        weights[1:] = np.maximum(answer.x[:count], 0.0) / scale[1:]
        if rays:  # the weights of a proof that there is no feasible point sum to 1
            weights /= weights.sum()
        else:
            weights *= scale[0]
            weights[0] = 1.0
        proposal = torch.tensor(weights, device=cuts.device).unsqueeze(0)
        return proposal, float(answer.x[-1])

    def _add(self, weights: Tensor) -> None:
        if len(self.weights) >= _MOST + self._fixed:
            oldest = min(range(self._fixed, len(self.weights)), key=self._used.__getitem__)
            keep = [i for i in range(len(self.weights)) if i != oldest]
            self.weights = self.weights[keep]
            self._used.pop(oldest)
        self.weights = torch.cat([self.weights, weights])
        self._used.append(self._clock + 1)


def _with_slopes(bound: Callable[[Tensor], Tensor], weights: Tensor) -> tuple[Tensor, Tensor]:
    """Bounds and their derivatives with respect to each row of weights."""
    with torch.enable_grad():
        moving = weights.detach().clone().requires_grad_()
        values = bound(moving)
        (slopes,) = torch.autograd.grad(values.sum(), moving)
    return values.detach(), slopes
