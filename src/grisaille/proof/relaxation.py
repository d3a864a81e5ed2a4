"""The relaxation of the auxiliary problem, which bounds it over regions for a global search.

We branch on the design variables and on every black-box output that enters nonlinearly or that
another black box reads. The range of such an output contracts to what its band allows over the
region of x. All other outputs need no branching: where their weight is positive, the lower end l of
their band counts, where it is negative, the upper end u. Quadratics below l and -u
(`BandMinorants`) take their place, so that one separable quadratic is left to minimize over a
region, in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linprog
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.belief.design_problem import whole_entries
from grisaille.belief.learning import learned_in_logarithm
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.processes.minorants import Quadratics, least_of
from grisaille.language import operations
from grisaille.language.black_box import BlackBox
from grisaille.language.enclosures.interval import EPSILON, Enclosure, Interval
from grisaille.language.expression import Algebra, Call, Constant, Expression, Operation, entries
from grisaille.language.operations import Atom
from grisaille.language.program import BoxCall, Program, substituted
from grisaille.language.variable import Variable
from grisaille.proof.clipped_bands import ClippedBands, center_and_half
from grisaille.proof.propagation import Affine, Propagation, obstacles, split_signs, times
from grisaille.search.search_problem import NoRelaxation, SearchProblem, rounded

# --- lowering -------------------------------------------------------------------------------------
# Lowering: rewrite expressions with elementary operations, for which bounds are known.


def lowered(expressions: Sequence[Expression]) -> list[Expression]:
    """The same expressions, with only elementwise atoms, sums, layout changes and white boxes.

    Equal parts become one node, constant parts one number, and `a * a` a square. Variables and
    black boxes stay as they are; calls get lowered arguments.
    """
    return _Lowering().of_all(expressions)


class _Lowering:
    """The nodes made so far, by the expression they replace and by their content."""

    def __init__(self) -> None:
        self.done: dict[Expression, Expression] = {}
        self.known: dict[tuple[object, ...], Expression] = {}
        self._algebra: Algebra[Expression, Expression] = Algebra(
            variable=lambda variable: variable,
            constant=self._constant,
            operation=self._operation,
            call=self._call,
        )

    def of_all(self, expressions: Sequence[Expression]) -> list[Expression]:
        stack = list(reversed(expressions))
        while stack:  # depth first without recursion: models may be thousands of steps deep
            expression = stack[-1]
            missing = [a for a in expression.arguments if a not in self.done]
            if expression not in self.done and missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if expression not in self.done:
                arguments = [self.done[a] for a in expression.arguments]
                self.done[expression] = expression._become(self._algebra, arguments)
        return [self.done[e] for e in expressions]

    def _call(self, call: Call, arguments: Sequence[Expression]) -> Expression:
        key = ("call", id(call.box), *map(id, arguments))
        if key not in self.known:
            self.known[key] = call if _same(call, arguments) else Call(call.box, tuple(arguments))
        return self.known[key]

    def _operation(self, operation: Operation, parts: Sequence[Expression]) -> Expression:
        atom, parameters, arguments = operation.atom, operation.parameters, tuple(parts)
        if atom is operations.norm:
            squares = self._apply(operations.square, arguments)
            return self._apply(
                operations.sqrt, (self._apply(operations.total, (squares,), parameters),)
            )
        if atom.pairwise is not None and arguments[0].size:
            return self._fold(atom.pairwise, arguments[0], *parameters)
        if atom is operations.matmul:
            return self._matmul(*arguments)
        made = operation if _same(operation, arguments) else None
        return self._apply(atom, arguments, parameters, made)

    def _apply(
        self,
        atom: Atom,
        arguments: tuple[Expression, ...],
        parameters: tuple[Any, ...] = (),
        made: Expression | None = None,
    ) -> Expression:
        """The node of an operation, one for equal operations; a constant if its arguments are."""
        if atom is operations.multiply and arguments[0] is arguments[1]:
            atom, arguments, made = operations.square, arguments[:1], None
        key = ("operation", id(atom), parameters, *map(id, arguments))
        if key in self.known:
            return self.known[key]
        if made is None:
            made = Operation(atom, arguments, parameters)
        known = [a._known for a in arguments]
        values = [torch.tensor(value).unsqueeze(0) for value in known if value is not None]
        if len(values) == len(arguments):
            value = atom.evaluate(*values, *parameters)[0].cpu().numpy()
            # A value that is not finite is left to the evaluation, which knows how to handle it.
            made = self._constant(Constant(value)) if np.isfinite(value).all() else made
        self.known[key] = made
        return made

    def _constant(self, constant: Constant) -> Expression:
        key = ("constant", constant.shape, constant.value.tobytes())
        return self.known.setdefault(key, constant)

    def _relaid(self, expression: Expression, layout: Callable[[Any], Any]) -> Expression:
        """The entries in another layout, as by indexing."""
        picked = expression._relaid(layout)
        if picked is expression or not isinstance(picked, Operation):
            return picked
        return self._apply(picked.atom, picked.arguments, picked.parameters, picked)

    def _fold(self, atom: Atom, value: Expression, axes: tuple[int, ...]) -> Expression:
        """Combine one half of an array with the other repeatedly: few nodes for many entries."""
        if not axes:
            return value
        kept = [axis for axis in range(value.ndim) if axis not in axes]
        rest = tuple(value.shape[axis] for axis in kept)
        length = math.prod(value.shape[axis] for axis in axes)

        def columns(start: int, stop: int, source: Expression) -> Expression:
            return self._relaid(source, lambda positions: positions[..., start:stop])

        array = self._relaid(
            value, lambda positions: positions.transpose(*kept, *axes).reshape(*rest, length)
        )
        left_over: list[Expression] = []
        while length > 1:
            half = length // 2
            if length % 2:
                left_over.append(columns(length - 1, length, array))
            array = self._apply(atom, (columns(0, half, array), columns(half, 2 * half, array)))
            length = half
        for column in left_over:
            array = self._apply(atom, (array, column))
        return self._relaid(array, lambda positions: positions.reshape(rest))

    def _matmul(self, left: Expression, right: Expression) -> Expression:
        """Rows times columns, summed along a new last axis."""
        rows = left if left.ndim > 1 else self._relaid(left, lambda p: p[None, :])
        columns = right if right.ndim > 1 else self._relaid(right, lambda p: p[:, None])
        products = self._apply(
            operations.multiply,
            (
                self._relaid(rows, lambda p: p[..., :, None, :]),
                self._relaid(columns, lambda p: p.swapaxes(-1, -2)[..., None, :, :]),
            ),
        )
        value = self._apply(operations.total, (products,), ((products.ndim - 1,),))
        shape = operations.matmul.shape(left.shape, right.shape)
        return self._relaid(value, lambda p: p.reshape(shape))


def _same(expression: Expression, arguments: Sequence[Expression]) -> bool:
    return all(a is b for a, b in zip(arguments, expression.arguments, strict=True))


# --- branching variables --------------------------------------------------------------------------
# Variables to branch on, and inputs of black boxes that are branching variables themselves.

Columns = NDArray[np.int_]
Reads = tuple[Flags, Flags]
"""The outputs that each entry reads, (*shape, outputs), and those it reads nonlinearly."""


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
    branched = np.zeros(outputs, dtype=bool)

    def nothing(expression: Expression) -> Reads:
        none = np.zeros((*expression.shape, outputs), dtype=bool)
        return none, none.copy()

    def call(own: Call, arguments: Sequence[Reads]) -> Reads:
        for argument, _ in arguments:
            branched[_any(argument)] = True
        read, curved = nothing(own)
        columns = program.call_of[own].columns
        entries = np.arange(columns.start, columns.stop)
        read.reshape(-1, outputs)[np.arange(len(entries)), entries] = True
        return read, curved

    def operation(own: Operation, arguments: Sequence[Reads]) -> Reads:
        reads, nonlinear = ([pair[side] for pair in arguments] for side in (0, 1))
        return _operation_reads(own, reads, nonlinear, nothing(own)[0])

    nodes = program.fold(
        Algebra(variable=nothing, constant=nothing, operation=operation, call=call)
    )
    for position in program.outputs:
        branched |= _any(nodes[position][1])
    return branched


def _operation_reads(
    operation: Operation, reads: list[Flags], nonlinear: list[Flags], nothing: Flags
) -> Reads:
    """The outputs that the value of an operation reads, and those it reads nonlinearly."""
    atom, outputs = operation.atom, nothing.shape[-1]
    if atom is operations.take:
        pick = list(operation.parameters[0])
        picked = (flags[0].reshape(-1, outputs)[pick] for flags in (reads, nonlinear))
        read, curved = (flags.reshape(nothing.shape) for flags in picked)
        return read, curved
    if atom is operations.join:
        read, curved = (
            np.concatenate([f.reshape(-1, outputs) for f in flags]) for flags in (reads, nonlinear)
        )
        return read, curved
    if atom is operations.total:
        axes = operation.parameters[0]
        return reads[0].any(axes), nonlinear[0].any(axes)
    if not atom.is_elementwise:  # a white box may be nonlinear in all its arguments
        read = nothing | np.logical_or.reduce([_any(r) for r in reads])
        return read, read
    rank = nothing.ndim
    reads = [_aligned(r, rank) for r in reads]
    nonlinear = [_aligned(n, rank) for n in nonlinear]
    read = nothing | np.logical_or.reduce(np.broadcast_arrays(*reads))
    curved = nothing | np.logical_or.reduce(np.broadcast_arrays(*nonlinear))
    if atom.linear == "jointly":
        return read, curved
    if atom.linear == "separately":
        both = reads[0].any(-1, keepdims=True) & reads[1].any(-1, keepdims=True)
        return read, curved | (read & both)
    if atom.linear == "in the first":
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
    columns: dict[Expression, Columns] = {
        variable: np.arange(place.start, place.stop) for variable, place in program.columns.items()
    }
    columns |= {own: column_of_output[call.columns] for own, call in program.call_of.items()}
    return [_accepted(program, call, columns) for call in program.calls]


def _accepted(program: Program, call: BoxCall, columns: dict[Expression, Columns]) -> Columns:
    """The columns of a call's state, with -1 if the black box accepts less than their range."""
    found = []
    for argument in call.arguments:
        for entry in entries(argument):
            own = columns.get(program.canonical(entry.source))
            found.append(-1 if own is None else own[entry.position])
    source = np.array(found, dtype=int)
    design = (source >= 0) & (source < program.size)
    low, high = np.full(len(source), -np.inf), np.full(len(source), np.inf)
    low[design], high[design] = program.lower[source[design]], program.upper[source[design]]
    box = call.box
    least = -np.inf if box.input_lower is None else box.input_lower
    most = np.inf if box.input_upper is None else box.input_upper
    return np.where((low >= least) & (high <= most), source, -1)


