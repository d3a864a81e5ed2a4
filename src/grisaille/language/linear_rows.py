"""Which formulas are linear in the variables and read no black box, and their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.language import atoms
from grisaille.language.expression import Constant, Expression, Operation
from grisaille.language.program import BoxCall, Program
from grisaille.language.variable import Variable

_LINEAR = (atoms.add, atoms.subtract, atoms.negative, atoms.total, atoms.take, atoms.join)
_BILINEAR = (atoms.multiply, atoms.matmul)


@dataclass(frozen=True, slots=True)
class LinearRows:
    """Formulas `matrix @ x + constants`, one per row, x a flat design point.

    Attributes:
        matrix: (rows, n).
        constants: (rows,).
    """

    matrix: Array
    constants: Array

    def __len__(self) -> int:
        return len(self.constants)


def linear_rows(expression: Expression, variables: Sequence[Variable]) -> LinearRows | None:
    """The entries of an expression as linear formulas of the variables.

    None if it reads a black box, or if an operation in it is not linear: what happens to be linear
    because terms cancel is not found.
    """
    program = Program([expression], variables)
    if program.calls or not _is_linear(program):
        return None

    def values(x: Tensor) -> Tensor:
        (found,) = program.run(x.unsqueeze(0), _no_call)
        return found.reshape(-1)

    origin = torch.zeros(program.size, dtype=torch.float64)
    constants = values(origin).numpy()
    slopes = torch.autograd.functional.jacobian(values, origin, vectorize=False)
    matrix = np.asarray(slopes).reshape(len(constants), program.size)
    if not (np.isfinite(matrix).all() and np.isfinite(constants).all()):
        return None
    return LinearRows(matrix, constants)


def linear_restrictions(program: Program) -> LinearRows:
    """The constraints of a problem's program that are linear inequalities of variables alone.

    They are met where the rows are at most 0. The halves of equalities are left out: they leave
    next to nothing to draw points from.
    """
    found = [LinearRows(np.zeros((0, program.size)), np.zeros(0))]
    start = 0
    for position in program.outputs[1:]:
        body = program.nodes[position].expression
        is_half = bool((program.equality_tolerances[start : start + body.size] > 0).any())
        start += body.size
        rows = None if is_half else linear_rows(body, program.variables)
        if rows is not None:
            found.append(rows)
    matrix = np.concatenate([rows.matrix for rows in found])
    constants = np.concatenate([rows.constants for rows in found])
    told = matrix.any(1)
    return LinearRows(matrix[told], constants[told])


def _is_linear(program: Program) -> bool:
    """Whether the last node is linear in the variables, by the operations that lead to it."""
    constant: list[bool] = []
    for node in program.nodes:
        fixed = [constant[a] for a in node.arguments]
        expression = node.expression
        constant.append(isinstance(expression, Constant) or (bool(fixed) and all(fixed)))
        if not isinstance(expression, Operation) or constant[-1]:
            continue
        atom = expression.atom
        divides = atom is atoms.divide and fixed[1]
        scales = atom in _BILINEAR and any(fixed)
        if not (atom in _LINEAR or divides or scales):
            return False
    return True


def _no_call(call: BoxCall, _states: Tensor) -> Tensor:
    raise AssertionError(f"a linear formula reads {call.box!r}")
