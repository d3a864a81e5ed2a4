"""White boxes: cheap, known functions that operators and NumPy functions cannot express."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
from grisaille.language.torch_function import TorchFunction
from grisaille.language.user_function import (
    check_shape_of_slopes,
    decorator,
    is_symbolic,
    name_of,
    output_shape,
)
from grisaille.language.white_box_derivatives import (
    by_differences,
    by_gradient,
    disagreement,
    slopes_by_torch,
)


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
