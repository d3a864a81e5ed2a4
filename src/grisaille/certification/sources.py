"""Which inputs of black boxes are variables, or outputs of others, passed on as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grisaille.language import atoms
from grisaille.language.expression import Call, Operation
from grisaille.language.program import BoxCall, Program
from grisaille.language.variable import Variable

Columns = NDArray[np.int_]


def state_sources(program: Program, column_of_output: Columns) -> list[Columns]:
    """For each call, the column that each entry of its state is; -1 where it is none.

    Args:
        program: Whose calls. The entries of a flat design point are the first columns.
        column_of_output: The column of every output of every call; -1 where it has none.
    """
    calls = {call.node: call for call in program.calls}
    columns: list[Columns] = []
    for position, node in enumerate(program.nodes):
        expression = node.expression
        entries = np.full(expression.size, -1)
        if isinstance(expression, Variable):
            place = program.columns[expression]
            entries = np.arange(place.start, place.stop)
        elif isinstance(expression, Call):
            entries = column_of_output[calls[position].columns]
        elif isinstance(expression, Operation) and expression.atom is atoms.take:
            entries = columns[node.arguments[0]][list(expression.parameters[0])]
        elif isinstance(expression, Operation) and expression.atom is atoms.join:
            entries = np.concatenate([columns[a] for a in node.arguments])
        columns.append(entries)
    return [_accepted(program, call, columns) for call in program.calls]


def _accepted(program: Program, call: BoxCall, columns: list[Columns]) -> Columns:
    """The columns of a call's state, but -1 where the black box accepts less than their range."""
    source = np.concatenate([columns[a] for a in program.nodes[call.node].arguments])
    design = (source >= 0) & (source < program.size)
    low, high = np.full(len(source), -np.inf), np.full(len(source), np.inf)
    low[design], high[design] = program.lower[source[design]], program.upper[source[design]]
    box = call.box
    least = -np.inf if box.input_lower is None else box.input_lower
    most = np.inf if box.input_upper is None else box.input_upper
    return np.where((low >= least) & (high <= most), source, -1)
