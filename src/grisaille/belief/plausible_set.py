"""Confidence bands and the plausible set, as a box.

With one eta in [-1, 1] per black-box output and z = (l + u)/2 + eta (u - l)/2, every (x, eta) is
plausible and every plausible z has its eta: the interval constraints of Alg. 1 and 2 vanish. One
graph serves objective and constraints, so they share their intermediate values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.declared_intervals import DeclaredInterval
from grisaille.belief.design_problem import between, blocks_of, design_problem, design_region
from grisaille.belief.learning import Beliefs, accepted, disturbance, returned, value_bound
from grisaille.belief.processes.belief import Belief
from grisaille.errors import AssumptionError
from grisaille.language.black_box import BlackBox
from grisaille.language.program import (
    BoxCall,
    Program,
    ResolveSloped,
    split_outputs,
)
from grisaille.language.slopes import Sloped
from grisaille.search.search_problem import Evaluate, SearchProblem

# --- bands ----------------------------------------------------------------------------------------
# The confidence band of one call: l and u of Def. hpb_int.


def confidence_band(
    belief: Belief,
    beta: Tensor,
    call: BoxCall,
    states: Tensor,
    interval: DeclaredInterval | None = None,
) -> tuple[Tensor, Tensor]:
    """L and u of a call's outputs at states (batch, inputs), (batch, k) each."""
    mean, reach = mean_and_reach(belief, beta, call, states)
    return clip_band(call.box, accepted(call.box, states), mean - reach, mean + reach, interval)


def mean_and_reach(
    belief: Belief, beta: Tensor, call: BoxCall, states: Tensor
) -> tuple[Tensor, Tensor]:
    """Mu and beta sigma of a call's outputs, (batch, k) each."""
    mean, deviation = belief.predict(accepted(call.box, states))
    return mean, beta * deviation


def clip_band(
    box: BlackBox,
    states: Tensor,
    lower: Tensor,
    upper: Tensor,
    interval: DeclaredInterval | None = None,
) -> tuple[Tensor, Tensor]:
    """Narrow a band to the norm bound, the declared output range and the declared interval.

    l = max(mu - beta sigma, -B), u = min(mu + beta sigma, B) (Def. hpb_int), where B sqrt(k(s, s))
    takes the place of B for kernels that are not 1 everywhere.

    Args:
        box: The black box.
        states: (batch, d), where the band is.
        lower: (batch, k).
        upper: (batch, k).
        interval: What declarations and answers leave to its outputs, if they cut the band.

    Raises:
        AssumptionError: The whole band lies outside the norm bound.
    """
    if box.norm_bound is not None:
        bound = value_bound(box, states)
        outside = (lower > bound * (1 + 1e-9)) | (upper < -bound * (1 + 1e-9))
        if outside.any():
            limit = float(bound[outside][0])
            raise AssumptionError(
                f"the data put black box {box.name!r} outside ±{limit:g}, which its norm bound "
                "allows: raise norm_bound (Assumption bounded_norm) or leave it out"
            )
        lower, upper = lower.clamp(-bound, bound), upper.clamp(-bound, bound)
    # A band wholly outside a declared range or interval is a poor fit, not a contradiction: the
    # declaration wins, and both ends come to rest on it.
    lower, upper = returned(box, lower), returned(box, upper)
    if interval is None:
        return lower, upper
    least, most = interval.ends(states)
    return lower.clamp(least, most), upper.clamp(least, most)


def predicted(
    belief: Belief, call: BoxCall, states: Tensor, interval: DeclaredInterval | None = None
) -> Tensor:
    """Posterior mean of a call's outputs at states, moved into what was declared."""
    states = accepted(call.box, states)
    mean, _ = belief.predict(states)
    return clip_band(call.box, states, mean, mean, interval)[0]


def constant_widths(program: Program, beta: float) -> dict[str, Tensor]:
    """One beta for every output of every box."""
    return {b.name: torch.full((b.outputs,), beta, dtype=torch.float64) for b in program.boxes}


