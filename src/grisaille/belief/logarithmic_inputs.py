"""Inputs of black boxes that count by their logarithm: those that are variables over decades."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array, Flags
from grisaille.belief.processes.kernels import Matern, SquaredExponential
from grisaille.language import operations
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression, Operation
from grisaille.language.program import Program
from grisaille.language.variable import Variable


def logarithmic_entries(expression: Expression) -> Flags:
    """Which entries are entries of a variable with `log=True` as they are, flat."""
    if isinstance(expression, Variable):
        return np.full(expression.size, expression.log)
    if isinstance(expression, Operation) and expression.atom is operations.take:
        return logarithmic_entries(expression.arguments[0])[list(expression.parameters[0])]
    if isinstance(expression, Operation) and expression.atom is operations.join:
        return np.concatenate([logarithmic_entries(a) for a in expression.arguments])
    return np.zeros(expression.size, dtype=bool)


def logarithmic_inputs(program: Program, box: BlackBox) -> Flags:
    """Which inputs of a black box are such entries in every call, (d,)."""
    if not program.space.logarithmic.any():
        return np.zeros(box.inputs, dtype=bool)
    calls = [c.arguments for c in program.calls if c.box is box]
    flags = [
        np.concatenate([np.zeros(0, dtype=bool), *map(logarithmic_entries, arguments)])
        for arguments in calls
    ]
    return np.asarray(np.logical_and.reduce(flags))


def learned_in_logarithm(program: Program, box: BlackBox) -> Flags:
    """Which inputs a black box is learned in the logarithm of, (d,).

    A kernel with hyper-parameters, a linear or composite kernel, a Lipschitz constant, and a kernel
    or model of the user's own are about inputs in the user's units, and are used as they are. A
    direction is the same for logarithms.
    """
    own_units = not box.is_learned or box.model is not None or box.lipschitz is not None
    radial = box.kernel is None or isinstance(box.kernel, SquaredExponential | Matern)
    flags = logarithmic_inputs(program, box)
    return np.zeros_like(flags) if own_units or not radial else flags


def in_logarithms(values: Array, flags: Flags) -> Array:
    """Inputs (..., d) with the logarithm of those that are flagged."""
    if not flags.any():
        return values
    return np.where(flags, np.log(np.maximum(np.where(flags, values, 1.0), 1e-300)), values)
