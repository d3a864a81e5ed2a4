"""Linear equalities of the variables, solved for some entries, which are no longer searched.

`np.sum(fractions) == 1` leaves one number less to choose. The reduced problem has the other
entries as its variables. A solved entry is a linear formula of them, and its bounds are linear
constraints. Black boxes and all other constraints stay as they are.

Every strategy, also a user's own, meets the equalities without knowing of them, and proofs have
fewer variables. Solved entries carry their declared bounds (`Bounded`), so that black boxes are
learned in the same ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grisaille.array_types import Array, Flags
from grisaille.errors import ModelError
from grisaille.language import operations
from grisaille.language.design_points import own_points
from grisaille.language.expression import Constant, Constraint, Expression, Operation
from grisaille.language.linear_system import (
    LinearRows,
    LinearSystem,
    linear_rows,
    linear_system,
)
from grisaille.language.problem import DEFAULT_TOLERANCE, Problem, reduced_by, rewritten
from grisaille.language.program import Program, substituted
from grisaille.language.text import labelled
from grisaille.language.values import entry_names
from grisaille.language.variable import DesignSpace, Integer, Unknown, Variable
from grisaille.records import Failure, History, Pending, Probe, Situation, Suggestion, Trial

# --- pivots ---------------------------------------------------------------------------------------
# Solving linear equalities: which entries to solve for, and what they are in terms of the rest.

# A coefficient this small is what rounding left of one that cancels, in parts of the row's size.
_PIVOT_ROUNDING = 1e-11
# By how much a number may miss a whole one.
_WHOLE = 1e-7


class Pivots:
    """Equalities `matrix @ x == values`, each solved for one entry of x.

    Each row has a 1 for the entry that it is solved for, where all other rows have a 0.

    Args:
        space: The design points.
        unknown: (n,), which entries are unknowns.

    Attributes:
        matrix: (rows, n).
        values: (rows,).
        places: The entries that are solved for.
    """

    def __init__(self, space: DesignSpace, unknown: Flags) -> None:
        self._space = space
        self._unknown = unknown
        self._width = space.upper - space.lower
        self.matrix = np.zeros((0, len(self._width)))
        self.values = np.zeros(0)
        self.places: list[int] = []

    def solve(self, rows: LinearRows) -> bool:
        """Solve rows that must be 0, all of them or none; returns whether that is possible."""
        before = self.matrix, self.values, list(self.places)
        pairs = zip(rows.matrix, rows.constants, strict=True)
        if all(self._add(row, -constant) for row, constant in pairs):
            return True
        self.matrix, self.values, self.places = before
        return False

    def _add(self, row: Array, value: float) -> bool:
        size = float(np.abs(row) @ self._width)
        weights = row[self.places]
        row = row - weights @ self.matrix
        value = value - float(weights @ self.values)
        row[self.places] = 0.0
        row[np.abs(row) * self._width <= _PIVOT_ROUNDING * size] = 0.0
        if not row.any():  # it follows from the others, or contradicts them
            return bool(abs(value) <= _PIVOT_ROUNDING * max(size, 1.0) * 100)
        place = self._place(row, value)
        if place is None:
            return False
        row, value = row / row[place], value / float(row[place])
        column = self.matrix[:, place]
        self.values = np.append(self.values - column * value, value)
        self.matrix = np.vstack([self.matrix - column[:, None] * row, row])
        self.places.append(place)
        return True

    def _place(self, row: Array, value: float) -> int | None:
        """The entry to solve a row for: of the best kind, the one that can take up most."""
        space = self._space
        reads = row != 0
        free = reads & ~space.stepped & ~space.logarithmic
        for candidates in (free & self._unknown, free, self._on_steps(row, value)):
            if candidates.any():
                reach = np.where(candidates, np.abs(row) * self._width, 0.0)
                # The last one of several, so that the first ones stay what people read.
                return int(np.flatnonzero(reach >= reach.max() * (1 - 1e-9))[-1])
        return None

    def _on_steps(self, row: Array, value: float) -> Flags:
        """Entries that are on their steps whenever all others of the row are, (n,)."""
        space = self._space
        reads = row != 0
        found = np.zeros(len(row), dtype=bool)
        if not space.stepped[reads].all():
            return found
        for place in np.flatnonzero(reads & ~space.logarithmic & ~space.nominal):
            step = row[place] * space.steps[place]
            parts = np.append(row[reads] * space.steps[reads], value - row @ space.lower) / step
            found[place] = bool((np.abs(parts - np.rint(parts)) <= _WHOLE).all())
        return found


# --- reduced problem ------------------------------------------------------------------------------
# Writing a problem in terms of the entries that remain when linear equalities are solved.

# A bound counts as implied by those of other entries if it is missed by this part of the range.
_BOUND_ROUNDING = 1e-12


class Bounded(Operation):
    """An operation whose value the constraints of its problem keep between bounds.

    Attributes:
        lower: The least value, a number.
        upper: The greatest.
    """

    __slots__ = ("lower", "upper")

    def __init__(self, value: Operation, lower: float, upper: float) -> None:
        super().__init__(value.atom, value.arguments, value.parameters)
        self.lower = lower
        self.upper = upper


@dataclass(frozen=True, slots=True)
class ReducedProblem:
    """A problem in terms of fewer entries.

    Attributes:
        problem: The problem.
        same_rows: Which scalar constraints of the original it has.
        added: Its further constraints.
        calls: For each call of the original, which of its calls that is.
    """

    problem: Problem
    same_rows: Flags
    added: LinearRows
    calls: tuple[int, ...]


def reduced_problem(
    problem: Problem,
    taken: Sequence[Constraint],
    kept: NDArray[np.int64],
    solved: NDArray[np.int64],
    slopes: Array,
    constants: Array,
) -> ReducedProblem:
    """The problem without equalities that are solved for some entries.

    Args:
        problem: The problem.
        taken: The equalities.
        kept: Flat positions of the entries that remain.
        solved: Flat positions of the others.
        slopes: (solved, kept); what is solved for is `slopes @ x[kept] + constants`.
        constants: (solved,).
    """
    entries, variables = _entries(problem, kept, solved)
    for row, place in enumerate(solved.tolist()):
        parts = [entries[i] for i in kept[slopes[row] != 0].tolist()]
        value = _formula(slopes[row][slopes[row] != 0], constants[row], parts)
        ends = problem.program.space.lower[place], problem.program.space.upper[place]
        if isinstance(value, Operation):
            value = Bounded(value, *map(float, ends))
        entries[place] = value
    written = _as_written(problem)
    same = [c for c in written if not any(c is one for one in taken)]
    program = Program(
        [problem.objective, *(side for c in same for side in (c.left, c.right))], problem.variables
    )
    made = substituted(program, _stand_ins(problem, entries, solved))
    where = program.position
    constraints = [
        c.replaced(
            left=_called(c.left, made[where[c.left]]), right=_called(c.right, made[where[c.right]])
        )
        for c in same
    ]
    given = f"given {taken[0]!r}" if len(taken) == 1 else "given the linear equalities"
    bounds, added = _bounds(problem, entries, kept, solved, slopes, constants, given)
    reduced = rewritten(
        problem, made[where[problem.objective]], [*constraints, *bounds], variables=variables
    )
    node_of_key = {node.key: i for i, node in enumerate(program.nodes)}
    number_of_key = {call.key: i for i, call in enumerate(reduced.program.calls)}
    alone = (Program([made[node_of_key[c.key]]], variables) for c in problem.program.calls)
    stays = [any(c is one for one in same) for c in written]
    sizes = [(1 + c.is_equality) * c.body.size for c in written]
    return ReducedProblem(
        problem=reduced,
        same_rows=np.repeat(np.array(stays, dtype=bool), sizes),
        added=added,
        # Calls may have become equal to others.
        calls=tuple(number_of_key[one.calls[-1].key] for one in alone),
    )


def _entries(
    problem: Problem, kept: NDArray[np.int64], solved: NDArray[np.int64]
) -> tuple[dict[int, Expression], list[Variable]]:
    """The entries that remain, by their flat positions, and the variables that they belong to.

    A variable that remains as a whole stays itself; of others, each entry becomes a variable.
    """
    entries: dict[int, Expression] = {}
    variables: list[Variable] = []
    for variable, columns in problem.program.columns.items():
        places = np.arange(columns.start, columns.stop)
        flat = variable if not variable.shape else variable.ravel()
        if not np.isin(places, solved).any():
            variables.append(variable)
            entries |= {int(p): flat[i] if variable.shape else flat for i, p in enumerate(places)}
            continue
        names = entry_names(variable.name, variable.shape)
        for offset in np.flatnonzero(np.isin(places, kept)).tolist():
            entry = _one_entry(variable, names[offset], offset)
            variables.append(entry)
            entries[int(places[offset])] = entry
    return entries, variables


def _one_entry(variable: Variable, name: str, offset: int) -> Variable:
    """An entry of a variable as a variable of its own."""
    lower, upper = float(variable.lower.ravel()[offset]), float(variable.upper.ravel()[offset])
    if isinstance(variable, Integer):
        return Integer(name, lower=lower, upper=upper)
    if isinstance(variable, Unknown):
        return Unknown(name, lower=lower, upper=upper, contraction=variable.contraction)
    step = None if variable.step is None else float(variable.step.ravel()[offset])
    return Variable(name, lower=lower, upper=upper, step=step, log=variable.log)


def _formula(slopes: Array, constant: float, parts: Sequence[Expression]) -> Expression:
    """`constant + slopes @ parts`, written as simply as it can be."""
    if not len(parts):
        return Constant(constant)
    if len(parts) == 1 and slopes[0] == 1 and constant == 0:
        return parts[0]  # so that black boxes called with both are called once
    joined = Operation(operations.join, tuple(parts))
    if (slopes == -1).all():
        return Operation(operations.subtract, (Constant(constant), joined.sum()))
    scaled = joined if (slopes == 1).all() else Constant(slopes) * joined
    return Operation(operations.add, (Constant(constant), scaled.sum()))


def _stand_ins(
    problem: Problem, entries: dict[int, Expression], solved: NDArray[np.int64]
) -> dict[Expression, Expression]:
    """What stands in place of the variables of which entries are solved for."""
    found: dict[Expression, Expression] = {}
    for variable, columns in problem.program.columns.items():
        places = range(columns.start, columns.stop)
        if np.isin(solved, places).any():
            parts = tuple(entries[place] for place in places)
            joined = Operation(operations.join, parts)
            found[variable] = joined.reshape(variable.shape) if variable.shape else parts[0]
    return found


def _called(original: Expression, made: Expression) -> Expression:
    """An expression with the text of the one that it stands for."""
    return made if made is original else labelled(made, repr(original), original.unit)


def _as_written(problem: Problem) -> list[Constraint]:
    """The constraints of a problem in their order, with equalities in place of their halves."""
    equalities = iter(problem.equalities)
    return [
        next(equalities) if part.is_half else part
        for part in problem.constraints
        if not (part.is_half and part.flipped)
    ]


def _bounds(
    problem: Problem,
    entries: dict[int, Expression],
    kept: NDArray[np.int64],
    solved: NDArray[np.int64],
    slopes: Array,
    constants: Array,
    given: str,
) -> tuple[list[Constraint], LinearRows]:
    """Constraints that keep what is solved for between its bounds, where others do not imply it."""
    space = problem.program.space
    names = [name for v in problem.variables for name in entry_names(v.name, v.shape)]
    low, high = slopes * space.lower[kept], slopes * space.upper[kept]
    least = constants + np.minimum(low, high).sum(1)
    most = constants + np.maximum(low, high).sum(1)
    made: list[Constraint] = []
    rows = [np.zeros((0, len(kept)))]
    limits = []
    for row, place in enumerate(solved.tolist()):
        lower, upper = space.lower[place], space.upper[place]
        slack = _BOUND_ROUNDING * (upper - lower)
        if least[row] < lower - slack:
            name = f"{names[place]} >= {lower:g} {given}"
            made.append((entries[place] >= lower).replaced(name=name))
            rows.append(-slopes[row : row + 1])
            limits.append(lower - constants[row])
        if most[row] > upper + slack:
            name = f"{names[place]} <= {upper:g} {given}"
            made.append((entries[place] <= upper).replaced(name=name))
            rows.append(slopes[row : row + 1])
            limits.append(constants[row] - upper)
    return made, LinearRows(np.concatenate(rows), np.array(limits, dtype=float))


# --- reduction ------------------------------------------------------------------------------------

# A point of the user's own may miss an equality by its tolerance, and by so much more.
_MISS_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LinearEqualities:
    """The reduction of a problem with linear equalities to one without them.

    Attributes:
        original: The problem as the user wrote it.
        problem: The reduced problem.
        equalities: The equalities that are solved, each with its rows, which must be 0.
        kept: Flat positions of the entries that remain, in their order.
        solved: Flat positions of the others.
        slopes: (solved, kept); what is solved for is `slopes @ x[kept] + constants`.
        constants: (solved,).
        system: The linear equalities and inequalities, and the bounds.
        same_rows: Which scalar constraints of the original are constraints of the reduced problem.
        added: Its further constraints, which keep what is solved for between its bounds.
        calls: For each call of the original, which call of the reduced problem it is.
    """

    original: Problem
    problem: Problem
    equalities: tuple[tuple[Constraint, LinearRows], ...]
    kept: NDArray[np.int64]
    solved: NDArray[np.int64]
    slopes: Array
    constants: Array
    system: LinearSystem
    same_rows: Flags
    added: LinearRows
    calls: tuple[int, ...]

    def down(self, situation: Situation) -> Situation:
        """Write a situation of the original as one of the reduced problem.

        Trials that break an equality by more than its tolerance, such as some that were made
        elsewhere, are left out. Their answers still count.
        """
        history = _reduced_history(self, situation.history)
        return replace(
            situation,
            problem=self.problem,
            history=history,
            pending=tuple(map(self._pending_down, situation.pending)),
            incomplete=situation.incomplete + len(situation.history) - len(history),
        )

    def up(self, suggestion: Suggestion) -> Suggestion:
        """Write a suggestion for the reduced problem as one for the original."""
        optimum = suggestion.optimum
        if optimum is not None:
            optimum = self.expand(optimum[0]), self._outputs_up(optimum[1])
        probes = tuple(replace(p, call=self.calls.index(p.call)) for p in suggestion.probes)
        return replace(suggestion, x=self.expand(suggestion.x), probes=probes, optimum=optimum)

    def reduce(self, x: Array) -> Array:
        """Return the entries of a design point that remain."""
        return x[self.kept]

    def expand(self, x: Array) -> Array:
        """Return the design point of the original for one of the reduced problem.

        It meets the equalities to rounding, and is between its bounds: where what is solved for
        leaves them, the nearest point that does not is taken.
        """
        space = self.original.program.space
        full = np.empty(self.original.program.size)
        full[self.kept] = x
        full[self.solved] = self.slopes @ x + self.constants
        # What is solved for may be on steps, too, which rounding must not leave.
        found = np.where(space.stepped, space.on_steps(full), full)
        if ((full >= space.lower) & (full <= space.upper)).all():
            return found
        # Steps of the other entries stay, if they can.
        near = self.system.corrected(found)
        return self._nearest(full) if near is None else near

    def constraints_at(self, x: Array, constraints: Array) -> Array:
        """Values of the reduced problem's constraints, given those of the original at a point."""
        added = self.added.matrix @ x[self.kept] + self.added.constants
        return np.concatenate([constraints[self.same_rows], added])

    def allowed_at(self, x: Array, allowed: Array | None) -> Array:
        """`Trial.allowed` of the reduced problem, given that of the original at a point."""
        sizes = np.abs(self.added.matrix) @ np.abs(x[self.kept]) + np.abs(self.added.constants)
        same = np.zeros(len(self.same_rows)) if allowed is None else allowed
        return np.concatenate([same[self.same_rows], DEFAULT_TOLERANCE * sizes])

    def is_met(self, x: Array) -> bool:
        """Whether a design point of the original meets the equalities within their tolerances."""
        return self._broken(x) is None

    def point_to_try(self, x: Array, who: str) -> Array:
        """A point of the user's own, moved so little that it meets the equalities to rounding.

        Raises:
            ModelError: It breaks one by more than its tolerance.
        """
        broken = self._broken(x)
        if broken is not None:
            constraint, missed = broken
            raise ModelError(
                f"{who}: a point breaks {constraint!r}, whose sides differ by {missed:.6g} there "
                f"(allowed: {constraint.tolerance:g}): every point that is tried meets it, so pass "
                "points that do"
            )
        near = self.system.corrected(x)
        return self._nearest(x) if near is None else near

    def trial_down(self, trial: Trial) -> Trial:
        """Write a trial that meets the equalities as one of the reduced problem."""
        return replace(
            trial,
            suggestion=self._suggestion_down(trial.suggestion),
            constraints=self.constraints_at(trial.x, trial.constraints),
            chain=self._outputs_down(trial.chain),
            allowed=self.allowed_at(trial.x, trial.allowed),
            lenient=None if trial.lenient is None else self.allowed_at(trial.x, trial.lenient),
        )

    def failure_down(self, failure: Failure) -> Failure:
        """Write a failure as one of the reduced problem."""
        if len(failure.x) != self.original.program.size:
            return failure  # the problem was changed since
        return replace(failure, x=self.reduce(failure.x))

    def _pending_down(self, pending: Pending) -> Pending:
        answers = {self.calls[call]: outputs for call, outputs in pending.answers.items()}
        suggestion = self._suggestion_down(pending.suggestion)
        return Pending(suggestion, answers, self._probes_down(pending.probes))

    def _suggestion_down(self, suggestion: Suggestion) -> Suggestion:
        optimum = suggestion.optimum
        if optimum is not None:
            optimum = self.reduce(optimum[0]), self._outputs_down(optimum[1])
        x, probes = self.reduce(suggestion.x), self._probes_down(suggestion.probes)
        return replace(suggestion, x=x, probes=probes, optimum=optimum)

    def _probes_down(self, probes: Sequence[Probe]) -> tuple[Probe, ...]:
        return tuple(replace(probe, call=self.calls[probe.call]) for probe in probes)

    def _outputs_down(self, outputs: Array) -> Array:
        """Outputs of all calls of the original as those of the reduced problem."""
        before, after = self.original.program, self.problem.program
        if len(before.calls) == len(after.calls):
            return outputs
        first = [self.calls.index(number) for number in range(len(after.calls))]
        return _picked(before, outputs, first)

    def _outputs_up(self, outputs: Array) -> Array:
        """Outputs of all calls of the reduced problem as those of the original."""
        after = self.problem.program
        if len(self.calls) == len(after.calls):
            return outputs
        return _picked(after, outputs, self.calls)

    def _broken(self, x: Array) -> tuple[Constraint, float] | None:
        for constraint, rows in self.equalities:
            missed = float(np.abs(rows.matrix @ x + rows.constants).max())
            if missed > constraint.tolerance * (1 + _MISS_ROUNDING) + _MISS_ROUNDING:
                return constraint, missed
        return None

    def _nearest(self, x: Array) -> Array:
        near = self.system.nearest(x)
        if near is not None:  # with 0.3 on a step, not 0.30000000000000004
            return self.original.program.space.on_steps(near)
        names = ", ".join(repr(constraint) for constraint, _ in self.equalities)
        raise ModelError(
            f"no point on the steps of the variables was found that meets {names}: leave step= out "
            "for one of them, or change its bounds"
        )


