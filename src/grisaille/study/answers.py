"""Answers made elsewhere as observations and trials, and warnings about strange ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.learning import believe, input_range, noise_of
from grisaille.checks import attribute_of, is_finite
from grisaille.errors import EvaluationError, ModelError, counted, shortened
from grisaille.language.black_box import (
    BlackBox,
    input_kinds,
    known_outputs,
    output_names,
    value_count,
)
from grisaille.language.box_inputs import input_names, input_units, known_inputs
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program, split_outputs
from grisaille.language.units import entry_units, plain_numbers
from grisaille.language.values import (
    Places,
    RowReader,
    ValueKind,
    check_indicators,
    condensed,
    expanded,
    flat_values,
)
from grisaille.records import History, Observation
from grisaille.study.argument_checks import refusal
from grisaille.study.events import (
    Assembled,
    AssembledTrial,
    Observed,
    from_plain,
    outcome_fields,
    to_plain,
)
from grisaille.study.log.event_log import text_of
from grisaille.study.state import StudyState, probe_of
from grisaille.study.trial_tables import design_names

if TYPE_CHECKING:
    import pandas


# --- data trials ----------------------------------------------------------------------------------
# Trials that were made elsewhere: observed rows that together answer a whole chain.


@dataclass(frozen=True, slots=True)
class AnswerConstants:
    """The constants of checks of answers.

    Attributes:
        rounding: Inputs are the same if they differ by no more than this part of their size. A
            choice.
        resolution: Steps in which inputs are asked for, in parts of their range, or of their size
            where that is less. A choice.
        digits: Digits of inputs without a range. A choice.
        far: An answer is far from what was expected beyond this many deviations. A choice.
        part: It is also farther than this part of the spread of earlier answers. A choice.
        least: Answers from which anything is expected. A choice.
        most_near: Nearest rows that say what to expect. Measured: 300 rows of six outputs take 4.8
            s to learn, 60 rows 0.35 s.
        numbers: Numbers in these rows. Measured: 15 rows of 24 outputs take 0.3 s to learn.
        least_near: The fewest of these rows. A choice.
        named: Rows that a remark names. A choice of layout.
    """

    rounding: float = 1e-9
    resolution: float = 1e-4
    digits: int = 6
    far: float = 8.0
    part: float = 0.05
    least: int = 6
    most_near: int = 60
    numbers: int = 360
    least_near: int = 15
    named: int = 5


ANSWERS = AnswerConstants()


Rows = Mapping[str, Observation]
"""Observed rows by their names."""


class NewRows:
    """Rows to observe, and the trials that they make: worked out before any turn, as it takes long.

    Args:
        problem: The problem.
        box: The black box that answered.
        inputs: (n, d).
        outputs: (n, k).

    Attributes:
        observed, text: The event that records the rows.
        known: Number of the last event that was known when the trials were worked out.
        earlier: The rows that were observed before, by name.
        assembled, text_of_trials: The event that records the trials.
    """

    def __init__(self, problem: Problem, box: BlackBox, inputs: Array, outputs: Array) -> None:
        self._problem = problem
        rows = list(map(to_plain, inputs)), list(map(to_plain, outputs))
        self.observed = Observed(box.name, *rows)
        self.text = text_of(self.observed.plain())
        self.known = self._event = 0
        self.earlier: Rows = {}
        self.assembled = Assembled([])
        self.text_of_trials = ""

    def assemble(self, known: int, earlier: Rows, free: Rows | None) -> None:
        """Work the trials out.

        Args:
            known: Number of the last event.
            earlier: All rows that were observed before, by name.
            free: Those that belong to no trial; None if rows make no trials.
        """
        self.known, self._event, self.earlier = known, known + 1, earlier
        made: list[AssembledTrial] = []
        if free is not None:
            box, event = self.observed.box, self._event
            rows = enumerate(zip(self.observed.inputs, self.observed.outputs, strict=True), 1)
            new = {
                f"{event}/{row}": Observation(box, from_plain(x), from_plain(y), event)
                for row, (x, y) in rows
            }
            made = assembled(self._problem, {**earlier, **new}, {**free, **new})
        self.assembled = Assembled(made)
        self.text_of_trials = text_of(self.assembled.plain())

    def rename(self, event: int) -> None:
        """Name the rows after the event that records them, if others were recorded meanwhile."""
        if event == self._event:
            return
        then, now = f"{self._event}/", f"{event}/"
        for trial in self.assembled.trials:
            trial.rows = [
                now + name.removeprefix(then) if name.startswith(then) else name
                for name in trial.rows
            ]
        # No other text of an assembled trial begins with a number.
        self.text_of_trials = self.text_of_trials.replace(f'"{then}', f'"{now}')
        self._event = event


def assembled(problem: Problem, rows: Rows, free: Rows) -> list[AssembledTrial]:
    """The trials that observed rows make.

    A row of a black box that reads variables directly says where it was tried. Rows of other such
    black boxes are joined to it where they agree in the variables they share; the inputs of deeper
    black boxes are computed. Points outside the bounds of the variables make no trial.

    Args:
        problem: The problem.
        rows: All observed rows.
        free: Those that belong to no trial yet: each of them can begin one.
    """
    program = problem.program
    if problem.causal is not None or not program.calls:
        return []
    points, first = _points(program, rows, free)
    alive = inside_bounds(program, points)
    points, first = points[alive], [name for name, is_in in zip(first, alive, strict=True) if is_in]
    if not first:
        return []
    used: list[list[str]] = [[] for _ in first]
    answers: dict[bytes, Array] = {}
    for call in program.calls:
        found = _match(_inputs(program, call, points, answers), call, rows, first)
        alive = np.array([name is not None for name in found], dtype=bool)
        answers = {key: values[alive] for key, values in answers.items()}
        points, first, used, found = (
            points[alive],
            _kept(first, alive),
            _kept(used, alive),
            _kept(found, alive),
        )
        if not first:
            return []
        answers[call.key] = np.array([rows[str(name)].outputs for name in found])
        used = [[*names, str(name)] for names, name in zip(used, found, strict=True)]
    return _trials(problem, points, answers, used, first)


def inside_bounds(program: Program, points: Array) -> Array:
    """Which design points (m, n) are inside the bounds of the variables, up to rounding, (m,)."""
    reach = ANSWERS.rounding * (program.upper - program.lower)
    return np.asarray(
        ((points >= program.lower - reach) & (points <= program.upper + reach)).all(1)
    )


def direct_entries(program: Program, call: BoxCall) -> list[int | None]:
    """For each value that a call takes, the design entry that it is; None if it is computed."""
    return _all_entries(program, call.sources)


def _all_entries(program: Program, expressions: Sequence[Expression]) -> list[int | None]:
    return [entry for expression in expressions for entry in program.design_entries(expression)]


def _points(program: Program, rows: Rows, free: Rows) -> tuple[Array, list[str]]:
    """Design points (m, n) that free rows determine, with the row that each begins with."""
    first_layer = [call for call in program.calls if call.first_layer]
    layer = [(c.box.name, direct_entries(program, c)) for c in first_layer]
    kinds = {c.box.name: input_kinds(c.box) for c in first_layer}
    values = {n: condensed(kinds[o.box], o.inputs) for n, o in rows.items() if o.box in kinds}
    found: dict[str, Array] = {}
    for place, (box, entries) in enumerate(layer):
        others = layer[:place] + layer[place + 1 :]
        for name, seen in free.items():
            if seen.box == box and name not in found:
                x = np.full(program.size, np.nan)
                if _placed(x, entries, values[name]) and _joined(x, others, rows, values):
                    found[name] = x
    points = np.array(list(found.values())).reshape(len(found), program.size)
    return points, list(found)


def _placed(x: Array, entries: Sequence[int | None], values: Array) -> bool:
    """Write values to the design entries they are; False if they contradict what is there."""
    for entry, value in zip(entries, values, strict=True):
        if entry is None:
            continue
        if not np.isnan(x[entry]) and abs(x[entry] - value) > ANSWERS.rounding * (1 + abs(value)):
            return False
        x[entry] = value
    return True


def _joined(
    x: Array,
    others: list[tuple[str, list[int | None]]],
    rows: Rows,
    values: Mapping[str, Array],
) -> bool:
    """Fill the unknown entries of a point from rows that share known ones; False if some stay."""
    while np.isnan(x).any():
        for box, entries in others:
            known = [e for e in entries if e is not None and not np.isnan(x[e])]
            news = [e for e in entries if e is not None and np.isnan(x[e])]
            if not (known and news):
                continue
            trials = ((x.copy(), values[name]) for name, o in rows.items() if o.box == box)
            row = next((y for y, own in trials if _placed(y, entries, own)), None)
            if row is not None:
                x[:] = row
                break
        else:
            return False
    return True


def _inputs(
    program: Program, call: BoxCall, points: Array, answers: Mapping[bytes, Array]
) -> Array:
    """Inputs (m, d) of a call at design points whose earlier calls are answered."""

    def resolve(earlier: BoxCall, _states: Tensor) -> Tensor:
        return torch.tensor(answers[earlier.key])

    with torch.no_grad():
        parts = Program(call.arguments, program.variables).run(torch.tensor(points), resolve)
    flat = [part.reshape(len(points), -1).numpy() for part in parts]
    return np.concatenate([np.zeros((len(points), 0)), *flat], 1)


def _match(inputs: Array, call: BoxCall, rows: Rows, first: list[str]) -> list[str | None]:
    """The row that answers a call at each of some inputs; None where there is none."""
    names = [name for name, seen in rows.items() if seen.box == call.box.name]
    finite = np.asarray(np.isfinite(inputs).all(1))
    if not names or not finite.any():
        return [None] * len(inputs)
    if all(
        name in rows and rows[name].box == call.box.name and np.array_equal(rows[name].inputs, x)
        for name, x in zip(first, inputs, strict=True)
    ):  # each is its own answer: the others need not be looked through
        return [
            None if refusal(call.box, x) else name for name, x in zip(first, inputs, strict=True)
        ]
    table = np.array([rows[name].inputs for name in names]).reshape(len(names), -1)
    scale = 1 + np.abs(table).max(0, initial=0.0)
    usual = set(names)
    found: list[str | None] = []
    tree = KDTree(table / scale)
    _, places = tree.query(np.where(finite[:, None], inputs, 0.0) / scale)
    for own, place, wanted, usable in zip(first, places, inputs, finite, strict=True):
        near = np.abs(table[place] - wanted) <= ANSWERS.rounding * scale
        name = own if own in usual and np.array_equal(rows[own].inputs, wanted) else names[place]
        right = usable and bool(near.all()) and not refusal(call.box, wanted)
        found.append(name if right else None)
    return found


def _trials(
    problem: Problem,
    points: Array,
    answers: Mapping[bytes, Array],
    used: list[list[str]],
    first: list[str],
) -> list[AssembledTrial]:
    """The trials at points whose chains are answered, with the names of their rows.

    A row that belongs to a trial already, joined to another one, does not begin a second trial.
    """
    trials: list[AssembledTrial] = []
    taken: set[str] = set()
    everything = slice(0, len(used))
    try:
        outcomes = _outcomes(problem, points, answers, everything)
    except EvaluationError:  # a white box has no value somewhere: see where
        outcomes = []
    for place, names in enumerate(used):
        if first[place] in taken:
            continue
        own = slice(place, place + 1)
        try:
            found = outcomes[place] if outcomes else _outcomes(problem, points, answers, own)[0]
        except EvaluationError:
            continue
        chain = np.concatenate([answers[call.key][place] for call in problem.program.calls])
        objective, constraints, allowed = found
        lenient = problem.allowances.lenient(constraints, allowed)
        outcome = outcome_fields(objective, constraints, chain, allowed, lenient)
        rows = list(dict.fromkeys(names))
        taken.update(rows)
        trials.append(AssembledTrial(to_plain(points[place]), rows, **outcome))
    return trials


def _outcomes(
    problem: Problem, points: Array, answers: Mapping[bytes, Array], some: slice
) -> list[tuple[float, Array, Array | None]]:
    """Objective, constraints and `Trial.allowed` at each of some of the points."""

    def resolve(call: BoxCall, _states: Tensor) -> Tensor:
        return torch.tensor(answers[call.key][some])

    x = torch.tensor(points[some])
    with torch.no_grad():
        objectives, constraints = split_outputs(problem.program.run(x, resolve))
    bodies = constraints.numpy()
    allowed = problem.allowances.needed(x, resolve, bodies)
    return list(zip(objectives.tolist(), bodies, allowed, strict=True))


def _kept(values: list[Any], alive: Array) -> list[Any]:
    return [value for value, is_alive in zip(values, alive, strict=True) if is_alive]


# --- sheet columns --------------------------------------------------------------------------------
# The columns of a sheet of questions: their names, and numbers that people can set.

FIRST = ("id", "trial", "box")
FAILED = "failed"


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
        if not kinds[place].has_digits or any(program.space.steps[entry] for entry in read):
            rounded.append(value)  # it can be set as it is
        elif calls and len(read) == len(calls):
            low = max(float(program.lower[entry]) for entry in read)
            high = min(float(program.upper[entry]) for entry in read)
            rounded.append(round_within(value, low, high))
        else:
            rounded.append(float(f"{value:.{ANSWERS.digits}g}"))
    return np.array(rounded)


def round_within(value: float, low: float, high: float) -> float:
    """A value of a variable, rounded as far as its range allows, and not beyond its bounds."""
    size = high - low
    if low > 0 or high < 0:  # it may go over decades
        size = min(size, abs(value))
    if not size > 0:
        return value
    places = math.ceil(-math.log10(ANSWERS.resolution * size))
    step = 10.0**-places
    nearest = round(value, places)
    if nearest > high:
        nearest = round(value - step / 2, places)
    elif nearest < low:
        nearest = round(value + step / 2, places)
    return nearest if low <= nearest <= high else value


# --- external data --------------------------------------------------------------------------------
# Answers made elsewhere, from arrays, lists and tables with named columns.


def observed_rows(
    problem: Problem, box: BlackBox, inputs: Any, outputs: Any
) -> tuple[Array, Array]:
    """Flat inputs (n, d) and outputs (n, k) of some answers of a black box.

    Columns with names (of a DataFrame, a dictionary or a structured array) are found by name, see
    `known_inputs` and `known_outputs`. Columns without names are taken in order, the outputs last.

    Args:
        problem: What the black box is part of.
        box: The black box.
        inputs: An array, a list, a table; with the outputs in it if `outputs` is None.
        outputs: Likewise.
    """
    who = f"observe({box.name!r})"
    x_kinds, y_kinds = input_kinds(box), [ValueKind()] * box.outputs
    if outputs is not None:
        x = RowReader(who, input_places(problem, box), x_kinds).rows(inputs, "inputs")
        y = RowReader(who, output_places(box), y_kinds).rows(outputs, "outputs")
    else:
        places = answer_places(problem, box)
        columns = places.named(inputs, who)
        if columns is None:
            columns = _numbered(box, inputs, places)
        both = RowReader(who, places, [*x_kinds, *y_kinds]).chosen(columns)
        x, y = both[:, : box.inputs], both[:, box.inputs :]
    if len(x) != len(y):
        raise ModelError(f"{who}: {len(x)} rows of inputs, but {len(y)} rows of outputs")
    for what, table in (("inputs", x), ("outputs", y)):
        if not np.isfinite(table).all():
            row = int(np.argmin(np.isfinite(table).all(1)))
            raise ModelError(
                f"{who}: row {row} of the {what} is "
                f"{shortened(table[row].tolist())}: every number must be finite; leave failed "
                "answers out"
            )
    return x, y


def inputs_done(problem: Problem, box: BlackBox, asked: Array, given: Any) -> Array:
    """The flat inputs that a black box was really evaluated at.

    Args:
        problem: What the black box is part of.
        box: The black box.
        asked: What it was asked for, flat.
        given: What the user says: None for the same; all values in a row, or the flat inputs
            themselves; or some values by their names.
    """
    if given is None:
        return asked
    kinds, places = input_kinds(box), input_places(problem, box)
    shown = f"inputs={shortened(given)}"

    def fault(text: str) -> ModelError:
        return ModelError(f"{shown}: {text}")

    named = places.named(given, shown, is_row=True)
    if named is not None:
        done = condensed(kinds, asked).copy()
        for place, name in places.found(named, shown).items():
            cell = named[name] if isinstance(given, Mapping) else _only(named[name])
            value = plain_numbers(cell, [places.units[place]], [name], fault)
            if not kinds[place].may_be(value):
                raise fault(f"{name} is {shortened(value)}: pass a finite number")
            done[place] = kinds[place].number(value, name)
        return expanded(kinds, done)
    given = plain_numbers(given, places.units, places.shown, fault)
    parts = given if isinstance(given, tuple | list) else [given]
    found = flat_values(parts)
    if len(found) == len(kinds) and all(
        kind.may_be(value) for kind, value in zip(kinds, found, strict=True)
    ):
        values = [k.number(v, name) for k, v, name in zip(kinds, found, places.shown, strict=True)]
        return expanded(kinds, np.array(values, dtype=float))
    if len(found) != box.inputs or not all(map(is_finite, found)):
        raise ModelError(
            f"{shown}: black box {box.name!r} has "
            f"{counted(len(kinds), 'input')}, and was asked for {box.describe(asked)}: pass as "
            "many finite numbers, or those that differ by name"
        )
    numbers = np.array(found, dtype=float)
    check_indicators(kinds, numbers, shown)
    return numbers


def _only(column: Any) -> Any:
    """Return the value of a column with one row; anything else as it is."""
    return column[0] if np.shape(column) == (1,) else column


def input_places(problem: Problem, box: BlackBox) -> Places:
    """The inputs of a black box as places of columns."""
    known = {name: frozenset(found) for name, found in known_inputs(problem, box).items()}
    shown = answer_columns(problem, box).inputs
    return Places(f"black box {box.name!r}", shown, known, "input", input_units(problem, box))


def output_places(box: BlackBox) -> Places:
    """The outputs of a black box as places of columns."""
    known = {name: frozenset(found) for name, found in known_outputs(box).items()}
    units = entry_units(box.unit, box.outputs)
    return Places(f"black box {box.name!r}", output_names(box), known, "output", units)


def answer_places(problem: Problem, box: BlackBox) -> Places:
    """The inputs of a black box and then its outputs as places of columns."""
    inputs, outputs = input_places(problem, box), output_places(box)
    first, own = value_count(box), answer_columns(problem, box)
    known = {
        name: inputs.known.get(name, frozenset())
        | {first + place for place in outputs.known.get(name, ())}
        for name in {**inputs.known, **outputs.known}
    }
    # A name of an input and an output means what it means among the answers.
    shown = [*own.inputs, *own.outputs]
    for place, name in enumerate(shown):
        side = inputs if place < first else outputs
        if len(side.known[name]) == 1:
            known[name] = frozenset([place])
    return Places(inputs.what, shown, known, units=[*inputs.units, *outputs.units])


def _numbered(box: BlackBox, given: Any, places: Places) -> dict[str, Any]:
    """The columns of a table without names, under the names of their places."""
    columns = attribute_of(given, "columns")
    if columns is None:
        raise ModelError(
            f"observe({box.name!r}) got no outputs: pass them, or a DataFrame that has "
            f"{counted(box.outputs, 'column')} of outputs, too"
        )
    if len(columns) != len(places.shown):
        raise ModelError(
            f"observe({box.name!r}): the table has {counted(len(columns), 'column')} without "
            f"names, but {places.all}: pass one for each, in this order"
        )
    return {name: given[number] for name, number in zip(places.shown, columns, strict=True)}


# --- answers table --------------------------------------------------------------------------------
# All answers of black boxes as a table, with the ids to correct or retract them by.


def answers_table(
    problem: Problem, boxes: Sequence[BlackBox], state: StudyState
) -> pandas.DataFrame:
    """One row per answer: id, box, trial, source, then inputs and outputs by name.

    The source is "chain", "probe" for an answer apart from the real chain, or "elsewhere".
    """
    import pandas

    columns = {box.name: answer_columns(problem, box) for box in boxes}
    rows: list[dict[str, Any]] = []

    def add(name: str, trial: int | None, source: str, seen: Any) -> None:
        if seen.box in columns:
            own = columns[seen.box]
            row = {"id": name, "box": seen.box, "trial": trial, "source": source}
            row.update(zip(own.inputs, state.readable_inputs(seen.box, seen.inputs), strict=True))
            row.update(zip(own.outputs, seen.outputs.tolist(), strict=True))
            rows.append(row)

    for entry in state.trials.values():
        for query in entry.told:
            source = "chain" if probe_of(query) is None else "probe"
            add(query.id, entry.number, source, query)
    made = {row: entry.number for entry in state.trials.values() for row in entry.rows}
    for name, seen in state.rows().items():
        add(name, made.get(name), "elsewhere", seen)
    table = pandas.DataFrame(rows, columns=None if rows else ["id", "box", "trial", "source"])
    return table.astype({"trial": "Int64"})


# --- remarks --------------------------------------------------------------------------------------
# Answers that look like mistakes: they are recorded, and a remark says what to do.


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
    if len(answers) < ANSWERS.least or not box.inputs or box.model is not None:
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
        far = (np.abs(error) > ANSWERS.far * reach) & (
            np.abs(error) > ANSWERS.part * np.ptp(answers, 0)
        )
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
    most = ANSWERS.most_near
    if not box.shared_kernel:
        most = min(most, ANSWERS.numbers // box.outputs)
    if len(seen) <= most:
        return before
    if most < ANSWERS.least_near:
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
        more = f", and {len(twice) - ANSWERS.named} more" if len(twice) > ANSWERS.named else ""
        found.append(
            f"{'; '.join(twice[: ANSWERS.named])}{more}: each copy counts as a measurement of its "
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
