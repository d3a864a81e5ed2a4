"""Lower bounds of the auxiliary problem over boxes: what makes a global search possible.

Branched on are the design variables and those black-box outputs z that the problem is not affine
in or another black box reads; boxes of z shrink to what the bands allow over the box of x. All
other outputs need no box: wherever their weight is positive the lower end l of their band counts,
where it is negative the upper end u, and quadratics below l and -u (`surrogates.minorants`) take
their place. What is left to minimize over a box is one separable quadratic, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from grisaille.confidence.clipped import ClippedBands, center_and_half
from grisaille.confidence.plausible import PlausibleSet
from grisaille.modeling import atoms
from grisaille.modeling.curvature import curved_outputs
from grisaille.modeling.enclosures import EPSILON, Enclosure, Interval
from grisaille.modeling.expression import Call, Operation, Variable
from grisaille.modeling.lowering import lowered
from grisaille.modeling.program import BoxCall, Program
from grisaille.modeling.propagation import Affine, Propagation, obstacles, split_signs, times
from grisaille.solvers.box import BoxProblem
from grisaille.solvers.relaxation import NoRelaxation
from grisaille.surrogates.minorants import BandMinorants, Quadratics, least_of
from grisaille.surrogates.posterior import Posterior

# Where between the centre of a box and the minimizer of its bound the bands are bounded best, and
# from how many branching variables on the second look this takes is worth its time.
_TOWARDS = 0.6
_STEPS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
_SECOND_LOOK = 3
# Points to search from in each box.
_STARTS = 32
_FEW_OUTPUTS = 4
# An output is split when its interval is at most this many times as wide as its band, and is not
# yet this much narrower than the design box.
_OWN = 2.0
_NARROW = 0.01


def relaxed(plausible: PlausibleSet) -> BoxProblem:
    """The auxiliary problem as a box with inequalities, with bounds for a global search."""
    return replace(plausible.box_problem(), relax=lambda: PlausibleRelaxation(plausible))


def branching_variables(program: Program) -> int:
    """How many variables a global search of the auxiliary problem branches on."""
    return program.size + int(curved_outputs(_lowered(program)).sum())


def _lowered(program: Program) -> Program:
    expressions = [program.nodes[p].expression for p in program.outputs]
    return Program(lowered(expressions), program.variables)


class PlausibleRelaxation:
    """The auxiliary problem as a `solvers` relaxation.

    Args:
        plausible: The plausible set.

    Raises:
        NoRelaxation: Part of the problem is known too little about.

    Attributes:
        lower: (D,), the design variables and then the outputs that are branched on.
        upper: (D,).
        constraints: K.
        groups: The design variables, and each branched output.
    """

    def __init__(self, plausible: PlausibleSet) -> None:
        self.plausible = plausible
        self.program = _lowered(plausible.program)
        reasons = obstacles(self.program) + [
            f"black box {name!r} has a model of its own"
            for name, belief in plausible.beliefs.items()
            if not isinstance(belief, Posterior)
        ]
        if reasons:
            raise NoRelaxation(", ".join(reasons))
        minorants = {
            name: BandMinorants(belief, plausible.beta[name])
            for name, belief in plausible.beliefs.items()
            if isinstance(belief, Posterior)
        }
        self.bands = {
            call.node: ClippedBands(call.box, minorants[call.box.name])
            for call in self.program.calls
        }
        n = self.program.size
        branched = np.flatnonzero(curved_outputs(self.program))
        self.column_of_output = np.full(self.program.box_outputs, -1)
        self.column_of_output[branched] = n + np.arange(len(branched))
        self.sources = [
            _sources(self.program, call, self.column_of_output) for call in self.program.calls
        ]
        self.constraints = sum(
            self.program.nodes[p].expression.size for p in self.program.outputs[1:]
        )
        endless = torch.full((1, len(branched)), torch.inf, dtype=torch.float64)
        lower = torch.cat([torch.tensor(self.program.lower).unsqueeze(0), -endless], 1)
        upper = torch.cat([torch.tensor(self.program.upper).unsqueeze(0), endless], 1)
        self.looks_twice = max((len(source) for source in self.sources), default=0) >= _SECOND_LOOK
        if len(branched):
            # In topological order: the range of one box bounds the states of the next.
            PlausibleBoxes(self, lower, upper, tabulate=True)
        root = PlausibleBoxes(self, lower, upper)
        self.lower, self.upper = root.lower[0], root.upper[0]
        self.groups = [list(range(n)), *([n + i] for i in range(len(branched)))]

    def over(self, lower: Tensor, upper: Tensor) -> PlausibleBoxes:
        """Look at boxes, (boxes, D) twice."""
        return PlausibleBoxes(self, lower, upper)

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Points (x, eta) of the plausible set in boxes, to search from.

        Some design points of each box, its centre among them, in the middle of the bands, at those
        ends that the objective asks for and, of few outputs, at all combinations of ends; and the
        centre of the box, outputs too.
        """
        n = self.program.size
        engine = torch.quasirandom.SobolEngine(n, seed=0)  # its second point is the centre
        unit = engine.draw(1 + _STARTS, dtype=torch.float64)[1:].unsqueeze(1)
        low, high = lower[:, :n], upper[:, :n]
        design = (low + (high - low) * unit).reshape(-1, n)
        middle = design.new_zeros(len(design), self.plausible.program.box_outputs)
        # Lowering merges calls that it finds equal; then nothing is known about which is which.
        same = [c.box for c in self.program.calls] == [c.box for c in self.plausible.program.calls]
        etas = [middle]
        if middle.shape[1] <= _FEW_OUTPUTS:
            corners = torch.tensor(list(product((-1.0, 1.0), repeat=middle.shape[1])))
            etas += [corner.double().expand_as(middle) for corner in corners]
        points = [torch.cat([design, eta], 1) for eta in etas]
        if not same:
            return torch.cat(points)
        ends = -self.over(lower, upper).objective_signs()
        points.append(torch.cat([design, ends.repeat(_STARTS, 1)], 1))
        branched = self.column_of_output >= 0
        if branched.any():
            rows = ((lower + upper) / 2).numpy()
            for row, end in zip(rows, ends, strict=True):
                outputs = np.zeros(self.program.box_outputs)
                outputs[branched] = row[self.column_of_output[branched]]
                point = self.plausible.locate(row[:n], outputs)
                point[n:] = torch.where(torch.tensor(branched), point[n:], end)
                points.append(point.unsqueeze(0))
        middle_of_boxes = torch.cat([((lower + upper) / 2)[:, :n], torch.zeros_like(ends)], 1)
        points += [self._linear_optimum(point) for point in middle_of_boxes]
        return torch.cat(points)

    def _linear_optimum(self, point: Tensor) -> Tensor:
        """The best eta for a design point if everything were affine in eta, as it often is."""
        n, outputs = self.program.size, self.plausible.program.box_outputs
        moved = point.repeat(1 + outputs, 1)
        moved[1:, n:] += torch.eye(outputs, dtype=point.dtype)
        objective, constraints = self.plausible.evaluate(moved)
        slopes = (objective[1:] - objective[0]).numpy()
        rows = (constraints[1:] - constraints[0]).T.numpy()
        best = point.clone().unsqueeze(0)
        if outputs and np.isfinite(slopes).all() and np.isfinite(rows).all():
            answer = linprog(slopes, rows, -constraints[0].numpy(), bounds=(-1, 1), method="highs")
            if answer.x is not None:
                best[0, n:] = torch.tensor(answer.x)
        return best


