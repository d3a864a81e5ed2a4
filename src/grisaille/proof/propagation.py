"""Bounds of a program over many regions: intervals forward, then planes backward.

The forward pass computes an interval for every node, and for every nonlinear operation two planes
that enclose it. The backward pass starts from weights of the outputs and replaces each operation by
its lower or upper plane, depending on the sign of its weight. The result is an affine function of
the variables that lies below the weighted sum everywhere in the region. The caller decides what
replaces a black box.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grisaille.language import operations
from grisaille.language.enclosures.interval import EPSILON, Enclosure, Interval
from grisaille.language.expression import Algebra, Call, Constant, Operation
from grisaille.language.program import BoxCall, Program
from grisaille.language.variable import Variable

RangeOfCall = Callable[[BoxCall, Interval], Interval]
"""The range of a call's outputs, (regions, k), for states in an interval, (regions, d)."""

BoundCall = Callable[[BoxCall, Tensor], Tensor | None]
"""Bounds a call: takes the weights of its outputs, (regions or 1, weights, k), and returns the
weights of its states, (regions, weights, d), or None if they have no weight."""

# Rounding error of the few operations in one term.
_ROUNDING = 8 * EPSILON


def obstacles(program: Program) -> list[str]:
    """Why a lowered program cannot be bounded, with the user's names; empty if it can."""
    return [
        f"white box {operation.atom.name!r} has neither lipschitz= nor interval=, and a "
        "proof needs one of them"
        for operation in program.operations
        if operation.atom.enclose is None
        and operation.atom is not operations.total
        and not operation.atom.is_layout
    ]


@dataclass(frozen=True, slots=True)
class Affine:
    """An affine function below a weighted sum of the outputs: constant + slopes'x.

    Attributes:
        constant: (regions, weights).
        slopes: (regions, weights, n), for a flat design point.
        error: (regions, weights), a bound on the rounding error of constant + slopes'x.
    """

    constant: Tensor
    slopes: Tensor
    error: Tensor


