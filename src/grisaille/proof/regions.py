"""Bounds of the auxiliary problem over a batch of regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from grisaille.belief.processes.minorants import Quadratics, least_of
from grisaille.language.enclosures.interval import EPSILON, Enclosure, Interval
from grisaille.language.program import BoxCall
from grisaille.proof.clipped_bands import center_and_half
from grisaille.proof.propagation import Affine, Propagation, split_signs, times

if TYPE_CHECKING:
    from grisaille.proof.relaxation import PlausibleRelaxation


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
