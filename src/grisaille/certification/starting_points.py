"""Points of the plausible set in regions, to start a search from."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from grisaille.confidence.plausible_set import PlausibleSet

_DESIGNS = 32
_FEW_OUTPUTS = 4


def spread_points(plausible: PlausibleSet, lower: Tensor, upper: Tensor) -> Tensor:
    """Design points of each region, including its centre, with eta in the middle and at corners.

    Args:
        plausible: The plausible set.
        lower: (regions, n), of design points.
        upper: (regions, n).

    Returns:
        (points, n + controls). All combinations of the bands' ends are tried if controls are few.
    """
    design = designs(lower, upper)
    outputs = plausible.controls.count
    middle = design.new_zeros(len(design), outputs)
    etas = [middle]
    if outputs <= _FEW_OUTPUTS:
        for corner in product((-1.0, 1.0), repeat=outputs):
            etas.append(middle + torch.tensor(corner, dtype=design.dtype))
    return torch.cat([torch.cat([design, eta], 1) for eta in etas])


def designs(lower: Tensor, upper: Tensor) -> Tensor:
    """Sobol points, (regions, n) twice to (points, n): the first of each region, then the next."""
    engine = torch.quasirandom.SobolEngine(lower.shape[1], seed=0)
    unit = engine.draw(1 + _DESIGNS, dtype=torch.float64)[1:]  # the second one is the centre
    return (lower + (upper - lower) * unit.unsqueeze(1)).reshape(-1, lower.shape[1])


def at_ends(lower: Tensor, upper: Tensor, ends: Tensor) -> Tensor:
    """The same design points with a given eta for each region, (regions, outputs)."""
    return torch.cat([designs(lower, upper), ends.repeat(_DESIGNS, 1)], 1)


def linear_optimum(plausible: PlausibleSet, design: Tensor) -> Tensor:
    """The best eta for a design point, (n,), if the problem is affine in eta: (1, D)."""
    n, outputs = plausible.program.size, plausible.controls.count
    points = torch.cat([design, design.new_zeros(outputs)]).repeat(1 + outputs, 1)
    points[1:, n:] += torch.eye(outputs, dtype=design.dtype)
    objective, constraints = plausible.evaluate(points)
    slopes = (objective[1:] - objective[0]).numpy()
    rows = (constraints[1:] - constraints[0]).T.numpy()
    best = points[:1]
    if outputs and np.isfinite(slopes).all() and np.isfinite(rows).all():
        answer = linprog(slopes, rows, -constraints[0].numpy(), bounds=(-1, 1), method="highs")
        if answer.x is not None:
            best[0, n:] = torch.tensor(answer.x)
    return best
