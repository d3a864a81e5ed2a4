"""What relaxing a constraint is worth: Lagrange multipliers of the predicted problem at a point.

At a local optimum grad f + sum_k lambda_k grad g_k + bounds = 0 with lambda_k >= 0, where only
active constraints and bounds count. Relaxing g_k <= 0 to g_k <= d then lowers the minimum by
lambda_k d, to first order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor

from grisaille.array_types import Array
from grisaille.confidence.prediction import Predictor
from grisaille.language.program import BoxCall, split_outputs

# A constraint is active if moving each variable by this part of its range could use up its room.
_NEAR = 0.01
# A variable is at a bound, and a constraint is met, within this part of its range.
_AT_BOUND = 1e-6


class NoSlope(Exception):  # noqa: N818 - an answer, not an error
    """A problem has no derivatives at a point; the message says why."""


@dataclass(frozen=True, slots=True)
class Slopes:
    """Derivatives of objective and constraints with respect to x, in ranges of the variables.

    Attributes:
        objective: (n,), minimized.
        constraints: (K, n).
    """

    objective: Array
    constraints: Array

    def near(self, slack: Array) -> NDArray[np.bool_]:
        """Which constraints a move of 1 % of the variables' ranges could violate, (K,)."""
        return np.asarray(slack <= _NEAR * np.abs(self.constraints).sum(1))

    def beyond(self, slack: Array) -> NDArray[np.bool_]:
        """Which constraints are violated by more than a search rounds, (K,)."""
        return np.asarray(slack < -_AT_BOUND * np.abs(self.constraints).sum(1))


def slopes_at(predictor: Predictor, x: Array) -> Slopes:
    """Derivatives of the predicted problem at a design point, flat.

    Raises:
        NoSlope: There are none.
    """
    program = predictor.problem.program
    if program.process_noise:
        raise NoSlope("expected values over disturbances are not differentiated")
    if not program.continuous:
        raise NoSlope("a formula of the problem jumps, so it has no slope")

    def resolve(call: BoxCall, states: Tensor) -> Tensor:
        answer = predictor.middle_of(call, states)
        if call.box.inputs and states.requires_grad and not answer.requires_grad:
            raise NoSlope(f"the model of black box {call.box.name!r} gives no derivatives")
        return answer

    width = program.upper - program.lower

    def columns(unit: Tensor) -> Tensor:
        design = torch.tensor(program.lower) + unit * torch.tensor(width)
        objective, constraints = split_outputs(program.run(design.unsqueeze(0), resolve))
        return torch.cat([objective.reshape(1), constraints[0]])

    unit = torch.tensor((x - program.lower) / width)
    jacobian = torch.autograd.functional.jacobian(columns, unit, vectorize=False).numpy()
    if not np.isfinite(jacobian).all():
        raise NoSlope("a slope of the problem is infinite or not a number at this point")
    return Slopes(jacobian[0], jacobian[1:])


def lagrange_multipliers(
    slopes: Slopes, active: NDArray[np.bool_], lower: Array, upper: Array
) -> Array:
    """The multiplier of each constraint, (K,): 0 for those that are not active.

    They solve min |grad f + sum lambda_k grad g_k + bounds| over multipliers of at least 0, which
    is 0 at a local optimum.

    Args:
        slopes: Derivatives at the point.
        active: (K,), which constraints are active.
        lower: (n,), how far each variable is from its lower bound, in ranges.
        upper: (n,), how far from its upper bound.
    """
    n = len(slopes.objective)
    rows = slopes.constraints[active]
    # Multipliers of rows of very different sizes are found together if the rows are scaled.
    sizes = np.linalg.norm(rows, axis=1)
    usable = sizes > 0
    bounds = np.eye(n)
    normals = [
        rows[usable] / sizes[usable, None],
        -bounds[lower <= _AT_BOUND],
        bounds[upper <= _AT_BOUND],
    ]
    matrix = np.concatenate(normals).T
    found = np.zeros(int(active.sum()))
    if matrix.shape[1]:
        size = np.linalg.norm(slopes.objective) or 1.0
        weights, _ = nnls(matrix, -slopes.objective / size)
        found[usable] = weights[: usable.sum()] * size / sizes[usable]
    multipliers = np.zeros(len(active))
    multipliers[active] = found
    return multipliers