class Propagation:
    """Intervals and planes of every node of a program over regions.

    Args:
        program: Made of elementary operations only (`lowered`).
        x: Regions of flat design points, (regions, n).
        range_of_call: Bounds what the black boxes can return.
    """

    def __init__(self, program: Program, x: Interval, range_of_call: RangeOfCall) -> None:
        self._program = program
        self._regions = len(x.lower)
        self._like = x.lower
        self._sizes: dict[int, Tensor] = {}
        self._planes: list[Enclosure | None] = []
        self.intervals = self._enclosed(x, range_of_call)

    @property
    def is_affine(self) -> bool:
        """Whether all known operations are affine."""
        return all(planes is None for planes in self._planes)

    def _enclosed(self, x: Interval, range_of_call: RangeOfCall) -> list[Interval]:
        """Return the interval of each node, and keep the planes of those that need them."""
        program = self._program

        def plain(interval: Interval) -> Interval:
            self._planes.append(None)
            return interval

        def variable(own: Variable) -> Interval:
            columns = program.columns[own]
            ends = (end[:, columns].reshape(-1, *own.shape) for end in (x.lower, x.upper))
            return plain(Interval(*ends))

        def constant(own: Constant) -> Interval:
            return plain(Interval(program.constants[own], program.constants[own]))

        def operation(own: Operation, arguments: Sequence[Interval]) -> Interval:
            affine = self._affine(own, arguments)
            if affine is None and own.atom.enclose is not None:
                planes = own.atom.enclose(*arguments)
                self._planes.append(planes)
                return planes.interval
            return plain(_laid_out(own, arguments) if affine is None else affine)

        def call(own: Call, arguments: Sequence[Interval]) -> Interval:
            sides = [a.lower for a in arguments], [a.upper for a in arguments]
            ends = (operations.join.evaluate(*side).expand(self._regions, -1) for side in sides)
            outputs = range_of_call(program.call_of[own], Interval(*ends))
            lower, upper = (end.reshape(-1, *own.shape) for end in (outputs.lower, outputs.upper))
            return plain(_wider(lower, upper, torch.zeros_like(lower)))

        return program.fold(Algebra(variable, constant, operation, call))

    def _affine(self, operation: Operation, arguments: Sequence[Interval]) -> Interval | None:
        """The interval of an affine operation, which needs no planes; None for other ones."""
        atom = operation.atom
        if atom is operations.negative:
            return Interval(-arguments[0].upper, -arguments[0].lower)
        if atom is operations.add or atom is operations.subtract:
            one, other = arguments
            if atom is operations.subtract:
                other = Interval(-other.upper, -other.lower)
            lower = operations.add.evaluate(one.lower, other.lower)
            upper = operations.add.evaluate(one.upper, other.upper)
            return _wider(lower, upper, torch.maximum(lower.abs(), upper.abs()))
        factor = self._factor(operation)
        if factor is None:
            return None
        value, place = factor
        ends = arguments[place]
        first, second = (operations.multiply.evaluate(value, e) for e in (ends.lower, ends.upper))
        lower, upper = torch.minimum(first, second), torch.maximum(first, second)
        return _wider(lower, upper, torch.maximum(lower.abs(), upper.abs()))

    def _factor(self, operation: Operation) -> tuple[Tensor, int] | None:
        """The constant factor of a product and the place of the other factor, or None."""
        if operation.atom is operations.multiply:
            for place, argument in enumerate(operation.arguments):
                value = self._program.constants.get(self._program.canonical(argument))
                if value is not None:
                    return value, 1 - place
        return None

    def least(self, weights: Tensor) -> Tensor:
        """Bounds of weighted sums from the intervals of the outputs alone, (regions, weights)."""
        parts = []
        for position in self._program.outputs:
            lower = self.intervals[position].lower
            parts.append(lower.reshape(len(lower), -1).expand(self._regions, -1))
        ends = torch.cat(parts, 1).unsqueeze(1)
        ends = torch.where(ends.isnan(), -math.inf, ends)
        terms = weights * torch.nan_to_num(ends, neginf=0.0)
        unbounded = ((weights > 0) & ends.isneginf()).any(-1)
        values = terms.sum(-1) - _ROUNDING * terms.shape[-1] * terms.detach().abs().sum(-1)
        return torch.where(unbounded, -math.inf, values)

    def below(self, weights: Tensor, bound_call: BoundCall) -> Affine:
        """An affine function below weighted sums of the program's outputs.

        Args:
            weights: (weights, outputs), of the entries of all outputs, concatenated.
            bound_call: Replaces the black boxes.
        """
        program = self._program
        count = len(weights)
        sums = _Sums(self._like.new_zeros(self._regions, count), self._like.new_zeros(1, count))
        start = 0
        for position in program.outputs:
            shape = program.nodes[position].expression.shape
            size = math.prod(shape)
            part = weights[:, start : start + size].reshape(1, count, *shape)
            start += size
            self._add_weight(sums, position, part)
        slopes = self._like.new_zeros(self._regions, count, program.size)
        for position in range(len(program.nodes) - 1, -1, -1):
            weight = sums.waiting.pop(position, None)
            if weight is not None:
                node = program.nodes[position]
                replacing = self._replacing(sums, slopes, weight, bound_call)
                node.expression._become(replacing, node.arguments)
        return Affine(sums.constant, slopes, sums.error)

    def _replacing(
        self, sums: _Sums, slopes: Tensor, weight: Tensor, bound_call: BoundCall
    ) -> Algebra[int, None]:
        """Replace a node with a weight, given the positions of what it reads."""
        program = self._program
        flat = weight.reshape(*weight.shape[:2], -1)

        def variable(own: Variable) -> None:
            slopes[:, :, program.columns[own]] = flat

        def call(own: Call, arguments: Sequence[int]) -> None:
            states = bound_call(program.call_of[own], flat)
            if states is not None:
                self._add_parts(sums, arguments, states)

        return Algebra(
            variable=variable,
            constant=lambda own: sums.add(weight * program.constants[own].unsqueeze(1)),
            operation=lambda own, arguments: self._replace(sums, own, arguments, weight),
            call=call,
        )

    def _add_weight(
        self, sums: _Sums, position: int, weight: Tensor, absolute: Tensor | None = None
    ) -> None:
        """Add to the weight of a node; `absolute` if it is a sum of weights that may cancel."""
        sums.add_rounding(
            weight.detach().abs() if absolute is None else absolute, self._size(position)
        )
        known = sums.waiting.get(position)
        sums.waiting[position] = weight if known is None else known + weight

    def _size(self, position: int) -> Tensor:
        """Largest absolute value of each entry, (regions or 1, 1, *shape)."""
        if position not in self._sizes:
            interval = self.intervals[position]
            size = torch.maximum(interval.lower.abs(), interval.upper.abs())
            self._sizes[position] = size.unsqueeze(1)
        return self._sizes[position]

    def _add_parts(self, sums: _Sums, arguments: Sequence[int], weight: Tensor) -> None:
        """Add the weights of concatenated arguments to each argument."""
        start = 0
        for argument in arguments:
            shape = self._program.nodes[argument].expression.shape
            size = math.prod(shape)
            part = weight[:, :, start : start + size].reshape(*weight.shape[:2], *shape)
            self._add_weight(sums, argument, part)
            start += size

    def _replace(
        self, sums: _Sums, operation: Operation, arguments: Sequence[int], weight: Tensor
    ) -> None:
        atom = operation.atom
        if atom is operations.join:
            self._add_parts(sums, arguments, weight)
            return
        if atom is operations.take:
            positions, _shape = operation.parameters
            (source,) = operation.arguments
            nothing = weight.new_zeros(*weight.shape[:2], source.size)
            index = torch.tensor(positions, dtype=torch.long, device=weight.device)
            flat = weight.reshape(*weight.shape[:2], -1)
            shape = (*weight.shape[:2], *source.shape)
            total, absolute = (
                nothing.index_add(2, index, part).reshape(shape)
                for part in (flat, flat.detach().abs())
            )
            self._add_weight(sums, arguments[0], total, absolute)
            return
        if atom is operations.total:
            shape = operation.arguments[0].shape
            for axis in sorted(operation.parameters[0]):
                weight = weight.unsqueeze(axis + 2)
            self._add_weight(sums, arguments[0], weight.expand(*weight.shape[:2], *shape))
            return
        if atom.linear == "jointly":  # what is left adds or subtracts
            for place, argument in enumerate(arguments):
                minus = atom is operations.negative or (place and atom is operations.subtract)
                self._add_broadcast(sums, argument, -weight if minus else weight)
            return
        factor = self._factor(operation)
        if factor is not None:
            value, place = factor
            ones = (1,) * (weight.ndim - 1 - value.ndim)
            shaped = value.reshape(1, 1, *ones, *value.shape[1:])
            self._add_broadcast(sums, arguments[place], weight * shaped)
            return
        planes = self._planes[self._program.position[operation]]
        assert planes is not None
        rising, falling = split_signs(weight)
        sums.add(
            times(rising, planes.lower.constant.unsqueeze(1))
            + times(falling, planes.upper.constant.unsqueeze(1))
        )
        slopes = zip(planes.lower.slopes, planes.upper.slopes, strict=False)
        for position, (low, high) in zip(arguments, slopes, strict=False):
            part = rising * low.unsqueeze(1) + falling * high.unsqueeze(1)
            self._add_broadcast(sums, position, part)

    def _add_broadcast(self, sums: _Sums, argument: int, weight: Tensor) -> None:
        """Add the weight of a broadcast argument, summed over the axes of repetition."""
        shape = self._program.nodes[argument].expression.shape
        extra = weight.ndim - 2 - len(shape)
        axes = list(range(2, 2 + extra))
        axes += [
            axis + 2 + extra
            for axis, size in enumerate(shape)
            if size == 1 and weight.shape[axis + 2 + extra] != 1
        ]
        if not axes:
            self._add_weight(sums, argument, weight)
            return
        target = (*weight.shape[:2], *shape)
        total = weight.sum(axes).reshape(target)
        absolute = weight.detach().abs().sum(axes).reshape(target)
        self._add_weight(sums, argument, total, absolute)


