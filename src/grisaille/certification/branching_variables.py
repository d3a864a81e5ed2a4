"""What to branch on, and which inputs of black boxes are branching variables themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grisaille.array_types import Flags
from grisaille.language import atoms
from grisaille.language.atoms import Atom
from grisaille.language.expression import Call, Operation
from grisaille.language.program import BoxCall, Node, Program
from grisaille.language.variable import Variable

Columns = NDArray[np.int_]
_KNOWN = {atom for atom in vars(atoms).values() if isinstance(atom, Atom)}
_AFFINE = (atoms.add, atoms.subtract, atoms.negative)


def branched_outputs(program: Program) -> Flags:
    """Which outputs of all calls enter the problem nonlinearly or are read by another black box.

    With the variables fixed, objective and constraints are affine in all other outputs. Only the
    ends of their confidence bands matter, so they need no branching.

    Args:
        program: Made of elementary operations only (`lowered`).
    """
    outputs = program.box_outputs
    if not outputs:
        return np.zeros(0, dtype=bool)
    reads: list[Flags] = []  # per node, which outputs each entry reads: (*shape, outputs)
    nonlinear: list[Flags] = []  # and which of them nonlinearly
    branched = np.zeros(outputs, dtype=bool)
    for position, node in enumerate(program.nodes):
        read = np.zeros((*node.expression.shape, outputs), dtype=bool)
        curved = read.copy()
        arguments = [reads[a] for a in node.arguments]
        if isinstance(node.expression, Call):
            for argument in arguments:
                branched |= _any(argument)
            columns = program.call_of_node[position].columns
            entries = np.arange(columns.start, columns.stop)
            read.reshape(-1, outputs)[np.arange(len(entries)), entries] = True
        elif isinstance(node.expression, Operation):
            read, curved = _operation_reads(
                node, arguments, [nonlinear[a] for a in node.arguments], read
            )
        reads.append(read)
        nonlinear.append(curved)
    for position in program.outputs:
        branched |= _any(nonlinear[position])
    return branched


def _operation_reads(
    node: Node, reads: list[Flags], nonlinear: list[Flags], nothing: Flags
) -> tuple[Flags, Flags]:
    """The outputs that the value of an operation reads, and those it reads nonlinearly."""
    operation = node.expression
    assert isinstance(operation, Operation)
    atom, outputs = operation.atom, nothing.shape[-1]
    if atom is atoms.take:
        pick = list(operation.parameters[0])
        picked = (flags[0].reshape(-1, outputs)[pick] for flags in (reads, nonlinear))
        read, curved = (flags.reshape(nothing.shape) for flags in picked)
        return read, curved
    if atom is atoms.join:
        read, curved = (
            np.concatenate([f.reshape(-1, outputs) for f in flags]) for flags in (reads, nonlinear)
        )
        return read, curved
    if atom is atoms.total:
        axes = operation.parameters[0]
        return reads[0].any(axes), nonlinear[0].any(axes)
    if atom not in _KNOWN:  # a white box may be nonlinear in all its arguments
        read = nothing | np.logical_or.reduce([_any(r) for r in reads])
        return read, read
    rank = nothing.ndim
    reads = [_aligned(r, rank) for r in reads]
    nonlinear = [_aligned(n, rank) for n in nonlinear]
    read = nothing | np.logical_or.reduce(np.broadcast_arrays(*reads))
    curved = nothing | np.logical_or.reduce(np.broadcast_arrays(*nonlinear))
    if atom in _AFFINE:
        return read, curved
    if atom is atoms.multiply:
        both = reads[0].any(-1, keepdims=True) & reads[1].any(-1, keepdims=True)
        return read, curved | (read & both)
    if atom is atoms.divide:
        return read, curved | (read & reads[1].any(-1, keepdims=True))
    return read, read


def _aligned(flags: Flags, rank: int) -> Flags:
    """Add axes in front, as NumPy broadcasting does; the axis of outputs stays the last."""
    return flags.reshape((1,) * (rank - flags.ndim) + flags.shape)


def _any(flags: Flags) -> Flags:
    return np.asarray(flags.reshape(-1, flags.shape[-1]).any(0))


def state_sources(program: Program, column_of_output: Columns) -> list[Columns]:
    """For each call, the branching variable that each entry of its state is, or -1.

    Args:
        program: The program. Its design variables are the first branching variables.
        column_of_output: The branching variable of every output of every call, or -1.
    """
    columns: list[Columns] = []
    for position, node in enumerate(program.nodes):
        expression = node.expression
        entries = np.full(expression.size, -1)
        if isinstance(expression, Variable):
            place = program.columns[expression]
            entries = np.arange(place.start, place.stop)
        elif isinstance(expression, Call):
            entries = column_of_output[program.call_of_node[position].columns]
        elif isinstance(expression, Operation) and expression.atom is atoms.take:
            entries = columns[node.arguments[0]][list(expression.parameters[0])]
        elif isinstance(expression, Operation) and expression.atom is atoms.join:
            entries = np.concatenate([columns[a] for a in node.arguments])
        columns.append(entries)
    return [_accepted(program, call, columns) for call in program.calls]


def _accepted(program: Program, call: BoxCall, columns: list[Columns]) -> Columns:
    """The columns of a call's state, with -1 if the black box accepts less than their range."""
    source = np.concatenate([columns[a] for a in program.nodes[call.node].arguments])
    design = (source >= 0) & (source < program.size)
    low, high = np.full(len(source), -np.inf), np.full(len(source), np.inf)
    low[design], high[design] = program.lower[source[design]], program.upper[source[design]]
    box = call.box
    least = -np.inf if box.input_lower is None else box.input_lower
    most = np.inf if box.input_upper is None else box.input_upper
    return np.where((low >= least) & (high <= most), source, -1)
