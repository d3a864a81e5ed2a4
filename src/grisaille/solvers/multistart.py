"""Multi-start search: screen the whole space, then search locally from all starts at once.

The local search is sequential quadratic programming in a trust region with an exact penalty
(Fletcher's Sl1QP), run as one batch: an iteration costs one forward pass for all starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from grisaille.errors import ModelError
from grisaille.solvers.quadratic import solve_quadratic
from grisaille.solvers.search_problem import (
    FEASIBILITY,
    Scale,
    SearchProblem,
    Solution,
    best_of,
    evaluate_in_chunks,
)

_SCREEN_PENALTY = 10.0
# Radii of the samples around the best points, in widths of the search space.
_ZOOMS = (0.1, 0.03, 0.01)
_SMALLEST_RADIUS = 1e-8
_SMALLEST_GAIN = 3e-10
_ONE_VALLEY = 0.02
_LARGEST_MARGIN = 1e6
# A coordinate is flat where moving it to a bound changes the scaled merit by less than this.
_FLAT = 0.01
_ENDS_TO_CROSS_FROM = 3
_CROSSINGS = 8
_ASIDE = 0.02
# After warming up, a start is given up if this many steps like the next would not make it best.
_WARM_UP = 6
_STEPS_AHEAD = 30.0
_JUMP_ZOOMS = (*_ZOOMS, 0.003, 0.001, 0.0003, 0.0001)


@dataclass(frozen=True, slots=True)
class MultiStart:
    """Sobol screening with boundary points and hints, then batched local search.

    Attributes:
        starts: The number of local searches, in addition to one from each hint.
        samples: How many points screening evaluates; a few thousand more zoom in on the best.
        iterations: The largest number of steps of a local search.
        again: Whether to search a second time from the other ends of coordinates that hardly
            matter at the best points.
    """

    starts: int = 24
    samples: int = 2048
    iterations: int = 60
    again: bool = True

    def __post_init__(self) -> None:
        if min(self.starts, self.samples, self.iterations) < 1:
            raise ModelError(f"{self}: starts, samples and iterations must be at least 1")

    def solve(self, problem: SearchProblem, hints: Tensor, seed: int) -> Solution:
        """Search for the minimum; the result is the best point found, without proof."""
        hints = torch.clamp(hints, problem.lower, problem.upper)
        points = torch.cat([hints, self._cover(problem, seed)])
        objectives, constraints = evaluate_in_chunks(problem, points)
        scale = Scale.of(objectives, constraints)
        points, objectives, constraints = self._zoom(
            problem, scale, points, objectives, constraints, seed
        )
        merit = _merit(objectives, constraints, scale, _SCREEN_PENALTY)
        chosen = _spread_out(points, merit, self.starts, problem)
        starts = torch.cat([hints, points[chosen]])
        ends, steps = _local_search(problem, scale, starts, self.iterations)
        crossed = starts[:0]
        if self.again:
            crossed, tried = _cross_flat_coordinates(problem, scale, ends, seed)
            steps += tried
        if len(crossed):
            target = _best_value(problem, scale, ends)
            steps += len(ends)
            more, further = _local_search(problem, scale, crossed, self.iterations, target)
            ends = torch.cat([ends, more])
            steps += further
        return _best_of_both(problem, scale, points, (objectives, constraints), ends, steps)

    def _cover(self, problem: SearchProblem, seed: int) -> Tensor:
        """Sobol points, half of them with some coordinates moved to a bound."""
        dimensions = len(problem.lower)
        engine = torch.quasirandom.SobolEngine(dimensions, scramble=True, seed=seed)
        unit = engine.draw(self.samples, dtype=torch.float64)
        generator = torch.Generator().manual_seed(seed)
        half = self.samples // 2
        chance = torch.rand(half, 1, generator=generator, dtype=torch.float64)
        moved = torch.rand(half, dimensions, generator=generator, dtype=torch.float64) < chance
        unit[:half] = torch.where(moved, unit[:half].round(), unit[:half])
        return problem.lower + (problem.upper - problem.lower) * unit

    def _zoom(
        self,
        problem: SearchProblem,
        scale: Scale,
        points: Tensor,
        objectives: Tensor,
        constraints: Tensor,
        seed: int,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Sample around the best points at ever smaller radii, without gradients."""
        generator = torch.Generator().manual_seed(seed + 1)
        width = problem.upper - problem.lower
        for radius in _ZOOMS if problem.continuous else _JUMP_ZOOMS:
            merit = _merit(objectives, constraints, scale, _SCREEN_PENALTY)
            centers = points[_spread_out(points, merit, 2 * self.starts, problem)]
            count = max(1, self.samples // (4 * len(centers)))
            noise = torch.randn(count, *centers.shape, generator=generator, dtype=torch.float64)
            # Half of the moves change few coordinates, which helps in many dimensions.
            rare = torch.rand(noise.shape, generator=generator, dtype=torch.float64) < 0.3
            noise[: count // 2] = torch.where(rare[: count // 2], noise[: count // 2], 0.0)
            near = (centers + radius * width * noise).reshape(-1, len(width))
            near = torch.clamp(near, problem.lower, problem.upper)
            found = evaluate_in_chunks(problem, near)
            points = torch.cat([points, near])
            objectives = torch.cat([objectives, found[0]])
            constraints = torch.cat([constraints, found[1]])
        return points, objectives, constraints


def polish(
    problem: SearchProblem, scale: Scale, points: Tensor, starts: int, iterations: int
) -> Solution:
    """Local search from the best of given points, (S, D)."""
    values = evaluate_in_chunks(problem, points)
    best = _merit(*values, scale, _SCREEN_PENALTY).argsort()[:starts]
    ends, steps = _local_search(problem, scale, points[best], iterations)
    return _best_of_both(problem, scale, points, values, ends, steps)


def _best_of_both(
    problem: SearchProblem,
    scale: Scale,
    points: Tensor,
    values: tuple[Tensor, Tensor],
    ends: Tensor,
    steps: int,
) -> Solution:
    """The best of screened points with known values, and of the ends of local searches."""
    pairs = zip((points, *values), (ends, *evaluate_in_chunks(problem, ends)), strict=True)
    everything, objectives, constraints = map(torch.cat, pairs)
    return best_of(everything, objectives, constraints, scale, len(everything) + steps)


def _merit(objectives: Tensor, constraints: Tensor, scale: Scale, penalty: float) -> Tensor:
    merit = objectives / scale.objective + penalty * scale.violation(constraints)
    return torch.where(torch.isfinite(merit), merit, torch.inf)


def _spread_out(points: Tensor, merit: Tensor, count: int, problem: SearchProblem) -> Tensor:
    """Indices of points of small merit that keep a distance from one another."""
    order = merit.argsort()
    unit = (points[order] - problem.lower) / (problem.upper - problem.lower)
    gap = 0.3
    chosen: list[int] = []
    available = torch.ones(len(order), dtype=torch.bool)
    while len(chosen) < min(count, len(order)):
        left = torch.nonzero(available)
        if not len(left):  # no point is far enough away: allow smaller distances
            gap /= 4
            available = torch.ones(len(order), dtype=torch.bool)
            available[chosen] = False
            if chosen and gap > 1e-6:
                near = (unit[:, None] - unit[None, chosen]).abs().amax(-1).amin(-1) < gap
                available &= ~near
            continue
        pick = int(left[0])
        chosen.append(pick)
        available &= (unit - unit[pick]).abs().amax(-1) >= gap
        available[pick] = False
    return order[chosen]


def _best_value(problem: SearchProblem, scale: Scale, points: Tensor) -> float:
    """Least scaled objective of the feasible points; infinite if there are none."""
    objectives, constraints = evaluate_in_chunks(problem, points)
    feasible = scale.violation(constraints) <= FEASIBILITY
    return float(torch.where(feasible, objectives / scale.objective, torch.inf).amin())


def _local_search(
    problem: SearchProblem,
    scale: Scale,
    starts: Tensor,
    iterations: int,
    target: float = float("inf"),
) -> tuple[Tensor, int]:
    """Improve all starts at once; infeasible ends with a lower objective get a larger penalty.

    Args:
        problem: What to minimize.
        scale: Typical spreads.
        starts: (S, D).
        iterations: The largest number of steps.
        target: The best scaled objective known: starts that will not beat it are given up.

    Returns:
        The ends, and how many points were evaluated.
    """
    found = []
    evaluations = 0
    for penalty in (10.0, 1000.0):
        ends, steps = _trust_region(problem, scale, starts, penalty, iterations, target)
        found.append(ends)
        evaluations += steps + len(ends)
        objectives, constraints = evaluate_in_chunks(problem, ends)
        feasible = scale.violation(constraints) <= FEASIBILITY
        best = torch.where(feasible, objectives / scale.objective, torch.inf).amin()
        target = min(target, float(best))
        starts = ends[~feasible & (objectives / scale.objective < target)]
        if not len(starts):
            break
    return torch.cat(found), evaluations


def _cross_flat_coordinates(
    problem: SearchProblem, scale: Scale, ends: Tensor, seed: int
) -> tuple[Tensor, int]:
    """Starts on the other side of coordinates that hardly matter at the best ends.

    A coordinate may have no effect at one point, and so no slope there, but lead down from its
    other end a step further on.

    Returns:
        The starts, and how many points were evaluated.
    """
    merit = _merit(*evaluate_in_chunks(problem, ends), scale, _SCREEN_PENALTY)
    best = _spread_out(ends, merit, _ENDS_TO_CROSS_FROM, problem)
    center, level = ends[best], merit[best]
    dimensions = len(problem.lower)
    sides = torch.stack([problem.lower, problem.upper])
    eye = torch.eye(dimensions, dtype=torch.bool)
    jumps = torch.where(eye, sides[:, None, None, :], center[None, :, None, :]).flatten(0, 2)
    moved = _merit(*evaluate_in_chunks(problem, jumps), scale, _SCREEN_PENALTY)
    moved = moved.reshape(2, len(center), dimensions)
    flat = (moved - level[:, None]).abs().amax(0) <= _FLAT
    generator = torch.Generator().manual_seed(seed + 2)
    shape = (_CROSSINGS, *center.shape)
    upper = torch.rand(shape, generator=generator, dtype=torch.float64) < 0.5
    # A little to the side, because a flat coordinate has no slope at the end itself.
    aside = torch.randn(shape, generator=generator, dtype=torch.float64) * (sides[1] - sides[0])
    near = torch.clamp(center + _ASIDE * aside, sides[0], sides[1])
    starts = torch.where(flat, torch.where(upper, sides[1], sides[0]), near)
    starts = starts[:, flat.any(1)].reshape(-1, dimensions)
    return starts, len(jumps) + len(ends)


def _trust_region(
    problem: SearchProblem,
    scale: Scale,
    starts: Tensor,
    penalty: float,
    iterations: int,
    target: float,
) -> tuple[Tensor, int]:
    """Sequential quadratic programming in coordinates from 0 to 1, batched over starts.

    Returns:
        The ends, and how many points were evaluated.
    """
    width = problem.upper - problem.lower
    unit = ((starts - problem.lower) / width).clamp(0, 1)
    dimensions = unit.shape[1]
    value, rows, gradient, jacobian = _linearize(problem, scale, unit)
    hessian = torch.eye(dimensions, dtype=unit.dtype).repeat(len(unit), 1, 1)
    # A start where something is infinite or not a number does not move.
    radius = 0.2 * _all_finite(value, rows).to(unit.dtype)
    active = torch.arange(len(unit))
    evaluations = len(unit)

    for iteration in range(iterations):
        # Only starts that still move are continued, and of those in one valley only the best.
        if iteration % 4 == 3:
            radius[_have_better_neighbour(unit, value + penalty * rows.clamp_min(0).sum(1))] = 0.0
        active = active[radius[active] > _SMALLEST_RADIUS]
        if not len(active):
            break
        a = active
        low = torch.maximum(-unit[a], -radius[a, None])
        high = torch.minimum(1 - unit[a], radius[a, None])
        step, multipliers = solve_quadratic(
            hessian[a], gradient[a], jacobian[a], -rows[a], low, high, penalty
        )
        curved = (step.unsqueeze(1) @ hessian[a] @ step.unsqueeze(2)).reshape(-1)
        linear = (gradient[a] * step).sum(1)
        predicted_rows = rows[a] + (jacobian[a] @ step.unsqueeze(2)).squeeze(2)
        before = value[a] + penalty * rows[a].clamp_min(0).sum(1)
        expected = before - (
            value[a] + linear + curved / 2 + penalty * predicted_rows.clamp_min(0).sum(1)
        )
        candidate = (unit[a] + step).clamp(0, 1)
        new_value, new_rows, new_gradient, new_jacobian = _linearize(problem, scale, candidate)
        evaluations += len(candidate)
        after = new_value + penalty * new_rows.clamp_min(0).sum(1)
        gained = torch.where(_all_finite(new_value, new_rows), before - after, -torch.inf)
        ratio = gained / expected.clamp_min(1e-16)

        _update_hessian(
            hessian, a, step, gradient[a], jacobian[a], new_gradient, new_jacobian, multipliers
        )
        length = step.abs().amax(1)
        accepted = (ratio > 1e-4) & (gained > 0)
        shrink = torch.where(ratio < 0.25, 0.4 * torch.minimum(length, radius[a]), radius[a])
        grow = (ratio > 0.75) & (length > 0.9 * radius[a])
        radius[a] = torch.where(grow, (2 * radius[a]).clamp_max(1.0), shrink)
        finished = expected <= _SMALLEST_GAIN * (1 + before.abs())
        if iteration >= _WARM_UP:
            finished |= before - _STEPS_AHEAD * expected > min(float(before.amin()), target)
        radius[a] = torch.where(finished, 0.0, radius[a])
        moved = a[accepted]
        unit[moved] = candidate[accepted]
        value[moved] = new_value[accepted]
        rows[moved] = new_rows[accepted]
        gradient[moved] = new_gradient[accepted]
        jacobian[moved] = new_jacobian[accepted]
    return problem.lower + width * unit, evaluations


def _all_finite(value: Tensor, rows: Tensor) -> Tensor:
    return torch.isfinite(value) & torch.isfinite(rows).all(1)


def _have_better_neighbour(unit: Tensor, merit: Tensor) -> Tensor:
    """Which points have a better one so near that both are taken to be in one valley."""
    near = (unit.unsqueeze(0) - unit.unsqueeze(1)).abs().amax(-1) < _ONE_VALLEY
    better = merit.unsqueeze(0) < merit.unsqueeze(1)
    # Of several equal ones, the first stays.
    equal = (merit.unsqueeze(0) == merit.unsqueeze(1)).triu(1).T
    return (near & (better | equal)).any(1)


def _linearize(
    problem: SearchProblem, scale: Scale, unit: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Scaled objective (S,), constraints (S, K), gradient (S, D) and Jacobian (S, K, D)."""
    points = unit.detach().requires_grad_(True)
    width = problem.upper - problem.lower
    objectives, constraints = problem.evaluate(problem.lower + width * points)
    columns = torch.cat(
        [(objectives / scale.objective).unsqueeze(1), constraints / scale.constraints], 1
    )
    gradients = []
    for j in range(columns.shape[1]):
        if columns.requires_grad:
            (slope,) = torch.autograd.grad(
                columns[:, j].sum(), points, retain_graph=True, materialize_grads=True
            )
        else:  # a locally constant problem, such as floor(x)
            slope = torch.zeros_like(points)
        # The branch of np.where that is not taken may have no derivative.
        gradients.append(torch.nan_to_num(slope, nan=0.0, posinf=1e8, neginf=-1e8))
    jacobian = torch.stack(gradients, 1)
    columns = columns.detach()
    # A constraint met by an infinite margin (y <= inf) counts as met by a large one.
    rows = columns[:, 1:].clamp_min(-_LARGEST_MARGIN)
    return columns[:, 0].clone(), rows, jacobian[:, 0], jacobian[:, 1:]


def _update_hessian(
    hessian: Tensor,
    active: Tensor,
    step: Tensor,
    old_gradient: Tensor,
    old_jacobian: Tensor,
    new_gradient: Tensor,
    new_jacobian: Tensor,
    multipliers: Tensor,
) -> None:
    """Damped BFGS update of the Hessian of the Lagrangian, in place."""
    change = new_gradient - old_gradient
    change = change + ((new_jacobian - old_jacobian) * multipliers.unsqueeze(2)).sum(1)
    current = hessian[active]
    product = (current @ step.unsqueeze(2)).squeeze(2)
    curvature = (step * product).sum(1)
    slope = (step * change).sum(1)
    # Powell's damping keeps the matrix positive definite where the Lagrangian is not convex.
    damping = torch.where(
        slope >= 0.2 * curvature, 1.0, 0.8 * curvature / (curvature - slope).clamp_min(1e-300)
    ).unsqueeze(1)
    damped = damping * change + (1 - damping) * product
    denominator = (step * damped).sum(1)
    usable = (curvature > 1e-20) & (denominator > 1e-20) & torch.isfinite(damped).all(1)
    updated = (
        current
        - product.unsqueeze(2) * product.unsqueeze(1) / curvature.clamp_min(1e-300)[:, None, None]
        + damped.unsqueeze(2) * damped.unsqueeze(1) / denominator.clamp_min(1e-300)[:, None, None]
    )
    sound = usable & torch.isfinite(updated).all(2).all(1)
    hessian[active] = torch.where(sound[:, None, None], updated, current)