# A decision, the line of a table and a result ask about one history, and what is learned from it is
# kept by what it is.
@lru_cache(maxsize=4)
def _reduced_history(reduction: LinearEqualities, history: History) -> History:
    met = [reduction.is_met(trial.x) for trial in history]
    pairs = list(zip(history, met, strict=True))
    others = tuple(seen for trial, fits in pairs if not fits for seen in trial.observations)
    return History(
        tuple(reduction.trial_down(trial) for trial, fits in pairs if fits),
        (*others, *history.loose),
        tuple(map(reduction.failure_down, history.failures)),
    )


def _picked(program: Program, outputs: Array, calls: Sequence[int]) -> Array:
    parts = [outputs[program.calls[number].columns] for number in calls]
    return np.concatenate([np.zeros(0), *parts])


def points_to_try(
    problem: Problem, x: Any, who: str, with_unknowns: Callable[[Array], Array]
) -> Array:
    """Points (points, n) of the user's own, as `own_points` has them, on the equalities.

    Args:
        problem: The problem.
        x: The points.
        who: The function that was called, for messages.
        with_unknowns: Gives a point (n,) with NaN for its unknowns values of these.

    Raises:
        ModelError: They are no points of the problem, or break a linear equality.
    """
    points = own_points(problem.program, x, who)
    points = np.array([with_unknowns(p) if np.isnan(p).any() else p for p in points])
    elimination = problem.elimination
    if elimination is None:
        return points
    return np.array([elimination.point_to_try(point, who) for point in points])


