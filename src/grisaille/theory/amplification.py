"""A_i: how much the error of one black-box output can change objective and constraints.

|f(x) - z_m| <= sum_i A_i beta_i sigma_i(s_i) for every plausible z (Lemma discrepancy_bound).
Around a loop with contraction q, errors grow by at most 1 / (1 - q) (docs/theory.md, Loops).

A_i follows from Lipschitz constants (Assumption Lip). Those of black boxes are declared, or follow
from the norm bound, or are estimated from the posterior. Those of known parts come from their
derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.learning import given_kernel, input_domain, known_range
from grisaille.belief.processes.belief import Belief
from grisaille.belief.processes.kernels import Kernel, Matern, as_composite, is_plain, length_scales
from grisaille.checks import check_choice
from grisaille.errors import ModelError
from grisaille.language import operations
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Algebra, Operation
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Dependence, Program, linear_nodes
from grisaille.language.unknowns import entries_of, solved_for, unknown_entries
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


# --- amplification --------------------------------------------------------------------------------
# A_i: how much the uncertainty of one black-box output can change objective and constraints.
#
# |f(x) - z_m| <= sum_i A_i beta_i sigma_i(s_i) for every plausible z (Lemma discrepancy_bound).

Form = Literal["tight", "corrected", "printed"]
"""Which A_i.

