"""Unknowns: the equations that determine them, and their values once these can be solved.

Unknowns that no black box reads are solved for as soon as all answers are there. The others are
torn streams: under chained evaluation, the chain is evaluated again and again until what comes back
is what went in. Equations without black boxes can be solved before anything is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from torch import Tensor

from grisaille.array_types import Array
from grisaille.errors import ModelError, counted
from grisaille.language import operations
from grisaille.language.expression import EQUALITY_TOLERANCE, Constraint, Expression, Operation
from grisaille.language.program import BoxCall, Program, Resolve
from grisaille.language.values import entry_names
from grisaille.language.variable import Unknown, Variable

if TYPE_CHECKING:
    from grisaille.language.problem import Problem

CLOSED = 1e-3
"""The part of an unknown's range by which a trial may miss its equation and still count as closed.

Plants and simulators close a recycle to about as much. Searches aim at `_AIM`, so that no point
uses up what is allowed.
"""
# The part of an unknown's range by which both sides of its equation differ in a search.
_AIM = 1e-6


def unknowns_of(expression: Expression) -> list[Unknown]:
    """The unknowns that an expression reads."""
    return Program([expression]).unknowns


def checked_equations(equations: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """What is passed as `equations=`.

    Raises:
        ModelError: One is not an equality, or reads no unknown.
    """
    for equation in equations:
        if not equation.is_equality:
            raise ModelError(
                f"equations= has {equation!r}: an equation is written a == b; put other "
                "constraints in subject_to="
            )
        if not unknowns_of(equation.residual):
            raise ModelError(
                f"equation {equation!r} reads no unknown, so it determines none: put it in "
                "subject_to=, or write it with a gs.Unknown"
            )
    return equations


def check_unknowns(variables: Iterable[Variable], equalities: Sequence[Constraint]) -> None:
    """Raise ModelError if equations do not determine every unknown.

    Each entry of an unknown needs a scalar equation of its own that reads it.
    """
    unknowns = [v for v in variables if isinstance(v, Unknown)]
    if not unknowns:
        return
    rows = [unknowns_of(e.residual) for e in equalities for _ in range(e.residual.size)]
    entries = [u for u in unknowns for _ in range(u.size)]
    reads = [[any(u is other for other in row) for u in entries] for row in rows]
    table = csr_matrix(np.array(reads, dtype=int).reshape(len(rows), len(entries)))
    matched = maximum_bipartite_matching(table, perm_type="row") if rows else []
    free = [u for u, row in zip(entries, matched, strict=True) if row < 0] if rows else entries
    if free:
        unknown = free[0]
        have = sum(any(unknown is other for other in row) for row in rows)
        raise ModelError(
            f"unknown {unknown.name!r} has {counted(unknown.size, 'number')} and is read "
            f"by {counted(have, 'equation')}, which do not determine it: add subject_to="
            f"[{unknown.name} == ...], or make it a gs.Variable if it is a decision"
        )


def with_usual_tolerance(constraint: Constraint) -> Constraint:
    """An equation `t == ...` with a tolerance that fits the range of the unknown t."""
    unknown = solved_for(constraint)
    if unknown is None or constraint.tolerance != EQUALITY_TOLERANCE:
        return constraint
    width = float(np.min(_width(unknown)))
    return constraint.replaced(tolerance=_AIM * width, lenience=(CLOSED - _AIM) * width)


def solved_for(constraint: Constraint) -> Expression | None:
    """The side of an equality that is an unknown, or entries of one; None if neither is."""
    if not constraint.is_equality:
        return None
    return next((side for side in (constraint.left, constraint.right) if _is_unknown(side)), None)


def _is_unknown(side: Expression) -> bool:
    if isinstance(side, Operation) and side.atom is operations.take:
        side = side.arguments[0]
    return isinstance(side, Unknown)


def _width(side: Expression) -> Array:
    program = Program([side])
    return (program.upper - program.lower)[entries_of(side, program.variables)]


def unknown_entries(program: Program) -> list[int]:
    """Flat positions, in a design point, of all entries of unknowns."""
    places = [program.columns[v] for v in program.variables if v.is_unknown]
    return [place for columns in places for place in range(columns.start, columns.stop)]


def entries_of(side: Expression, variables: Sequence[Variable]) -> list[int]:
    """Flat positions, in a design point, of an unknown or of entries of one (`solved_for`)."""
    found = Program([side], variables).design_entries(side)
    return [entry for entry in found if entry is not None]


def names_at_bounds(variables: Sequence[Variable], x: Array) -> list[str]:
    """Return the entries of unknowns that lie at a bound, such as `recycle at its upper bound 60`.

    Args:
        variables: All variables of a design point.
        x: The point, flat.
    """
    found, start = [], 0
    names = [name for v in variables for name in entry_names(v.name, v.shape)]
    for variable in variables:
        ends = np.ravel(variable.lower), np.ravel(variable.upper)
        for entry in range(variable.size if variable.is_unknown else 0):
            low, high = (float(end[entry]) for end in ends)
            near = _AIM * (high - low)
            if x[start + entry] <= low + near or x[start + entry] >= high - near:
                side, end = ("lower", low) if x[start + entry] <= low + near else ("upper", high)
                found.append(f"{names[start + entry]} at its {side} bound {end:g}")
        start += variable.size
    return found


def _no_answer(call: BoxCall, _states: Tensor) -> Tensor:
    raise AssertionError(f"an unknown is read, and {call.box!r} is none")


def read_by_boxes(program: Program) -> set[Unknown]:
    """The unknowns that a black box reads, directly or through known parts."""
    found: set[Unknown] = set()
    if not program.unknowns:
        return found
    for call in program.calls:
        found |= set(Program(call.arguments).unknowns)
    return found


def unknowns_in_loops(program: Program) -> list[Unknown]:
    """The unknowns that a black box reads, in the order of the program."""
    read = read_by_boxes(program)
    return [v for v in program.unknowns if v in read]


def refuse_unknowns(who: str, variables: Iterable[Variable]) -> None:
    """Raise ModelError if there are unknowns, which only optimism solves for."""
    unknown = next((v for v in variables if v.is_unknown), None)
    if unknown is not None:
        raise ModelError(
            f"{who} knows no equations, and {unknown.name!r} is an unknown: use gs.Optimistic(), "
            "or write the loop as one black box of the decisions that converges by itself"
        )


# --- closing loops --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoopConstants:
    """The constants of loops.

    Attributes:
        rounds: Rounds until a loop counts as not converging. A choice of patience.
        same: Inputs that differ by this part are the same. Not measured.
        depth: Earlier rounds that an extrapolation uses. Not measured.
    """

    rounds: int = 30
    same: float = 1e-7
    depth: int = 3


LOOPS = LoopConstants()


class Loops:
    """The unknowns of a problem, and the equations that determine them.

    Args:
        problem: The problem.

    Attributes:
        torn: Flat positions of the unknowns that black boxes read.
        known: Flat positions of the others, which known equations determine after all answers.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._position = {call.key: i for i, call in enumerate(problem.program.calls)}
        read = read_by_boxes(problem.program)
        unknowns = problem.program.unknowns
        self.torn = self._places([u for u in unknowns if u in read])
        self.known = self._places([u for u in unknowns if u not in read])
        later = {u for u in unknowns if u not in read}
        equations = [e for e in problem.equalities if set(unknowns_of(e.residual)) & set(unknowns)]
        self._equations = equations
        # An equation that reads both kinds serves those that are solved for afterwards.
        self._closing = [e for e in equations if not set(unknowns_of(e.residual)) & later]
        self._later = [e for e in equations if set(unknowns_of(e.residual)) & later]
        self._images: Program | None = None
        self._image_places: list[int] = []

    def __bool__(self) -> bool:
        return bool(len(self.torn) or len(self.known))

    @property
    def can_go_around(self) -> bool:
        """Whether what comes back of every torn stream can be computed: `t == ...` for each."""
        return bool(len(self.torn)) and self._comes_back() is not None

    @property
    def settling(self) -> NDArray[np.int64]:
        """Flat positions of the unknowns that equations without black boxes fix."""
        return self._settling()[1]

    def check(self, evaluation: str | None) -> None:
        """Raise ModelError if a loop is to be iterated, but its equations are not solved for it."""
        if evaluation == "chained" and len(self.torn):
            self._fixed_point()

    def solved(self, x: Array, answers: Mapping[int, Array]) -> Array:
        """The design point with those unknowns solved for that no black box reads.

        Where the equations have several solutions, it is one near the point; where they have none
        within the bounds, it is the point that comes closest.
        """
        if not len(self.known):
            return x
        program = Program([e.residual for e in self._later], self._problem.variables)

        def residuals(point: Tensor) -> Tensor:
            return torch.cat([r.reshape(-1) for r in self._run(program, point, answers)])

        return self._nearest_root(x, self.known, residuals)

    def closed(self, x: Array, resolve: Resolve) -> Array:
        """The design point with all its unknowns solved for, where black boxes answer this way.

        As in `solved`, it may be one of several solutions, or the point that comes closest to one.

        Args:
            x: The point, flat; the search starts from its unknowns.
            resolve: Answers black-box calls, differentiably; such as by predictions.
        """
        program = Program([e.residual for e in self._equations], self._problem.variables)

        def residuals(point: Tensor) -> Tensor:
            return _flat(program.run(point.unsqueeze(0), resolve))

        every = np.sort(np.concatenate([self.torn, self.known]))
        return self._nearest_root(x, every, residuals)

    def reached(
        self, x: Array, call: BoxCall, inputs: Array, answers: Mapping[int, Array]
    ) -> Array | None:
        """The design point with torn streams as the inputs of a call say; None if none fit.

        Args:
            x: The point, flat; its decisions stay.
            call: A call of the problem's program.
            inputs: What its black box was given.
            answers: Outputs of the calls before it, by their position.
        """
        if not len(self.torn) or not call.upstream <= answers.keys():
            return None
        program = Program(call.arguments, self._problem.variables)

        def residuals(point: Tensor) -> Tensor:
            return _flat(self._run(program, point, answers)) - torch.tensor(inputs)

        found = self._nearest_root(x, self.torn, residuals)
        missed = residuals(torch.tensor(found)).abs().numpy()
        return found if (missed <= LOOPS.same * (1 + np.abs(inputs))).all() else None

    def settled(self, x: Array) -> Array:
        """The design point with those unknowns solved for that equations without black boxes fix.

        As in `solved`, it may be one of several solutions, or the point that comes closest to one.
        """
        rows, places = self._settling()
        if not len(places):
            return x
        program = Program([e.residual for e in self._equations], self._problem.variables)

        def residuals(point: Tensor) -> Tensor:
            return _flat(program.run(point.unsqueeze(0), _nothing))[rows]

        return self._nearest_root(x, places, residuals)

    def _settling(self) -> tuple[Tensor, NDArray[np.int64]]:
        """Which scalar equations read no black box, and the unknowns that each of them fixes.

        Where a black box answers NaN, the equations that still have a value do not read it; an
        unknown that is NaN tells in the same way which equations read it.
        """
        nowhere = np.zeros(0, dtype=np.int64)
        if not self._equations:
            return torch.tensor(nowhere), nowhere
        program = Program([e.residual for e in self._equations], self._problem.variables)
        whole = self._problem.program
        middle = torch.tensor((whole.lower + whole.upper) / 2)
        entries = unknown_entries(whole)
        probes = middle.repeat(1 + len(entries), 1)
        probes[torch.arange(1, len(probes)), torch.tensor(entries)] = torch.nan
        with torch.no_grad():
            values = torch.stack([_flat(program.run(p.unsqueeze(0), _nothing)) for p in probes])
        rows = torch.nonzero(values[0].isfinite())[:, 0]
        reads = values[1:, rows].isnan().numpy()  # (unknowns, rows)
        row_of = maximum_bipartite_matching(csr_matrix(reads.T.astype(int)), perm_type="row")
        fixed = [place for place, row in zip(entries, row_of, strict=True) if row >= 0]
        own = sorted(int(row) for row in row_of if row >= 0)
        return rows[own], np.array(fixed, dtype=np.int64)

    def _nearest_root(
        self, x: Array, places: NDArray[np.int64], residuals: Callable[[Tensor], Tensor]
    ) -> Array:
        """The design point with some entries moved to where residuals are 0, by Newton's method.

        Args:
            x: The point.
            places: The entries that may move, between their bounds.
            residuals: (rows,) for a point.
        """
        inside = torch.tensor(places)

        def moved(values: Tensor) -> Tensor:
            return residuals(torch.tensor(x).index_copy(0, inside, values))

        def at(values: Array) -> Array:
            with torch.no_grad():
                missed: Array = moved(torch.tensor(values)).numpy()
            return np.asarray(np.nan_to_num(missed, nan=1e6))

        def slopes(values: Array) -> Array:
            slope = torch.autograd.functional.jacobian(moved, torch.tensor(values))
            return np.asarray(np.nan_to_num(np.asarray(slope)))

        program = self._problem.program
        low, high = program.lower[places], program.upper[places]
        margin = 1e-12 * (high - low)
        start = np.clip(x[places], low + margin, high - margin)
        found = least_squares(at, start, slopes, (low, high), xtol=1e-15, ftol=1e-15, gtol=1e-15)
        result = x.copy()
        result[places] = found.x
        return result

    def mismatch(self, x: Array, answers: Mapping[int, Array]) -> tuple[float, Constraint | None]:
        """By how much the worst equation of a loop misses its tolerance, and which one it is.

        What declared noise explains, two standard deviations, is not missed: going around once more
        would not come closer.
        """
        worst: tuple[float, Constraint | None] = (0.0, None)
        for equation in self._closing:
            program = Program([equation.residual], self._problem.variables)
            (residual,) = self._run(program, torch.tensor(x), answers)
            allowed = float(equation.tolerance) + 2 * self._scatter(program, x, answers)
            excess = float((residual.reshape(-1).abs() - allowed).max())
            if not excess <= worst[0]:
                worst = (excess, equation)
        return worst

    def _scatter(self, program: Program, x: Array, answers: Mapping[int, Array]) -> Tensor:
        """Standard deviation that declared noise gives each scalar residual, to first order."""
        calls = self._problem.program.calls
        noise = torch.cat(
            [
                torch.tensor(np.broadcast_to(0.0 if c.box.noise is None else c.box.noise, n))
                for c, n in ((c, c.box.outputs) for c in calls)
            ]
        )
        if not noise.any():
            return torch.zeros(1, dtype=torch.float64)

        def residuals(flat: Tensor) -> Tensor:
            def resolve(call: BoxCall, _states: Tensor) -> Tensor:
                return flat[calls[self._position[call.key]].columns].unsqueeze(0)

            return _flat(program.run(torch.tensor(x).unsqueeze(0), resolve))

        along = torch.tensor(np.concatenate([answers[i] for i in range(len(calls))]))
        slopes = torch.autograd.functional.jacobian(residuals, along)
        return torch.as_tensor((slopes * noise).square().sum(1).sqrt())

    def image(self, x: Array, answers: Mapping[int, Array]) -> Array:
        """What comes back of the torn streams, flat, for what goes in."""
        program, places = self._fixed_point()
        parts = self._run(program, torch.tensor(x), answers)
        back = np.concatenate([p.reshape(-1).numpy() for p in parts])
        order = {place: i for i, place in enumerate(places)}
        return back[[order[place] for place in self.torn.tolist()]]

    def next_point(self, points: Sequence[Array], images: Sequence[Array]) -> Array:
        """Where to evaluate the chain next, by Anderson acceleration.

        Args:
            points: The design points so far, the latest one last.
            images: What came back at each.
        """
        inside = np.array([p[self.torn] for p in points[-LOOPS.depth - 1 :]])
        back = np.array(images[-LOOPS.depth - 1 :])
        misses = back - inside
        following = back[-1]
        if len(misses) > 1:
            steps, changes = np.diff(back, axis=0), np.diff(misses, axis=0)
            weights = np.linalg.lstsq(changes.T, misses[-1], rcond=1e-10)[0]
            following = back[-1] - weights @ steps
        program = self._problem.program
        lower, upper = program.lower[self.torn], program.upper[self.torn]
        x = points[-1].copy()
        x[self.torn] = np.clip(following, lower, upper)
        return x

    def _fixed_point(self) -> tuple[Program, list[int]]:
        """What computes the torn streams anew, and their flat positions."""
        found = self._comes_back()
        if found is None:
            names = ", ".join(v.name for v in self._problem.variables if v.is_unknown)
            raise ModelError(
                f"evaluation='chained' goes around a loop until {names} come back unchanged: "
                "write each equation of the loop as t == ..., once for each unknown t, or use "
                "evaluation='separate'"
            )
        return found

    def _comes_back(self) -> tuple[Program, list[int]] | None:
        if self._images is None:
            sides: list[Expression] = []
            places: list[int] = []
            for equation in self._closing:
                unknown = solved_for(equation)
                if unknown is not None:
                    sides.append(equation.right if unknown is equation.left else equation.left)
                    places += entries_of(unknown, self._problem.variables)
            if sorted(places) != self.torn.tolist():
                return None
            self._images = Program(sides, self._problem.variables)
            self._image_places = places
        return self._images, self._image_places

    def _places(self, unknowns: list[Unknown]) -> NDArray[np.int64]:
        columns = [self._problem.program.columns[u] for u in unknowns]
        every = np.arange(self._problem.program.size)
        return np.sort(np.concatenate([every[:0], *(every[c] for c in columns)]))

    def _run(self, program: Program, x: Tensor, answers: Mapping[int, Array]) -> list[Tensor]:
        def resolve(call: BoxCall, _states: Tensor) -> Tensor:
            return torch.tensor(answers[self._position[call.key]]).unsqueeze(0)

        return program.run(x.unsqueeze(0), resolve)


def _flat(parts: list[Tensor]) -> Tensor:
    return torch.cat([part.reshape(-1) for part in parts])


def _nothing(call: BoxCall, states: Tensor) -> Tensor:
    """A resolver for what reads no answer: whatever reads one has no value."""
    return states.new_full((len(states), call.box.outputs), torch.nan)


def completed(problem: Problem, x: Array, resolve: Resolve) -> Array:
    """Return design points (points, n), with unknowns that are NaN where loops are closed.

    The search starts in the middle between the bounds; nothing else is known of them.
    """
    loops, program = Loops(problem), problem.program
    middle = (program.lower + program.upper) / 2
    return np.array(
        [
            loops.closed(np.where(np.isnan(point), middle, point), resolve)
            if np.isnan(point).any()
            else point
            for point in x
        ]
    )
