"""Slices: how one value depends on one quantity while everything else is held fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grisaille.array_types import Array, Flags
from grisaille.errors import ModelError, shortened
from grisaille.language.black_box import input_kinds
from grisaille.language.design_points import names_of_entries
from grisaille.language.units import unit_of_entry
from grisaille.language.values import ValueKind, condensed, design_kinds
from grisaille.views.inspection.inspection import Inspection


@dataclass(frozen=True, slots=True)
class SliceConstants:
    """The constants of slices.

    Attributes:
        points: Points of a slice along a number. A choice of layout.
        near: An answer whose other inputs are this part of their ranges away has a third of its
            weight. A choice of layout.
    """

    points: int = 61
    near: float = 0.25


SLICES = SliceConstants()


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """One value along one quantity.

    Attributes:
        value: What is shown, by name.
        along: What moves, by name.
        unit: Unit of what moves; empty without one.
        labels: The labels of a choice, which are at positions 0, 1, ...; none for a number.
        positions: (points,) where it is shown.
        mean: (points,), the prediction.
        lower: (points,), the lower end of the band.
        upper: (points,), the upper end.
        at: The position that all slices of a point go through.
        is_logarithmic: Whether the positions count by their logarithm.
        seen: (answers, 2), position and value of each answer.
        nearness: (answers,), 1 for an answer on the slice, near 0 for one far from it.
        may_be_feasible: (points,), whether the bands allow that all constraints hold there.
    """

    value: str
    along: str
    unit: str
    labels: tuple[str, ...]
    positions: Array
    mean: Array
    lower: Array
    upper: Array
    at: float
    is_logarithmic: bool
    seen: Array
    nearness: Array
    may_be_feasible: Flags


def box_slices(
    inspection: Inspection, box: str, output: int | str = 0, call: int = 0
) -> list[Slice]:
    """Slices of one output of a black box along each of its inputs, through the best point.

    Args:
        inspection: What was learned.
        box: The black box, by name.
        output: The output, by position or name.
        call: Which of its calls, if the problem calls it several times.
    """
    model = inspection.model(box)
    name = output_name(model.output_names, output, box)
    kinds = input_kinds(model.box)
    reached = condensed(kinds, inspection.states[box])
    center = condensed(kinds, inspection.states_at_best[box][call])
    data = inspection.history.data(box, model.box.inputs, model.box.outputs)
    seen = condensed(kinds, data[0])
    answers = data[1][:, model.output_names.index(name)]
    everywhere = np.concatenate([reached, seen, [center]])
    low, high = everywhere.min(0), everywhere.max(0)
    slices = []
    for entry, along in enumerate(model.input_names):
        positions = _positions(kinds[entry], low[entry], high[entry], False)
        points = np.tile(center, (len(positions), 1))
        points[:, entry] = positions
        columns = {
            other: [kind.shown(number) for number in points[:, place]]
            for place, (other, kind) in enumerate(zip(model.input_names, kinds, strict=True))
        }
        table = model.predict(columns)
        slices.append(
            Slice(
                name,
                along,
                "",
                kinds[entry].labels,
                positions,
                table[f"{name} mean"].to_numpy(),
                table[f"{name} lower"].to_numpy(),
                table[f"{name} upper"].to_numpy(),
                at=float(center[entry]),
                is_logarithmic=False,
                seen=np.stack([seen[:, entry], answers], 1),
                nearness=_nearness(seen, center, high - low, kinds, entry),
                may_be_feasible=np.ones(len(positions), dtype=bool),
            )
        )
    return slices


def design_slices(inspection: Inspection, entries: Sequence[int] | None = None) -> list[Slice]:
    """Slices of the objective along entries of the design point, through the best point.

    Args:
        inspection: What was learned.
        entries: Which entries, by position; None for all.
    """
    problem, best = inspection.problem, inspection.best_trial
    space, kinds = problem.program.space, design_kinds(problem.variables)
    names = names_of_entries(problem.variables)
    units = [unit_of_entry(v.unit, k) or "" for v in problem.variables for k in range(v.size)]
    chosen = list(range(len(names))) if entries is None else list(entries)
    grids = [
        _positions(kinds[e], space.lower[e], space.upper[e], bool(space.logarithmic[e]))
        for e in chosen
    ]
    points = np.concatenate([_moved(best.x, e, g) for e, g in zip(chosen, grids, strict=True)])
    expressions = [problem.objective, *(constraint.body for constraint in problem.constraints)]
    found = inspection.predictor.predict(expressions, points)
    feasible: Flags = np.all(found.lower[:, 1:] <= 0, axis=1)
    seen_x = np.array([t.x for t in inspection.history])
    seen_y = problem.sense * np.array([t.objective for t in inspection.history])
    slices, start = [], 0
    for entry, grid in zip(chosen, grids, strict=True):
        rows = slice(start, start + len(grid))
        start += len(grid)
        slices.append(
            Slice(
                problem.objective_name or "objective",
                names[entry],
                units[entry],
                kinds[entry].labels,
                grid,
                found.mean[rows, 0],
                found.lower[rows, 0],
                found.upper[rows, 0],
                at=float(best.x[entry]),
                is_logarithmic=bool(space.logarithmic[entry]),
                seen=np.stack([seen_x[:, entry], seen_y], 1),
                nearness=_nearness(seen_x, best.x, space.upper - space.lower, kinds, entry),
                may_be_feasible=feasible[rows],
            )
        )
    return slices


def output_name(names: Sequence[str], output: int | str, box: str) -> str:
    """The name of an output, given by position or name; raises ModelError if there is none."""
    if isinstance(output, str) and output in names:
        return output
    if isinstance(output, int) and not isinstance(output, bool) and 0 <= output < len(names):
        return names[output]
    known = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    raise ModelError(
        f"black box {box!r} has no output {shortened(output)}: it has {known}, or 0 to "
        f"{len(names) - 1} by position"
    )


def _moved(x: Array, entry: int, positions: Array) -> Array:
    """A point (n,) with one entry at each of some positions, (positions, n)."""
    points = np.tile(x, (len(positions), 1))
    points[:, entry] = positions
    return points


def _positions(kind: ValueKind, low: float, high: float, is_logarithmic: bool) -> Array:
    """Where a slice is shown: at every label or whole number if they are few."""
    if kind.labels:
        return np.arange(len(kind.labels), dtype=float)
    if is_logarithmic:
        return np.clip(np.geomspace(low, high, SLICES.points), low, high)
    return kind.held(np.linspace(low, high, SLICES.points))


def _nearness(
    seen: Array, center: Array, ranges: Array, kinds: Sequence[ValueKind], entry: int
) -> Array:
    """How near answers (n, d) are to a slice along an entry: 1 on it, falling with distance."""
    distance = np.abs(seen - center) / np.where(ranges > 0, ranges, 1.0)
    # Two labels are either the same or not.
    nominal = np.array([bool(kind.labels) for kind in kinds])
    distance = np.where(nominal, (distance > 0) * 2 * SLICES.near, distance)
    distance[:, entry] = 0.0
    return np.asarray(np.exp(-((distance / SLICES.near) ** 2).sum(1)))
