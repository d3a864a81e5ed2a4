"""Search spaces that linear inequalities cut: points inside, points on faces, moves that stay.

A mixture of ten parts fills a 3.6-millionth of the box of nine of them. Drawing from the box and
throwing away would leave a search with nothing, so points are drawn where they can be.

Rare points are the ends of independent random walks: a single chain would make neighbours alike,
and walks in one batch take a tenth of a second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from grisaille.array_types import Array, Flags


@dataclass(frozen=True, slots=True)
class PolytopeConstants:
    """The constants of points of a polytope.

    Attributes:
        rounding: Rounding, in parts of the size of a row. Halved and doubled: no decision of 3 runs
            changed (benchmarks.constants).
        drawn_for_one: Points of the box that are drawn for one inside; then random walks do better.
            Halved and doubled: no decision of 3 runs changed (benchmarks.constants).
        steps_per_dimension: Steps of a walk for each dimension. Not measured.
        steps: Steps of a walk in any case. Not measured.
        first_walks: Walks that show in which directions the polytope is wide. Not measured.
        same_volume: They end when the logarithm of their volume changes by less for each
            dimension. Not measured.
        least_radius: Radius of the smallest ball that walks need, in widths of the box. Halved and
            doubled: no decision of 3 runs changed (benchmarks.constants).
    """

    rounding: float = 1e-12
    drawn_for_one: int = 32
    steps_per_dimension: int = 12
    steps: int = 30
    first_walks: int = 20
    same_volume: float = 0.1
    least_radius: float = 1e-9


POLYTOPE = PolytopeConstants()


@dataclass(frozen=True)
class Polytope:
    """Points x with `matrix @ x <= limits` and `lower <= x <= upper`.

    Attributes:
        matrix: (rows, n).
        limits: (rows,).
        lower: (n,).
        upper: (n,).
        whole: (n,), which entries must be whole numbers. Their bounds are whole.
    """

    matrix: Array
    limits: Array
    lower: Array
    upper: Array
    whole: Flags

    def contains(self, points: Array) -> Flags:
        """Which of some points (count, n) are inside, up to rounding."""
        width = self.upper - self.lower
        slack = POLYTOPE.rounding * (np.abs(self.matrix) @ width)
        met = (points @ self.matrix.T <= self.limits + slack).all(1)
        met &= ((points >= self.lower) & (points <= self.upper)).all(1)
        return np.asarray(met)

    def is_flat_along(self, points: Array) -> bool:
        """Return whether a row varies by rounding only over points (count, n)."""
        spread, sizes = np.ptp(points @ self.matrix.T, axis=0), np.abs(self.matrix)
        return bool((spread < POLYTOPE.least_radius * (sizes @ (self.upper - self.lower))).any())

    def uniform(self, count: int, seed: int) -> Array | None:
        """Points (count, n) that are uniform inside; None if none are found.

        Sobol points of the box that are inside, if these are not too rare; else the ends of random
        walks, each of its own, whose whole entries are rounded.
        """
        engine = torch.quasirandom.SobolEngine(len(self.lower), scramble=True, seed=seed)
        found = np.zeros((0, len(self.lower)))
        for _ in range(POLYTOPE.drawn_for_one):
            drawn = self._spread(engine.draw(count, dtype=torch.float64).numpy())
            found = np.concatenate([found, drawn[self.contains(drawn)]])
            if len(found) >= count:
                return found[:count]
            if len(found) * POLYTOPE.drawn_for_one * 4 < count:  # it would take too long
                break
        walked = self.walked(count, np.random.default_rng(seed))
        if walked is not None:
            return walked
        return None if not len(found) else np.resize(found, (count, len(self.lower)))

    def walked(self, count: int, generator: np.random.Generator) -> Array | None:
        """The ends of `count` random walks (hit and run), (count, n); None if nothing is inside.

        A step goes in a random direction, to any point of the line inside with the same chance.
        Where inequalities leave no volume, such as `a + b <= 1` with `a + b >= 1`, directions stay
        in the flat part that they leave.
        """
        if self._middle is None:
            return None
        free = ~(self.whole & ~self.matrix.any(0))  # other whole numbers are drawn evenly
        unit = self._walk(count, generator)
        found = self.lower + (self.upper - self.lower) * unit
        if not self.whole.any():
            return np.clip(found, self.lower, self.upper)
        even = self._spread(generator.random(found.shape))
        found = np.where(free, np.where(self.whole, np.rint(found), found), even)
        fits = found[self.contains(found)]
        return np.resize(fits, found.shape) if len(fits) else None

    def to_faces(self, points: Array, generator: np.random.Generator) -> Array:
        """Points inside (count, n) moved to faces of random dimension: some to corners.

        Each move goes along the faces reached before, until it meets another one.
        """
        matrix, limits = self._unit_rows
        width = self.upper - self.lower
        unit = (points - self.lower) / width
        count, n = unit.shape
        moves = generator.integers(0, n + 1, count)
        bases = np.zeros((count, n, n))
        for number in range(n):
            moving = moves > number
            direction = generator.standard_normal((count, n))
            direction -= np.einsum("ckn,ckm,cm->cn", bases, bases, direction)
            size = np.linalg.norm(direction, axis=1, keepdims=True)
            direction = np.where(size > 1e-9, direction / np.maximum(size, 1e-300), 0.0)
            speed = direction @ matrix.T
            room = np.maximum(limits - unit @ matrix.T, 0.0)
            times = np.where(speed > 1e-12, room / np.maximum(speed, 1e-300), np.inf)
            hit = times.argmin(1)
            far = times[np.arange(count), hit]
            moving &= np.isfinite(far)
            unit = np.where(
                moving[:, None], unit + np.where(moving, far, 0)[:, None] * direction, unit
            )
            normal = matrix[hit] - np.einsum("ckn,ckm,cm->cn", bases, bases, matrix[hit])
            size = np.linalg.norm(normal, axis=1, keepdims=True)
            fresh = moving[:, None] & (size > 1e-9)
            bases[:, number] = np.where(fresh, normal / np.maximum(size, 1e-300), 0.0)
        moved = self.lower + width * np.clip(unit, 0.0, 1.0)
        moved = np.where(self.whole, np.rint(moved), moved)
        return np.where(self.contains(moved)[:, None], moved, points)

    def pulled_in(self, centers: Tensor, points: Tensor) -> Tensor:
        """Points (count, n) moved towards centers (count, n) as far as needed to be inside.

        Points whose center is outside stay where they are.
        """
        matrix, limits = torch.tensor(self.matrix), torch.tensor(self.limits)
        room = limits - centers @ matrix.T
        speed = (points - centers) @ matrix.T
        part = torch.where(speed > room, room / speed.clamp_min(1e-300), 1.0).amin(1)
        usable = (room >= 0).all(1)
        part = torch.where(usable, part.clamp(0.0, 1.0), 1.0)
        moved = centers + part.unsqueeze(1) * (points - centers)
        if self.whole.any():  # a whole number cannot be moved by a part
            return torch.where(torch.tensor(self.whole), points, moved)
        return moved

    def within(self, lower: Array, upper: Array) -> Polytope:
        """The part between other bounds."""
        return replace(self, lower=lower, upper=upper)

    def with_fixed(self, point: Array, fixed: Flags) -> Polytope | None:
        """What is left to the other entries when some are fixed; None if nothing cuts them."""
        matrix = self.matrix[:, ~fixed]
        told = matrix.any(1)
        if not told.any():
            return None
        limits = self.limits - self.matrix[:, fixed] @ point[fixed]
        ends = self.lower[~fixed], self.upper[~fixed]
        return Polytope(matrix[told], limits[told], *ends, self.whole[~fixed])

    def _spread(self, unit: Array) -> Array:
        """Points of the box for numbers from 0 to 1; every whole number equally often."""
        points = self.lower + (self.upper - self.lower) * unit
        if not self.whole.any():
            return points
        values = self.upper - self.lower + 1
        number = np.minimum(np.floor(unit * values), values - 1)
        return np.where(self.whole, self.lower + number, points)

    @cached_property
    def _unit_rows(self) -> tuple[Array, Array]:
        """All rows with those of the bounds, normals of length 1, in widths of the box."""
        width, n = self.upper - self.lower, len(self.lower)
        matrix = self.matrix * width
        size = np.maximum(np.linalg.norm(matrix, axis=1), 1e-300)
        rows = np.concatenate([matrix / size[:, None], -np.eye(n), np.eye(n)])
        limits = (self.limits - self.matrix @ self.lower) / size
        return rows, np.concatenate([limits, np.zeros(n), np.ones(n)])

    @cached_property
    def _center(self) -> Array | None:
        """The center of the largest ball inside, in widths of the box; None if there is no room."""
        matrix, limits = self._unit_rows
        n = len(self.lower)
        rows = np.hstack([matrix, np.ones((len(matrix), 1))])
        goal = np.append(np.zeros(n), -1.0)
        found = linprog(goal, rows, limits, bounds=[(None, None)] * n + [(None, 1)], method="highs")
        if found.x is None or found.x[-1] < POLYTOPE.least_radius:
            return None
        return np.asarray(found.x[:-1])

    @cached_property
    def _middle(self) -> tuple[Array, Array] | None:
        """A point with room on all sides, and directions (n, k) to walk in, orthonormal.

        All directions where a ball fits inside. Otherwise some rows are met only with equality, and
        directions keep to them. None if nothing is inside, or nothing is found.
        """
        n = len(self.lower)
        if self._center is not None:
            return self._center, np.eye(n)
        if self.whole.any():  # rounding would leave the flat part
            return None
        matrix, limits = self._unit_rows
        tight, seen = np.ones(len(matrix), dtype=bool), []
        while tight.any():  # each round shows room in another row, or that none is left
            rows = np.hstack([matrix, np.diag(tight).astype(float)[:, tight]])
            goal = np.append(np.zeros(n), -np.ones(tight.sum()))
            bounds = [(None, None)] * n + [(0, 1)] * int(tight.sum())
            found = linprog(goal, rows, limits, bounds=bounds, method="highs")
            if found.x is None:
                return None
            seen.append(found.x[:n])
            roomy = limits - matrix @ found.x[:n] > POLYTOPE.least_radius
            if not (tight & roomy).any():
                break
            tight &= ~roomy
        _, sizes, directions = np.linalg.svd(matrix[tight])
        return np.mean(seen, 0), directions[int((sizes > 1e-9).sum()) :].T

    def _walk(self, count: int, generator: np.random.Generator) -> Array:
        assert self._middle is not None
        middle, inside = self._middle
        n, dimension = inside.shape
        points = np.tile(middle, (max(count, 4 * n), 1))
        if not dimension:
            return points[:count]
        shape, volume = inside, -np.inf
        for _ in range(POLYTOPE.first_walks):
            points = self._steps(points, shape, POLYTOPE.steps, generator)
            covariance = np.atleast_2d(np.cov((points @ inside).T))
            rounding = 1e-14 * np.trace(covariance) * np.eye(dimension)
            spread = np.linalg.cholesky(covariance + rounding)
            shape = inside @ spread
            before, volume = volume, float(np.log(np.diag(spread)).sum())
            if abs(volume - before) <= POLYTOPE.same_volume * dimension:
                break
        steps = POLYTOPE.steps + POLYTOPE.steps_per_dimension * dimension
        return self._steps(points, shape, steps, generator)[:count]

    def _steps(
        self, points: Array, shape: Array, steps: int, generator: np.random.Generator
    ) -> Array:
        """Points (count, n) after some steps in directions that are normal, deformed by `shape`."""
        matrix, limits = self._unit_rows
        for _ in range(steps):
            direction = generator.standard_normal((len(points), shape.shape[1])) @ shape.T
            direction /= np.linalg.norm(direction, axis=1, keepdims=True)
            speed, room = direction @ matrix.T, np.maximum(limits - points @ matrix.T, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                times = room / speed
            most = np.where(speed > 1e-14, times, np.inf).min(1)
            least = np.where(speed < -1e-14, times, -np.inf).max(1)
            part = generator.random(len(points))
            points = points + (least + part * (most - least))[:, None] * direction
        return points