# --- starting points ------------------------------------------------------------------------------
# Points of the plausible set in regions, to start a search from.


@dataclass(frozen=True, slots=True)
class RelaxationConstants:
    """The constants of relaxations.

    Attributes:
        designs: Design points by which spreads are measured. Halved and doubled: no decision of 5
            runs changed (benchmarks.constants).
        few_outputs: At most this many outputs have all of their ends tried. Halved and doubled: no
            decision of 5 runs changed (benchmarks.constants).
        bound_twice: From this many inputs on, bands are bounded twice. Halved and doubled: no
            decision of 10 runs changed (benchmarks.constants).
    """

    designs: int = 32
    few_outputs: int = 4
    bound_twice: int = 3


RELAXATION = RelaxationConstants()


def spread_points(plausible: PlausibleSet, lower: Tensor, upper: Tensor) -> Tensor:
    """Design points of each region, including its centre, with eta in the middle and at corners.

    Args:
        plausible: The plausible set.
        lower: (regions, n), of design points.
        upper: (regions, n).

    Returns:
        (points, n + controls). All combinations of the bands' ends are tried if controls are few.
    """
    design = designs(lower, upper)
    outputs = plausible.controls.count
    middle = design.new_zeros(len(design), outputs)
    etas = [middle]
    if outputs <= RELAXATION.few_outputs:
        for corner in product((-1.0, 1.0), repeat=outputs):
            etas.append(middle + torch.tensor(corner, dtype=design.dtype))
    return torch.cat([torch.cat([design, eta], 1) for eta in etas])


