"""White boxes: cheap, known functions that operators and NumPy functions cannot express."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import is_flag, real_numbers
from grisaille.errors import EvaluationError, ModelError, shortened, text_of
from grisaille.language.enclosures.interval import (
    EPSILON,
    Enclosure,
    Interval,
    Plane,
    outward,
    widened,
)
from grisaille.language.expression import Operation, as_expression
from grisaille.language.operations import Atom, Shape
from grisaille.language.user_function import (
    check_shape_of_slopes,
    decorator,
    is_symbolic,
    name_of,
    output_shape,
)

# --- white box derivatives ------------------------------------------------------------------------
# Derivatives of a user's function: by differences, or by a function that the user gives.

Values = Callable[..., Tensor]
"""Values (batch, ...) of arguments (batch, ...)."""


@dataclass(frozen=True, slots=True)
class WhiteBoxConstants:
    """The constants of checks of derivatives.

    Attributes:
        steps: Steps of the differences that a derivative is compared with. Not measured.
        tolerance: Part of the slopes by which it may be outside of all. Not measured.
        rounding: Rounding of the values. Not measured.
    """

    steps: tuple[float, ...] = (1e-4, 1e-6)
    tolerance: float = 1e-2
    rounding: float = 1e-8


WHITE_BOX = WhiteBoxConstants()


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
    steps = torch.tensor(WHITE_BOX.steps, dtype=torch.float64).reshape(-1, 1, 1) * (1 + flat.abs())
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
    slack = WHITE_BOX.tolerance * size + WHITE_BOX.rounding * (
        here.abs().unsqueeze(1) + 100 * steepest
    )
    wrong = (given < lowest - slack) | (given > highest + slack)
    if not wrong.any():
        return None
    output, position = wrong.nonzero()[0].tolist()
    central = float(differences[-2:, output, position].mean())
    return output, position, float(given[output, position]), central


# --- torch function -------------------------------------------------------------------------------
# A user's function of PyTorch tensors, at many points at once.


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


# --- white box ------------------------------------------------------------------------------------


class WhiteBox:
    """A known, cheap function that operators and NumPy functions cannot express.

    Its derivatives are taken by central differences, so it should be smooth to about 1e-6. That
    takes two calls per input number; `gradient` and `torch` are much faster.

    Args:
        fn: The function, of NumPy values shaped like the arguments, to `outputs` numbers.
        name: Its name in messages and diagrams.
        outputs: How many numbers it returns; 1 gives a scalar expression.
        vectorized: True if `fn` takes arrays with one more leading axis, many points at once, and
            returns its values with that leading axis: much faster.
        torch: True if `fn` takes and returns PyTorch tensors, float64. PyTorch differentiates it.
        gradient: A function of the same arguments that returns the derivatives: an array
            (outputs, inputs), where the numbers of all arguments count as inputs, one after the
            other; (inputs,) is enough for one output. With `vectorized`, one leading axis more.
            The first derivatives are compared with differences.
        lipschitz: How fast outputs can change with each input number, all arguments taken
            together: |f(a) - f(b)| is at most the sum of lipschitz * |a - b|. One number, one per
            input, or an array (outputs, inputs). Proofs of bounds need it, or `interval`.
        interval: A function that bounds the outputs: it takes a pair (lower, upper) for each
            argument, as `fn` takes the argument, and returns the pair (lower, upper) of the
            outputs. With `lipschitz` as well, both hold.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        outputs: int = 1,
        vectorized: bool = False,
        torch: bool = False,
        gradient: Callable[..., Any] | None = None,
        lipschitz: ArrayLike | None = None,
        interval: Callable[..., Any] | None = None,
    ) -> None:
        if fn is None:
            raise ModelError("gs.white_box needs a function, got None")
        self.fn = fn
        self.name = name_of(fn, name, "white box")
        for what, flag in (("vectorized", vectorized), ("torch", torch)):
            if not is_flag(flag):
                raise ModelError(
                    f"white box {self.name!r} has {what}={shortened(flag)}: pass True or False"
                )
        self.vectorized = bool(vectorized)
        self.torch = bool(torch)
        if gradient is not None and not callable(gradient):
            raise ModelError(
                f"white box {self.name!r} has gradient={shortened(gradient)}: pass a function of "
                "the same arguments that returns the derivatives (outputs, inputs)"
            )
        if gradient is not None and self.torch:
            raise ModelError(
                f"white box {self.name!r} has torch=True, so PyTorch differentiates it, and "
                "gradient=: leave one of them out"
            )
        self.gradient = gradient
        _, self.output_shape = output_shape(outputs, f"white box {self.name!r}")
        self._of_tensors = TorchFunction(fn, self.output_shape, self.vectorized)
        self._is_compared = False
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
        if not self.torch and self.gradient is None:
            return by_differences(self._values, arguments)
        batch = max(a.shape[0] for a in arguments)
        arguments = tuple(a.expand(batch, *a.shape[1:]) for a in arguments)
        if self.torch:
            value = self._values(*arguments)
        else:
            value = by_gradient(self._values, self._given_slopes, arguments)
        if value.requires_grad and not self._is_compared:
            self._compare(*arguments)
        return value

    def _compare(self, *arguments: Tensor) -> None:
        """Compare derivatives with differences, once, at the first and the last point."""
        for row in {0, len(arguments[0]) - 1}:
            point = [a[row : row + 1].detach() for a in arguments]
            if self.torch:
                slopes = slopes_by_torch(self._values, point)
            else:
                slopes = self._given_slopes(*point)
            try:
                wrong = disagreement(self._values, slopes, point)
            except EvaluationError:  # a step may leave the function's domain
                continue
            if wrong is not None:
                output, position, given, numerical = wrong
                who, remedy = (
                    ("PyTorch's derivative", "is a part of it detached, or computed outside torch?")
                    if self.torch
                    else ("gradient=", "it must return derivatives (outputs, inputs) of fn")
                )
                raise ModelError(
                    f"{who} of white box {self.name!r} says {given:.6g} for output {output} by "
                    f"input {position} at {_point_text(point)}, but differences say "
                    f"{numerical:.6g}: {remedy}"
                )
        self._is_compared = True

    def _values(self, *arguments: Tensor) -> Tensor:
        batch = max(a.shape[0] for a in arguments)
        try:
            if self.torch:
                return self._of_tensors(*(a.expand(batch, *a.shape[1:]) for a in arguments))
            # Copies, because a function may change its arguments in place.
            arrays = [a.detach().expand(batch, *a.shape[1:]).numpy().copy() for a in arguments]
            values = self._answers(self.fn, arrays)
            return torch.as_tensor(values.reshape((batch, *self.output_shape)))
        except Exception as error:
            raise self._failure("", arguments, error) from error

    def _given_slopes(self, *arguments: Tensor) -> Tensor:
        """What `gradient` returns, (batch, outputs, inputs)."""
        assert self.gradient is not None
        batch, inputs = len(arguments[0]), sum(a[0].numel() for a in arguments)
        try:
            arrays = [a.numpy().copy() for a in arguments]
            slopes = self._answers(self.gradient, arrays)
            shape = (self.outputs, inputs)
            short = tuple(size for size in shape if size != 1)
            if slopes.shape[1:] not in (shape, shape[1:] if self.outputs == 1 else shape, short):
                raise ValueError(
                    f"it returned derivatives of shape {slopes.shape[1:]} at a point, expected "
                    f"(outputs, inputs) = {shape}"
                )
            return torch.as_tensor(slopes.reshape(batch, *shape))
        except Exception as error:
            raise self._failure("gradient= of ", arguments, error) from error

    def _answers(self, fn: Callable[..., Any], arrays: list[Array]) -> Array:
        """What a function of NumPy values returns at points, with the points as first axis."""
        batch = len(arrays[0])
        if self.vectorized:
            answers = fn(*arrays)
            nothing = answers is None
        else:
            rows = zip(*arrays, strict=True)
            answers = [fn(*(float(v) if v.ndim == 0 else v for v in row)) for row in rows]
            nothing = any(answer is None for answer in answers)
        if nothing:
            raise TypeError("it returned None (does it lack a return statement?)")
        values = real_numbers(answers, truth_values=True).copy(order="C")
        if values.shape[:1] != (batch,):
            raise ValueError(
                f"it returned shape {values.shape} for {batch} points: the first axis must "
                "count the points"
            )
        return values

    def _failure(self, what: str, arguments: Sequence[Tensor], error: Exception) -> EvaluationError:
        kind = ", torch=True" if self.torch else ""
        return EvaluationError(
            f"{what}white box {self.name!r} (outputs={self.outputs}, vectorized={self.vectorized}"
            f"{kind}) failed near {_point_text(arguments)}: {text_of(error)}"
        )

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
        endless = torch.full((2, regions, self.outputs), math.inf, dtype=torch.float64)
        ends = outward(3, endless.device) * endless
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
        pairs: list[tuple[Any, Any]] = list(zip(lower, upper, strict=True))
        if not self.torch:
            pairs = [(low.numpy(), high.numpy()) for low, high in pairs]
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


def _point_text(arguments: Sequence[Tensor]) -> str:
    """The first point as text, argument by argument."""
    return ", ".join(np.array2string(a[0].detach().numpy(), precision=6) for a in arguments)


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
