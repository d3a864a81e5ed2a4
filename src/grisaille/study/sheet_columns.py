"""The columns of a sheet of questions: their names, and numbers that people can set."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.box_inputs import input_kinds
from grisaille.language.input_names import input_names, output_names
from grisaille.language.problem import Problem
from grisaille.language.value_kinds import condensed
from grisaille.reporting.tables import design_names
from grisaille.study.data_trials import direct_entries

FIRST = ("id", "trial", "box")
FAILED = "failed"

# Inputs are asked for in steps of this part of their range, or of their size where that is less;
# inputs without a range in so many digits.
_RESOLUTION = 1e-4
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class BoxColumns:
    """The columns of one black box: its inputs and its outputs, in order."""

    inputs: list[str]
    outputs: list[str]


def sheet_columns(problem: Problem) -> dict[str, BoxColumns]:
    """The columns of each black box.

    A name that would mean two things carries the name of its black box: `purification.acid`.
    """
    entries = set(design_names(problem))
    inputs = {box.name: input_names(problem, box) for box in problem.boxes}
    outputs = {box.name: output_names(box) for box in problem.boxes}
    read = Counter(name for names in inputs.values() for name in names if name not in entries)
    written = Counter(name for names in outputs.values() for name in names)
    taken = {*FIRST, FAILED}
    twice_read = {name for name, count in read.items() if count > 1}
    twice_written = {name for name, count in written.items() if count > 1}

    def spelled(box: str, names: Iterable[str], ambiguous: set[str]) -> list[str]:
        return [f"{box}.{name}" if name in ambiguous else name for name in names]

    columns = {}
    for box in inputs:
        own = spelled(box, outputs[box], taken | twice_written | entries)
        read_by = spelled(box, inputs[box], taken | twice_read | (set(written) - entries))
        # An input that is the output of another black box may be called as an own output is.
        distinct = [f"{box}.input[{k}]" if n in own else n for k, n in enumerate(read_by)]
        columns[box] = BoxColumns(distinct, own)
    return columns


def answer_columns(problem: Problem, box: BlackBox) -> BoxColumns:
    """The columns of one black box where no other one has any, as in `Study.answers`."""
    inputs, outputs = input_names(problem, box), output_names(box)
    if set(inputs) & set(outputs):
        return sheet_columns(problem)[box.name]
    return BoxColumns(inputs, outputs)


def settable(problem: Problem, box: BlackBox, inputs: Array) -> Array:
    """The values of a black box's inputs, rounded so that people can set them, in their bounds.

    A label is its position.
    """
    kinds = input_kinds(box)
    program = problem.program
    calls = [call for call in program.calls if call.box.name == box.name]
    entries = [direct_entries(program, call) for call in calls]
    rounded = []
    for place, value in enumerate(condensed(kinds, inputs).tolist()):
        read = [entry for own in entries if (entry := own[place]) is not None]
        if kinds[place].labels or any(program.space.steps[entry] for entry in read):
            rounded.append(value)  # it can be set as it is
        elif calls and len(read) == len(calls):
            low = max(float(program.lower[entry]) for entry in read)
            high = min(float(program.upper[entry]) for entry in read)
            rounded.append(round_within(value, low, high))
        else:
            rounded.append(float(f"{value:.{_DIGITS}g}"))
    return np.array(rounded)


def round_within(value: float, low: float, high: float) -> float:
    """A value of a variable, rounded as far as its range allows, and not beyond its bounds."""
    size = high - low
    if low > 0 or high < 0:  # it may go over decades
        size = min(size, abs(value))
    if not size > 0:
        return value
    places = math.ceil(-math.log10(_RESOLUTION * size))
    step = 10.0**-places
    nearest = round(value, places)
    if nearest > high:
        nearest = round(value - step / 2, places)
    elif nearest < low:
        nearest = round(value + step / 2, places)
    return nearest if low <= nearest <= high else value
