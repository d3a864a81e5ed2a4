"""Bands that hold everywhere at once, as a bound needs them.

A band of two deviations holds at a point. A bound is right if the bands hold wherever the optimum
may be, so their width depends on how many places there are, and on how few answers the deviations
were learned from. The rule, for a chance a of being wrong:

1. An output varies independently in about N = prod_j max(1, 3 w_j / l_j) regions, w_j the widths of
   its inputs and l_j its length-scales.
2. beta = the quantile of Student's distribution with n - 1 degrees at 1 - a / (2 N), n the number
   of independent values that its answers tell. For a given kernel it is the normal quantile at
   1 - a / N, and 1.6 takes the place of 3.
3. The audit asks how wrong this rule was: the factor is the largest error in its half-widths.
4. Only regions where the optimum may still be count. Bands of factor * beta show where; then the
   same with half the chance for fewer regions, and so on, so that all chances sum to at most a.
5. Bands are never narrower than what their audit asks for at one point.

`docs/method.md` has the measurements behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from scipy.special import ndtri, stdtrit
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.belief.design_problem import design_problem
from grisaille.belief.learning import accepted, input_range
from grisaille.belief.plausible_set import PlausibleSet, clip_band
from grisaille.belief.processes.belief import Belief
from grisaille.language.black_box import BlackBox
from grisaille.language.program import BoxCall, Program, split_outputs
from grisaille.records import History
from grisaille.search.search_problem import in_region, rounded


@dataclass(frozen=True, slots=True)
class SimultaneousConstants:
    """The constants of bands that hold everywhere at once.

    Attributes:
        per_learned: Regions per length-scale that is learned. Measured: 837 histories; 3 of 1, 2,
            3, 4, 6.
        per_given: The same for one that is given. Measured: Rice's formula for Matérn 5/2 at three
            deviations; of 60 rough draws none was wrong, with 3 either.
        rounds: How often only regions that may hold the optimum are counted. Measured: the same.
        points: Points of the design space that show where it may be. Not measured.
        runs: Runs of the program; with more outputs, there are fewer points. Not measured.
        numbers: Numbers of outputs that are worked out. Not measured.
        fewest_points: Points in any case. Not measured.
        per_cell: Points in each cell by which they are counted. Measured: of 10 % of the points,
            whose projection is the whole range, 32 see more than 95 %, 8 see 57 %.
        most_regions: The most regions that are counted: their chances stay numbers. A choice.
        largest_tail: The largest chance in one region that a quantile is taken of. A choice.
    """

    per_learned: float = 3.0
    per_given: float = 1.6
    rounds: int = 4
    points: int = 4096
    runs: int = 1 << 15
    numbers: int = 1 << 20
    fewest_points: int = 64
    per_cell: int = 32
    most_regions: float = 1e15
    largest_tail: float = 0.3


SIMULTANEOUS = SimultaneousConstants()

# Controls are moved to the ends of the bands, and halfway, in the order of their size.
_MOVES = (-1.0, -0.5, 0.5, 1.0)


# --- quantiles ------------------------------------------------------------------------------------


def quantile(chance: float, regions: Array, degrees: Array, is_learned: bool) -> Array:
    """Return the half-width that holds in all regions at once, in deviations.

    To first order, an optimum gains one weighted sum of errors from wrong bands. It exceeds the sum
    of half-widths beta with at most the chance that one error exceeds beta at one end. So neither
    the number of outputs nor the other end counts. Where length-scales are learned, half the chance
    pays for that.

    Args:
        chance: Of being wrong in one of them.
        regions: Their number.
        degrees: How many independent values the deviations were learned from.
        is_learned: True if they were learned; False if they were given.
    """
    if not is_learned:
        return np.asarray(-ndtri(np.minimum(chance / regions, SIMULTANEOUS.largest_tail)))
    tail = np.minimum(chance / (2 * regions), SIMULTANEOUS.largest_tail)
    return np.asarray(-stdtrit(np.maximum(degrees - 1, 1), tail))


# --- regions --------------------------------------------------------------------------------------


def count_regions(program: Program, box: BlackBox, belief: Belief, inputs: Array) -> Array:
    """Count the regions in which each output of a black box varies independently, (k,).

    Args:
        program: Where it is called.
        box: The black box.
        belief: What is believed of it.
        inputs: Inputs that were answered, (n, d).
    """
    if not box.inputs:
        return np.ones(box.outputs)
    seen = inputs if len(inputs) else np.zeros((1, box.inputs))
    ends = input_range(program, box, seen)
    low, high = belief.in_lengthscales(torch.tensor(np.array(ends)), *ends).unbind(1)
    per = SIMULTANEOUS.per_learned if box.is_learned else SIMULTANEOUS.per_given
    each = np.log(np.maximum(per * (high - low).abs().numpy(), 1.0))
    found, start = np.zeros(len(each)), 0  # logarithms: of hundreds of inputs, products overflow
    for shape, labels in zip(box.argument_shapes or (), box.argument_labels, strict=True):
        end = start + int(np.prod(shape))
        own = each[:, start:end].sum(1)
        found, start = found + (np.minimum(own, np.log(len(labels))) if labels else own), end
    return np.exp(np.minimum(found, np.log(SIMULTANEOUS.most_regions)))


def covered_share(places: Array, some: Flags, regions: float) -> float:
    """Return the share of a sample's volume that some of its points cover, at most 1.

    Points are counted in cells of equal sides, so that a set with an edge in another direction
    counts with its projection.

    Args:
        places: The sample in length-scales, (batch, d).
        some: (batch,), which points.
        regions: How many regions the volume has: cells are no larger, as far as points are enough.
    """
    low, widths = places.min(0), np.ptp(places, axis=0)
    cells = max(len(places) // SIMULTANEOUS.per_cell, min(regions, len(places)))
    side = _side(widths, cells)
    numbers = np.zeros(len(places), dtype=np.int64)
    for column, width in zip((places - low).T, widths, strict=True):
        numbers = numbers * (int(width / side) + 1) + np.floor(column / side).astype(np.int64)
    # A set that no point hits may still be as large as the part of one point.
    return max(len(np.unique(numbers[some])), 1) / len(np.unique(numbers))


def _side(widths: Array, cells: float) -> float:
    """Return the side of the cubes that fill a region of these widths with `cells` of them."""
    wide = np.log(np.sort(widths[widths > 0])[::-1])
    side = 0.0
    for used in range(len(wide), 0, -1):  # inputs narrower than a cell are not cut
        side = float((wide[:used].sum() - np.log(cells)) / used)
        if side <= wide[used - 1]:
            break
    return float(np.exp(side))


# --- survey ---------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def unit_points(dimensions: int, count: int) -> Tensor:
    """Return points that fill the unit cube, (count, dimensions)."""
    engine = torch.quasirandom.SobolEngine(dimensions, scramble=True, seed=0)
    return engine.draw(count, dtype=torch.float64)


def design_sample(program: Program, count: int) -> Tensor:
    """Return points that fill a design space, in search coordinates, (count, n)."""
    problem = design_problem(program, lambda design: (design[:, 0], design[:, :0]))
    unit = unit_points(len(problem.lower), count)
    points = rounded(problem, problem.lower + (problem.upper - problem.lower) * unit)
    return points if problem.region is None else in_region(problem, problem.region, points, 0)


class Survey:
    """A sample of the design space, and what bands allow there.

    Args:
        plausible: Bands of any width.
    """

    def __init__(self, plausible: PlausibleSet) -> None:
        self._plausible, program = plausible, plausible.program
        controls = plausible.controls.count
        axes = torch.eye(controls, dtype=torch.float64)
        probes = torch.cat([torch.zeros_like(axes[:1]), *(move * axes for move in _MOVES)])
        outputs = max(program.box_outputs, 1)
        most = min(SIMULTANEOUS.runs, SIMULTANEOUS.numbers // outputs) // len(probes)
        count = min(max(most, SIMULTANEOUS.fewest_points), SIMULTANEOUS.points)
        self.count = 1 << (count.bit_length() - 1)
        self._design = program.space.to_design(design_sample(program, self.count))
        self._eta = plausible.controls.eta(probes).repeat_interleave(self.count, 0)
        self._many = self._design.repeat(len(probes), 1)
        self._first: dict[bytes, tuple[Tensor, Tensor, Tensor]] = {}

    def look(
        self, widths: Mapping[str, Tensor], best: float
    ) -> tuple[Flags, dict[str, list[Tensor]]]:
        """Find the points at which bands allow a better value than the best one, and feasibility.

        The least value of objective and constraints at a point is what they lose, added up, when
        one control at a time moves. Equalities are skipped: the set they leave has no volume to
        sample from.

        Args:
            widths: Half-widths of the bands in deviations, (k,) for each black box.
            best: The best value that is known, minimized; infinite if none is.

        Returns:
            True for each point that may be better, and the states of the calls of each black box,
            (batch, d), for all points again and again.
        """
        plausible, program = self._plausible, self._plausible.program
        states: dict[str, list[Tensor]] = {box.name: [] for box in program.boxes}

        def resolve(call: BoxCall, inputs: Tensor) -> Tensor:
            name, box = call.box.name, call.box
            if call.first_layer:
                if call.key not in self._first:
                    places = accepted(box, inputs[: self.count])
                    self._first[call.key] = (places, *plausible.beliefs[name].predict(places))
                places, mean, deviation = self._first[call.key]
            else:
                places = accepted(box, inputs)
                mean, deviation = plausible.beliefs[name].predict(places)
            states[name].append(places)
            reach = widths[name] * deviation
            interval = plausible.intervals.get(name)
            lower, upper = clip_band(box, places, mean - reach, mean + reach, interval)
            middle, half = (lower + upper) / 2, (upper - lower) / 2
            if call.first_layer:
                many = len(self._many) // self.count
                middle, half = middle.repeat(many, 1), half.repeat(many, 1)
            return middle + self._eta[:, call.columns] * half

        with torch.no_grad():
            objective, constraints = split_outputs(program.run(self._many, resolve))
        values = torch.cat([objective.unsqueeze(1), constraints], 1)
        lowest = _lowest(values.reshape(-1, self.count, values.shape[1]))
        possible = lowest[:, 0] < best
        if constraints.shape[1]:
            equal = torch.tensor(program.equality_tolerances > 0)
            possible &= ((lowest[:, 1:] <= 0) | equal).all(1)
        return possible.numpy(), states


def _lowest(values: Tensor) -> Tensor:
    """Return about the least values that controls in [-1, 1] can give, (count, functions).

    Along a control, these are the least of the values seen and of the parabolas through three of
    them, which are exact for squares of outputs.

    Args:
        values: (1 + moves * controls, count, functions), in the middle, then for each move.
    """
    middle, moved = values[0], values[1:]
    if not len(moved):
        return middle
    moved = moved.reshape(len(_MOVES), -1, *middle.shape)
    half = len(_MOVES) // 2
    along = torch.cat([moved[:half], middle.expand_as(moved[:1]), moved[half:]])
    least = along.amin(0)
    for before, at, after in zip(along, along[1:], along[2:], strict=False):
        bend = before - 2 * at + after
        vertex = at - (after - before).square() / (8 * bend)
        inside = (bend > 0) & ((after - before).abs() < 2 * bend)
        least = torch.where(inside, torch.minimum(least, vertex), least)
    lowest = middle - (middle - least).clamp_min(0).sum(0)
    return torch.nan_to_num(lowest, nan=-torch.inf)  # what is not known may be low


# --- widths ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tested:
    """The audit of one black box.

    Attributes:
        errors: Errors of predicted answers in the deviations predicted for them, (answers, k).
        degrees: How many independent values each was predicted from, (answers, k).
        regions: In how many regions each output varied independently then, (answers, k).
        weights: How much of the largest error that was possible then each answer could show: the
            deviation there in parts of the largest one, (answers,).
    """

    errors: Array
    degrees: Array
    regions: Array
    weights: Array

    @classmethod
    def none(cls, outputs: int) -> Tested:
        """Return the audit of no answer."""
        nothing = np.zeros((0, outputs))
        return cls(nothing, nothing, nothing, np.zeros(0))

    @classmethod
    def joined(cls, parts: Sequence[Tested]) -> Tested:
        """Return the audit of all answers of some."""
        rows = [(p.errors, p.degrees, p.regions, p.weights) for p in parts]
        return cls(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))

    def over(self, chance: float) -> Tested:
        """Return the same with errors in parts of what is expected by chance."""
        return replace(self, errors=self.errors / chance)


class Simultaneous:
    """Bands that hold at once wherever the optimum may be.

    Args:
        floor: Bands as wide as their audit asks for at one point.
        tested: The audit of each black box.
        history: What black boxes answered.
        width: Half-width of the bands in deviations before any audit.
        confidence: The chance that all bands hold.

    Attributes:
        degrees: How many independent values the answers of each black box tell, (k,), by name.
        factors: By how much its half-widths are too small, as the audit found, by name.
    """

    def __init__(
        self,
        floor: PlausibleSet,
        tested: Mapping[str, Tested],
        history: History,
        width: float,
        confidence: float,
    ) -> None:
        self._floor, self._width = floor, width
        self._boxes = floor.program.boxes
        self._chance = 1 - confidence
        self.degrees: dict[str, Array] = {}
        self._regions: dict[str, Array] = {}
        self.factors: dict[str, float] = {}
        for box in self._boxes:
            belief, test = floor.beliefs[box.name], tested[box.name]
            inputs, _ = history.data(box.name, box.inputs, box.outputs)
            self.degrees[box.name] = belief.degrees(len(inputs))
            self._regions[box.name] = count_regions(floor.program, box, belief, inputs)
            reach = self._quantile(box, self._chance, test.regions, test.degrees)
            self.factors[box.name] = float((test.errors / reach).max(initial=1.0))

    def everywhere(self) -> PlausibleSet:
        """Return bands that hold at all points at once: what is infeasible counts everywhere."""
        return self._bands({b.name: self._first(b) for b in self._boxes})

    def at_one_point(self) -> PlausibleSet:
        """Return bands that hold at a single point, at both ends."""
        beta = {}
        for box in self._boxes:
            ends = np.array([1.0 if box.is_learned else 2.0])  # of learned ones, both count anyway
            beta[box.name] = self._quantile(box, self._chance, ends, self.degrees[box.name])
        return self._bands(beta)

    def where_better(self, best: float) -> PlausibleSet:
        """Return bands that hold at once at all points that may be better than the best value.

        Args:
            best: The best value that is known, minimized; infinite if none is.
        """
        beta, chance = {b.name: self._first(b) for b in self._boxes}, self._chance
        if self._floor.program.process_noise:  # a survey knows no expected values
            return self._bands(beta)
        survey = Survey(self._floor)
        for _ in range(SIMULTANEOUS.rounds):
            chance /= 2
            possible, states = survey.look(self._widths(beta), best)
            narrower = {
                box.name: np.minimum(
                    beta[box.name],
                    self._quantile(
                        box,
                        chance,
                        self._relevant(box, possible, states[box.name]),
                        self.degrees[box.name],
                    ),
                )
                for box in self._boxes
            }
            if all((narrower[name] == beta[name]).all() for name in beta):
                break  # with the same bands and less chance, nothing gets narrower later
            beta = narrower
        return self._bands(beta)

    def _first(self, box: BlackBox) -> Array:
        """Return beta with all regions, (k,)."""
        return self._quantile(box, self._chance, self._regions[box.name], self.degrees[box.name])

    def _quantile(self, box: BlackBox, chance: float, regions: Array, degrees: Array) -> Array:
        return np.maximum(quantile(chance, regions, degrees, box.is_learned), self._width)

    def _relevant(self, box: BlackBox, possible: Flags, states: list[Tensor]) -> Array:
        """Count the regions that the states of points may lie in that may be better, (k,)."""
        if not box.inputs or not states:
            return np.ones(box.outputs)
        sample = torch.cat(states)
        usable = torch.isfinite(sample).all(1)  # outside its domain, a known part has no value
        if not usable.any():
            return self._regions[box.name]
        flags = np.tile(possible, len(sample) // len(possible))[usable.numpy()]
        sample = sample[usable]
        ends = sample.amin(0).numpy(), sample.amax(0).numpy()
        scaled = self._floor.beliefs[box.name].in_lengthscales(sample, *ends)
        found: dict[bytes, float] = {}
        shares = []
        for places, regions in zip(scaled.numpy(), self._regions[box.name], strict=True):
            key = places[-1].tobytes()  # outputs with the same length-scales
            if key not in found:
                found[key] = covered_share(places, flags, regions)
            shares.append(found[key])
        return np.maximum(np.array(shares) * self._regions[box.name], 1.0)

    def _widths(self, beta: Mapping[str, Array]) -> dict[str, Tensor]:
        return {n: torch.tensor(self.factors[n] * b) for n, b in beta.items()}

    def _bands(self, beta: Mapping[str, Array]) -> PlausibleSet:
        """Return bands of factor * beta, and no narrower than the floor."""
        floor, widths = self._floor, self._widths(beta)
        wider = {name: torch.maximum(floor.beta[name], widths[name]) for name in widths}
        return PlausibleSet(floor.program, floor.beliefs, wider, floor.intervals)
