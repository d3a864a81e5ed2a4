"""Evaluate expressions, and compare them with what NumPy makes of the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

import grisaille as gs
from grisaille.language.program import BoxCall, Program

Points = Mapping[gs.Variable, Any]


def free(name: str, shape: int | tuple[int, ...] = ()) -> gs.Variable:
    """A variable whose bounds do not matter to the test."""
    return gs.Variable(name, shape, lower=-100, upper=100)


def really(call: BoxCall, states: Tensor) -> Tensor:
    """The resolver that calls the user's own function, point by point."""
    return torch.as_tensor(np.stack([call.box.evaluate(row) for row in states.detach().numpy()]))


def flat(points: Points) -> Tensor:
    """Points given variable by variable, arrays of shape (batch, *shape), as (batch, size)."""
    return torch.cat(
        [torch.as_tensor(np.asarray(v, float)).reshape(len(v), -1) for v in points.values()], dim=1
    )


def values_at(expression: gs.Expression, points: Points) -> np.ndarray:
    """The values of an expression at several points at once."""
    (values,) = Program([expression], list(points)).run(flat(points), really)
    return values.numpy()


def value_at(expression: gs.Expression, point: Points) -> Any:
    """The value of an expression at one point."""
    return values_at(expression, {v: np.asarray(value)[None] for v, value in point.items()})[0]


def variables_like(batches: Sequence[np.ndarray]) -> list[gs.Variable]:
    """One variable per batch of values."""
    return [free(f"x{i}", batch.shape[1:]) for i, batch in enumerate(batches)]


def assert_same_as_numpy(function: Callable[..., Any], *batches: np.ndarray) -> None:
    """Record a function, run it at all points at once, and let NumPy do the same one by one."""
    variables = variables_like(batches)
    recorded = function(*variables)
    assert isinstance(recorded, gs.Expression)
    expected = np.stack([function(*row) for row in zip(*batches, strict=True)])
    assert recorded.shape == expected.shape[1:]
    values = values_at(recorded, dict(zip(variables, batches, strict=True)))
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


def assert_gradients_right(function: Callable[..., Any], *batches: np.ndarray) -> None:
    """Compare the gradients of a recorded function with finite differences."""
    variables = variables_like(batches)
    program = Program([function(*variables)], variables)
    points = flat(dict(zip(variables, batches, strict=True))).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: program.run(x, really)[0], (points,))