@dataclass(frozen=True, slots=True)
class _Minimum:
    """Values of weighted sums over boxes, and where the first of them is least."""

    values: Tensor
    minimizer: Tensor
    slack: Tensor
    weights: dict[int, Tensor]


class PlausibleBoxes:
    """Boxes of design variables and branched outputs, contracted to what the bands allow."""

    def __init__(
        self,
        relaxation: PlausibleRelaxation,
        lower: Tensor,
        upper: Tensor,
        tabulate: bool = False,
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
            relaxation.program, Interval(lower[:, :n], upper[:, :n]), self._answer
        )
        # From here on the boxes do not change any more.
        self._center, self._half = center_and_half(Interval(self.lower, self.upper))

    def _answer(self, call: BoxCall, states: Interval) -> Interval:
        """The range of a band over states, and of branched outputs inside their boxes."""
        band = self._relaxation.bands[call.node]
        clips, states = band.accepted(states)
        if self._tabulate:
            band.tabulate(states)
        center, half = center_and_half(states)
        quadratics = band.quadratics(center, half, center)
        self._note_freedom(call, center)
        self._states.append(states)
        self._clips.append(clips)
        self._bands.append(quadratics)
        least = quadratics.least(half)  # (2, k, boxes)
        lower, upper = least[0].T, -least[1].T
        # A band may be pinched to nothing, with its ends a rounding error apart.
        lower, upper = torch.minimum(lower, upper), torch.maximum(lower, upper)
        for output in range(call.columns.start, call.columns.stop):
            column = self._relaxation.column_of_output[output]
            if column < 0:
                continue
            j = output - call.columns.start
            low = torch.maximum(self.lower[:, column], lower[:, j])
            high = torch.minimum(self.upper[:, column], upper[:, j])
            self.empty |= low > high
            # What is empty goes on as a point, so that everything stays finite.
            low, high = torch.minimum(low, high), torch.maximum(low, high)
            self.lower[:, column], self.upper[:, column] = low, high
            lower[:, j], upper[:, j] = low, high
        return Interval(lower, upper)

    def _note_freedom(self, call: BoxCall, center: Tensor) -> None:
        """The width of a band at the centre: what an output is free in whatever x is."""
        columns = self._relaxation.column_of_output[call.columns]
        if (columns < 0).all():
            return
        belief = self._relaxation.plausible.beliefs[call.box.name]
        safe = torch.where(center.isfinite(), center, 0.0)
        reach = 2 * self._relaxation.plausible.beta[call.box.name] * belief.predict(safe)[1]
        for j in np.flatnonzero(columns >= 0):
            self._freedom[:, columns[j]] = reach[:, j]

    @property
    def looser(self) -> Tensor:
        """Which group to split: an output that is wide by itself, not by what it depends on."""
        width = self.upper - self.lower
        n = self._relaxation.program.size
        share = width / (self._relaxation.upper - self._relaxation.lower).clamp_min(1e-300)
        own = (width[:, n:] <= _OWN * self._freedom[:, n:]) * share[:, n:]
        if own.shape[1] == 0:
            return torch.zeros(len(width), dtype=torch.long)
        best, which = own.max(1)
        return torch.where(best > _NARROW * share[:, :n].amax(1), 1 + which, 0)

    def bound(self, weights: Tensor) -> Tensor:
        """Lower bounds of weighted sums, (weights, 1 + K) to (boxes, weights)."""
        ways = self._ways()
        found = [self._minimize(weights, self._bands, banded) for banded in ways]
        if self._relaxation.looks_twice:
            touched = [self._touched(minimum) for minimum in found]
            found += [self._minimize(weights, b, w) for w, b in zip(ways, touched, strict=True)]
        self.slack = max(self.slack, *(float(minimum.slack.max()) for minimum in found))
        values = [minimum.values for minimum in found]
        return torch.stack([self._propagation.least(weights), *values]).amax(0)

    def dual(self, weights: Tensor) -> Tensor:
        """The same, less tight, but concave in the weights: the slopes for learning weights."""
        values = [self._minimize(weights, self._bands, banded).values for banded in self._ways()]
        return max(values, key=lambda v: float(v.detach().max()))

    def objective_signs(self) -> Tensor:
        """The sign of the objective's weight of every output, (boxes, outputs)."""
        signs = self.lower.new_zeros(len(self.lower), self._relaxation.program.box_outputs)

        def replace(call: BoxCall, weight: Tensor) -> None:
            signs[:, call.columns] = weight[:, 0].sign()

        weights = self.lower.new_zeros(1, 1 + self._relaxation.constraints)
        weights[0, 0] = 1.0
        self._propagation.below(weights, replace)
        return signs

    def _ways(self) -> tuple[bool, ...]:
        """Whether branched outputs are bounded by their boxes, by their bands, or by the better."""
        return (False, True) if (self._relaxation.column_of_output >= 0).any() else (True,)

    def _touched(self, minimum: _Minimum) -> list[Quadratics]:
        """The bands once more, bounded best near the minimizers of what they are bounded for.

        On the way from the centre to the minimizer of the bound, the point where the bands
        themselves are lowest is taken: the bound may have been lowest because it was loose.
        """
        relaxation = self._relaxation
        bands = []
        for i, call in enumerate(relaxation.program.calls):
            center, half = center_and_half(self._states[i])
            source = torch.tensor(relaxation.sources[i])
            aim = torch.where(source >= 0, minimum.minimizer[:, source.clamp_min(0)], center)
            weight = minimum.weights.get(call.node)
            touch = center + _TOWARDS * (aim - center)
            if weight is not None:
                steps = torch.tensor(_STEPS, dtype=center.dtype).reshape(-1, 1, 1)
                points = center + steps * (aim - center)
                mean, deviation = relaxation.plausible.beliefs[call.box.name].predict(
                    points.reshape(-1, center.shape[1])
                )
                reach = relaxation.plausible.beta[call.box.name] * deviation
                value = (
                    weight.repeat(len(_STEPS), 1) * mean
                    - weight.abs().repeat(len(_STEPS), 1) * reach
                )
                best = value.sum(1).reshape(len(_STEPS), -1).argmin(0)
                touch = points[best, torch.arange(len(center))]
            bands.append(relaxation.bands[call.node].quadratics(center, half, touch))
        return bands

    def _minimize(self, weights: Tensor, bands: list[Quadratics], banded: bool) -> _Minimum:
        """The least of a quadratic below weighted sums.

        Args:
            weights: (weights, 1 + K).
            bands: Quadratics below the bands of each call.
            banded: Whether branched outputs too are replaced by their bands. Either is valid: the
                box of an output may be narrower than its band or wider.
        """
        relaxation = self._relaxation
        total = _Total(self._center, self._half, len(weights))
        index = {call.node: i for i, call in enumerate(relaxation.program.calls)}

        passed: dict[int, Tensor] = {}

        def replace(call: BoxCall, weight: Tensor) -> Tensor | None:
            i = index[call.node]
            passed[call.node] = weight.detach()
            columns = relaxation.column_of_output[call.columns]
            own = np.flatnonzero((columns >= 0) & (not banded)).tolist()
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

        total.add_affine(self._propagation.below(weights, replace))
        return total.minimum(weights, passed)


