"""A_i: how much the error of one black-box output can change objective and constraints.

|f(x) - z_m| <= sum_i A_i beta_i sigma_i(s_i) for every plausible z (Lemma discrepancy_bound).
Around a loop with contraction q, errors grow by at most 1 / (1 - q) (docs/theory.md, Loops).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from grisaille.array_types import Array
from grisaille.checks import check_choice
from grisaille.errors import ModelError
from grisaille.language.problem import Problem
from grisaille.language.program import Program
from grisaille.language.unknowns import entries_of, solved_for, unknown_entries
from grisaille.theory.lipschitz import KnownSlopes, Lipschitz, passing_nodes

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
