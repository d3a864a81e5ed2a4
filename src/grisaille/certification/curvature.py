"""Which outputs of black boxes enter a problem in another way than by sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grisaille.language import atoms
from grisaille.language.atoms import Atom
from grisaille.language.expression import Call, Operation
from grisaille.language.program import Node, Program

Flags = NDArray[np.bool_]
_KNOWN = {atom for atom in vars(atoms).values() if isinstance(atom, Atom)}
_STRAIGHT = (atoms.add, atoms.subtract, atoms.negative)


def curved_outputs(program: Program) -> Flags:
    """Which outputs of all calls the problem is not affine in, or another black box reads.

    With the variables fixed, objective and constraints are affine in all the others, so that for
    these a confidence band says all there is to say.

    Args:
        program: Made of elementary operations only (`lowered`).
    """
    outputs = program.box_outputs
    if not outputs:
        return np.zeros(0, dtype=bool)
    reads: list[Flags] = []  # per node, which outputs each entry reads: (*shape, outputs)
    bends: list[Flags] = []  # and which of them not affinely
    curved = np.zeros(outputs, dtype=bool)
    columns = {call.node: call.columns for call in program.calls}
    for position, node in enumerate(program.nodes):
        read = np.zeros((*node.expression.shape, outputs), dtype=bool)
        bent = read.copy()
        arguments = [reads[a] for a in node.arguments]
        if isinstance(node.expression, Call):
            for argument in arguments:
                curved |= _any(argument)
            entries = np.arange(columns[position].start, columns[position].stop)
            read.reshape(-1, outputs)[np.arange(len(entries)), entries] = True
        elif isinstance(node.expression, Operation):
            read, bent = _through(node, arguments, [bends[a] for a in node.arguments], read)
        reads.append(read)
        bends.append(bent)
    for position in program.outputs:
        curved |= _any(bends[position])
    return curved


def _through(
    node: Node, reads: list[Flags], bends: list[Flags], nothing: Flags
) -> tuple[Flags, Flags]:
    """What the value of an operation reads, and what it bends."""
    operation = node.expression
    assert isinstance(operation, Operation)
    atom, outputs = operation.atom, nothing.shape[-1]
    if atom is atoms.take:
        positions, shape = operation.parameters
        pick = list(positions)
        new_shape = (*shape, outputs)
        return (
            reads[0].reshape(-1, outputs)[pick].reshape(new_shape),
            bends[0].reshape(-1, outputs)[pick].reshape(new_shape),
        )
    if atom is atoms.join:
        return (
            np.concatenate([r.reshape(-1, outputs) for r in reads]),
            np.concatenate([b.reshape(-1, outputs) for b in bends]),
        )
    if atom is atoms.total:
        axes = operation.parameters[0]
        return reads[0].any(axes), bends[0].any(axes)
    if atom not in _KNOWN:  # a white box may do anything with all its arguments
        read = nothing | np.logical_or.reduce([_any(r) for r in reads])
        return read, read
    rank = nothing.ndim
    reads, bends = [_aligned(r, rank) for r in reads], [_aligned(b, rank) for b in bends]
    read = nothing | np.logical_or.reduce(np.broadcast_arrays(*reads))
    bent = nothing | np.logical_or.reduce(np.broadcast_arrays(*bends))
    if atom in _STRAIGHT:
        return read, bent
    if atom is atoms.multiply:
        both = reads[0].any(-1, keepdims=True) & reads[1].any(-1, keepdims=True)
        return read, bent | (read & both)
    if atom is atoms.divide:
        return read, bent | (read & reads[1].any(-1, keepdims=True))
    return read, read


def _aligned(flags: Flags, rank: int) -> Flags:
    """New axes in front, as NumPy broadcasting would; the axis of outputs stays the last."""
    return flags.reshape((1,) * (rank - flags.ndim) + flags.shape)


def _any(flags: Flags) -> Flags:
    return np.asarray(flags.reshape(-1, flags.shape[-1]).any(0))