class _Total:
    """A separable quadratic in the branching variables for each box and each row of weights.

    Attributes of the sum: constant, slopes and curvatures about the centre of each box, the slack
    that its parts have taken off for rounding, and the size of everything that was added, which
    tells how much rounding the additions themselves may have done.
    """

    def __init__(self, center: Tensor, half: Tensor, weights: int) -> None:
        boxes, self._dimensions = center.shape
        self._center, self._half = center.unsqueeze(1), half.unsqueeze(1)
        self._constant = center.new_zeros(boxes, weights)
        self._slope = center.new_zeros(boxes, weights, self._dimensions)
        self._curvature = self._slope
        self._slack = self._constant
        self._size = self._constant

    def add_constants(self, terms: Tensor) -> None:
        """Terms of shape (boxes or 1, weights, ...)."""
        self._constant = self._constant + terms.sum(-1)
        self._size = self._size + terms.detach().abs().sum(-1)

    def add_variables(self, columns: list[int], weight: Tensor) -> None:
        """Branching variables times weights, (boxes or 1, weights, columns)."""
        self.add_constants(weight * self._center[:, :, columns])
        self.add_quadratic(columns, weight, None)

    def add_quadratic(self, columns: list[int], slope: Tensor, curvature: Tensor | None) -> None:
        """Slopes and curvatures of some branching variables; a column may come twice."""
        picked = slope.new_zeros(len(columns), self._dimensions)
        picked[range(len(columns)), columns] = 1.0
        half = self._half[:, :, columns]
        self._slope = self._slope + slope @ picked
        self._size = self._size + (slope.detach().abs() * half).sum(-1)
        if curvature is not None:
            self._curvature = self._curvature + curvature @ picked
            self._size = self._size + (curvature.detach().abs() * half.square()).sum(-1)

    def add_bands(self, bands: Quadratics, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs by the quadratics below l, or below -u where the weight is negative.

        Args:
            bands: Quadratics, (2, k, boxes).
            weight: (boxes or 1, weights, k).

        Returns:
            Slopes and curvatures of the states, (boxes, weights, d).
        """
        rising, falling = split_signs(weight)
        both = torch.stack([rising, -falling]).permute(0, 3, 1, 2)

        def combine(part: Tensor) -> Tensor:  # (2, k, boxes, ...) to (boxes, weights, ...)
            coefficient = both.reshape(*both.shape, *(1,) * (part.ndim - 3))
            return times(coefficient, part.unsqueeze(3)).sum((0, 1))

        self._constant = self._constant + combine(bands.constant)
        with torch.no_grad():
            self._size = self._size + combine(bands.constant.abs())
            self._slack = self._slack + combine(bands.slack)
        return combine(bands.slope), combine(bands.curvature)

    def through(self, clip: Enclosure, weight: Tensor) -> Tensor:
        """Weights of clipped states as weights of the states, (boxes, weights, d)."""
        rising, falling = split_signs(weight)
        low, high = clip.lower, clip.upper
        self.add_constants(
            rising * low.constant.unsqueeze(1) + falling * high.constant.unsqueeze(1)
        )
        return rising * low.slopes[0].unsqueeze(1) + falling * high.slopes[0].unsqueeze(1)

    def add_affine(self, affine: Affine) -> None:
        """An affine function of the design variables."""
        n = affine.slopes.shape[-1]
        self._constant = self._constant + affine.constant
        self._affine_error = affine.error
        self._slack = self._slack + affine.error
        self._size = self._size + affine.constant.detach().abs()
        self.add_variables(list(range(n)), affine.slopes)

    def minimum(self, weights: Tensor, passed: dict[int, Tensor]) -> _Minimum:
        """The least value over each box, rounding taken off."""
        rounding = 16 * EPSILON * self._size
        slack = (self._slack + rounding).detach()
        # What the bands took off is off already.
        own = least_of(self._slope, self._curvature, self._half).sum(-1)
        values = self._constant + own - rounding - self._affine_error
        values = torch.where(values.isnan(), -torch.inf, values)
        objective = torch.where(weights[:, 0] > 0, values.detach(), -torch.inf)
        pick = (torch.arange(len(values)), objective.argmax(1))
        step = _argmin(
            self._slope.detach()[pick], self._curvature.detach()[pick], self._half.squeeze(1)
        )
        of_calls = {node: w.expand(len(values), -1, -1)[pick] for node, w in passed.items()}
        return _Minimum(values, self._center.squeeze(1) + step, slack, of_calls)


def _sources(program: Program, call: BoxCall, column_of_output: np.ndarray) -> np.ndarray:
    """Which branching variable each state entry of a call is; -1 where it is none."""
    box = call.box
    columns_of_node: dict[int, np.ndarray] = {}
    calls = {c.node: c for c in program.calls}
    for position, node in enumerate(program.nodes[: call.node]):
        expression = node.expression
        entries = np.full(expression.size, -1)
        if isinstance(expression, Variable):
            columns = program.columns[expression]
            entries = np.arange(columns.start, columns.stop)
        elif isinstance(expression, Call):
            entries = column_of_output[calls[position].columns]
        elif isinstance(expression, Operation):
            arguments = [columns_of_node[a] for a in node.arguments]
            if expression.atom is atoms.take:
                entries = arguments[0][list(expression.parameters[0])]
            elif expression.atom is atoms.join:
                entries = np.concatenate(arguments)
        columns_of_node[position] = entries
    source = np.concatenate([columns_of_node[a] for a in program.nodes[call.node].arguments])
    # Where the black box accepts less than a variable's range, its state is not that variable.
    design = (source >= 0) & (source < program.size)
    low, high = np.full(len(source), -np.inf), np.full(len(source), np.inf)
    low[design], high[design] = program.lower[source[design]], program.upper[source[design]]
    accepted_low = -np.inf if box.input_lower is None else box.input_lower
    accepted_high = np.inf if box.input_upper is None else box.input_upper
    return np.where((low >= accepted_low) & (high <= accepted_high), source, -1)


def _argmin(slope: Tensor, curvature: Tensor, half: Tensor) -> Tensor:
    """Where slope d + curvature d^2 / 2 is least in |d| <= half."""
    inside = slope.abs() < curvature * half
    vertex = -slope / torch.where(inside, curvature, 1.0)
    return torch.where(inside, vertex, -torch.sign(slope) * half)
