"""Derivatives of a user's function: by differences, or by a function that the user gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Values = Callable[..., Tensor]
"""Values (batch, ...) of arguments (batch, ...)."""

# Steps of the differences that a given derivative is compared with, and how far it may be outside
# all of them: by this part of the slopes, and by what rounding of the values can make.
_STEPS = (1e-4, 1e-6)
_TOLERANCE = 1e-2
_ROUNDING = 1e-8


def by_differences(values: Values, arguments: Sequence[Tensor]) -> Tensor:
    """The values of a function of NumPy arrays, to be differentiated by central differences."""
    found: Tensor = _ByDifferences.apply(values, *arguments)  # type: ignore[no-untyped-call]
    return found


def by_gradient(values: Values, slopes: Values, arguments: Sequence[Tensor]) -> Tensor:
    """The values of a function of NumPy arrays, to be differentiated by another function.

    Args:
        values: The function.
        slopes: Its derivatives (batch, outputs, inputs).
        arguments: All of the same batch.
    """
    found: Tensor = _ByGradient.apply(values, slopes, *arguments)  # type: ignore[no-untyped-call]
    return found


class _ByDifferences(torch.autograd.Function):
    """A function of NumPy arrays with its gradient by central differences."""

    @staticmethod
    def forward(ctx: Any, values: Values, *arguments: Tensor) -> Tensor:
        ctx.values = values
        ctx.save_for_backward(*arguments)
        return values(*arguments)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        arguments = [a.detach() for a in ctx.saved_tensors]
        answers: list[Tensor | None] = [None]
        for i, argument in enumerate(arguments):
            if not ctx.needs_input_grad[i + 1]:
                answers.append(None)
                continue
            flat = argument.reshape(argument.shape[0], -1)
            columns = []
            for j in range(flat.shape[1]):
                step = 1e-6 * (1.0 + flat[:, j].abs())
                sides = []
                for sign in (1.0, -1.0):
                    moved = flat.clone()
                    moved[:, j] += sign * step
                    changed = [*arguments]
                    changed[i] = moved.reshape(argument.shape)
                    sides.append(ctx.values(*changed))
                slope = (sides[0] - sides[1]) / (2 * step).reshape(-1, *[1] * (gradient.ndim - 1))
                columns.append((gradient * slope).reshape(gradient.shape[0], -1).sum(1))
            answers.append(torch.stack(columns, 1).reshape(argument.shape))
        return tuple(answers)


class _ByGradient(torch.autograd.Function):
    """A function of NumPy arrays with the derivatives that another function returns."""

    @staticmethod
    def forward(ctx: Any, values: Values, slopes: Values, *arguments: Tensor) -> Tensor:
        ctx.slopes = slopes
        ctx.save_for_backward(*arguments)
        return values(*arguments)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        gradient = gradients[0].reshape(len(gradients[0]), -1)
        arguments = [a.detach() for a in ctx.saved_tensors]
        sizes = [a[0].numel() for a in arguments]
        product = gradient.new_zeros(len(gradient), sum(sizes))
        # A search asks for the slopes of one row of the problem at a time; most do not read this.
        read = (gradient != 0).any(1)
        if read.any():
            slopes = ctx.slopes(*(a[read] for a in arguments))
            product[read] = (gradient[read].unsqueeze(1) @ slopes).squeeze(1)
        parts = product.split(sizes, 1)
        shaped = [p.reshape(a.shape) for p, a in zip(parts, arguments, strict=True)]
        return None, None, *shaped


def slopes_by_torch(values: Values, arguments: Sequence[Tensor]) -> Tensor:
    """Derivatives (batch, outputs, inputs) of a function that PyTorch can differentiate."""
    leaves = [a.detach().clone().requires_grad_() for a in arguments]
    rows = []
    with torch.enable_grad():
        flat = values(*leaves).reshape(len(leaves[0]), -1)
    for column in flat.T:
        found = torch.autograd.grad(
            column.sum(), leaves, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        rows.append(torch.cat([part.reshape(len(part), -1) for part in found], 1))
    return torch.stack(rows, 1)


def disagreement(
    values: Values, slopes: Tensor, arguments: Sequence[Tensor]
) -> tuple[int, int, float, float] | None:
    """Output, input, given and numerical slope where a given derivative cannot be right.

    It cannot be right where it is outside the range of all one-sided differences with two steps.
    That range is wide at kinks and jumps, and where a function has numerical noise, so that nobody
    is accused there.

    Args:
        values: The function.
        slopes: (1, outputs, inputs), the derivatives to judge.
        arguments: One point, (1, ...) each.
    """
    shapes = [a.shape[1:] for a in arguments]
    flat = torch.cat([a.detach().reshape(1, -1) for a in arguments], 1)
    inputs = flat.shape[1]
    steps = torch.tensor(_STEPS, dtype=torch.float64).reshape(-1, 1, 1) * (1 + flat.abs())
    steps = torch.cat([steps, -steps], 1).reshape(-1, inputs)  # (steps and sides, inputs)
    moved = flat + torch.diag_embed(steps).reshape(-1, inputs)
    points = torch.cat([flat, moved])
    parts = points.split([shape.numel() for shape in shapes], 1)
    arrays = [p.reshape(-1, *shape) for p, shape in zip(parts, shapes, strict=True)]
    with torch.no_grad():
        found = values(*arrays).reshape(len(points), -1)
    here, there = found[0], found[1:].reshape(len(steps), inputs, -1)
    differences = ((there - here) / steps.unsqueeze(-1)).transpose(1, 2)  # (.., outputs, inputs)
    lowest, highest = differences.amin(0), differences.amax(0)
    given = slopes[0]
    size = torch.maximum(given.abs(), torch.maximum(lowest.abs(), highest.abs()))
    steepest = highest.abs().amax(1, keepdim=True).nan_to_num(0.0, 0.0)
    slack = _TOLERANCE * size + _ROUNDING * (here.abs().unsqueeze(1) + 100 * steepest)
    wrong = (given < lowest - slack) | (given > highest + slack)
    if not wrong.any():
        return None
    output, position = wrong.nonzero()[0].tolist()
    central = float(differences[-2:, output, position].mean())
    return output, position, float(given[output, position]), central
