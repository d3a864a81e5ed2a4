"""The auxiliary problem of the LP with an embedded Gaussian process, by brute force.

minimize c1'x + c2'z over x in a box and z in [l(x), u(x)], subject to A1 x + A2 z + b <= 0, with
two design variables, two intermediate values and two constraints. For a given x this is a linear
program in the plane: its optimum is a vertex, and all vertices are tried. So only x is searched:
on a fine grid, whose cells are split again and again where something better may be hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter
from torch import Tensor

from grisaille.belief.plausible_set import PlausibleSet
from grisaille.language.program import BoxCall, split_outputs

Array = NDArray[np.float64]
Bands = Callable[[Array], tuple[Array, Array]]
"""Design points (m, 2) to l and u, (m, 2) each."""

GRID = 401
# A band may be steeper inside a cell than between the nodes of the grid around it.
_CAUTION = 1.25
_LEAST_SLOPE = 0.05
_SMALLEST_CELL = 1e-8
_CELLS = 4000
_CHUNK = 16_384
_ROUNDING = 1e-10


@dataclass(frozen=True, slots=True)
class Reference:
    """What brute force found.

    Attributes:
        value: Least objective; infinite if no feasible point was found.
        x: The design point there, (2,).
        floor: Everything below this was ruled out, with the slopes of the bands estimated from
            the grid: the distance from `value` says how much may have been overlooked.
    """

    value: float
    x: Array
    floor: float


@dataclass(frozen=True, slots=True)
class Coefficients:
    """c1, c2 (2,), A1, A2 (2, 2) and b (2,)."""

    c1: Array
    c2: Array
    a1: Array
    a2: Array
    b: Array

    @staticmethod
    def of(plausible: PlausibleSet) -> Coefficients:
        """Read off the problem: it is affine in (x, z), so five points tell everything."""
        unit = torch.cat([torch.zeros(1, 4), torch.eye(4)]).double()

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            return unit[:, 2:]

        objective, constraints = split_outputs(plausible.program.run(unit[:, :2], resolve))
        slopes = (objective[1:] - objective[0]).numpy()
        rows = (constraints[1:] - constraints[0]).T.numpy()
        assert objective[0] == 0
        return Coefficients(
            slopes[:2], slopes[2:], rows[:, :2], rows[:, 2:], constraints[0].numpy()
        )


def solve_by_brute_force(plausible: PlausibleSet) -> Reference:
    """Search the design box [lower, upper] by grid and splitting, the inner problem exactly."""
    coefficients = Coefficients.of(plausible)
    (call,) = plausible.program.calls
    box_lower, box_upper = plausible.program.lower, plausible.program.upper

    def bands(x: Array) -> tuple[Array, Array]:
        with torch.no_grad():
            lower, upper = plausible.band(call, torch.tensor(x))
        return lower.numpy(), upper.numpy()

    axes = [np.linspace(*ends, GRID) for ends in zip(box_lower, box_upper, strict=True)]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    reach = (box_upper - box_lower) / (GRID - 1) / 2
    slopes = _slopes(x, bands, 2 * reach)
    best, best_x, skipped = np.inf, x[0], np.inf
    while True:
        values, floors = _values_and_floors(x, bands, coefficients, slopes, reach)
        if values.min() < best:
            best, best_x = values.min(), x[values.argmin()]
        order = floors.argsort()
        kept = order[floors[order] < best]
        floor = min(best, skipped, floors[kept].min(initial=np.inf))
        if not len(kept) or reach.max() <= _SMALLEST_CELL:
            return Reference(float(best), best_x, float(floor))
        skipped = min(skipped, floors[kept[_CELLS:]].min(initial=np.inf))
        kept = kept[:_CELLS]
        # A cell becomes nine: its own center stays a center, and a center on a bound stays there.
        offsets = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1]), -1).reshape(-1, 2)
        reach = reach / 3
        x = (x[kept, None] + 2 * reach * offsets).reshape(-1, 2)
        inside = ((x > box_lower - reach) & (x < box_upper + reach)).all(1)
        x = np.clip(x[inside], box_lower, box_upper)
        slopes = np.repeat(slopes[kept], len(offsets), 0)[inside]


def _slopes(x: Array, bands: Bands, step: Array) -> Array:
    """How much l and u change at most per unit of each input near each node, (nodes, 2, 4)."""
    values = np.concatenate(
        [np.concatenate(bands(part), 1) for part in np.array_split(x, len(x) // _CHUNK + 1)]
    ).reshape(GRID, GRID, 4)
    along = []
    for axis in (0, 1):
        change = np.abs(np.diff(values, axis=axis)) / step[axis]
        ends = [np.take(change, [0], axis), change, np.take(change, [-1], axis)]
        padded = np.concatenate(ends, axis)
        size = [3, 3, 1]
        size[axis] = 4  # the steps on both sides of a node and of its neighbours
        window = maximum_filter(padded, size=tuple(size))
        along.append(np.take(window, range(1, GRID + 1), axis).reshape(-1, 4))
    return _CAUTION * np.maximum(np.stack(along, 1), _LEAST_SLOPE)


def _values_and_floors(
    x: Array, bands: Bands, c: Coefficients, slopes: Array, reach: Array
) -> tuple[Array, Array]:
    """The optimum at each x, and a floor under all optima in the cell x ± reach."""
    values, floors = [], []
    for start in range(0, len(x), _CHUNK):
        part = x[start : start + _CHUNK]
        lower, upper = bands(part)
        rest = part @ c.a1.T + c.b
        cost = part @ c.c1
        values.append(cost + _vertex_optimum(lower, upper, c, rest))
        wider = (slopes[start : start + _CHUNK] * reach[:, None]).sum(1)
        floors.append(
            cost
            - np.abs(c.c1) @ reach
            + _vertex_optimum(
                lower - wider[:, :2], upper + wider[:, 2:], c, rest - np.abs(c.a1) @ reach
            )
        )
    return np.concatenate(values), np.concatenate(floors)


def _vertex_optimum(lower: Array, upper: Array, c: Coefficients, rest: Array) -> Array:
    """Minimize c2'z over l <= z <= u, A2 z + rest <= 0, (m, 2) each to (m,); inf if empty."""
    (l1, l2), (u1, u2) = lower.T, upper.T
    vertices = [(l1, l2), (l1, u2), (u1, l2), (u1, u2)]
    with np.errstate(divide="ignore", invalid="ignore"):
        for (a, b), r in zip(c.a2, rest.T, strict=True):
            vertices += [(z1, -(r + a * z1) / b) for z1 in (l1, u1)]
            vertices += [(-(r + b * z2) / a, z2) for z2 in (l2, u2)]
        (a, b), (d, e) = c.a2
        r, s = rest.T
        vertices.append(((b * s - e * r) / (a * e - b * d), (d * r - a * s) / (a * e - b * d)))
        best = np.full(len(lower), np.inf)
        for z1, z2 in vertices:
            met = (z1 >= l1 - _ROUNDING) & (z1 <= u1 + _ROUNDING)
            met &= (z2 >= l2 - _ROUNDING) & (z2 <= u2 + _ROUNDING)
            for (a, b), r in zip(c.a2, rest.T, strict=True):
                met &= a * z1 + b * z2 + r <= _ROUNDING
            value = c.c2[0] * z1 + c.c2[1] * z2
            best = np.where(met & (value < best), value, best)
    return best
