"""Lipschitz constants of black boxes and known parts (Assumption Lip).

Those of black boxes are declared, or follow from the norm bound, or are estimated from the
posterior. Those of known parts come from their derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.learning import given_kernel, input_domain, known_range
from grisaille.belief.processes.belief import Belief
from grisaille.belief.processes.kernels import (
    Kernel,
    Matern,
    as_composite,
    is_plain,
    length_scales,
)
from grisaille.errors import ModelError
from grisaille.language import operations
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Algebra, Operation
from grisaille.language.program import BoxCall, Dependence, Program, linear_nodes
from grisaille.language.unknowns import unknown_entries
from grisaille.records import History

# --- affine steps ---------------------------------------------------------------------------------


def _follow(program: Program) -> list[Dependence]:
    """Return how each node depends on unknowns and on outputs of black boxes."""
    return linear_nodes(program, lambda variable: variable.is_unknown)


def jumping(program: Program) -> Operation | None:
    """Return the first operation that may jump with a black box's output or an unknown."""
    nodes = _follow(program)
    for operation in program.operations:
        if not operation.atom.continuous and nodes[program.position[operation]].reads:
            return operation
    return None


def passing_nodes(program: Program) -> list[bool]:
    """Return for each node if it only passes on or negates variables and black-box outputs."""

    def operation(own: Operation, passes: Sequence[bool]) -> bool:
        return (own.atom.is_layout or own.atom is operations.negative) and all(passes)

    return program.fold(
        Algebra(
            variable=lambda _: True,
            constant=lambda _: True,
            operation=operation,
            call=lambda _, _passes: True,
        )
    )


# --- lipschitz ------------------------------------------------------------------------------------

_SAMPLES = 16384


class Source(StrEnum):
    """Where Lipschitz constants come from.

    DECLARED: the user declared them; NORM: they follow from the norm bound and the kernel; EXACT:
    the known part is affine; ESTIMATED: the steepest slope of the posterior mean or of a known part
    at sampled points.
    """

    DECLARED = "declared"
    NORM = "norm bound"
    EXACT = "exact"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class Lipschitz:
    """Lipschitz constants of one black box.

    Attributes:
        constants: |phi_o(s) - phi_o(s')| <= sum_j constants[o, j] |s_j - s'_j|, (outputs, inputs).
        source: Where they come from.
    """

    constants: Array
    source: Source


@dataclass(frozen=True, slots=True)
class KnownSlopes:
    """Largest slopes of the known parts in the M outputs of all black-box calls and in U unknowns.

    Attributes:
        states: For each call the slopes of its inputs, (inputs, M).
        outputs: Slopes of the objective and of each scalar constraint, (1 + K, M).
        states_in_unknowns: For each call the slopes of its inputs in the unknowns, (inputs, U).
        outputs_in_unknowns: Slopes of objective and constraints in the unknowns, (1 + K, U).
        source: EXACT or ESTIMATED.
    """

    states: tuple[Array, ...]
    outputs: Array
    states_in_unknowns: tuple[Array, ...]
    outputs_in_unknowns: Array
    source: Source


def lipschitz(
    program: Program, box: BlackBox, belief: Belief | None, history: History
) -> Lipschitz:
    """Lipschitz constants of a black box, from the best source available.

    Args:
        program: The program that calls the black box.
        box: The black box.
        belief: What is believed of it, to estimate from if nothing was declared; else None.
        history: Its observations, which give the range of inputs if that is not declared.
    """
    shape = (box.outputs, box.inputs)
    if box.lipschitz is not None:
        return Lipschitz(np.broadcast_to(box.lipschitz, shape), Source.DECLARED)
    if box.norm_bound is not None:
        steepness = _steepness_per_input(given_kernel(box), box.inputs)
        if steepness is not None:
            return Lipschitz(box.norm_bound[:, None] * steepness, Source.NORM)
    if belief is None:
        raise ModelError(
            f"a Lipschitz constant of black box {box.name!r} does not follow from its norm bound "
            "and kernel: pass lipschitz="
        )
    lower, upper = input_domain(program, box)
    seen, _ = history.data(box.name, *reversed(shape))
    what = f"the range of the inputs of black box {box.name!r}"
    samples = _sample_between(*_complete_range(lower, upper, seen, what), _SAMPLES).requires_grad_()
    mean, _ = belief.predict(samples)
    return Lipschitz(_steepest(mean, samples), Source.ESTIMATED)


