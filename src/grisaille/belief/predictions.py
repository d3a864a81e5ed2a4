"""Predictions of any expression of a problem: values, intervals and multipliers of constraints.

The interval of an expression at a design point x holds the values that it takes over the
plausible set at x, that is over all eta in [-1, 1]: the two ends are the least and the greatest
value that a search over eta finds. Chains are searched as a whole, so that intermediate values
are shared.

Intervals come from a search, not from a proof: a proof per point and expression would take seconds,
and users ask for tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.knowledge import WIDTH, Knowledge
from grisaille.belief.learning import accepted, is_believed_exact
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.rules import Beta, learned_by, rule_of
from grisaille.errors import ModelError
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program, split_outputs
from grisaille.language.unknowns import completed
from grisaille.records import History, Situation

# --- value ranges ---------------------------------------------------------------------------------
# The least and the greatest values of many functions over the cube [-1, 1]^m, all at once.


@dataclass(frozen=True, slots=True)
class PredictionConstants:
    """The constants of predictions.

    Attributes:
        few: Coordinates up to which all corners are tried. Halved and doubled: no prediction of 3
            runs changed (benchmarks.constants).
        inside: Points inside that are tried, too. Halved and doubled: no prediction of 3 runs
            changed (benchmarks.constants).
        starts: Local searches for each end. Halved and doubled: no prediction of 3 runs changed
            (benchmarks.constants).
        steps: Their steps. Halved and doubled: no prediction of 3 runs changed
            (benchmarks.constants).
        smallest_step: The step at which they end. Halved and doubled: no prediction of 3 runs
            changed (benchmarks.constants).
        first_step: Their first step. Halved and doubled: no prediction of 3 runs changed
            (benchmarks.constants).
        longest_step: Their longest step, in lengths of the cube. Halved and doubled: no prediction
            of 1 run changed (benchmarks.constants).
        chunk: Points that are predicted at once. Halved and doubled: no prediction of 3 runs
            changed (benchmarks.constants).
        rounding: States this close are one state: batches of different sizes round differently.
            Halved and doubled: no prediction of 3 runs changed (benchmarks.constants).
        rows: Rows of a table that are predicted at once. Measured: after 150 answers of six
            outputs, 20,000 rows took 460 MB; parts of 1,000 rows take 60 MB, and no more time.
        near: A constraint is active if moving each variable by this part of its range could use up
            its room. A choice.
        at_bound: A variable is at a bound within this part of its range. A choice.
    """

    few: int = 6
    inside: int = 16
    starts: int = 2
    steps: int = 40
    smallest_step: float = 1e-4
    first_step: float = 0.5
    longest_step: float = 2.0
    chunk: int = 2048
    rounding: float = 1e-12
    rows: int = 1000
    near: float = 0.01
    at_bound: float = 1e-6


PREDICTIONS = PredictionConstants()


Family = Callable[[Tensor, Tensor], Tensor]
"""`(members (rows,), points (rows, m)) -> values (rows, P)`: P functions of each member."""


def value_ranges(family: Family, members: int, dimensions: int) -> tuple[Tensor, Tensor]:
    """The least and the greatest value of every function of every member of a family.

    Corners and points inside are tried first; local searches go on from the best of them. The range
    is one from inside: a search may miss something, and proves nothing. Values that are no numbers
    are left out; a function that has none has the range NaN.

    Args:
        family: The functions, differentiable where smooth.
        members: How many members there are.
        dimensions: m.

    Returns:
        (members, P) twice.
    """
    points = _screening_points(dimensions)
    rows = torch.arange(members).repeat_interleave(len(points))
    tried = _in_chunks(family, rows, points.repeat(members, 1))
    values = tried.reshape(members, len(points), -1).permute(0, 2, 1)  # (members, P, points)
    ends = []
    for sign in (-1.0, 1.0):
        best, found = _best(sign * values, min(PREDICTIONS.starts, len(points)))
        moves = (values.nan_to_num(0.0).amax(2) > values.nan_to_num(0.0).amin(2)).unsqueeze(2)
        wanted = (moves & torch.isfinite(best)).nonzero()  # (searches, 3): member, function, start
        if len(wanted):
            starts = points[found[tuple(wanted.T)]]
            _climb(family, wanted, starts, sign, best)
        end = best.amax(2)
        ends.append(sign * torch.where(end == -torch.inf, torch.nan, end))
    return ends[0], ends[1]


def _screening_points(dimensions: int) -> Tensor:
    """The middle, the ends of the axes, corners, and points inside: (points, m)."""
    if not dimensions:
        return torch.zeros(1, 0, dtype=torch.float64)
    axes = torch.eye(dimensions, dtype=torch.float64)
    if dimensions <= PREDICTIONS.few:
        bits = torch.arange(2**dimensions).unsqueeze(1) >> torch.arange(dimensions)
        corners = 2.0 * (bits & 1).to(axes) - 1
    else:
        generator = torch.Generator().manual_seed(0)
        corners = (
            2.0 * torch.randint(2, (2**PREDICTIONS.few, dimensions), generator=generator).to(axes)
            - 1
        )
    engine = torch.quasirandom.SobolEngine(dimensions, scramble=True, seed=0)
    inside = 2 * engine.draw(PREDICTIONS.inside, dtype=torch.float64) - 1
    return torch.cat([torch.zeros_like(axes[:1]), axes, -axes, corners, inside])


def _best(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The greatest values along the last axis, and where they are; NaN counts as the least."""
    known = torch.where(values.isnan(), -torch.inf, values)
    best, found = known.topk(count, dim=-1)
    return best, found


