"""Bounds of a program over many boxes: intervals forward, then lines backward.

The forward pass gives every node an interval, and every nonlinear operation two planes between
which it lies. The backward pass starts from weights of the outputs and replaces each operation by
its lower or upper plane, whichever the sign of its weight asks for, until an affine function of
the variables and of the black boxes is left that lies below the weighted sum everywhere in the
box. What a black box is replaced by is decided by whoever asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from grisaille.enclosures.interval import EPSILON, Enclosure, Interval
from grisaille.language import atoms
from grisaille.language.expression import Constant, Operation
from grisaille.language.program import BoxCall, Node, Program
from grisaille.language.variable import Variable

Answer = Callable[[BoxCall, Interval], Interval]
"""Range of a call's outputs, (boxes, k), for states inside an interval, (boxes, d)."""

Replace = Callable[[BoxCall, Tensor], Tensor | None]
"""Takes over the weights of a call's outputs, (boxes or 1, weights, k); returns the weights of its
states, (boxes, weights, d), or None when they have none."""

_SIGNS = {atoms.add: (1.0, 1.0), atoms.subtract: (1.0, -1.0), atoms.negative: (-1.0,)}
# Rounding of the few operations that make one term.
_ROUNDING = 8 * EPSILON


def obstacles(program: Program) -> list[str]:
    """Why a lowered program cannot be bounded, in the user's names; empty if it can."""
    return [
        f"white box {node.expression.atom.name!r} has neither lipschitz= nor interval="
        for node in program.nodes
        if isinstance(node.expression, Operation)
        and node.expression.atom.enclose is None
        and node.expression.atom not in (atoms.total, atoms.take, atoms.join)
    ]


@dataclass(frozen=True, slots=True)
class Affine:
    """A weighted sum of the outputs, less than it everywhere: constant + slopes'x.

    Attributes:
        constant: (boxes, weights).
        slopes: (boxes, weights, n), for a flat design point.
        error: (boxes, weights), a bound on what rounding did to constant + slopes'x.
    """

    constant: Tensor
    slopes: Tensor
    error: Tensor


