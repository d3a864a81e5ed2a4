"""Lower bounds of the auxiliary problem over boxes: what makes a global search possible.

Branched on are the design variables and those black-box outputs z that the problem is not affine
in or another black box reads; boxes of z shrink to what the bands allow over the box of x. All
other outputs need no box: wherever their weight is positive the lower end l of their band counts,
where it is negative the upper end u, and quadratics below l and -u (`surrogates.minorants`) take
their place. What is left to minimize over a box is one separable quadratic, in closed form.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from grisaille.certification.band_minorants import BandMinorants, Quadratics
from grisaille.certification.clipped_bands import ClippedBands, center_and_half
from grisaille.certification.curvature import curved_outputs
from grisaille.certification.lowering import lowered
from grisaille.certification.propagation import Propagation, obstacles
from grisaille.certification.separable import Minimum, SeparableSum
from grisaille.certification.sources import state_sources
from grisaille.certification.starts import at_ends, linear_optimum, spread_points
from grisaille.confidence.plausible_set import PlausibleSet
from grisaille.enclosures.interval import Enclosure, Interval
from grisaille.language.program import BoxCall, Program
from grisaille.solvers.proof import NoRelaxation
from grisaille.solvers.search_problem import SearchProblem
from grisaille.surrogates.posterior import Posterior

# Where, on the way from the centre of a box to the minimizer of its bound, to look for the point
# where the bands are bounded best; and from how many inputs of a black box on this second look is
# worth its time.
_STEPS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
_SECOND_LOOK = 3
# An output is split when its interval is at most this many times as wide as its band, and is not
# yet this much narrower than the design box.
_OWN = 2.0
_NARROW = 0.01


def relaxed(plausible: PlausibleSet) -> SearchProblem:
    """The auxiliary problem as a box with inequalities, with bounds for a global search."""
    return replace(plausible.search_problem(), relax=lambda: PlausibleRelaxation(plausible))


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
        noisy = [box.name for box in plausible.program.boxes if box.process_noise]
        if noisy:
            raise NoRelaxation(
                f"black box {noisy[0]!r} has process noise, and averages over it are not bounded"
            )
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
        self.sources = state_sources(self.program, self.column_of_output)
        self.constraints = sum(
            self.program.nodes[p].expression.size for p in self.program.outputs[1:]
        )
        endless = torch.full((1, len(branched)), torch.inf, dtype=torch.float64)
        lower = torch.cat([torch.tensor(self.program.lower).unsqueeze(0), -endless], 1)
        upper = torch.cat([torch.tensor(self.program.upper).unsqueeze(0), endless], 1)
        self.looks_twice = max((len(source) for source in self.sources), default=0) >= _SECOND_LOOK
        if len(branched):
            # In topological order: the range of one box bounds the states of the next.
            PlausibleRegions(self, lower, upper, tabulate=True)
        root = PlausibleRegions(self, lower, upper)
        self.lower, self.upper = root.lower[0], root.upper[0]
        self.groups = [list(range(n)), *([n + i] for i in range(len(branched)))]

    def over(self, lower: Tensor, upper: Tensor) -> PlausibleRegions:
        """Look at boxes, (boxes, D) twice."""
        return PlausibleRegions(self, lower, upper)

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Points (x, eta) of the plausible set in boxes, to search from.

        Design points in the middle of the bands, at their ends, and at those ends that the
        objective asks for; the centre of the box, outputs too; and the best eta at the centre.
        """
        n = self.program.size
        low, high, center = lower[:, :n], upper[:, :n], (lower + upper) / 2
        points = [spread_points(self.plausible, low, high)]
        # Lowering merges calls that it finds equal; then nothing is known about which is which.
        if [c.box for c in self.program.calls] != [c.box for c in self.plausible.program.calls]:
            return points[0]
        ends = -self.over(lower, upper).objective_signs()
        points.append(at_ends(low, high, ends))
        branched = self.column_of_output >= 0
        for row, end in zip(center.numpy(), ends, strict=True):
            if branched.any():
                outputs = np.zeros(self.program.box_outputs)
                outputs[branched] = row[self.column_of_output[branched]]
                point = self.plausible.locate(row[:n], outputs)
                point[n:] = torch.where(torch.tensor(branched), point[n:], end)
                points.append(point.unsqueeze(0))
            points.append(linear_optimum(self.plausible, torch.tensor(row[:n])))
        return torch.cat(points)


class PlausibleRegions:
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
        """The same, less tight, but concave in the weights as long as one way is the better one.

        Its slopes are what good weights are learned from; a wrong one costs time only.
        """
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
        """Both ways to bound branched outputs: by their boxes (False) and by their bands (True)."""
        return (False, True) if (self._relaxation.column_of_output >= 0).any() else (True,)

    def _touched(self, minimum: Minimum) -> list[Quadratics]:
        """The bands once more, bounded best near the minimizers of what they are bounded for.

        On the way from the centre to the minimizer of the bound, the point where the bands
        themselves are lowest is taken: the bound may have been lowest because it was loose.
        """
        relaxation = self._relaxation
        bands = []
        for i, call in enumerate(relaxation.program.calls):
            weight = minimum.weights.get(call.node)
            if weight is None:  # its band is not asked for
                bands.append(self._bands[i])
                continue
            center, half = center_and_half(self._states[i])
            source = torch.tensor(relaxation.sources[i])
            aim = torch.where(source >= 0, minimum.minimizer[:, source.clamp_min(0)], center)
            steps = torch.tensor(_STEPS, dtype=center.dtype).reshape(-1, 1, 1)
            points = center + steps * (aim - center)
            mean, deviation = relaxation.plausible.beliefs[call.box.name].predict(
                points.flatten(0, 1)
            )
            reach = relaxation.plausible.beta[call.box.name] * deviation
            ends = (weight * mean.unflatten(0, points.shape[:2])) - (
                weight.abs() * reach.unflatten(0, points.shape[:2])
            )
            best = ends.sum(-1).argmin(0)
            touch = points[best, torch.arange(len(center))]
            bands.append(relaxation.bands[call.node].quadratics(center, half, touch))
        return bands

    def _minimize(self, weights: Tensor, bands: list[Quadratics], banded: bool) -> Minimum:
        """The least of a quadratic below weighted sums.

        Args:
            weights: (weights, 1 + K).
            bands: Quadratics below the bands of each call.
            banded: Whether branched outputs too are replaced by their bands. Either is valid: the
                box of an output may be narrower than its band or wider.
        """
        relaxation = self._relaxation
        total = SeparableSum(self._center, self._half, len(weights))
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
