"""White boxes: cheap, known functions that operators and NumPy functions cannot express."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import is_flag, real_numbers
from grisaille.enclosures.interval import EPSILON, Enclosure, Interval, Plane, outward, widened
from grisaille.errors import EvaluationError, ModelError, shortened, text_of
from grisaille.language.atoms import Atom
from grisaille.language.expression import Operation, as_expression
from grisaille.language.user_function import (
    check_shape_of_slopes,
    decorator,
    is_symbolic,
    name_of,
    output_shape,
)


class WhiteBox:
    """A known, cheap function that operators and NumPy functions cannot express.

    Its derivatives are taken by central differences, so it should be smooth to about 1e-6.

    Args:
        fn: The function, of NumPy values shaped like the arguments, to `outputs` numbers.
        name: Its name in messages and diagrams.
        outputs: How many numbers it returns; 1 gives a scalar expression.
        vectorized: True if `fn` takes arrays with one more leading axis, many points at once, and
            returns its values with that leading axis: much faster.
        lipschitz: How fast outputs can change with each input number, all arguments taken
            together: |f(a) - f(b)| is at most the sum of lipschitz * |a - b|. One number, one per
            input, or an array (outputs, inputs). Proofs of bounds need it, or `interval`.
        interval: A function that bounds the outputs: it takes a pair (lower, upper) for each
            argument, shaped as `fn` takes the argument, and returns the pair (lower, upper) of the
            outputs. With `lipschitz` as well, both hold.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        outputs: int = 1,
        vectorized: bool = False,
        lipschitz: ArrayLike | None = None,
        interval: Callable[..., Any] | None = None,
    ) -> None:
        if fn is None:
            raise ModelError("gs.white_box needs a function, got None")
        self.fn = fn
        self.name = name_of(fn, name, "white box")
        if not is_flag(vectorized):
            raise ModelError(
                f"white box {self.name!r} has vectorized={shortened(vectorized)}: pass True or "
                "False"
            )
        self.vectorized = bool(vectorized)
        _, self.output_shape = output_shape(outputs, f"white box {self.name!r}")
        self.lipschitz = self._slopes(lipschitz)
        if interval is not None and not callable(interval):
            raise ModelError(
                f"white box {self.name!r} has interval={shortened(interval)}: pass a function of "
                "one pair (lower, upper) per argument that returns the pair (lower, upper) of the "
                "outputs"
            )
        self.interval = interval
        bounded = self.lipschitz is not None or interval is not None
        self.atom = Atom(
            self.name,
            self._evaluate,
            lambda *_shapes: self.output_shape,
            enclose=self._enclose if bounded else None,
        )
        self.__doc__ = fn.__doc__

    def __call__(self, *args: Any) -> Any:
        """An expression when an argument is one, else the plain function's value."""
        if any(is_symbolic(a) for a in args):
            expressions = tuple(as_expression(a) for a in args)
            inputs = sum(e.size for e in expressions)
            check_shape_of_slopes(
                "lipschitz", self.lipschitz, self.outputs, inputs, f"white box {self.name!r}"
            )
            return Operation(self.atom, expressions)
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
            values = real_numbers(answers, truth_values=True).copy(order="C")
            if values.shape[:1] != (batch,):
                raise ValueError(
                    f"it returned shape {values.shape} for {batch} points: the first axis must "
                    "count the points"
                )
            return torch.as_tensor(values.reshape((batch, *self.output_shape)))
        except Exception as error:
            example = ", ".join(np.array2string(a[0], precision=6) for a in arrays)
            raise EvaluationError(
                f"white box {self.name!r} (outputs={self.outputs}, vectorized={self.vectorized}) "
                f"failed near {example}: {text_of(error)}"
            ) from error

    @property
    def outputs(self) -> int:
        """How many numbers it returns."""
        return math.prod(self.output_shape)

    def _slopes(self, given: ArrayLike | None) -> Array | None:
        if given is None:
            return None
        try:
            slopes = real_numbers(given)
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"white box {self.name!r} has lipschitz={shortened(given)}: pass one number, one "
                "per input, or an array (outputs, inputs)"
            ) from error
        if not (np.isfinite(slopes) & (slopes >= 0)).all():
            raise ModelError(
                f"white box {self.name!r} has lipschitz={shortened(slopes.tolist())}: it must be "
                "finite and at least 0; leave it out if there is no such number"
            )
        return slopes

    def _enclose(self, *arguments: Interval) -> Enclosure:
        """Bounds over regions from what the user declared; infinite where an argument has none."""
        regions = max(a.lower.shape[0] for a in arguments)
        lower, upper = (
            [end.detach().expand(regions, *end.shape[1:]) for end in side]
            for side in ([a.lower for a in arguments], [a.upper for a in arguments])
        )
        flat_lower, flat_upper = (
            torch.cat([end.reshape(regions, -1) for end in side], 1) for side in (lower, upper)
        )
        bounded = (flat_lower.isfinite() & flat_upper.isfinite()).all(1)
        ends = outward(3) * torch.full((2, regions, self.outputs), math.inf, dtype=torch.float64)
        if bounded.any():
            # A mask makes copies, so a function that changes its arguments does no harm.
            lower, upper = [e[bounded] for e in lower], [e[bounded] for e in upper]
            found = []
            if self.lipschitz is not None:
                found.append(self._around_center(lower, upper))
            if self.interval is not None:
                found.append(self._declared(lower, upper))
            pairs = torch.stack(found)
            ends[:, bounded] = torch.stack((pairs[:, 0].amax(0), pairs[:, 1].amin(0)))
            if wrong := _out_of_order(ends[:, bounded]):
                region, output, low, high = wrong
                raise EvaluationError(
                    f"white box {self.name!r} over {_region_text(lower, upper, region)}: interval "
                    f"and lipschitz leave no value for output {output} ({low:g} to {high:g}): one "
                    "of them is wrong"
                )
        lowest, highest = ends.reshape(2, regions, *self.output_shape)
        return Enclosure(Interval(lowest, highest), Plane((), lowest), Plane((), highest))

    def _around_center(self, lower: list[Tensor], upper: list[Tensor]) -> Tensor:
        """Ends (2, regions, outputs) from the values at the centers and the Lipschitz constants."""
        centers = [0.5 * low + 0.5 * high for low, high in zip(lower, upper, strict=True)]
        regions = len(centers[0])
        reach = torch.cat(
            [
                torch.maximum(high - center, center - low).reshape(regions, -1)
                for low, center, high in zip(lower, centers, upper, strict=True)
            ],
            1,
        )
        inputs = reach.shape[1]
        slopes = np.broadcast_to(np.asarray(self.lipschitz), (self.outputs, inputs))
        change = reach @ torch.tensor(slopes).T
        value = self._values(*centers).reshape(regions, self.outputs)
        change = change * (1 + 4 * (inputs + 2) * EPSILON)  # above all rounding of the sum
        return widened(torch.stack((value - change, value + change)))

    def _declared(self, lower: list[Tensor], upper: list[Tensor]) -> Tensor:
        """Ends (2, regions, outputs) from the user's `interval` function."""
        assert self.interval is not None
        regions = len(lower[0])
        pairs = [(low.numpy(), high.numpy()) for low, high in zip(lower, upper, strict=True)]
        try:
            if self.vectorized:
                answers = [self.interval(*pairs)]
            else:
                answers = [
                    self.interval(*((low[region], high[region]) for low, high in pairs))
                    for region in range(regions)
                ]
            rows = regions // len(answers)
            sides = np.concatenate([self._sides(answer, rows) for answer in answers], 1)
        except Exception as error:
            raise EvaluationError(
                f"interval of white box {self.name!r} (outputs={self.outputs}, "
                f"vectorized={self.vectorized}) failed near "
                f"{_region_text(lower, upper, 0)}: {text_of(error)}"
            ) from error
        ends = torch.tensor(sides)
        if wrong := _out_of_order(ends):
            region, output, low, high = wrong
            raise EvaluationError(
                f"interval of white box {self.name!r} over {_region_text(lower, upper, region)} "
                f"returned lower {low:g} and upper {high:g} for output {output}: return numbers "
                "with lower <= upper"
            )
        return widened(ends)

    def _sides(self, answer: Any, rows: int) -> Array:
        """What an `interval` function returned for so many regions, (2, rows, outputs)."""
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise TypeError(f"it returned {shortened(answer)}: return the pair (lower, upper)")
        shape = (rows, *self.output_shape) if self.vectorized else self.output_shape
        ends = [real_numbers(end, truth_values=True) for end in answer]
        for end in ends:
            if end.shape != shape:
                raise ValueError(f"it returned an end of shape {end.shape}, expected {shape}")
        return np.stack(ends).reshape(2, rows, self.outputs)

    def __repr__(self) -> str:
        return f"WhiteBox({self.name!r})"


def _out_of_order(ends: Tensor) -> tuple[int, int, float, float] | None:
    """Region, output, lower and upper end of the first ends (2, regions, outputs) that cross."""
    wrong = ends.isnan().any(0) | (ends[0] > ends[1])
    if not wrong.any():
        return None
    region, output = wrong.nonzero()[0].tolist()
    return region, output, float(ends[0, region, output]), float(ends[1, region, output])


def _region_text(lower: list[Tensor], upper: list[Tensor], region: int) -> str:
    """A region as text, argument by argument."""
    return ", ".join(
        " to ".join(np.array2string(end[region].numpy(), precision=6) for end in ends)
        for ends in zip(lower, upper, strict=True)
    )


@decorator
def white_box(fn: Callable[..., Any], /, **options: Any) -> WhiteBox:
    """Declare a known function: `gs.white_box(fn)`, `@gs.white_box` or with options in between.

    Takes the options of `WhiteBox`.
    """
    return WhiteBox(fn, **options)


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
