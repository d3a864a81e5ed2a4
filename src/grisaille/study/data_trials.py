"""Trials that were made elsewhere: observed rows that together answer a whole chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from grisaille.array_types import Array
from grisaille.errors import EvaluationError
from grisaille.language import atoms
from grisaille.language.black_box import BlackBox
from grisaille.language.box_inputs import argument_sources, input_kinds
from grisaille.language.expression import Expression, Operation
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program, split_outputs
from grisaille.language.value_kinds import condensed
from grisaille.language.variable import Variable
from grisaille.records import Observation
from grisaille.storage.event_log import text_of
from grisaille.study.declared_ranges import refusal
from grisaille.study.encoding import from_plain, outcome_to_plain, to_plain

# Inputs are the same if they differ by no more than this part of their size.
_ROUNDING = 1e-9

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
        data, text: The event that records the rows.
        known: Number of the last event that was known when the trials were worked out.
        earlier: The rows that were observed before, by name.
        trials, text_of_trials: The event that records the trials.
    """

    def __init__(self, problem: Problem, box: BlackBox, inputs: Array, outputs: Array) -> None:
        self._problem = problem
        plain = {"inputs": list(map(to_plain, inputs)), "outputs": list(map(to_plain, outputs))}
        self.data: dict[str, Any] = {"box": box.name, **plain}
        self.text = text_of(self.data)
        self.known = self._event = 0
        self.earlier: Rows = {}
        self.trials: dict[str, Any] = {"trials": []}
        self.text_of_trials = ""

    def assemble(self, known: int, earlier: Rows, free: Rows | None) -> None:
        """Work the trials out.

        Args:
            known: Number of the last event.
            earlier: All rows that were observed before, by name.
            free: Those that belong to no trial; None if rows make no trials.
        """
        self.known, self._event, self.earlier = known, known + 1, earlier
        made: list[dict[str, Any]] = []
        if free is not None:
            box, event = self.data["box"], self._event
            rows = enumerate(zip(self.data["inputs"], self.data["outputs"], strict=True), 1)
            new = {
                f"{event}/{row}": Observation(box, from_plain(x), from_plain(y), event)
                for row, (x, y) in rows
            }
            made = assembled(self._problem, {**earlier, **new}, {**free, **new})
        self.trials = {"trials": made}
        self.text_of_trials = text_of(self.trials)

    def rename(self, event: int) -> None:
        """Name the rows after the event that records them, if others were recorded meanwhile."""
        if event == self._event:
            return
        then, now = f"{self._event}/", f"{event}/"
        for trial in self.trials["trials"]:
            trial["rows"] = [
                now + name.removeprefix(then) if name.startswith(then) else name
                for name in trial["rows"]
            ]
        # No other text of an assembled trial begins with a number.
        self.text_of_trials = self.text_of_trials.replace(f'"{then}', f'"{now}')
        self._event = event


def assembled(problem: Problem, rows: Rows, free: Rows) -> list[dict[str, Any]]:
    """The trials that observed rows make, as plain data: x, outcome, and the names of the rows.

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
    reach = _ROUNDING * (program.upper - program.lower)
    return np.asarray(
        ((points >= program.lower - reach) & (points <= program.upper + reach)).all(1)
    )


def direct_entries(program: Program, call: BoxCall) -> list[int | None]:
    """For each value that a call takes, the design entry that it is; None if it is computed."""
    return _all_entries(program, argument_sources(call.box, call.arguments))


def _all_entries(program: Program, expressions: Sequence[Expression]) -> list[int | None]:
    return [entry for expression in expressions for entry in _entries(program, expression)]


def _entries(program: Program, expression: Expression) -> list[int | None]:
    if isinstance(expression, Variable):
        columns = program.columns[expression]
        return list(range(columns.start, columns.stop))
    if isinstance(expression, Operation) and expression.atom is atoms.take:
        inner = _entries(program, expression.arguments[0])
        return [inner[position] for position in expression.parameters[0]]
    if isinstance(expression, Operation) and expression.atom is atoms.join:
        return _all_entries(program, expression.arguments)
    return [None] * expression.size


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
        if not np.isnan(x[entry]) and abs(x[entry] - value) > _ROUNDING * (1 + abs(value)):
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
        near = np.abs(table[place] - wanted) <= _ROUNDING * scale
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
) -> list[dict[str, Any]]:
    """The trials at points whose chains are answered, with the names of their rows.

    A row that belongs to a trial already, joined to another one, does not begin a second trial.
    """
    trials: list[dict[str, Any]] = []
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
        outcome = outcome_to_plain(objective, constraints, chain, allowed, lenient)
        rows = list(dict.fromkeys(names))
        taken.update(rows)
        trials.append({"x": to_plain(points[place]), "rows": rows, **outcome})
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