def elimination_of(problem: Problem) -> LinearEqualities | None:
    """Solve the linear equalities of a problem; None if it has none that can be solved.

    An equality is solved for an entry that may be any number between its bounds, that of an unknown
    first; or for one on steps, such as an integer, that is on its steps whenever the others are.
    Nothing is solved if that would leave nothing to choose.
    """
    if problem.causal is not None or not problem.equalities or problem.origin is not None:
        return None
    space = problem.program.space
    unknown = np.concatenate([np.full(v.size, v.is_unknown) for v in problem.variables])
    pivots = Pivots(space, unknown)
    taken: list[tuple[Constraint, LinearRows]] = []
    for equality in problem.equalities:
        rows = linear_rows(equality.residual, problem.variables)
        if rows is not None and pivots.solve(rows):
            taken.append((equality, rows))
    if not taken or len(pivots.places) in (0, problem.program.size):
        return None
    solved = np.array(pivots.places)
    kept = np.setdiff1d(np.arange(problem.program.size), solved)
    slopes = -pivots.matrix[:, kept]
    made = reduced_problem(problem, [c for c, _ in taken], kept, solved, slopes, pivots.values)
    elimination = LinearEqualities(
        original=problem,
        problem=made.problem,
        equalities=tuple(taken),
        kept=kept,
        solved=solved,
        slopes=slopes,
        constants=pivots.values,
        system=linear_system(problem, taken),
        same_rows=made.same_rows,
        added=made.added,
        calls=made.calls,
    )
    reduced_by(made.problem, elimination)
    return elimination