def designs(lower: Tensor, upper: Tensor) -> Tensor:
    """Sobol points, (regions, n) twice to (points, n): the first of each region, then the next."""
    engine = torch.quasirandom.SobolEngine(lower.shape[1], seed=0)
    unit = engine.draw(1 + RELAXATION.designs, dtype=torch.float64)[
        1:
    ]  # the second one is the centre
    return (lower + (upper - lower) * unit.unsqueeze(1)).reshape(-1, lower.shape[1])


def at_ends(lower: Tensor, upper: Tensor, ends: Tensor) -> Tensor:
    """The same design points with a given eta for each region, (regions, outputs)."""
    return torch.cat([designs(lower, upper), ends.repeat(RELAXATION.designs, 1)], 1)


def linear_optimum(plausible: PlausibleSet, design: Tensor) -> Tensor:
    """The best eta for a design point, (n,), if the problem is affine in eta: (1, D)."""
    n, outputs = plausible.program.size, plausible.controls.count
    points = torch.cat([design, design.new_zeros(outputs)]).repeat(1 + outputs, 1)
    points[1:, n:] += torch.eye(outputs, dtype=design.dtype)
    objective, constraints = plausible.evaluate(points)
    slopes = (objective[1:] - objective[0]).numpy()
    rows = (constraints[1:] - constraints[0]).T.numpy()
    best = points[:1]
    if outputs and np.isfinite(slopes).all() and np.isfinite(rows).all():
        answer = linprog(slopes, rows, -constraints[0].numpy(), bounds=(-1, 1), method="highs")
        if answer.x is not None:
            best[0, n:] = torch.tensor(answer.x)
    return best


# --- search coordinates ---------------------------------------------------------------------------
# A program over search coordinates: u = log x is branched on for a variable with `log=True`.
#
# Known parts read x = exp(u). A black box that is learned in the logarithm reads u itself, so
# that its bands are bounded as those of any other black box.


def in_search_coordinates(program: Program) -> tuple[list[Expression], tuple[Variable, ...]]:
    """What a program computes as expressions of its search coordinates, and these as variables."""
    expressions = [program.nodes[p].expression for p in program.outputs]
    if not program.space.logarithmic.any():
        return expressions, program.variables
    return _Rewriting(program).of_all(expressions)