"printed": 2 times the sum over all paths from i to the last node of the product of 2 L along them.
The sum is empty, and A_i = 0, when the last node itself is the black box i; there the lemma as
printed is wrong. "corrected": with the last node's own term. "tight": without the doubling of L,
which the triangle inequality does not need, and with one constant per edge instead of one per node.
"""


def amplification(
    program: Program, boxes: Mapping[str, Lipschitz], known: KnownSlopes, form: Form
) -> Array:
    """A_i of each black-box output, for the objective and each scalar constraint, (1 + K, M).

    Args:
        program: The program of a problem.
        boxes: Lipschitz constants of each black box.
        known: Slopes of the known parts.
        form: See `Form`.
    """
    check_choice("", "form", form, get_args(Form))
    passing = passing_nodes(program)
    total = program.box_outputs
    edges = np.zeros((total, total))  # [to, from], both among the outputs of all calls
    for call, slopes in zip(program.calls, known.states, strict=True):
        constants = boxes[call.box.name].constants
        if form == "tight":
            edges[call.columns] = constants @ slopes
        else:
            arguments = program.nodes[call.node].arguments
            rows = _as_nodes(slopes, _flags(program, arguments, passing))
            edges[call.columns] = np.outer(2 * constants.max(1), rows.sum(0))
    direct = _flags(program, program.outputs, passing)
    ends = known.outputs if form == "tight" else _as_nodes(known.outputs, direct)
    # Paths of any length: ends (I + edges + edges^2 + ...), a finite sum as edges lead forward.
    paths = _sum_of_paths(edges, ends)
    if form == "printed":
        paths = paths - np.where(direct[:, None], ends, 0.0)
    return np.asarray(2 * paths)


def slopes_in_unknowns(
    program: Program, boxes: Mapping[str, Lipschitz], known: KnownSlopes
) -> Array:
    """How steep objective and constraints are in each entry of an unknown, (1 + K, U).

    With everything that the unknown changes on the way, through all black boxes; decisions stay.
    """
    total = program.box_outputs
    edges, starts = np.zeros((total, total)), np.zeros((total, known.outputs_in_unknowns.shape[1]))
    for call, slopes, own in zip(
        program.calls, known.states, known.states_in_unknowns, strict=True
    ):
        constants = boxes[call.box.name].constants
        edges[call.columns], starts[call.columns] = constants @ slopes, constants @ own
    return np.asarray(known.outputs_in_unknowns + _sum_of_paths(edges, known.outputs) @ starts)


def _sum_of_paths(edges: Array, ends: Array) -> Array:
    """Ends (I + edges + edges^2 + ...), (rows, M)."""
    return np.asarray(np.linalg.solve((np.eye(len(edges)) - edges).T, ends.T).T)


def _flags(program: Program, nodes: Sequence[int], passing: list[bool]) -> NDArray[np.bool_]:
    """Whether each scalar entry of these nodes is only passed on."""
    sizes = [program.nodes[n].expression.size for n in nodes]
    return np.repeat([passing[n] for n in nodes], sizes)


def _as_nodes(slopes: Array, passing: NDArray[np.bool_]) -> Array:
    """Rows of slopes as the paper's white nodes: one doubled constant each, (rows, M).

    Entries that are only passed on are not nodes, and keep the slope 1.
    """
    constants = np.where(passing, 1.0, 2 * slopes.max(1, initial=0.0))
    return np.where(slopes > 0, constants[:, None], 0.0)


# --- contraction ----------------------------------------------------------------------------------
# Loops: from what an equation misses to how far its solution is away.
#
# If a part q < 1 of a change comes back around the loop, then its solution t* = Phi(x, t*) has
# ||t - t*|| <= ||t - Phi(x, t)|| / (1 - q) for every t (docs/theory.md, Loops).


@dataclass(frozen=True, slots=True)
class Loops:
    """The equations of the unknowns, as a contraction.

    Attributes:
        contraction: q, with ||t|| the largest |t_j| / width_j.
        widths: The distance between the bounds of each entry of an unknown, (U,).
        rows: Which scalar constraint says that an entry is not too large, (U,).
        tolerances: By how much the sides of its equation may differ, (U,).
        closing: Which of the objective and the constraints are half of such an equation, (1 + K,).
    """

    contraction: float
    widths: Array
    rows: tuple[int, ...]
    tolerances: Array
    closing: NDArray[np.bool_]

    def amplified(self, factors: Array, slopes: Array) -> Array:
        """A_i for decisions with their loops closed, (1 + K, M).

        A_i + sum_j M_j width_j max_k (A_i of equation k / width_k) / (1 - q)

        Equations keep their own A_i: they are about the unknowns that were tried.

        Args:
            factors: A_i with the unknowns taken as decisions, (1 + K, M).
            slopes: M_j, how steep objective and constraints are in each unknown, (1 + K, U).
        """
        missed = (factors[1:][list(self.rows)] / self.widths[:, None]).max(0)
        return factors + np.outer(self._per_part(slopes), missed)

    def offsets(self, slopes: Array) -> Array:
        """What the tolerances of the equations add to the bound of each trial, (1 + K,)."""
        return self._per_part(slopes) * float((self.tolerances / self.widths).max())

    def _per_part(self, slopes: Array) -> Array:
        """How far the closed loop can be off, for equations that are missed by their widths."""
        whole = slopes @ self.widths / (1 - self.contraction)
        return np.asarray(np.where(self.closing, 0.0, whole))


def loops_of(problem: Problem) -> Loops | None:
    """The loops of a problem; None if it has no unknowns.

    Raises:
        ModelError: An unknown declares no contraction, or has no equation `t == ...`.
    """
    unknowns = problem.program.unknowns
    if not unknowns:
        return None
    for unknown in unknowns:
        if unknown.contraction is None:
            raise ModelError(
                "bounds on regret of a problem with a loop need to know which part of a change "
                f"comes back around it, and unknown {unknown.name!r} does not declare that: pass "
                f"gs.Unknown({unknown.name!r}, ..., contraction=q) with q below 1, if there is "
                "one; result.lower_bound and result.upper_bound hold all the same"
            )
    row_of: dict[int, int] = {}
    closing, row = [False], 0
    for constraint in problem.constraints:
        side = solved_for(constraint.replaced(is_equality=True)) if constraint.is_half else None
        if side is not None and not constraint.flipped:
            places = np.broadcast_to(
                np.reshape(entries_of(side, problem.variables), side.shape), constraint.body.shape
            )
            for entry, place in enumerate(places.ravel().tolist()):
                row_of.setdefault(place, row + entry)
        closing += [side is not None] * constraint.body.size
        row += constraint.body.size
    entries = unknown_entries(problem.program)
    names = [u.name for u in unknowns for _ in range(u.size)]
    for name, place in zip(names, entries, strict=True):
        if place not in row_of:
            raise ModelError(
                f"bounds on regret of a problem with a loop need the equation of unknown {name!r} "
                f"written as {name} == ..., because its contraction is about what comes back; "
                "result.lower_bound and result.upper_bound hold all the same"
            )
    rows = tuple(row_of[place] for place in entries)
    program = problem.program
    return Loops(
        contraction=max(u.contraction for u in unknowns if u.contraction is not None),
        widths=program.upper[entries] - program.lower[entries],
        rows=rows,
        tolerances=problem.tolerances[list(rows)],
        closing=np.array(closing),
    )


def closed_amplification(
    problem: Problem,
    loops: Loops | None,
    boxes: Mapping[str, Lipschitz],
    known: KnownSlopes,
    form: Form,
) -> tuple[Array, Array]:
    """A_i for decisions with their loops closed, (1 + K, M), and what tolerances add, (1 + K,)."""
    factors = amplification(problem.program, boxes, known, form)
    if loops is None:
        return factors, np.zeros(len(factors))
    slopes = slopes_in_unknowns(problem.program, boxes, known)
    return loops.amplified(factors, slopes), loops.offsets(slopes)