def _climb(family: Family, wanted: Tensor, starts: Tensor, sign: float, best: Tensor) -> None:
    """Local searches for greater values of `sign` times each function; `best` is improved.

    Each step tries two directions: the gradient, which settles inside the cube, and its sign, which
    reaches corners at once.

    Args:
        family: The functions.
        wanted: (searches, 3), member, function and place in `best` of each search.
        starts: (searches, m).
        sign: 1 for the greatest values, -1 for the least.
        best: (members, P, starts), `sign` times the values so far.
    """
    member, column, _ = wanted.T
    place = starts.clone()
    value = best[tuple(wanted.T)].clone()
    step = torch.full_like(value, PREDICTIONS.first_step)
    slope = _slopes(family, member, column, place, sign)
    active = torch.arange(len(wanted))
    for _ in range(PREDICTIONS.steps):
        # A search ends where no step leads anywhere: at a corner, or where the slope is 0.
        ahead = _moved(place[active], slope[active].sign())
        moving = (ahead != place[active]).any(1) & (step[active] > PREDICTIONS.smallest_step)
        active = active[moving]
        if not len(active):
            break
        a = active
        steepest = slope[a] / slope[a].abs().amax(1, keepdim=True)
        length = step[a].unsqueeze(1)
        tries = [_moved(place[a], length * way) for way in (slope[a].sign(), steepest)]
        values = [_own(family, member[a], column[a], there, sign) for there in tries]
        second = values[1] > values[0]
        there = torch.where(second.unsqueeze(1), tries[1], tries[0])
        reached = torch.where(second, values[1], values[0])
        gained = reached > value[a]
        step[a] = torch.where(
            gained, (2 * step[a]).clamp_max(PREDICTIONS.longest_step), step[a] / 4
        )
        moved = a[gained]
        place[moved], value[moved] = there[gained], reached[gained]
        if len(moved):
            slope[moved] = _slopes(family, member[moved], column[moved], place[moved], sign)
    best[tuple(wanted.T)] = value


def _moved(place: Tensor, way: Tensor) -> Tensor:
    return (place + way).clamp(-1, 1)


def _own(family: Family, member: Tensor, column: Tensor, place: Tensor, sign: float) -> Tensor:
    """`sign` times the value of each search's own function; minus infinity if it has none."""
    values = _in_chunks(family, member, place).gather(1, column.unsqueeze(1)).squeeze(1)
    return torch.nan_to_num(sign * values, nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf)


