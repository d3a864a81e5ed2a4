"""Lipschitz constants of black boxes and known parts (Assumption Lip).

Those of black boxes are declared, or follow from the norm bound, or are estimated from the
posterior. Those of known parts come from their derivatives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.learning import given_kernel, input_domain, known_range
from grisaille.belief.processes.belief import Belief
from grisaille.belief.processes.kernels import (
    Composite,
    Kernel,
    Linear,
    Matern,
    SquaredExponential,
    compiled,
    length_scales,
)
from grisaille.errors import ModelError
from grisaille.language import operations
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Call, Operation
from grisaille.language.program import BoxCall, Program
from grisaille.language.unknowns import unknown_entries
from grisaille.language.variable import Unknown, Variable
from grisaille.records import History

# --- affine steps ---------------------------------------------------------------------------------
# Steps of a program that are affine, that may jump, and that only pass values on.

_LINEAR = (
    operations.add,
    operations.subtract,
    operations.negative,
    operations.total,
    operations.take,
    operations.join,
)
_BILINEAR = (operations.multiply, operations.matmul)
_PASSING = (operations.take, operations.join, operations.negative)


def affine_nodes(program: Program) -> list[bool]:
    """Whether each node is affine in unknowns and outputs of black boxes, with constant slopes."""
    constant: list[bool] = []
    affine: list[bool] = []
    reads = _reading_nodes(program)
    for position, node in enumerate(program.nodes):
        constant_arguments = [constant[a] for a in node.arguments]
        affine_arguments = [affine[a] for a in node.arguments]
        expression = node.expression
        free = isinstance(expression, Variable | Call)
        constant.append(not free and all(constant_arguments))
        if free or not reads[position]:  # nothing that counts changes it, or it does
            affine.append(True)
            continue
        assert isinstance(expression, Operation)
        if expression.atom in _LINEAR:
            affine.append(all(affine_arguments))
        elif expression.atom in _BILINEAR:
            affine.append(all(affine_arguments) and any(constant_arguments))
        else:
            divides = expression.atom is operations.divide
            affine.append(divides and affine_arguments[0] and constant_arguments[1])
    return affine


def jumping_nodes(program: Program) -> list[int]:
    """Positions of the nodes that read a black box or an unknown and may jump with it."""
    reads = _reading_nodes(program)
    return [
        position
        for position, node in enumerate(program.nodes)
        if isinstance(node.expression, Operation)
        and not node.expression.atom.continuous
        and reads[position]
    ]


def _reading_nodes(program: Program) -> list[bool]:
    """Whether each node is, or reads, a black-box call or an unknown."""
    reads: list[bool] = []
    for node in program.nodes:
        inherited = any(reads[a] for a in node.arguments)
        reads.append(inherited or isinstance(node.expression, Call | Unknown))
    return reads


def passing_nodes(program: Program) -> list[bool]:
    """Whether each node only passes on or negates variables and black-box outputs."""
    passes: list[bool] = []
    for node in program.nodes:
        expression = node.expression
        plain = not isinstance(expression, Operation) or expression.atom in _PASSING
        inherits = isinstance(expression, Call) or all(passes[a] for a in node.arguments)
        passes.append(plain and inherits)
    return passes


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

    jumping = jumping_nodes(program)
    if jumping:
        raise ModelError(
            f"{program.nodes[jumping[0]].expression!r} may jump with a black box's output or "
            "an unknown, so no Lipschitz constant, and no bound on regret, exists (Assumption Lip)"
        )
    outputs = program.run(design, resolve)
    rows = [_steepest(o.reshape(len(samples), -1), changing) for o in outputs]
    if not all(np.isfinite(slopes).all() for slopes in (*states, *rows)):
        raise ModelError(
            "a known part is infinitely steep somewhere in the range that its black boxes are "
            "declared to have: narrow lower= and upper=, or there is no bound (Assumption Lip)"
        )
    source = Source.EXACT if all(affine_nodes(program)) else Source.ESTIMATED
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
    kernel = compiled(kernel, inputs)
    if not isinstance(kernel, Composite):
        steepness = _steepness(kernel)
        scales = np.broadcast_to(np.asarray(length_scales(kernel)), inputs)
        return None if steepness is None else np.asarray(steepness / scales)
    # Squared distances of the parts of a sum add up.
    squared = np.zeros(inputs)
    for part in kernel.parts:
        steepness = _steepness(part.kernel)
        if steepness is None or not kernel.is_sum:
            return None
        squared[list(part.inputs)] += (steepness / np.asarray(length_scales(part.kernel))) ** 2
    return np.sqrt(squared)


def _steepness(kernel: Kernel) -> float | None:
    """Bound on the slope of sqrt(k(s, s) + k(s', s') - 2 k(s, s')) in the scaled distance.

    By the reproducing property, |f(s) - f(s')| is at most the norm of f times that distance.
    """
    if kernel.variance is None or not isinstance(kernel, SquaredExponential | Matern | Linear):
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