class _Rewriting:
    """What stands in place of the expressions of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._searched = {v: _search_variable(program, v) for v in program.variables if v.log}
        flags = {box: learned_in_logarithm(program, box) for box in program.boxes}
        self._learned = {box: (_of_logarithms(box, f), f) for box, f in flags.items() if f.any()}

    def of_all(
        self, expressions: list[Expression]
    ) -> tuple[list[Expression], tuple[Variable, ...]]:
        program = self._program
        leaves: dict[Expression, Expression] = {
            v: Operation(operations.exp, (new,)) for v, new in self._searched.items()
        }
        made = substituted(program, leaves, self._recalled)
        variables = tuple(self._searched.get(v, v) for v in program.variables)
        return [made[program.position[e]] for e in expressions], variables

    def _recalled(self, call: Call, arguments: Sequence[Expression]) -> Expression:
        if call.box not in self._learned:
            return call.of(arguments)
        box, flags = self._learned[call.box]
        logarithms = [self._in_logarithms(a) for a in call.arguments]
        both = Operation(operations.join, (*arguments, *logarithms))
        place = np.arange(len(flags)) + len(flags) * flags
        return Call(box, (both[place],))

    def _in_logarithms(self, expression: Expression) -> Expression:
        """Return search coordinates for entries of variables with `log=True`, 0 for others."""
        searched: dict[Expression, Variable] = dict(self._searched.items())
        found: list[Expression] = [
            searched[source].ravel()[position] if source in searched else Constant(0.0)
            for source, position in entries(expression)
        ]
        return Operation(operations.join, tuple(found))


def _search_variable(program: Program, variable: Variable) -> Variable:
    space, columns = program.space, program.columns[variable]
    ends = (end[columns] for end in (space.search_lower, space.search_upper))
    lower, upper = (end.reshape(variable.shape) for end in ends)
    return Variable(variable.name, variable.shape, lower=lower, upper=upper)


def _of_logarithms(box: BlackBox, flags: Flags) -> BlackBox:
    """The same black box with the logarithms of the inputs that it accepts."""
    same = copy(box)
    same.input_lower = _logarithm(box.input_lower, flags)
    same.input_upper = _logarithm(box.input_upper, flags)
    return same


def _logarithm(ends: Array | None, flags: Flags) -> Array | None:
    if ends is None:
        return None
    ends = np.broadcast_to(ends, flags.shape)
    positive = np.where(flags & (ends > 0), ends, 1.0)
    return np.where(flags, np.where(ends > 0, np.log(positive), -np.inf), ends)


# --- relaxation -----------------------------------------------------------------------------------


def relaxed(plausible: PlausibleSet) -> SearchProblem:
    """The auxiliary problem as a search problem, with bounds for a global search."""
    return replace(plausible.search_problem(), relax=lambda: PlausibleRelaxation(plausible))


def branching_variables(program: Program) -> int:
    """How many variables a global search of the auxiliary problem branches on."""
    return program.size + int(branched_outputs(_lowered(program)).sum())


def _lowered(program: Program) -> Program:
    """The program in elementary operations, over search coordinates."""
    expressions, variables = in_search_coordinates(program)
    return Program(lowered(expressions), variables)


class PlausibleRelaxation:
    """The relaxation of the auxiliary problem, as solvers need it.

    Args:
        plausible: The plausible set.

    Raises:
        NoRelaxation: A part of the problem cannot be bounded.

    Attributes:
        lower: (D,), the design variables, in search coordinates, and then the outputs that we
            branch on.
        upper: (D,).
        constraints: K.
        groups: The design variables, and each branched output.
        whole: (D,), which of these must be whole numbers; None if none must.
        beliefs: The beliefs, as functions of what the lowered program calls them with.
    """

    def __init__(self, plausible: PlausibleSet) -> None:
        self.plausible = plausible
        noisy = [box.name for box in plausible.program.boxes if box.process_noise]
        if noisy:
            raise NoRelaxation(
                f"black box {noisy[0]!r} has process noise, and proofs do not cover averages"
            )
        self.program = _lowered(plausible.program)
        reasons = obstacles(self.program) + [
            f"black box {name!r} has {belief.unbounded}"
            for name, belief in plausible.beliefs.items()
            if belief.unbounded and name not in plausible.intervals
        ]
        if reasons:
            raise NoRelaxation(", ".join(reasons))
        # A search may have chosen another device than the one where the beliefs were learned.
        device = torch.get_default_device()
        self.beta = {name: beta.to(device) for name, beta in plausible.beta.items()}
        boxes = plausible.program.boxes
        logarithmic = {box.name: learned_in_logarithm(plausible.program, box) for box in boxes}
        self.beliefs = {
            name: plausible.beliefs[name].of_logarithms(flags).on(device)
            for name, flags in logarithmic.items()
        }
        minorants = {n: belief.minorants(self.beta[n]) for n, belief in self.beliefs.items()}
        intervals = {
            name: interval.of_logarithms(logarithmic[name]).on(device)
            for name, interval in plausible.intervals.items()
        }
        self.bands = {
            call.node: ClippedBands(
                call.box, minorants[call.box.name], intervals.get(call.box.name)
            )
            for call in self.program.calls
        }
        n = self.program.size
        branched = np.flatnonzero(branched_outputs(self.program))
        self.column_of_output = np.full(self.program.box_outputs, -1)
        self.column_of_output[branched] = n + np.arange(len(branched))
        self.sources = state_sources(self.program, self.column_of_output)
        self.constraints = sum(
            self.program.nodes[p].expression.size for p in self.program.outputs[1:]
        )
        unbounded = torch.full((1, len(branched)), torch.inf, dtype=torch.float64)
        space = self.program.space
        lower = torch.cat([torch.tensor(space.search_lower).unsqueeze(0), -unbounded], 1)
        upper = torch.cat([torch.tensor(space.search_upper).unsqueeze(0), unbounded], 1)
        # A mean alone has nothing to touch: its bound would be the same.
        wide = max((len(source) for source in self.sources), default=0) >= RELAXATION.bound_twice
        self.bounds_twice = wide and any(bool(beta.any()) for beta in self.beta.values())
        # Tables pay only where the ranges of outputs matter.
        root = PlausibleRegions(self, lower, upper, tabulate=len(branched) > 0)
        self.lower, self.upper = root.lower[0], root.upper[0]
        for node, sides in root.needed_sides().items():
            self.bands[node].restrict(sides)
        self.groups = [list(range(n)), *([n + i] for i in range(len(branched)))]
        whole, _ = whole_entries(self.program, len(self.lower))
        self.whole = None if whole is None else whole.to(device)

    def over(self, lower: Tensor, upper: Tensor) -> PlausibleRegions:
        """Examine a batch of regions, (regions, D) twice."""
        return PlausibleRegions(self, lower, upper)

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Points (x, eta) of the plausible set in regions, to search from.

        Design points in the middle of the bands, at their ends, and at the ends that are best for
        the objective; the centre of each region, outputs included; and the best eta at the centre.
        Entries that must be whole are. They lie on the processor, where searches run.
        """
        if lower.is_cuda or torch.get_default_device().type != "cpu":
            ends = -self.over(lower, upper).objective_signs().cpu()
            with torch.device("cpu"):
                return self._starts(lower.cpu(), upper.cpu(), ends)
        return self._starts(lower, upper, None)

    def _starts(self, lower: Tensor, upper: Tensor, ends: Tensor | None) -> Tensor:
        n = self.program.size
        low, high, center = lower[:, :n], upper[:, :n], (lower + upper) / 2
        if self.whole is not None:
            center = torch.where(self.whole.to(center.device), center.round(), center)
        points = [spread_points(self.plausible, low, high)]
        # Lowering merges equal calls. Then the outputs of both programs do not correspond.
        programs = (self.program, self.plausible.program)
        names, others = ([call.box.name for call in program.calls] for program in programs)
        if names != others:
            return self._rounded(points[0])
        controls = self.plausible.controls
        if ends is None:
            ends = -self.over(lower, upper).objective_signs()
        points.append(at_ends(low, high, controls.closest(ends)))
        branched = self.column_of_output >= 0
        for row, end in zip(center.numpy(), ends, strict=True):
            if branched.any():
                outputs = np.zeros(self.program.box_outputs)
                outputs[branched] = row[self.column_of_output[branched]]
                x = self.plausible.program.space.design(torch.tensor(row[:n]))
                point = self.plausible.locate(x, outputs)
                if controls.is_plain:
                    point[n:] = torch.where(torch.tensor(branched), point[n:], end)
                points.append(point.unsqueeze(0))
            points.append(linear_optimum(self.plausible, torch.tensor(row[:n])))
        return self._rounded(torch.cat(points))

    def _rounded(self, points: Tensor) -> Tensor:
        """Points (x, eta) whose design points have whole numbers where they must."""
        return rounded(self.plausible.search_problem(), points)


