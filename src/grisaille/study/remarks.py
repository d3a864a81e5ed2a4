"""Answers that look like mistakes: they are recorded, and a remark says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import torch

from grisaille.array_types import Array
from grisaille.confidence.beliefs import believe, input_range, noise_of
from grisaille.errors import counted
from grisaille.language.black_box import BlackBox
from grisaille.language.box_inputs import input_kinds
from grisaille.language.problem import Problem
from grisaille.language.value_kinds import condensed
from grisaille.records import History, Observation
from grisaille.reporting.tables import design_names
from grisaille.study.data_trials import direct_entries

# An answer is far from what was expected beyond so many deviations, and this part of the spread of
# earlier answers; from fewer answers nothing is expected.
_FAR = 8.0
_PART = 0.05
_LEAST_ANSWERS = 6
# Of more answers, the nearest ones say what to expect, fewer where many outputs are learned one by
# one: this many rows, which hold this many numbers. 300 rows of six outputs take 4.8 s to learn, 60
# rows 0.35 s, 15 rows of 24 outputs 0.3 s. Fewer rows would say too little.
_MOST_NEAR = 60
_MOST_NUMBERS = 360
_LEAST_NEAR = 15
# How many rows a remark names.
_MOST_NAMED = 5


def remarks_on_answer(
    problem: Problem, box: BlackBox, name: str, inputs: Array, outputs: Array, before: History
) -> list[str]:
    """What is strange about an answer that somebody typed in, in sentences.

    Args:
        problem: The problem.
        box: The black box that answered.
        name: Id of the query.
        inputs: What it was evaluated at, flat.
        outputs: The answer, flat.
        before: What was known before.
    """
    seen, answers = before.data(box.name, box.inputs, box.outputs)
    remedy = f"if it is a typing error, study.correct({name!r}, ...) mends it"
    if box.is_exact and len(seen):
        same = np.flatnonzero((seen == inputs).all(1) & (answers != outputs).any(1))
        if len(same):
            return [
                f"black box {box.name!r} is declared without noise, but at {box.describe(inputs)} "
                f"it gave {answers[same[0]].tolist()} before and {outputs.tolist()} now (query "
                f"{name}): {remedy}; if it is noisy, leave noise=0 out"
            ]
    return [f"{text}: {remedy}" for text in _far(problem, box, name, inputs, outputs, before)]


def _far(
    problem: Problem, box: BlackBox, name: str, inputs: Array, outputs: Array, before: History
) -> list[str]:
    """Outputs that are far outside the band that was expected, in words."""
    _, answers = before.data(box.name, box.inputs, box.outputs)
    if len(answers) < _LEAST_ANSWERS or not box.inputs or box.model is not None:
        return []
    found: list[str] = []
    # The answer is recorded, whatever can be said about it.
    with suppress(Exception), np.errstate(all="ignore"):
        near = _near(problem, box, inputs, before)
        if near is None:
            return []
        surrogate = believe(problem.program, near, only=[box.name])[box.name]
        with torch.no_grad():
            mean, deviation = surrogate.predict(torch.tensor(inputs).unsqueeze(0))
        noise = np.array(noise_of(box, surrogate))
        reach = np.sqrt(deviation[0].numpy() ** 2 + noise**2)
        error = outputs - mean[0].numpy()
        far = (np.abs(error) > _FAR * reach) & (np.abs(error) > _PART * np.ptp(answers, 0))
        for k in np.flatnonzero(far):
            what = f" of {box.output_names[k]!r}" if box.output_names else ""
            side = "above" if error[k] > 0 else "below"
            many = abs(error[k]) / max(reach[k], 1e-300)
            found.append(
                f"query {name}: {outputs[k]:g}{what} is {min(many, 9999):.0f} deviations {side} "
                f"what was expected of black box {box.name!r} there ({float(mean[0, k]):.6g} ± "
                f"{reach[k]:.3g})"
            )
    return found


def _near(problem: Problem, box: BlackBox, inputs: Array, before: History) -> History | None:
    """The answers to learn from, the nearest ones of many; None if that takes long."""
    seen = [o for o in before.observations() if o.box == box.name]
    most = _MOST_NEAR
    if not box.shared_kernel:
        most = min(most, _MOST_NUMBERS // box.outputs)
    if len(seen) <= most:
        return before
    if most < _LEAST_NEAR:
        return None
    rows = np.array([o.inputs for o in seen])
    lower, upper = input_range(problem.program, box, rows)
    distances = np.square((rows - inputs) / (upper - lower)).sum(1)
    chosen = np.sort(np.argsort(distances, kind="stable")[:most])
    return History(loose=tuple(seen[i] for i in chosen))


def remarks_on_rows(
    problem: Problem,
    box: BlackBox,
    inputs: Array,
    outputs: Array,
    known: Mapping[str, Observation],
) -> list[str]:
    """What is strange about rows that were observed elsewhere, in sentences.

    Args:
        problem: The problem.
        box: The black box.
        inputs: (n, d).
        outputs: (n, k).
        known: The rows that were observed before, by name.
    """
    found = _outside(problem, box, inputs)
    own = {name: seen for name, seen in known.items() if seen.box == box.name}
    before = {(o.inputs.tobytes(), o.outputs.tobytes()): f"row {name}" for name, o in own.items()}
    exact: dict[bytes, tuple[int, Array]] = {}
    twice: list[str] = []
    for row, (x, y) in enumerate(zip(inputs, outputs, strict=True), 1):
        key = x.tobytes(), y.tobytes()
        if key in before:
            twice.append(f"row {row} is {before[key]} again")
        before.setdefault(key, f"row {row}")
        other = exact.setdefault(key[0], (row, y))
        if box.is_exact and not np.array_equal(other[1], y):
            found.append(
                f"rows {other[0]} and {row} contradict each other: black box {box.name!r} is "
                f"declared without noise, and at {box.describe(x)} they say {other[1].tolist()} "
                f"and {y.tolist()}; correct or retract one, or leave noise=0 out"
            )
    if twice:
        more = f", and {len(twice) - _MOST_NAMED} more" if len(twice) > _MOST_NAMED else ""
        found.append(
            f"{'; '.join(twice[:_MOST_NAMED])}{more}: each copy counts as a measurement of its "
            "own; retract those that are not"
        )
    return found


def _outside(problem: Problem, box: BlackBox, inputs: Array) -> list[str]:
    """Rows whose inputs are outside the bounds of the variables that they are."""
    program, names = problem.program, design_names(problem)
    for call in program.calls:
        if call.box is not box or not call.first_layer:
            continue
        entries = direct_entries(program, call)
        values = condensed(input_kinds(box), inputs)
        outside = np.zeros(values.shape, dtype=bool)
        for column, entry in enumerate(entries):
            if entry is not None:
                low, high = program.lower[entry], program.upper[entry]
                reach = 1e-9 * (high - low)
                outside[:, column] = (values[:, column] < low - reach) | (
                    values[:, column] > high + reach
                )
        rows = np.flatnonzero(outside.any(1))
        if len(rows):
            row, column = rows[0], int(np.argmax(outside[rows[0]]))
            entry = entries[column]
            assert entry is not None  # it is outside bounds that it has
            return [
                f"{counted(len(rows), 'row')} outside the bounds of the variables (in row "
                f"{row + 1}, {names[entry]} = {values[row, column]:g} is not in "
                f"[{program.lower[entry]:g}, {program.upper[entry]:g}]): they teach the model, but "
                "they are no trials"
            ]
    return []
