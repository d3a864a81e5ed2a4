"""A_i: how much the uncertainty of one black-box output can change objective and constraints.

|f(x) - z_m| <= sum_i A_i beta_i sigma_i(s_i) for every plausible z (Lemma discrepancy_bound).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from grisaille.array_types import Array
from grisaille.checks import check_choice
from grisaille.language.program import Program
from grisaille.theory.affine_steps import passing_nodes
from grisaille.theory.lipschitz import KnownSlopes, Lipschitz

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