class Propagation:
    """Intervals and planes of every node of a program over boxes.

    Args:
        program: Made of elementary operations only (`lowered`).
        x: Boxes of flat design points, (boxes, n).
        answer: Says what the black boxes can return.
    """

    def __init__(self, program: Program, x: Interval, answer: Answer) -> None:
        self._program = program
        self._boxes = len(x.lower)
        self._like = x.lower
        self.intervals: list[Interval] = []
        self._planes: list[Enclosure | None] = []
        self._sizes: dict[int, Tensor] = {}
        for position, node in enumerate(program.nodes):
            interval, planes = self._enclose(position, node, x, answer)
            self.intervals.append(interval)
            self._planes.append(planes)

    def _enclose(
        self, position: int, node: Node, x: Interval, answer: Answer
    ) -> tuple[Interval, Enclosure | None]:
        expression = node.expression
        arguments = [self.intervals[a] for a in node.arguments]
        if isinstance(expression, Variable):
            columns = self._program.columns[expression]
            shape = (-1, *expression.shape)
            return Interval(
                x.lower[:, columns].reshape(shape), x.upper[:, columns].reshape(shape)
            ), None
        if isinstance(expression, Constant):
            value = self._program.constants[position]
            return Interval(value, value), None
        if not isinstance(expression, Operation):
            states = Interval(
                atoms.join.evaluate(*(a.lower for a in arguments)).expand(self._boxes, -1),
                atoms.join.evaluate(*(a.upper for a in arguments)).expand(self._boxes, -1),
            )
            outputs = answer(self._program.call_of_node[position], states)
            shape = (-1, *expression.shape)
            lower, upper = outputs.lower.reshape(shape), outputs.upper.reshape(shape)
            return _wider(lower, upper, torch.zeros_like(lower)), None
        straight = self._straight(node, arguments)
        if straight is not None:
            return straight, None
        if expression.atom.enclose is not None:
            planes = expression.atom.enclose(*arguments)
            return planes.interval, planes
        evaluate, parameters = expression.atom.evaluate, expression.parameters
        lower = evaluate(*(a.lower for a in arguments), *parameters)
        upper = evaluate(*(a.upper for a in arguments), *parameters)
        if expression.atom is atoms.total:  # the only one of these that rounds
            (argument,) = arguments
            size = evaluate(torch.maximum(argument.lower.abs(), argument.upper.abs()), *parameters)
            return _wider(lower, upper, expression.arguments[0].size * size), None
        return Interval(lower, upper), None

    def _straight(self, node: Node, arguments: list[Interval]) -> Interval | None:
        """The interval of an affine operation, which needs no planes; None for any other."""
        operation = node.expression
        assert isinstance(operation, Operation)
        atom = operation.atom
        if atom is atoms.negative:
            return Interval(-arguments[0].upper, -arguments[0].lower)
        if atom is atoms.add or atom is atoms.subtract:
            one, other = arguments
            if atom is atoms.subtract:
                other = Interval(-other.upper, -other.lower)
            lower = atoms.add.evaluate(one.lower, other.lower)
            upper = atoms.add.evaluate(one.upper, other.upper)
            return _wider(lower, upper, torch.maximum(lower.abs(), upper.abs()))
        factor = self._factor(node)
        if factor is None:
            return None
        value, position = factor
        ends = self.intervals[position]
        first, second = (atoms.multiply.evaluate(value, e) for e in (ends.lower, ends.upper))
        lower, upper = torch.minimum(first, second), torch.maximum(first, second)
        return _wider(lower, upper, torch.maximum(lower.abs(), upper.abs()))

    def _factor(self, node: Node) -> tuple[Tensor, int] | None:
        """A constant factor of a product, and the position of the other one."""
        if not isinstance(node.expression, Operation) or node.expression.atom is not atoms.multiply:
            return None
        one, other = node.arguments
        constants = self._program.constants
        if one in constants:
            return constants[one], other
        return (constants[other], one) if other in constants else None

    def least(self, weights: Tensor) -> Tensor:
        """Bounds of weighted sums by the intervals of the outputs alone, (boxes, weights)."""
        parts = []
        for position in self._program.outputs:
            lower = self.intervals[position].lower
            parts.append(lower.reshape(len(lower), -1).expand(self._boxes, -1))
        ends = torch.cat(parts, 1).unsqueeze(1)
        ends = torch.where(ends.isnan(), -math.inf, ends)
        terms = weights * torch.nan_to_num(ends, neginf=0.0)
        unbounded = ((weights > 0) & ends.isneginf()).any(-1)
        values = terms.sum(-1) - _ROUNDING * terms.shape[-1] * terms.detach().abs().sum(-1)
        return torch.where(unbounded, -math.inf, values)

    def below(self, weights: Tensor, replace: Replace) -> Affine:
        """An affine function below weighted sums of the program's outputs.

        Args:
            weights: (weights, outputs), of the entries of all outputs laid side by side.
            replace: Takes over the black boxes.
        """
        program = self._program
        count = len(weights)
        sums = _Sums(self._like.new_zeros(self._boxes, count), self._like.new_zeros(1, count))
        pending: dict[int, Tensor] = {}
        start = 0
        for position in program.outputs:
            shape = program.nodes[position].expression.shape
            size = math.prod(shape)
            part = weights[:, start : start + size].reshape(1, count, *shape)
            start += size
            self._pass(pending, sums, position, part)
        slopes = self._like.new_zeros(self._boxes, count, program.size)
        for position in range(len(program.nodes) - 1, -1, -1):
            weight = pending.pop(position, None)
            if weight is None:
                continue
            node = program.nodes[position]
            expression = node.expression
            if isinstance(expression, Variable):
                columns = program.columns[expression]
                slopes[:, :, columns] = weight.reshape(len(weight), count, -1)
            elif isinstance(expression, Constant):
                sums.add(weight * program.constants[position].unsqueeze(1))
            elif isinstance(expression, Operation):
                self._through(pending, sums, position, node, weight)
            else:
                states = replace(
                    program.call_of_node[position], weight.reshape(len(weight), count, -1)
                )
                if states is not None:
                    self._spread(pending, sums, node, states)
        return Affine(sums.constant, slopes, sums.error)

    def _pass(
        self,
        pending: dict[int, Tensor],
        sums: _Sums,
        position: int,
        weight: Tensor,
        absolute: Tensor | None = None,
    ) -> None:
        """Give a node more weight; `absolute` when it is a sum of weights that may cancel."""
        sums.doubt(weight.detach().abs() if absolute is None else absolute, self._size(position))
        known = pending.get(position)
        pending[position] = weight if known is None else known + weight

    def _size(self, position: int) -> Tensor:
        """Largest absolute value of each entry, (boxes or 1, 1, *shape)."""
        if position not in self._sizes:
            interval = self.intervals[position]
            size = torch.maximum(interval.lower.abs(), interval.upper.abs())
            self._sizes[position] = size.unsqueeze(1)
        return self._sizes[position]

    def _spread(self, pending: dict[int, Tensor], sums: _Sums, node: Node, weight: Tensor) -> None:
        """Weights of arguments laid side by side, given to the arguments."""
        start = 0
        for argument in node.arguments:
            shape = self._program.nodes[argument].expression.shape
            size = math.prod(shape)
            part = weight[:, :, start : start + size].reshape(*weight.shape[:2], *shape)
            self._pass(pending, sums, argument, part)
            start += size

    def _through(
        self, pending: dict[int, Tensor], sums: _Sums, position: int, node: Node, weight: Tensor
    ) -> None:
        operation = node.expression
        assert isinstance(operation, Operation)
        atom = operation.atom
        if atom is atoms.join:
            self._spread(pending, sums, node, weight)
            return
        if atom is atoms.take:
            positions, _shape = operation.parameters
            argument = self._program.nodes[node.arguments[0]].expression
            nothing = weight.new_zeros(*weight.shape[:2], argument.size)
            index = torch.tensor(positions, dtype=torch.long, device=weight.device)
            flat = weight.reshape(*weight.shape[:2], -1)
            shape = (*weight.shape[:2], *argument.shape)
            self._pass(
                pending,
                sums,
                node.arguments[0],
                nothing.index_add(2, index, flat).reshape(shape),
                nothing.index_add(2, index, flat.detach().abs()).reshape(shape),
            )
            return
        if atom is atoms.total:
            shape = self._program.nodes[node.arguments[0]].expression.shape
            for axis in sorted(operation.parameters[0]):
                weight = weight.unsqueeze(axis + 2)
            self._pass(pending, sums, node.arguments[0], weight.expand(*weight.shape[:2], *shape))
            return
        if atom in _SIGNS:
            for position_of, sign in zip(node.arguments, _SIGNS[atom], strict=True):
                self._give(pending, sums, position_of, sign * weight)
            return
        factor = self._factor(node)
        if factor is not None:
            value, other = factor
            ones = (1,) * (weight.ndim - 1 - value.ndim)
            self._give(pending, sums, other, weight * value.reshape(1, 1, *ones, *value.shape[1:]))
            return
        planes = self._planes[position]
        assert planes is not None
        rising, falling = split_signs(weight)
        sums.add(
            times(rising, planes.lower.constant.unsqueeze(1))
            + times(falling, planes.upper.constant.unsqueeze(1))
        )
        for position_of, low, high in zip(
            node.arguments, planes.lower.slopes, planes.upper.slopes, strict=False
        ):
            self._give(
                pending, sums, position_of, rising * low.unsqueeze(1) + falling * high.unsqueeze(1)
            )

    def _give(self, pending: dict[int, Tensor], sums: _Sums, argument: int, weight: Tensor) -> None:
        """Weight of a broadcast argument: summed over the axes along which it was repeated."""
        shape = self._program.nodes[argument].expression.shape
        extra = weight.ndim - 2 - len(shape)
        axes = list(range(2, 2 + extra))
        axes += [
            axis + 2 + extra
            for axis, size in enumerate(shape)
            if size == 1 and weight.shape[axis + 2 + extra] != 1
        ]
        if not axes:
            self._pass(pending, sums, argument, weight)
            return
        target = (*weight.shape[:2], *shape)
        total = weight.sum(axes).reshape(target)
        absolute = weight.detach().abs().sum(axes).reshape(target)
        self._pass(pending, sums, argument, total, absolute)