# --- controls -------------------------------------------------------------------------------------
# Controls of a search inside the bands: the eta of each output, or patterns of many outputs.
#
# A black box with a shared kernel has too many outputs for one eta each. Its errors follow a
# few patterns P, (k, patterns), which its answers show (`SharedPosterior.patterns`). A control
# u in [-1, 1] per pattern then gives eta = clamp(P u, -1, 1): every output stays in its band
# and can reach both ends of it, and outputs move together as they did in the answers.

# Numbers of many outputs that are worked out at once: as many as a processor keeps at hand.
_AT_ONCE = 1 << 17


class Controls:
    """The controls of all calls, one after the other, and the eta that they stand for.

    Args:
        program: Whose calls.
        beliefs: What is believed of each black box.

    Attributes:
        columns: Where the controls of each call stand.
        count: How many there are.
    """

    def __init__(self, program: Program, beliefs: Beliefs) -> None:
        self._patterns: list[Tensor | None] = []
        self.columns: list[slice] = []
        self.count = 0
        for call in program.calls:
            patterns = beliefs[call.box.name].patterns
            size = call.box.outputs if patterns is None else patterns.shape[1]
            self._patterns.append(patterns)
            self.columns.append(slice(self.count, self.count + size))
            self.count += size
        self.is_plain = all(patterns is None for patterns in self._patterns)
        self._outputs = program.box_outputs

    def at_once(self, batch: int) -> int:
        """How many of `batch` points are best evaluated at once."""
        return batch if self.is_plain else max(1, _AT_ONCE // self._outputs)

    def eta(self, controls: Tensor) -> Tensor:
        """The eta of all outputs, (batch, controls) to (batch, outputs)."""
        if self.is_plain:
            return controls
        parts = [controls[:, columns] for columns in self.columns]
        found = [
            part if patterns is None else (part @ patterns.T).clamp(-1, 1)
            for part, patterns in zip(parts, self._patterns, strict=True)
        ]
        return found[0] if len(found) == 1 else torch.cat(found, 1)

    def closest(self, eta: Tensor) -> Tensor:
        """The controls whose eta are closest to given ones, (batch, outputs) to (batch, controls).

        They minimize |P u - eta| for each call, and are then moved into [-1, 1].
        """
        if self.is_plain:
            return eta
        found, start = [], 0
        for patterns, columns in zip(self._patterns, self.columns, strict=True):
            size = columns.stop - columns.start if patterns is None else len(patterns)
            part = eta[:, start : start + size]
            if patterns is not None:
                part = (part @ torch.linalg.pinv(patterns).T).clamp(-1, 1)
            found.append(part)
            start += size
        return torch.cat(found, 1)


# --- process noise --------------------------------------------------------------------------------
# Process noise in planning: a fixed sample of disturbances, and controls that react to them.
#
# With process noise objective and constraints mean expected values. They are averages over the
# same few disturbances wherever they are evaluated, so that a search sees a smooth function.

SAMPLES = 64
"""How many disturbances; half of them mirror the others."""

Band = Callable[[BoxCall, Tensor], tuple[Tensor, Tensor]]
"""`(call, states) -> lower and upper end of its band`."""


class Disturbances:
    """Disturbed runs of a program with process noise.

    z = (l + u)/2 + eta(s) (u - l)/2 + deviation e, with e standard normal. As in Sussex et al.
    (2022, "Model-based causal Bayesian optimization") the control eta may depend on the state that
    the disturbances upstream lead to: eta(s) = clamp(c + w . t, -1, 1), where t is the state
    standardized over the disturbances, and c and w in [-1, 1] are searched over.

    Args:
        program: A program with process noise.
        deviations: Standard deviation of the disturbances of each black box, (k,), by name; none
            for boxes without.

    Attributes:
        weights: How many entries w has, for all calls together.
    """

    def __init__(self, program: Program, deviations: dict[str, Tensor]) -> None:
        self.program = program
        self.deviations = deviations
        self._errors = standard_normals(program.box_outputs)
        disturbed = [call.box.process_noise for call in program.calls]
        self._reached = [any(disturbed[u] for u in call.upstream) for call in program.calls]
        self._number = {id(call): number for number, call in enumerate(program.calls)}
        self._slices: list[slice] = []
        start = 0
        for call, reached in zip(program.calls, self._reached, strict=True):
            length = call.box.outputs * call.box.inputs if reached else 0
            self._slices.append(slice(start, start + length))
            start += length
        self.weights = start

    def run(self, design: Tensor, eta: Tensor, weights: Tensor, band: Band) -> list[Tensor]:
        """Expected values of what the program computes.

        Args:
            design: (batch, n).
            eta: c, (batch, outputs).
            weights: w, (batch, weights).
            band: The bands of the calls.
        """
        batch = len(design)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            number = self._number[id(call)]
            if not self._reached[number]:
                # Nothing upstream is disturbed, so the state is the same in all samples.
                same = states[::SAMPLES] if len(states) == batch * SAMPLES else states
                lower, upper = band(call, same)
                center = (lower + upper) / 2 + eta[:, call.columns] * (upper - lower) / 2
                center = center.unsqueeze(1)
            else:
                lower, upper = band(call, states)
                control = self._control(number, call, states, eta, weights)
                center = (lower + upper) / 2 + control * (upper - lower) / 2
                center = center.reshape(batch, SAMPLES, -1)
            return self._disturbed(call, center).reshape(batch * SAMPLES, -1)

        outputs = self.program.run(design.repeat_interleave(SAMPLES, 0), resolve)
        return [o.reshape(batch, SAMPLES, *o.shape[1:]).mean(1) for o in outputs]

    def _control(
        self, number: int, call: BoxCall, states: Tensor, eta: Tensor, weights: Tensor
    ) -> Tensor:
        """Eta at states (batch * samples, inputs), (batch * samples, k)."""
        batch = len(eta)
        grouped = states.reshape(batch, SAMPLES, -1)
        centered = grouped - grouped.mean(1, keepdim=True)
        # The floor keeps the root differentiable for inputs that no disturbance reaches.
        spread = (centered.square().mean(1, keepdim=True) + 1e-24).sqrt()
        slopes = weights[:, self._slices[number]].reshape(batch, call.box.outputs, -1)
        tilt = torch.einsum("bsd,bkd->bsk", centered / spread, slopes)
        control = (eta[:, None, call.columns] + tilt).clamp(-1, 1)
        return control.reshape(batch * SAMPLES, -1)

    def _disturbed(self, call: BoxCall, center: Tensor) -> Tensor:
        """Values (batch, samples, k) around centers of that shape or (batch, 1, k)."""
        box = call.box
        if not box.process_noise:
            return center.expand(-1, SAMPLES, -1)
        value = center + self.deviations[box.name] * self._errors[:, call.columns]
        return returned(box, value)


@lru_cache(maxsize=64)
def standard_normals(columns: int) -> Tensor:
    """A quasi-random sample (samples, columns) with mean 0 and variance 1 in every column."""
    engine = torch.quasirandom.SobolEngine(max(columns, 1), scramble=True, seed=0)
    unit = engine.draw(SAMPLES // 2, dtype=torch.float64)[:, :columns]
    half = torch.special.ndtri(unit.clamp(1e-9, 1 - 1e-9))
    both = torch.cat([half, -half])
    return both / both.square().mean(0).sqrt()


# --- plausible slopes -----------------------------------------------------------------------------
# Objective and constraints of a plausible set with all their slopes, at once and in NumPy.


class WithSlopes:
    """What a search evaluates, and a faster way to its slopes.

    Args:
        evaluate: Objective and constraints.
        slopes: The same values (batch, 1 + K) with their slopes (batch, 1 + K, D).
    """

    def __init__(self, evaluate: Evaluate, slopes: Callable[[Array], tuple[Array, Array]]) -> None:
        self._evaluate = evaluate
        self._slopes = slopes

    def __call__(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Objective (batch,) and constraints (batch, K) at points (batch, D)."""
        return self._evaluate(points)

    def with_slopes(self, points: Array) -> tuple[Array, Array]:
        """Objective and constraints (batch, 1 + K), and their slopes (batch, 1 + K, D)."""
        with np.errstate(all="ignore"):  # outside its domain, an operation gives no number
            return self._slopes(points)


class PlausibleSlopes:
    """Slopes of what bands allow.

    Args:
        program: Objective and constraints; `has_slopes` tells whether it will do.
        beliefs: What is believed of each black box.
        beta: Half-width of the bands in posterior standard deviations, (k,) for each black box.
    """

    def __init__(self, program: Program, beliefs: Beliefs, beta: Mapping[str, Tensor]) -> None:
        self._program = program
        self._beliefs = beliefs
        self._beta = {name: half.numpy() for name, half in beta.items()}

    def auxiliary(self, points: Array) -> tuple[Array, Array]:
        """The auxiliary problem at points (batch, D): design points to search, and eta."""
        batch, dimensions = points.shape
        n = self._program.size
        design = self._design(points[:, :n], dimensions)
        etas = points[:, n:]

        def resolve(call: BoxCall, states: Sloped) -> Sloped:
            value, slopes, half = self._inside(call.box, states, etas[:, call.columns])
            own = np.arange(half.shape[1])
            slopes[:, n + call.columns.start + own, own] += half
            return Sloped(value, slopes)

        return self._run(design, resolve, batch)

    def cautious(self, searched: Array, kept: Array) -> tuple[Array, Array]:
        """Predicted objective and constraints, these with their deviations added.

        Args:
            searched: (batch, n), design points in search coordinates.
            kept: (K,), a distance to keep beyond that.

        Returns:
            As `auxiliary`; see `PlausibleSet.cautious_problem`.
        """
        program = self._program
        batch, n = searched.shape
        outputs = program.box_outputs if len(program.outputs) > 1 else 0
        axes = np.eye(program.box_outputs)[:outputs]
        probes = np.concatenate([np.zeros((1, program.box_outputs)), axes, -axes])
        etas = probes.repeat(batch, 0)
        design = self._design(searched, n)
        assert design.slopes is not None
        many = (len(probes), 1, 1)
        everywhere = Sloped(np.tile(design.value, many[:2]), np.tile(design.slopes, many))

        def resolve(call: BoxCall, states: Sloped) -> Sloped:
            eta = etas[:, call.columns]
            if not call.first_layer:
                return Sloped(*self._inside(call.box, states, eta)[:2])
            # Its states are those of the design points, whatever is probed.
            assert states.slopes is not None
            few = Sloped(states.value[:batch], states.slopes[:batch])
            return Sloped(*self._inside(call.box, few, eta)[:2])

        values, slopes = self._run(everywhere, resolve, len(etas))
        values = values.reshape(len(probes), batch, -1)
        slopes = slopes.reshape(len(probes), batch, -1, n)
        found, by = values[0].copy(), slopes[0].copy()
        if found.shape[1] > 1:
            deviation, by_deviation = _deviation(values[..., 1:], slopes[:, :, 1:])
            judged = program.equality_tolerances <= 0  # equalities by their prediction
            found[:, 1:] += np.where(judged, deviation, 0.0) + kept
            by[:, 1:] += np.where(judged[:, None], by_deviation, 0.0)
        return found, by

    def _run(self, design: Sloped, resolve: ResolveSloped, batch: int) -> tuple[Array, Array]:
        """Values (batch, 1 + K) and slopes (batch, 1 + K, D) of what the program computes."""
        assert design.slopes is not None
        dimensions = design.slopes.shape[1]
        outputs = self._program.run_sloped(design, resolve)
        sizes = [int(np.prod(output.value.shape[1:])) for output in outputs]
        values = np.empty((batch, sum(sizes)))
        slopes = np.zeros((batch, dimensions, sum(sizes)))
        place = 0
        for output, size in zip(outputs, sizes, strict=True):
            part = slice(place, place + size)
            values[:, part] = output.value.reshape(len(output.value), size)
            if output.slopes is not None:
                slopes[:, :, part] = output.slopes.reshape(*output.slopes.shape[:2], size)
            place += size
        return values, slopes.transpose(0, 2, 1)

    def _design(self, searched: Array, dimensions: int) -> Sloped:
        """Design points (batch, n) with their slopes by the first of D coordinates."""
        space = self._program.space
        batch, n = searched.shape
        slopes = np.zeros((batch, dimensions, n))
        entries = np.arange(n)
        if not space.logarithmic.any():
            slopes[:, entries, entries] = 1.0
            return Sloped(searched, slopes)
        design = space.to_design(torch.from_numpy(searched)).numpy()
        slopes[:, entries, entries] = np.where(space.logarithmic, design, 1.0)
        return Sloped(design, slopes)

    def _inside(self, box: BlackBox, states: Sloped, eta: Array) -> tuple[Array, Array, Array]:
        """Where eta in [-1, 1] is in the bands of a black box, as `PlausibleSet` has it.

        With fewer states than rows of eta, these belong to the states again and again.

        Returns:
            The values (batch, k), their slopes (batch, D, k), and half the bands' width (batch, k).
        """
        assert states.slopes is not None
        inputs, slopes = states.value, states.slopes
        if box.input_lower is not None or box.input_upper is not None:
            inside = np.clip(inputs, box.input_lower, box.input_upper)
            inputs, slopes = inside, np.where((inside == inputs)[:, None], slopes, 0.0)
        with_slopes = self._beliefs[box.name].with_slopes
        assert with_slopes is not None
        mean, deviation, by_mean, by_deviation = with_slopes(inputs)
        half = self._beta[box.name] * deviation
        by_half = self._beta[box.name][:, None] * by_deviation
        if len(eta) > len(mean):
            times = len(eta) // len(mean)
            mean, half = np.tile(mean, (times, 1)), np.tile(half, (times, 1))
            by_mean, by_half = np.tile(by_mean, (times, 1, 1)), np.tile(by_half, (times, 1, 1))
            slopes = np.tile(slopes, (times, 1, 1))
        if box.lower is not None or box.upper is not None:
            lower, by_lower = _clipped(box, mean - half, by_mean - by_half)
            upper, by_upper = _clipped(box, mean + half, by_mean + by_half)
            mean, half = (lower + upper) / 2, (upper - lower) / 2
            by_mean, by_half = (by_lower + by_upper) / 2, (by_upper - by_lower) / 2
        by_inputs = by_mean + eta[:, :, None] * by_half  # (batch, k, d)
        return mean + eta * half, slopes @ by_inputs.transpose(0, 2, 1), half


def has_slopes(program: Program, beliefs: Beliefs, cut: Mapping[str, object]) -> bool:
    """Whether slopes can be worked out here, and do not need automatic differentiation.

    Args:
        program: Objective and constraints.
        beliefs: What is believed of each black box.
        cut: The black boxes whose bands declarations cut, by name.
    """
    known = (
        box.norm_bound is None
        and not box.process_noise
        and box.inputs > 0
        and beliefs[box.name].with_slopes is not None
        for box in program.boxes
    )
    return not cut and all(known) and program.has_slopes


def _clipped(box: BlackBox, ends: Array, slopes: Array) -> tuple[Array, Array]:
    """Ends of bands (batch, k) moved into the declared range, and their slopes (batch, k, d)."""
    inside = np.clip(ends, box.lower, box.upper)
    return inside, np.where((inside == ends)[:, :, None], slopes, 0.0)


def _deviation(values: Array, slopes: Array) -> tuple[Array, Array]:
    """How far constraints may rise, as in `PlausibleSet.predict`, with slopes.

    Args:
        values: (1 + 2 m, batch, K), at the middle and at both ends of m outputs.
        slopes: (1 + 2 m, batch, K, n).
    """
    m = len(values) // 2
    ups, downs = values[1 : m + 1], values[m + 1 :]
    rise = np.maximum(ups, downs) - values[0]
    larger = (ups >= downs)[..., None]
    by_rise = np.where(larger, slopes[1 : m + 1], slopes[m + 1 :]) - slopes[0]
    rise = np.maximum(rise, 0.0)
    deviation = np.sqrt((rise * rise).sum(0) + 1e-30)
    return deviation, (rise[..., None] * by_rise).sum(0) / deviation[..., None]


# --- plausible set --------------------------------------------------------------------------------

# The part of an equality's tolerance that a recommendation leaves to errors of the prediction.
_SURE_PART = 0.9


class PlausibleSet:
    """All (x, eta): design points with intermediate values that the bands allow.

    With process noise, objective and constraints are expected values, and eta may depend on the
    state (`Disturbances`): a point is then (x, eta, w). Points are in search coordinates
    (`DesignSpace`), and design points are in the user's units.

    Args:
        program: Objective and constraints.
        beliefs: What is believed of each black box.
        beta: Half-width of the bands in posterior standard deviations, (k,) for each black box.
        intervals: What declarations and answers leave to the black boxes whose bands they cut.
    """

    def __init__(
        self,
        program: Program,
        beliefs: Beliefs,
        beta: Mapping[str, Tensor],
        intervals: Mapping[str, DeclaredInterval] | None = None,
    ) -> None:
        self.program = program
        self.beliefs = beliefs
        self.beta = beta
        self.intervals = intervals or {}
        self.disturbances: Disturbances | None = None
        self.controls = Controls(program, beliefs)
        controls = self.controls.count
        if program.process_noise:
            noisy = [box for box in program.boxes if box.process_noise]
            deviations = {box.name: disturbance(box, beliefs[box.name]) for box in noisy}
            self.disturbances = Disturbances(program, deviations)
            controls += self.disturbances.weights
        eta = torch.ones(controls, dtype=torch.float64)
        self.lower = torch.cat([torch.tensor(program.space.search_lower), -eta])
        self.upper = torch.cat([torch.tensor(program.space.search_upper), eta])

    def scaled(self, factor: float | Mapping[str, float]) -> PlausibleSet:
        """The same with bands `factor` times as wide: one for all black boxes, or one for each."""
        factors = factor if isinstance(factor, Mapping) else dict.fromkeys(self.beta, factor)
        wider = {name: factors[name] * beta for name, beta in self.beta.items()}
        return PlausibleSet(self.program, self.beliefs, wider, self.intervals)

    def widened(self, deviations: float) -> PlausibleSet:
        """Return the same with bands that reach so many standard deviations further."""
        wider = {name: beta + deviations for name, beta in self.beta.items()}
        return PlausibleSet(self.program, self.beliefs, wider, self.intervals)

    def search_problem(self) -> SearchProblem:
        """The auxiliary problem (Alg. 2 line 2) as a box with inequalities."""
        return between(
            self.program,
            self.lower,
            self.upper,
            self._with_slopes(self.evaluate, lambda slopes: slopes.auxiliary),
            design_region(self.program),
            blocks_of(self.program, len(self.lower), self.controls.columns),
        )

    def _with_slopes(
        self,
        evaluate: Evaluate,
        choose: Callable[[PlausibleSlopes], Callable[[Array], tuple[Array, Array]]],
    ) -> Evaluate:
        """What to evaluate, with slopes that come at once where these can be worked out."""
        if not has_slopes(self.program, self.beliefs, self.intervals):
            return evaluate
        slopes = PlausibleSlopes(self.program, self.beliefs, self.beta)
        return WithSlopes(evaluate, choose(slopes))

    def evaluate(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Objective (batch,) and constraints (batch, K) at points (batch, n + outputs)."""
        n, batch = self.program.size, len(points)
        at_once = self.controls.at_once(batch)
        if at_once < batch and not torch.is_grad_enabled():
            parts = [self.evaluate(part) for part in points.split(at_once)]
            return torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])
        return self._outcome(self.program.space.to_design(points[:, :n]), points[:, n:])

    def _outcome(self, design: Tensor, controls: Tensor) -> tuple[Tensor, Tensor]:
        """Objective and constraints at design points (batch, n) and eta, w (batch, controls)."""
        return split_outputs(self.run(design, controls, self.band))

    def run(self, design: Tensor, controls: Tensor, band: Band) -> list[Tensor]:
        """What the program computes at design points and eta, w, with these bands."""
        eta = self.controls.eta(controls[:, : self.controls.count])
        if self.disturbances is not None:
            weights = controls[:, self.controls.count :]
            return self.disturbances.run(design, eta, weights, band)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            return _inside(band(call, states), eta[:, call.columns])

        return self.program.run(design, resolve)

    def _parts(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """The design points and the eta of points."""
        n, end = self.program.size, self.program.size + self.controls.count
        return self.program.space.to_design(points[:, :n]), self.controls.eta(points[:, n:end])

    def band(self, call: BoxCall, states: Tensor) -> tuple[Tensor, Tensor]:
        """L and u of a call's outputs at states (batch, inputs), Def. hpb_int."""
        name = call.box.name
        interval = self.intervals.get(name)
        return confidence_band(self.beliefs[name], self.beta[name], call, states, interval)

    def visit(self, points: Tensor, look: Callable[[BoxCall, Tensor], None]) -> None:
        """Show the states of every call at points (batch, n + outputs), or (batch, n) for eta 0."""
        missing = len(self.lower) - points.shape[1]
        if missing:
            points = torch.cat([points, points.new_zeros(len(points), missing)], 1)
        design, eta = self._parts(points)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            look(call, states)
            return _inside(self.band(call, states), eta[:, call.columns])

        self.program.run(design, resolve)

    def trace(self, point: Tensor) -> tuple[list[Array], Array]:
        """Where a point (x, eta) goes: the state s̄ of each call, and the outputs z̄ of all.

        With process noise, where it would go undisturbed.
        """
        design, eta = self._parts(point.unsqueeze(0))
        states_of: list[Array] = []
        outputs: list[Array] = []

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            answer = _inside(self.band(call, states), eta[:, call.columns])
            states_of.append(accepted(call.box, states)[0].numpy().copy())
            outputs.append(answer[0].numpy().copy())
            return answer

        with torch.no_grad():
            self.program.run(design, resolve)
        return states_of, np.concatenate(outputs) if outputs else np.zeros(0)

    def locate(self, x: Array, outputs: Array) -> Tensor:
        """The point (x, eta) whose intermediate values come closest to given ones, flat.

        Args:
            x: The design point, flat.
            outputs: z̄, the outputs of all calls.
        """
        wanted = torch.tensor(outputs)
        eta = torch.zeros(1, self.program.box_outputs, dtype=torch.float64)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            lower, upper = self.band(call, states)
            half = ((upper - lower) / 2).clamp_min(1e-300)
            offset = (wanted[call.columns] - (lower + upper) / 2) / half
            eta[:, call.columns] = offset.clamp(-1, 1)
            return _inside((lower, upper), eta[:, call.columns])

        with torch.no_grad():
            self.program.run(torch.tensor(x).unsqueeze(0), resolve)
        controls = self.controls.closest(eta)[0]
        weights = eta.new_zeros(len(self.lower) - len(x) - len(controls))
        return torch.cat([self.program.space.to_search(torch.tensor(x)), controls, weights])

    def reaches(self, x: Array, outputs: Array) -> Array:
        """Beta sigma(s̄) of every output of every call, where their values are given.

        Args:
            x: The design point, flat.
            outputs: z̄, the outputs of all calls.
        """
        given = torch.tensor(outputs).unsqueeze(0)
        reaches: list[Array] = []

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            name = call.box.name
            _, reach = mean_and_reach(self.beliefs[name], self.beta[name], call, states)
            reaches.append(reach[0].numpy())
            return given[:, call.columns]

        with torch.no_grad():
            self.program.run(torch.tensor(x).unsqueeze(0), resolve)
        return np.concatenate(reaches) if reaches else np.zeros(0)

    def cautious_problem(self, margin: Tensor) -> SearchProblem:
        """Minimize the predicted objective where constraints hold with certainty, over x alone.

        Each constraint must hold with the deviation that the bands give it added: the root of
        the summed squares of how far it rises when one eta at a time goes to -1 or to 1.

        Args:
            margin: (K,), a distance to keep beyond that, so that rounding cannot spoil it.
        """
        # An equality never holds with certainty: it is to be met as well as predictions allow.
        tolerances = torch.tensor(self.program.equality_tolerances)
        kept = torch.where(tolerances > 0, _SURE_PART * tolerances, margin)

        def evaluate(design: Tensor) -> tuple[Tensor, Tensor]:
            objective, constraints, deviation = self.predict(design)
            return objective, constraints + deviation + kept

        problem = design_problem(self.program, evaluate)

        def choose(slopes: PlausibleSlopes) -> Callable[[Array], tuple[Array, Array]]:
            return lambda points: slopes.cautious(points, kept.numpy())

        return replace(
            problem,
            evaluate=self._with_slopes(problem.evaluate, choose),
            blocks=blocks_of(self.program, len(problem.lower)),
        )

    def highest(self, x: Array) -> float:
        """How large the objective can be at a design point, flat, within the bands.

        Each eta in turn goes to its worse end, and then all of them together; what they add one by
        one counts if that is more.
        """
        controls = len(self.lower) - self.program.size
        axes = torch.eye(controls, dtype=torch.float64)
        probes = torch.cat([torch.zeros_like(axes[:1]), axes, -axes])
        design = torch.tensor(x).unsqueeze(0)
        with torch.no_grad():
            values, _ = self._outcome(design.expand(len(probes), -1), probes)
            ups, downs = values[1 : controls + 1], values[controls + 1 :]
            corner = torch.where(ups >= downs, 1.0, -1.0).to(design.dtype).unsqueeze(0)
            together, _ = self._outcome(design, corner)
        rises = (torch.maximum(ups, downs) - values[0]).clamp_min(0)
        return max(float(values[0] + rises.sum()), float(together[0]))

    def predict(self, design: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Predicted objective and constraints, and how far constraints may be off.

        Args:
            design: (batch, n).

        Returns:
            Objective (batch,), constraints (batch, K), their deviations (batch, K): how far they
            may rise, which is beta standard deviations to first order; 0 for equalities, which
            are judged by their prediction.
        """
        batch = len(design)
        # Without constraints nothing needs a deviation, and one pass is enough.
        constrained = len(self.program.outputs) > 1
        m = self.controls.count if constrained else 0
        controls = len(self.lower) - self.program.size
        center = torch.zeros(1, controls, dtype=torch.float64)
        axes = torch.eye(controls, dtype=torch.float64)[:m]
        probes = torch.cat([center, axes, -axes])
        designs = design.unsqueeze(0).expand(len(probes), -1, -1).flatten(0, 1)
        controlled = probes.unsqueeze(1).expand(-1, batch, -1).flatten(0, 1)
        objective, constraints = self._outcome(designs, controlled)
        constraints = constraints.reshape(len(probes), batch, -1)
        # The worse of the two ends counts: those of z**2 around 0 are alike, yet not harmless.
        rise = torch.maximum(constraints[1 : m + 1], constraints[m + 1 :]) - constraints[0]
        # The floor keeps the root differentiable for constraints that no black box reaches.
        deviation = (rise.clamp_min(0).square().sum(0) + 1e-30).sqrt()
        equal = torch.tensor(self.program.equality_tolerances > 0)
        deviation = torch.where(equal, 0.0, deviation) if equal.any() else deviation
        return objective[:batch], constraints[0], deviation


def _inside(band: tuple[Tensor, Tensor], eta: Tensor) -> Tensor:
    """The point of a band that eta in [-1, 1] stands for."""
    lower, upper = band
    return (lower + upper) / 2 + eta * (upper - lower) / 2