def _slopes(family: Family, member: Tensor, column: Tensor, place: Tensor, sign: float) -> Tensor:
    """The gradient of each search's own function, times `sign`; 0 where it has none."""
    found = []
    for rows in torch.arange(len(place)).split(PREDICTIONS.chunk):
        points = place[rows].clone().requires_grad_(True)
        with torch.enable_grad():
            own = family(member[rows], points).gather(1, column[rows].unsqueeze(1)).sum()
            slope = torch.zeros_like(points)
            if own.requires_grad:
                (slope,) = torch.autograd.grad(own, points, materialize_grads=True)
        found.append(sign * torch.nan_to_num(slope.detach(), nan=0.0, posinf=1e8, neginf=-1e8))
    return torch.cat(found)


def _in_chunks(family: Family, members: Tensor, points: Tensor) -> Tensor:
    with torch.no_grad():
        parts = zip(members.split(PREDICTIONS.chunk), points.split(PREDICTIONS.chunk), strict=True)
        return torch.cat([family(*part) for part in parts])


# --- prediction -----------------------------------------------------------------------------------
# Predictions of any expression of a problem from the bands: its value at a point, an interval.


@dataclass(frozen=True, slots=True)
class Prediction:
    """Values of some expressions at some design points, all entries side by side.

    Attributes:
        mean: (points, entries), where every black box answers with the middle of its band.
        lower: (points, entries), the least value that the bands allow.
        upper: (points, entries), the greatest.
    """

    mean: Array
    lower: Array
    upper: Array