def split_signs(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The positive and the negative part; the slope of a weight of 0 goes to the first alone.

    The bound is concave in the weights, with a kink where one is 0: a slope that is the sum of both
    sides, or neither, would be wrong, and the best weights often lie in a kink.
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
    """A constant, and how far rounding may have moved everything."""

    def __init__(self, constant: Tensor, error: Tensor) -> None:
        self.constant = constant
        self.error = error

    def add(self, terms: Tensor) -> None:
        """Add terms, (boxes or 1, weights, *shape), to the constant."""
        axes = tuple(range(2, terms.ndim))
        self.constant = self.constant + (terms.sum(axes) if axes else terms)
        size = terms.detach().abs()
        self.error = self.error + _ROUNDING * (size.sum(axes) if axes else size)

    def doubt(self, absolute: Tensor, size: Tensor) -> None:
        """A weight was rounded, which counts as much as the value it is a weight of."""
        terms = absolute * size
        axes = tuple(range(2, terms.ndim))
        terms = torch.where(terms.isnan(), 0.0, terms)
        self.error = self.error + _ROUNDING * (terms.sum(axes) if axes else terms)


def _wider(lower: Tensor, upper: Tensor, size: Tensor) -> Interval:
    """Ends moved outward by the rounding of numbers of that size; NaN becomes no bound."""
    slack = 2 * EPSILON * size
    lower, upper = lower - slack, upper + slack
    return Interval(
        torch.where(lower.isnan(), -math.inf, lower), torch.where(upper.isnan(), math.inf, upper)
    )
