"""Objective and constraints of a plausible set with all their slopes, at once and in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.confidence.beliefs import Beliefs
from grisaille.language.black_box import BlackBox
from grisaille.language.program import BoxCall, Program
from grisaille.language.slopes import ResolveSloped, Sloped, has_rules, run_sloped
from grisaille.solvers.search_problem import Evaluate
from grisaille.surrogates.posterior import Posterior


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
        beliefs: A surrogate for each black box.
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
        outputs = run_sloped(self._program, design, resolve)
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
        belief = self._beliefs[box.name]
        assert isinstance(belief, Posterior)
        mean, deviation, by_mean, by_deviation = belief.with_slopes(inputs)
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
        beliefs: A surrogate for each black box.
        cut: The black boxes whose bands declarations cut, by name.
    """
    known = (
        box.norm_bound is None
        and not box.process_noise
        and box.inputs > 0
        and isinstance(beliefs[box.name], Posterior)
        and beliefs[box.name].has_slopes  # type: ignore[attr-defined]
        for box in program.boxes
    )
    return not cut and all(known) and has_rules(program)


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