class Predictor:
    """Predicts expressions of a problem from what was observed.

    Args:
        problem: The problem.
        history: What its black boxes answered.
        beta: Half-width of the bands in posterior standard deviations, or the rule that gives it.
        audited: True for bands that hold at a point with the confidence of the rule.
    """

    def __init__(
        self, problem: Problem, history: History, beta: Beta = WIDTH, *, audited: bool = False
    ) -> None:
        _check_answers(problem, history, beta)
        self.problem = problem
        self.history = history
        knowledge = Knowledge(Situation(problem, history, seed=0), beta)
        self.middle = knowledge.answered
        self.bands = knowledge.pointwise if audited else knowledge.answered
        self._answers = {
            box.name: history.data(box.name, box.inputs, box.outputs)
            for box in problem.boxes
            if not box.process_noise and is_believed_exact(box, self.middle.beliefs[box.name])
        }

    def predict(self, expressions: Sequence[Expression], x: Array) -> Prediction:
        """Predict expressions at design points (points, n).

        Raises:
            ModelError: An expression reads a variable or a black box that the problem does not
                have.
        """
        program, design = self.program(expressions), torch.tensor(x)
        parts = zip(
            *(self._at(program, part) for part in design.split(PREDICTIONS.rows)), strict=True
        )
        return Prediction(*(torch.cat(part).numpy() for part in parts))

    def _at(self, program: Program, design: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The mean and both ends of a program's outputs at design points, (points, entries)."""
        middle, bands = (self._over(program, these) for these in (self.middle, self.bands))
        controls = len(bands.lower) - program.size

        def values(plausible: PlausibleSet, design: Tensor, eta: Tensor) -> Tensor:
            outputs = plausible.run(design, eta, partial(self._band, plausible))
            return torch.cat([output.reshape(len(design), -1) for output in outputs], 1)

        with torch.no_grad():
            mean = values(middle, design, design.new_zeros(len(design), controls))
        if _is_one_curve(program):  # its interval is its band; a thousand searches would be long
            lower, upper = self._ends_of_curve(program, bands, design)
        else:
            lower, upper = value_ranges(
                lambda rows, eta: values(bands, design[rows], eta), len(design), controls
            )
        # The middle is one of the plausible values, and rounding must not leave it outside.
        return mean, torch.minimum(lower, mean), torch.maximum(upper, mean)

    def program(self, expressions: Sequence[Expression]) -> Program:
        """Expressions over the problem's variables and black boxes, compiled."""
        program = Program(list(expressions), self.problem.variables)
        for box in program.boxes:
            if box not in self.problem.boxes:
                known = ", ".join(repr(known.name) for known in self.problem.boxes) or "none"
                raise ModelError(
                    f"the expression reads black box {box.name!r}, which is not part of this "
                    f"problem, so that nothing was learned of it (the problem has {known}): use "
                    "the problem's own black boxes"
                )
        return program

    def closed(self, x: Array) -> Array:
        """Return design points (points, n), with predictions in place of NaN."""
        return completed(self.problem, x, self.middle_of)

    def middle_of(self, call: BoxCall, states: Tensor) -> Tensor:
        """The middle of a call's band at states (batch, inputs)."""
        lower, upper = self.middle.band(call, states)
        return (lower + upper) / 2

    def _over(self, program: Program, plausible: PlausibleSet) -> PlausibleSet:
        """The same bands for another program."""
        return PlausibleSet(program, plausible.beliefs, plausible.beta, plausible.intervals)

    def _band(
        self, plausible: PlausibleSet, call: BoxCall, states: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The band of a call; where an exact answer is known, that answer."""
        lower, upper = plausible.band(call, states)
        if call.box.name not in self._answers:
            return lower, upper
        inputs, outputs = map(torch.tensor, self._answers[call.box.name])
        size = inputs.abs().amax(0) if len(inputs) else inputs.new_zeros(inputs.shape[1])
        gaps = (accepted(call.box, states).unsqueeze(1) - inputs).abs()
        same = (gaps <= PREDICTIONS.rounding * size).all(2).unsqueeze(2)  # (batch, answers, 1)
        # Answers that contradict each other leave the interval between them.
        least, most = torch.full_like(lower, torch.inf), torch.full_like(upper, -torch.inf)
        for answer in same.any(0).squeeze(1).nonzero().squeeze(1).tolist():
            here = same[:, answer]
            least = torch.where(here, torch.minimum(least, outputs[answer]), least)
            most = torch.where(here, torch.maximum(most, outputs[answer]), most)
        known = same.any(1)
        return torch.where(known, least, lower), torch.where(known, most, upper)

    def _ends_of_curve(
        self, program: Program, bands: PlausibleSet, design: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The ends of the band of a program's only call, (points, k) each."""
        ends: list[Tensor] = []

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            ends.extend(self._band(bands, call, states))
            return ends[0]

        with torch.no_grad():
            program.run(design, resolve)
        return ends[0], ends[1]


def _is_one_curve(program: Program) -> bool:
    """Whether a program is a single call of a black box with a shared kernel, and nothing else."""
    if not len(program.outputs) == len(program.calls) == 1:
        return False
    (call,) = program.calls
    return call.node == program.outputs[0] and call.box.shared_kernel


def _check_answers(problem: Problem, history: History, beta: Beta) -> None:
    """Raise ModelError if there is nothing to predict from."""
    if problem.causal is not None:
        raise ModelError(
            "predictions are for problems over design variables, and this one is over "
            "interventions: model(name) shows what was learned of a mechanism"
        )
    rule = rule_of(beta)  # given kernels predict before any answer
    is_bounded = rule._is_bounded(problem.program, history)
    check_answered(learned_by(rule, problem.boxes) if is_bounded else problem.boxes, history)


def check_answered(boxes: Iterable[BlackBox], history: History) -> None:
    """Raise ModelError if a black box has no answer to predict from."""
    answered = history.counts()
    missing = [repr(box.name) for box in boxes if box.name not in answered]
    if missing:
        raise ModelError(
            f"there is nothing to predict from yet: black box {', '.join(missing)} has no answer; "
            "evaluate a trial first, or pass data to observe"
        )


# --- lagrange multipliers -------------------------------------------------------------------------
# The worth of relaxing a constraint: Lagrange multipliers of the predicted problem at a point.
#
# At a local optimum grad f + sum_k lambda_k grad g_k + bounds = 0 with lambda_k >= 0, where
# only active constraints and bounds count. Relaxing g_k <= 0 to g_k <= d then lowers the
# minimum by lambda_k d, to first order.


class NoSlope(Exception):  # noqa: N818 - an answer, not an error
    """A problem has no derivatives at a point; the message says why."""


@dataclass(frozen=True, slots=True)
class Slopes:
    """Derivatives of objective and constraints with respect to x, in ranges of the variables.

    Attributes:
        objective: (n,), minimized.
        constraints: (K, n).
    """

    objective: Array
    constraints: Array

    def near(self, slack: Array) -> NDArray[np.bool_]:
        """Which constraints a move of 1 % of the variables' ranges could violate, (K,)."""
        return np.asarray(slack <= PREDICTIONS.near * np.abs(self.constraints).sum(1))

    def beyond(self, slack: Array) -> NDArray[np.bool_]:
        """Which constraints are violated by more than a search rounds, (K,)."""
        return np.asarray(slack < -PREDICTIONS.at_bound * np.abs(self.constraints).sum(1))


def slopes_at(predictor: Predictor, x: Array) -> Slopes:
    """Derivatives of the predicted problem at a design point, flat.

    Raises:
        NoSlope: There are none.
    """
    program = predictor.problem.program
    if program.process_noise:
        raise NoSlope("expected values over disturbances are not differentiated")
    if not program.continuous:
        raise NoSlope("a formula of the problem jumps, so it has no slope")

    def resolve(call: BoxCall, states: Tensor) -> Tensor:
        answer = predictor.middle_of(call, states)
        if call.box.inputs and states.requires_grad and not answer.requires_grad:
            raise NoSlope(f"the model of black box {call.box.name!r} gives no derivatives")
        return answer

    width = program.upper - program.lower

    def columns(unit: Tensor) -> Tensor:
        design = torch.tensor(program.lower) + unit * torch.tensor(width)
        objective, constraints = split_outputs(program.run(design.unsqueeze(0), resolve))
        return torch.cat([objective.reshape(1), constraints[0]])

    unit = torch.tensor((x - program.lower) / width)
    jacobian = torch.autograd.functional.jacobian(columns, unit, vectorize=False).numpy()
    if not np.isfinite(jacobian).all():
        raise NoSlope("a slope of the problem is infinite or not a number at this point")
    return Slopes(jacobian[0], jacobian[1:])


def lagrange_multipliers(
    slopes: Slopes, active: NDArray[np.bool_], lower: Array, upper: Array
) -> Array:
    """The multiplier of each constraint, (K,): 0 for those that are not active.

    They solve min |grad f + sum lambda_k grad g_k + bounds| over multipliers of at least 0, which
    is 0 at a local optimum.

    Args:
        slopes: Derivatives at the point.
        active: (K,), which constraints are active.
        lower: (n,), how far each variable is from its lower bound, in ranges.
        upper: (n,), how far from its upper bound.
    """
    n = len(slopes.objective)
    rows = slopes.constraints[active]
    # Multipliers of rows of very different sizes are found together if the rows are scaled.
    sizes = np.linalg.norm(rows, axis=1)
    usable = sizes > 0
    bounds = np.eye(n)
    normals = [
        rows[usable] / sizes[usable, None],
        -bounds[lower <= PREDICTIONS.at_bound],
        bounds[upper <= PREDICTIONS.at_bound],
    ]
    matrix = np.concatenate(normals).T
    found = np.zeros(int(active.sum()))
    if matrix.shape[1]:
        size = np.linalg.norm(slopes.objective) or 1.0
        weights, _ = nnls(matrix, -slopes.objective / size)
        found[usable] = weights[: usable.sum()] * size / sizes[usable]
    multipliers = np.zeros(len(active))
    multipliers[active] = found
    return multipliers