def known_slopes(program: Program, history: History) -> KnownSlopes:
    """Slopes of the known parts between black boxes, and from them to the outputs.

    Args:
        program: The program of a problem.
        history: The observations, which give the range of outputs if that is not declared.
    """
    ranges = [(program.lower, program.upper)]
    for call in program.calls:
        _, seen = history.data(call.box.name, call.box.inputs, call.box.outputs)
        ends = known_range(program.nodes[call.node].expression)
        ranges.append(_complete_range(*ends, seen, f"the range of black box {call.box.name!r}"))
    lower, upper = (np.concatenate(e) for e in zip(*ranges, strict=True))
    samples = _sample_between(lower, upper, _SAMPLES)
    unknowns = unknown_entries(program)
    places, many = torch.tensor(unknowns, dtype=torch.int64), len(unknowns)
    # What counts: the unknowns, and then the answers.
    changing = torch.cat([samples[:, places], samples[:, program.size :]], 1).requires_grad_()
    design = samples[:, : program.size].index_copy(1, places, changing[:, :many])
    states: list[Array] = []

    def resolve(call: BoxCall, inputs: Tensor) -> Tensor:
        states.append(_steepest(inputs.expand(len(samples), -1), changing))
        return changing[:, many:][:, call.columns]

    jump = jumping(program)
    if jump is not None:
        raise ModelError(
            f"{jump!r} may jump with a black box's output or "
            "an unknown, so no Lipschitz constant, and no bound on regret, exists (Assumption Lip)"
        )
    outputs = program.run(design, resolve)
    rows = [_steepest(o.reshape(len(samples), -1), changing) for o in outputs]
    if not all(np.isfinite(slopes).all() for slopes in (*states, *rows)):
        raise ModelError(
            "a known part is infinitely steep somewhere in the range that its black boxes are "
            "declared to have: narrow lower= and upper=, or there is no bound (Assumption Lip)"
        )
    source = Source.EXACT if all(n.is_linear for n in _follow(program)) else Source.ESTIMATED
    every = np.concatenate(rows)
    return KnownSlopes(
        states=tuple(slopes[:, many:] for slopes in states),
        outputs=every[:, many:],
        states_in_unknowns=tuple(slopes[:, :many] for slopes in states),
        outputs_in_unknowns=every[:, :many],
        source=source,
    )


def _steepness_per_input(kernel: Kernel, inputs: int) -> Array | None:
    """Bound on the slope of that distance in each input, (d,); None if there is none."""
    # Squared distances of the parts of a sum add up.
    squared, composite = np.zeros(inputs), as_composite(kernel, inputs)
    for part in composite.parts:
        steepness = _steepness(part.kernel)
        if steepness is None or not composite.is_sum:
            return None
        squared[list(part.inputs)] += (steepness / np.asarray(length_scales(part.kernel))) ** 2
    return np.sqrt(squared)


def _steepness(kernel: Kernel) -> float | None:
    """Bound on the slope of sqrt(k(s, s) + k(s', s') - 2 k(s, s')) in the scaled distance.

    By the reproducing property, |f(s) - f(s')| is at most the norm of f times that distance.
    """
    if kernel.variance is None or not is_plain(kernel):
        return None
    factor = 1.0
    if isinstance(kernel, Matern):
        if kernel.smoothness == 0.5:
            return None  # these functions need not be Lipschitz continuous
        factor = math.sqrt(kernel.smoothness / (kernel.smoothness - 1))
    return factor * math.sqrt(kernel.variance)


def _steepest(values: Tensor, inputs: Tensor) -> Array:
    """The largest absolute slopes of values (N, a) in inputs (N, b), as (a, b)."""
    rows = []
    for column in values.T:
        if not column.requires_grad:
            rows.append(np.zeros(inputs.shape[1]))
            continue
        (slopes,) = torch.autograd.grad(
            column.sum(), inputs, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        # A known part without a value, such as the root of a negative number, has no slope.
        rows.append(torch.nan_to_num(slopes.abs(), nan=0.0, posinf=torch.inf).amax(0).numpy())
    return np.array(rows).reshape(-1, inputs.shape[1])


def _complete_range(lower: Array, upper: Array, seen: Array, what: str) -> tuple[Array, Array]:
    """A range, with the observed ends where they are not declared."""
    if not np.isnan(lower + upper).any():
        return lower, upper
    if not len(seen):
        raise ModelError(f"{what} is neither declared nor seen: pass bounds, or a norm bound")
    lower = np.where(np.isnan(lower), seen.min(0), lower)
    return lower, np.where(np.isnan(upper), seen.max(0), upper)


def _sample_between(lower: Array, upper: Array, count: int) -> Tensor:
    """At most `count` points between bounds, (N, d): half Sobol points, half corners.

    Slopes are mostly largest at corners: all 2^d are visited, or random ones if there are more.
    """
    d, half = len(lower), count // 2
    engine = torch.quasirandom.SobolEngine(d, scramble=True, seed=0)
    inner = engine.draw(half, dtype=torch.float64)
    if d < half.bit_length():  # 2^d <= half
        corners = torch.cartesian_prod(*[torch.arange(2.0)] * d).reshape(-1, d)
    else:
        corners = torch.randint(2, (half, d), generator=torch.Generator().manual_seed(0))
    unit = torch.cat([inner, corners.to(inner)])
    low, high = torch.tensor(lower), torch.tensor(upper)
    return low + (high - low) * unit
