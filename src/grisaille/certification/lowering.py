"""Lowering: rewrite expressions with elementary operations, for which bounds are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from grisaille.language import atoms
from grisaille.language.atoms import Atom
from grisaille.language.expression import Call, Constant, Expression, Operation

_FOLDS = {
    atoms.product: atoms.multiply,
    atoms.largest: atoms.maximum,
    atoms.smallest: atoms.minimum,
}


def lowered(expressions: Sequence[Expression]) -> list[Expression]:
    """The same expressions, with only elementwise atoms, sums, layout changes and white boxes.

    Equal parts become one node, constant parts one number, and `a * a` a square. Variables and
    black boxes stay as they are; calls get lowered arguments.
    """
    return _Lowering().of_all(expressions)


class _Lowering:
    """The nodes made so far, by the expression they replace and by their content."""

    def __init__(self) -> None:
        self.done: dict[Expression, Expression] = {}
        self.known: dict[tuple[object, ...], Expression] = {}

    def of_all(self, expressions: Sequence[Expression]) -> list[Expression]:
        stack = list(reversed(expressions))
        while stack:  # depth first without recursion: models may be thousands of steps deep
            expression = stack[-1]
            missing = [a for a in expression.arguments if a not in self.done]
            if expression not in self.done and missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if expression not in self.done:
                self.done[expression] = self._lower(expression)
        return [self.done[e] for e in expressions]

    def _lower(self, expression: Expression) -> Expression:
        arguments = tuple(self.done[a] for a in expression.arguments)
        same = all(a is b for a, b in zip(arguments, expression.arguments, strict=True))
        if isinstance(expression, Constant):
            return self._constant(expression)
        if isinstance(expression, Call):
            key = ("call", id(expression.box), *map(id, arguments))
            if key not in self.known:
                self.known[key] = expression if same else Call(expression.box, arguments)
            return self.known[key]
        if not isinstance(expression, Operation):
            return expression
        atom, parameters = expression.atom, expression.parameters
        if atom is atoms.norm:
            squares = self._apply(atoms.square, arguments)
            return self._apply(atoms.sqrt, (self._apply(atoms.total, (squares,), parameters),))
        if atom in _FOLDS and arguments[0].size:
            return self._fold(_FOLDS[atom], arguments[0], *parameters)
        if atom is atoms.matmul:
            return self._matmul(*arguments)
        return self._apply(atom, arguments, parameters, expression if same else None)

    def _apply(
        self,
        atom: Atom,
        arguments: tuple[Expression, ...],
        parameters: tuple[Any, ...] = (),
        made: Expression | None = None,
    ) -> Expression:
        """The node of an operation, one for equal operations; a constant if its arguments are."""
        if atom is atoms.multiply and arguments[0] is arguments[1]:
            atom, arguments, made = atoms.square, arguments[:1], None
        key = ("operation", id(atom), parameters, *map(id, arguments))
        if key in self.known:
            return self.known[key]
        if made is None:
            made = Operation(atom, arguments, parameters)
        values = [torch.tensor(a.value).unsqueeze(0) for a in arguments if isinstance(a, Constant)]
        if len(values) == len(arguments):
            value = atom.evaluate(*values, *parameters)[0].cpu().numpy()
            # A value that is not finite is left to the evaluation, which knows how to handle it.
            made = self._constant(Constant(value)) if np.isfinite(value).all() else made
        self.known[key] = made
        return made

    def _constant(self, constant: Constant) -> Expression:
        key = ("constant", constant.shape, constant.value.tobytes())
        return self.known.setdefault(key, constant)

    def _relaid(self, expression: Expression, layout: Callable[[Any], Any]) -> Expression:
        """The entries in another layout, as by indexing."""
        picked = expression._relaid(layout)
        if picked is expression or not isinstance(picked, Operation):
            return picked
        return self._apply(picked.atom, picked.arguments, picked.parameters, picked)

    def _fold(self, atom: Atom, value: Expression, axes: tuple[int, ...]) -> Expression:
        """Combine one half of an array with the other repeatedly: few nodes for many entries."""
        if not axes:
            return value
        kept = [axis for axis in range(value.ndim) if axis not in axes]
        rest = tuple(value.shape[axis] for axis in kept)
        length = math.prod(value.shape[axis] for axis in axes)

        def columns(start: int, stop: int, source: Expression) -> Expression:
            return self._relaid(source, lambda positions: positions[..., start:stop])

        array = self._relaid(
            value, lambda positions: positions.transpose(*kept, *axes).reshape(*rest, length)
        )
        left_over: list[Expression] = []
        while length > 1:
            half = length // 2
            if length % 2:
                left_over.append(columns(length - 1, length, array))
            array = self._apply(atom, (columns(0, half, array), columns(half, 2 * half, array)))
            length = half
        for column in left_over:
            array = self._apply(atom, (array, column))
        return self._relaid(array, lambda positions: positions.reshape(rest))

    def _matmul(self, left: Expression, right: Expression) -> Expression:
        """Rows times columns, summed along a new last axis."""
        rows = left if left.ndim > 1 else self._relaid(left, lambda p: p[None, :])
        columns = right if right.ndim > 1 else self._relaid(right, lambda p: p[:, None])
        products = self._apply(
            atoms.multiply,
            (
                self._relaid(rows, lambda p: p[..., :, None, :]),
                self._relaid(columns, lambda p: p.swapaxes(-1, -2)[..., None, :, :]),
            ),
        )
        value = self._apply(atoms.total, (products,), ((products.ndim - 1,),))
        shape = atoms.matmul.shape(left.shape, right.shape)
        return self._relaid(value, lambda p: p.reshape(shape))
