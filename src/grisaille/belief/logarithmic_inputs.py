"""Inputs of black boxes that count by their logarithm: those that are variables over decades."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array, Flags
from grisaille.belief.processes.kernels import Matern, SquaredExponential
from grisaille.language.black_box import BlackBox
from grisaille.language.program import Program


def logarithmic_inputs(program: Program, box: BlackBox) -> Flags:
    """Return which inputs of a black box are entries with `log=True` in every call, (d,)."""
    logarithmic = program.space.logarithmic
    if not logarithmic.any():
        return np.zeros(box.inputs, dtype=bool)
    calls = (
        [e for a in c.arguments for e in program.design_entries(a)]
        for c in program.calls
        if c.box is box
    )
    flags = [[e is not None and bool(logarithmic[e]) for e in inputs] for inputs in calls]
    return np.asarray(np.logical_and.reduce(np.array(flags, dtype=bool)))


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