# --- separable quadratics -------------------------------------------------------------------------
# Sums of separable quadratics in the branching variables, and their minima over regions.


@dataclass(frozen=True, slots=True)
class Minimum:
    """The least values of weighted sums over regions.

    Attributes:
        values: (regions, weights).
        minimizer: (regions, D), of the row of weights with the best bound on the objective.
        slack: (regions, weights), what was subtracted for rounding.
        weights: By the node of each call, the weights of its outputs in that row, (regions, k).
    """

    values: Tensor
    minimizer: Tensor
    slack: Tensor
    weights: dict[int, Tensor]


class SeparableSum:
    """A separable quadratic in the branching variables for each region and each row of weights.

    The sum has a constant, slopes and curvatures about the centre of each region, the slack that
    its parts have subtracted for rounding, and the total size of all terms, which bounds the
    rounding of the additions themselves.
    """

    def __init__(self, center: Tensor, half: Tensor, weights: int) -> None:
        regions, self._dimensions = center.shape
        self._center, self._half = center.unsqueeze(1), half.unsqueeze(1)
        self._constant = center.new_zeros(regions, weights)
        self._slope = center.new_zeros(regions, weights, self._dimensions)
        self._curvature = self._slope
        self._slack = self._constant
        self._size = self._constant

    def add_constants(self, terms: Tensor) -> None:
        """Add terms of shape (regions or 1, weights, ...)."""
        self._constant = self._constant + terms.sum(-1)
        self._size = self._size + terms.detach().abs().sum(-1)

    def add_variables(self, columns: list[int], weight: Tensor) -> None:
        """Add branching variables times weights, (regions or 1, weights, columns)."""
        self.add_constants(weight * self._center[:, :, columns])
        self.add_quadratic(columns, weight, None)

    def add_quadratic(self, columns: list[int], slope: Tensor, curvature: Tensor | None) -> None:
        """Add slopes and curvatures of some branching variables; a column may occur twice."""
        picked = slope.new_zeros(len(columns), self._dimensions)
        picked[range(len(columns)), columns] = 1.0
        half = self._half[:, :, columns]
        self._slope = self._slope + slope @ picked
        self._size = self._size + (slope.detach().abs() * half).sum(-1)
        if curvature is not None:
            self._curvature = self._curvature + curvature @ picked
            self._size = self._size + (curvature.detach().abs() * half.square()).sum(-1)

    def add_bands(self, bands: Quadratics, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Add the quadratics below l, or below -u where the weight of an output is negative.

        Args:
            bands: Quadratics, (2, k, regions).
            weight: (regions or 1, weights, k).

        Returns:
            Slopes and curvatures of the states, (regions, weights, d).
        """
        rising, falling = split_signs(weight)
        both = torch.stack([rising, -falling]).permute(0, 3, 1, 2)

        def combine(part: Tensor) -> Tensor:  # (2, k, regions, ...) to (regions, weights, ...)
            coefficient = both.reshape(*both.shape, *(1,) * (part.ndim - 3))
            return times(coefficient, part.unsqueeze(3)).sum((0, 1))

        self._constant = self._constant + combine(bands.constant)
        with torch.no_grad():
            self._size = self._size + combine(bands.constant.abs())
            self._slack = self._slack + combine(bands.slack)
        return combine(bands.slope), combine(bands.curvature)

    def through(self, clip: Enclosure, weight: Tensor) -> Tensor:
        """Turn weights of clipped states into weights of the states, (regions, weights, d)."""
        rising, falling = split_signs(weight)
        low, high = clip.lower, clip.upper
        self.add_constants(
            rising * low.constant.unsqueeze(1) + falling * high.constant.unsqueeze(1)
        )
        return rising * low.slopes[0].unsqueeze(1) + falling * high.slopes[0].unsqueeze(1)

    def add_affine(self, affine: Affine) -> None:
        """Add an affine function of the design variables."""
        n = affine.slopes.shape[-1]
        self._constant = self._constant + affine.constant - affine.error
        self._slack = self._slack + affine.error
        self._size = self._size + affine.constant.detach().abs()
        self.add_variables(list(range(n)), affine.slopes)

    def minimum(self, weights: Tensor, passed: dict[int, Tensor]) -> Minimum:
        """The minimum over each region, minus the rounding error."""
        rounding = 16 * EPSILON * self._size
        slack = (self._slack + rounding).detach()
        # The slack of the parts is subtracted already.
        least = least_of(self._slope, self._curvature, self._half).sum(-1)
        values = self._constant + least - rounding
        values = torch.where(values.isnan(), -torch.inf, values)
        objective = torch.where(weights[:, 0] > 0, values.detach(), -torch.inf)
        pick = (torch.arange(len(values)), objective.argmax(1))
        step = _argmin(
            self._slope.detach()[pick], self._curvature.detach()[pick], self._half.squeeze(1)
        )
        of_calls = {node: w.expand(len(values), -1, -1)[pick] for node, w in passed.items()}
        return Minimum(values, self._center.squeeze(1) + step, slack, of_calls)


def _argmin(slope: Tensor, curvature: Tensor, half: Tensor) -> Tensor:
    """Where slope d + curvature d^2 / 2 is least in |d| <= half."""
    inside = slope.abs() < curvature * half
    vertex = -slope / torch.where(inside, curvature, 1.0)
    return torch.where(inside, vertex, -torch.sign(slope) * half)


# --- regions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegionConstants:
    """The constants of bounds over regions.

    Attributes:
        steps: Steps from the centre to the minimizer of the bound; bands are bounded again at the
            lowest. Halved and doubled: no decision of 1 run changed (benchmarks.constants).
        own: An output is split if its range is at most this many times as wide as its band. Halved
            and doubled: no decision of 10 runs changed (benchmarks.constants).
        narrow: An output is split if its relative width is more than this part of that of the
            variables. Halved and doubled: no decision of 4 runs changed (benchmarks.constants).
    """

    steps: tuple[float, ...] = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
    own: float = 2.0
    narrow: float = 0.01


REGIONS = RegionConstants()


class PlausibleRegions:
    """Regions of design variables and branched outputs, contracted to what the bands allow.

    Args:
        relaxation: The relaxation of the auxiliary problem.
        lower: (regions, D).
        upper: (regions, D).
        tabulate: Whether to tabulate each band of the relaxation over its states on the way. Calls
            come in topological order: the tabulated range of one bounds the states of the next.
    """

    def __init__(
        self, relaxation: PlausibleRelaxation, lower: Tensor, upper: Tensor, tabulate: bool = False
    ) -> None:
        self._relaxation = relaxation
        self._tabulate = tabulate
        self.lower, self.upper = lower.clone(), upper.clone()
        self.empty = torch.zeros(len(lower), dtype=torch.bool, device=lower.device)
        self.slack = 0.0
        self._freedom = torch.zeros_like(lower)
        self._states: list[Interval] = []
        self._clips: list[tuple[Enclosure, ...]] = []
        self._bands: list[Quadratics] = []
        n = relaxation.program.size
        self._propagation = Propagation(
            relaxation.program, Interval(lower[:, :n], upper[:, :n]), self._range_of_call
        )
        # The regions do not change after this.
        self._center, self._half = center_and_half(Interval(self.lower, self.upper))

    def _range_of_call(self, call: BoxCall, states: Interval) -> Interval:
        """The range of a band over states, contracted to the region for branched outputs."""
        band = self._relaxation.bands[call.node]
        clips, states = band.accepted(states)
        if self._tabulate:
            band.tabulate(states)
        center, half = center_and_half(states)
        quadratics = band.quadratics(states, center)
        self._note_freedom(call, center)
        self._states.append(states)
        self._clips.append(clips)
        self._bands.append(quadratics)
        least = quadratics.least(half)  # (2, k, regions)
        lower, upper = least[0].T, -least[1].T
        # The ends of a band may coincide up to rounding, in the wrong order.
        lower, upper = torch.minimum(lower, upper), torch.maximum(lower, upper)
        for output in range(call.columns.start, call.columns.stop):
            column = self._relaxation.column_of_output[output]
            if column < 0:
                continue
            j = output - call.columns.start
            low = torch.maximum(self.lower[:, column], lower[:, j])
            high = torch.minimum(self.upper[:, column], upper[:, j])
            self.empty |= low > high
            # An empty range continues as a nonempty one, so that everything stays finite.
            low, high = torch.minimum(low, high), torch.maximum(low, high)
            self.lower[:, column], self.upper[:, column] = low, high
            lower[:, j], upper[:, j] = low, high
        return Interval(lower, upper)

    def _note_freedom(self, call: BoxCall, center: Tensor) -> None:
        """Note the width of a band at the centre: how far an output can vary at a fixed state."""
        columns = self._relaxation.column_of_output[call.columns]
        if (columns < 0).all():
            return
        belief = self._relaxation.beliefs[call.box.name]
        safe = torch.where(center.isfinite(), center, 0.0)
        reach = 2 * self._relaxation.beta[call.box.name] * belief.predict(safe)[1]
        for j in np.flatnonzero(columns >= 0):
            self._freedom[:, columns[j]] = reach[:, j]

    @property
    def looser(self) -> Tensor:
        """The group to split: an output whose range is wide even where its state is fixed, or x."""
        width = self.upper - self.lower
        n = self._relaxation.program.size
        share = width / (self._relaxation.upper - self._relaxation.lower).clamp_min(1e-300)
        own = (width[:, n:] <= REGIONS.own * self._freedom[:, n:]) * share[:, n:]
        if own.shape[1] == 0:
            return torch.zeros(len(width), dtype=torch.long)
        best, which = own.max(1)
        return torch.where(best > REGIONS.narrow * share[:, :n].amax(1), 1 + which, 0)

    def bound(self, weights: Tensor, target: float = torch.inf) -> Tensor:
        """Lower bounds of weighted sums, (weights, 1 + K) to (regions, weights).

        Args:
            weights: (weights, 1 + K).
            target: Regions whose objective is shown to be at least this need no tighter bound.
        """
        choices = self._by_bands()
        found = [self._minimize(weights, self._bands, by_bands) for by_bands in choices]
        values = torch.stack([self._propagation.least(weights), *(m.values for m in found)]).amax(0)
        if self._relaxation.bounds_twice:
            rows = (~self._closed(values, weights, target)).nonzero().flatten()
            if len(rows):
                touched = [self._touched(minimum, rows) for minimum in found]
                again = [
                    self._minimize(weights, b, c) for c, b in zip(choices, touched, strict=True)
                ]
                found += again
                values = torch.stack([values, *(minimum.values for minimum in again)]).amax(0)
        self.slack = max(self.slack, *(float(minimum.slack.max()) for minimum in found))
        return values

    def _closed(self, values: Tensor, weights: Tensor, target: float) -> Tensor:
        """Which regions cannot contain a better point, by the bounds so far; (regions,).

        Without a target, every region is bounded as tightly as can be: certificates tell by how
        much constraints are violated.
        """
        if target == torch.inf:
            return torch.zeros_like(self.empty)
        dual = weights[:, 0] > 0
        enough = torch.where(dual, values >= target, values > 0).any(1)
        return self.empty | enough

    def needed_sides(self) -> dict[int, slice]:
        """By the node of each call, the one end of its band that any weights need.

        Empty unless everything known is affine: then the weights of outputs are the same over all
        regions, and often of one sign.
        """
        lowest: dict[int, float] = {}
        highest: dict[int, float] = {}

        def record_weights(call: BoxCall, weight: Tensor) -> None:
            lowest[call.node] = min(lowest.get(call.node, 0.0), float(weight.min()))
            highest[call.node] = max(highest.get(call.node, 0.0), float(weight.max()))

        if not self._propagation.is_affine or (self._relaxation.column_of_output >= 0).any():
            return {}
        outputs = 1 + self._relaxation.constraints
        self._propagation.below(torch.eye(outputs, dtype=torch.float64), record_weights)
        sides = {node: slice(0, 1) for node in lowest if lowest[node] == 0}
        return sides | {node: slice(1, 2) for node in highest if highest[node] == 0}

    def dual(self, weights: Tensor) -> Tensor:
        """The same, less tight, but concave in the weights as long as one choice is the better one.

        Good weights are learned from its slopes; a wrong slope costs only time.
        """
        values = [self._minimize(weights, self._bands, c).values for c in self._by_bands()]
        return max(values, key=lambda v: float(v.detach().max()))

    def objective_signs(self) -> Tensor:
        """The sign of the objective's weight of every output, (regions, outputs)."""
        signs = self.lower.new_zeros(len(self.lower), self._relaxation.program.box_outputs)

        def record_signs(call: BoxCall, weight: Tensor) -> None:
            signs[:, call.columns] = weight[:, 0].sign()

        weights = self.lower.new_zeros(1, 1 + self._relaxation.constraints)
        weights[0, 0] = 1.0
        self._propagation.below(weights, record_signs)
        return signs

    def _by_bands(self) -> tuple[bool, ...]:
        """Whether to bound branched outputs by their bands, or by their ranges: try both."""
        return (False, True) if (self._relaxation.column_of_output >= 0).any() else (True,)

    def _touched(self, minimum: Minimum, rows: Tensor) -> list[Quadratics]:
        """The bands bounded again in some regions, tightest near the minimizers of a first bound.

        Between the centre and the minimizer of the bound, the point where the bands themselves are
        lowest is chosen, because the bound may be lowest only where it is loose.
        """
        relaxation = self._relaxation
        bands = []
        for i, call in enumerate(relaxation.program.calls):
            weight = minimum.weights.get(call.node)
            if weight is None:  # the band is not needed
                bands.append(self._bands[i])
                continue
            states = Interval(self._states[i].lower[rows], self._states[i].upper[rows])
            center, _ = center_and_half(states)
            source, weight = torch.tensor(relaxation.sources[i]), weight[rows]
            minimizer = minimum.minimizer[rows][:, source.clamp_min(0)]
            target = torch.where(source >= 0, minimizer, center)
            steps = torch.tensor(REGIONS.steps, dtype=center.dtype).reshape(-1, 1, 1)
            points = center + steps * (target - center)
            belief = relaxation.beliefs[call.box.name]
            mean, deviation = belief.predict(points.flatten(0, 1))
            reach = relaxation.beta[call.box.name] * deviation
            mean, reach = (v.unflatten(0, points.shape[:2]) for v in (mean, reach))
            ends = weight * mean - weight.abs() * reach
            best = ends.sum(-1).argmin(0)
            touch = points[best, torch.arange(len(center))]
            again = relaxation.bands[call.node].quadratics(states, touch)
            bands.append(self._bands[i].replaced(rows, again))
        return bands

    def _minimize(self, weights: Tensor, bands: list[Quadratics], by_bands: bool) -> Minimum:
        """The minimum of a quadratic below weighted sums.

        Args:
            weights: (weights, 1 + K).
            bands: Quadratics below the bands of each call.
            by_bands: Whether to bound branched outputs by their bands too. Both choices are valid:
                the range of an output may be narrower or wider than its band.
        """
        relaxation = self._relaxation
        total = SeparableSum(self._center, self._half, len(weights))
        index = {call.node: i for i, call in enumerate(relaxation.program.calls)}
        passed: dict[int, Tensor] = {}

        def bound_call(call: BoxCall, weight: Tensor) -> Tensor | None:
            i = index[call.node]
            passed[call.node] = weight.detach()
            columns = relaxation.column_of_output[call.columns]
            own = np.flatnonzero((columns >= 0) & (not by_bands)).tolist()
            if own:
                total.add_variables(columns[own].tolist(), weight[:, :, own])
                if len(own) == len(columns):
                    return None
                rest = torch.ones(len(columns), dtype=weight.dtype)
                rest[own] = 0.0
                weight = weight * rest
            slope, curvature = total.add_bands(bands[i], weight)
            source = relaxation.sources[i]
            direct = np.flatnonzero(source >= 0).tolist()
            if direct:
                total.add_quadratic(
                    source[direct].tolist(), slope[:, :, direct], curvature[:, :, direct]
                )
            if len(direct) == len(source):
                return None
            others = torch.tensor(source < 0)
            slope, curvature = torch.where(others, slope, 0.0), torch.where(others, curvature, 0.0)
            center, half = center_and_half(self._states[i])
            total.add_constants(0.5 * curvature.clamp_max(0) * half.square().unsqueeze(1))
            total.add_constants(-slope * center.unsqueeze(1))
            for clip in self._clips[i]:
                slope = total.through(clip, slope)
            return slope

        total.add_affine(self._propagation.below(weights, bound_call))
        return total.minimum(weights, passed)
