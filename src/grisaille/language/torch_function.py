"""A user's function of PyTorch tensors, at many points at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grisaille.errors import shortened, text_of
from grisaille.language.atoms import Shape


class TorchFunction:
    """Calls a function of tensors so that PyTorch can differentiate it.

    A function of one point is mapped over all points by `torch.func.vmap`. That cannot follow a
    Python `if` on values: such a function is called point by point.

    Args:
        fn: The function, of float64 tensors.
        output_shape: The shape of its value at one point.
        vectorized: Whether it takes many points at once, along a first axis.
    """

    def __init__(self, fn: Callable[..., Any], output_shape: Shape, vectorized: bool) -> None:
        self._fn = fn
        self._output_shape = output_shape
        self._vectorized = vectorized
        self._maps = True

    def __call__(self, *arguments: Tensor) -> Tensor:
        """Values (batch, *output_shape) at arguments (batch, ...).

        Raises:
            TypeError: It did not return float64 tensors, or they have no derivative.
            ValueError: They have another shape.
        """
        # Copies, because a function may change its arguments in place.
        arguments = tuple(a.clone() for a in arguments)
        batch = len(arguments[0])
        if self._vectorized:
            answer = self._called(*arguments)
            value = _as_tensor(answer, (batch, *self._output_shape), vectorized=True)
        else:
            value = self._mapped(*arguments)
        wanted = torch.is_grad_enabled() and any(a.requires_grad for a in arguments)
        if wanted and not value.requires_grad:
            raise TypeError(
                "PyTorch sees no connection between its arguments and what it returned, and so no "
                "derivative: compute with torch functions only, without .detach(), .item() or "
                "NumPy, or leave torch=True out"
            )
        return value

    def _mapped(self, *arguments: Tensor) -> Tensor:
        if self._maps:
            try:
                value: Tensor = torch.func.vmap(self._at_point)(*arguments)
                return value
            except Exception:  # the function's own mistakes come again below
                pass
        value = torch.stack([self._at_point(*row) for row in zip(*arguments, strict=True)])
        self._maps = False
        return value

    def _at_point(self, *values: Tensor) -> Tensor:
        return _as_tensor(self._called(*values), self._output_shape)

    def _called(self, *values: Tensor) -> Any:
        try:
            return self._fn(*values)
        except RuntimeError as error:
            if "at least 1D" in str(error) and not any(value.ndim for value in values):
                raise TypeError(
                    f"{text_of(error)}; a scalar variable arrives as a tensor without axes: "
                    "declare gs.Variable(name, 1, ...), of shape 1, for a network"
                ) from error
            if "dtype" not in str(error):
                raise
            raise TypeError(
                f"{text_of(error)}; its arguments are torch.float64, so let a network be float64, "
                "too: pass net.double()"
            ) from error


def _as_tensor(answer: Any, shape: Shape, vectorized: bool = False) -> Tensor:
    """What a function returned as a float64 tensor of a shape; several tensors are stacked."""
    if answer is None:
        raise TypeError("it returned None (does it lack a return statement?)")
    if isinstance(answer, tuple | list) and answer and all(map(torch.is_tensor, answer)):
        answer = torch.stack(list(answer), -1)
    if not torch.is_tensor(answer):
        raise TypeError(
            f"it returned {shortened(answer)}, of type {type(answer).__name__}: with torch=True, "
            "return a PyTorch tensor"
        )
    if answer.dtype != torch.float64:
        raise TypeError(
            f"it returned a tensor of {answer.dtype}: compute in torch.float64, as its arguments "
            "are, and make new tensors with dtype=torch.float64; of a network, pass net.double()"
        )
    if answer.numel() != math.prod(shape) or (vectorized and answer.shape[:1] != shape[:1]):
        raise ValueError(f"it returned a tensor of shape {tuple(answer.shape)}, expected {shape}")
    return answer.reshape(shape)
