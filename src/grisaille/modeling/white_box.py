"""White boxes: cheap, known functions that operators and NumPy functions cannot express."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor

from grisaille.errors import EvaluationError, ModelError
from grisaille.modeling.atoms import Atom
from grisaille.modeling.declaring import is_symbolic, name_of, output_shape
from grisaille.modeling.expression import Operation, as_expression, real_numbers


class WhiteBox:
    """A known, cheap function that operators and NumPy functions cannot express.

    Its derivatives are taken by central differences, so it should be smooth to about 1e-6.

    Args:
        fn: The function, of NumPy values shaped like the arguments, to `outputs` numbers.
        name: How messages and diagrams call it.
        outputs: How many numbers it returns; 1 gives a scalar expression.
        vectorized: True if `fn` takes arrays with one more leading axis, many points at once, and
            returns its values with that leading axis: much faster.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        outputs: int = 1,
        vectorized: bool = False,
    ) -> None:
        if fn is None:
            raise ModelError("gs.white_box needs a function, got None")
        self.fn = fn
        self.name = name_of(fn, name, "white box")
        self.vectorized = vectorized
        _, self.output_shape = output_shape(outputs, f"white box {self.name!r}")
        self.atom = Atom(self.name, self._evaluate, lambda *_shapes: self.output_shape)
        self.__doc__ = fn.__doc__

    def __call__(self, *args: Any) -> Any:
        """An expression when an argument is one, else the plain function's value."""
        if any(is_symbolic(a) for a in args):
            return Operation(self.atom, tuple(as_expression(a) for a in args))
        return self.fn(*args)

    def _evaluate(self, *arguments: Tensor) -> Tensor:
        value: Tensor = _NumericalDerivative.apply(self._values, *arguments)  # type: ignore[no-untyped-call]
        return value

    def _values(self, *arguments: Tensor) -> Tensor:
        batch = max(a.shape[0] for a in arguments)
        # Copies, because a function may change its arguments in place.
        arrays = [a.detach().expand(batch, *a.shape[1:]).numpy().copy() for a in arguments]
        try:
            if self.vectorized:
                answers = self.fn(*arrays)
                nothing = answers is None
            else:
                rows = zip(*arrays, strict=True)
                answers = [self.fn(*(float(v) if v.ndim == 0 else v for v in row)) for row in rows]
                nothing = any(answer is None for answer in answers)
            if nothing:
                raise TypeError("it returned None (does it lack a return statement?)")
            values = real_numbers(answers).copy(order="C")
            if values.shape[:1] != (batch,):
                raise ValueError(
                    f"it returned shape {values.shape} for {batch} points: the first axis must "
                    "count the points"
                )
            return torch.as_tensor(values.reshape((batch, *self.output_shape)))
        except Exception as error:
            example = ", ".join(np.array2string(a[0], precision=6) for a in arrays)
            raise EvaluationError(
                f"white box {self.name!r} (outputs={int(np.prod(self.output_shape))}, "
                f"vectorized={self.vectorized}) failed near {example}: {error}"
            ) from error

    def __repr__(self) -> str:
        return f"WhiteBox({self.name!r})"


@overload
def white_box(fn: Callable[..., Any], /, **options: Any) -> WhiteBox: ...
@overload
def white_box(**options: Any) -> Callable[[Callable[..., Any]], WhiteBox]: ...
def white_box(
    fn: Callable[..., Any] | None = None, /, **options: Any
) -> WhiteBox | Callable[[Callable[..., Any]], WhiteBox]:
    """Declare a known function: `gs.white_box(fn)`, `@gs.white_box` or with options in between.

    Takes the options of `WhiteBox`.
    """
    if fn is not None:
        return WhiteBox(fn, **options)
    return lambda function: WhiteBox(function, **options)


class _NumericalDerivative(torch.autograd.Function):
    """A function of NumPy arrays with its gradient by central differences."""

    @staticmethod
    def forward(ctx: Any, values: Callable[..., Tensor], *arguments: Tensor) -> Tensor:
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
