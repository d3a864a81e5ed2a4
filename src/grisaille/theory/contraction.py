"""Loops: from what an equation misses to how far its solution is away.

If a part q < 1 of a change comes back around the loop, then its solution t* = Phi(x, t*) has
||t - t*|| <= ||t - Phi(x, t)|| / (1 - q) for every t (docs/theory.md, Loops).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grisaille.array_types import Array
from grisaille.errors import ModelError
from grisaille.language.problem import Problem
from grisaille.language.unknowns import entries_of, solved_for, unknown_entries
from grisaille.language.variable import Unknown
from grisaille.theory.amplification import Form, amplification, slopes_in_unknowns
from grisaille.theory.lipschitz import KnownSlopes, Lipschitz


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
    unknowns = [v for v in problem.variables if isinstance(v, Unknown)]
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