def _laid_out(operation: Operation, arguments: Sequence[Interval]) -> Interval:
    """The interval of a sum or of a layout."""
    evaluate, parameters = operation.atom.evaluate, operation.parameters
    sides = [a.lower for a in arguments], [a.upper for a in arguments]
    lower, upper = (evaluate(*side, *parameters) for side in sides)
    if operation.atom is not operations.total:  # only sums round
        return Interval(lower, upper)
    (argument,) = arguments
    size = evaluate(torch.maximum(argument.lower.abs(), argument.upper.abs()), *parameters)
    return _wider(lower, upper, operation.arguments[0].size * size)


def split_signs(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The positive and the negative part; a weight of 0 has its derivative in the first alone.

    The bound is concave in the weights, with a kink where a weight is 0. The sum of the slopes of
    both sides, or neither, would be wrong there, and the best weights are often at a kink.
    """
    return weight.clamp_min(0), torch.where(weight < 0, weight, 0.0)


def times(weight: Tensor, value: Tensor) -> Tensor:
    """Weights times values that may be infinite; 0 times infinity is 0."""
    finite = value.isfinite()
    product = weight * torch.where(finite, value, 0.0)
    if finite.all():
        return product
    return torch.where(finite | (weight == 0), product, weight.sign() * value)


class _Sums:
    """A constant, a bound on the rounding error of everything, and weights of nodes to replace."""

    def __init__(self, constant: Tensor, error: Tensor) -> None:
        self.constant = constant
        self.error = error
        self.waiting: dict[int, Tensor] = {}

    def add(self, terms: Tensor) -> None:
        """Add terms, (regions or 1, weights, *shape), to the constant."""
        axes = tuple(range(2, terms.ndim))
        self.constant = self.constant + (terms.sum(axes) if axes else terms)
        size = terms.detach().abs()
        self.error = self.error + _ROUNDING * (size.sum(axes) if axes else size)

    def add_rounding(self, absolute: Tensor, size: Tensor) -> None:
        """Account for the rounding of a weight, in proportion to the value it belongs to."""
        terms = absolute * size
        axes = tuple(range(2, terms.ndim))
        terms = torch.where(terms.isnan(), 0.0, terms)
        self.error = self.error + _ROUNDING * (terms.sum(axes) if axes else terms)


def _wider(lower: Tensor, upper: Tensor, size: Tensor) -> Interval:
    """Move the ends outward by the rounding of numbers of that size; NaN becomes no bound."""
    slack = 2 * EPSILON * size
    lower, upper = lower - slack, upper + slack
    return Interval(
        torch.where(lower.isnan(), -math.inf, lower), torch.where(upper.isnan(), math.inf, upper)
    )
