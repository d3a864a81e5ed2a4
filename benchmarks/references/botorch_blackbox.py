"""One plain BoTorch suggestion on a problem seen as a black box.

The structure of the problem is ignored: one `SingleTaskGP` models the objective and one each
constraint, all as functions of the design point, and constrained LogEI (Ament et al. 2023) is
maximized.
"""

from __future__ import annotations

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import (
    LogConstrainedExpectedImprovement,
    LogExpectedImprovement,
    LogProbabilityOfFeasibility,
)
from botorch.models import ModelListGP
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.references.botorch_search import (
    SearchEffort,
    best_point,
    box_bounds,
    fitted_model,
    repeatable,
)

Array = NDArray[np.float64]


def suggest_blackbox(
    design: Array,
    objectives: Array,
    constraints: Array,
    lower: Array,
    upper: Array,
    *,
    seed: int = 0,
    effort: SearchEffort | None = None,
) -> Array:
    """The next design point to try, flat.

    Args:
        design: (n, d), the points tried, in their own units.
        objectives: (n,), minimized.
        constraints: (n, K), met when <= 0; K may be 0.
        lower: (d,), lower bounds of a design point.
        upper: (d,), upper bounds.
        seed: Makes the suggestion repeatable.
        effort: How hard to search; 10 d restarts from 100 d raw samples by default.
    """
    bounds = box_bounds(lower, upper)
    inputs = torch.tensor(design, dtype=torch.float64)
    columns = torch.tensor(np.column_stack([objectives, constraints]), dtype=torch.float64)
    with repeatable(seed):
        models = [fitted_model(inputs, column[:, None], bounds) for column in columns.T]
        acquisition = _acquisition(ModelListGP(*models), columns)
        return best_point(acquisition, bounds, effort or SearchEffort())


def _acquisition(model: ModelListGP, columns: Tensor) -> AcquisitionFunction:
    """Constrained LogEI over the best feasible value; without one, the chance of feasibility."""
    objectives, constraints = columns[:, 0], columns[:, 1:]
    if not constraints.shape[1]:
        return LogExpectedImprovement(model.models[0], objectives.min(), maximize=False)
    feasible = (constraints <= 0).all(1)
    met: tuple[float | None, float | None] = (None, 0.0)
    limits = dict.fromkeys(range(1, columns.shape[1]), met)
    if not feasible.any():
        return LogProbabilityOfFeasibility(model, limits)
    return LogConstrainedExpectedImprovement(
        model, objectives[feasible].min(), objective_index=0, constraints=limits, maximize=False
    )
