"""Branch and bound proves what is true: relaxations written down by hand, optima known."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch import Tensor

import grisaille as gs
from grisaille.solvers import branch_and_bound as module
from grisaille.solvers.branch_and_bound import Limits, branch_and_bound
from grisaille.solvers.multipliers import MultiplierPool
from grisaille.solvers.proof import NoRelaxation, ProofStatus
from tests.solvers.solver_helpers import no_hints, search_problem

LIMITS = Limits(absolute_gap=1e-3, relative_gap=0.0, boxes=100_000, seconds=None, batch=32)


def known(lower, upper):
    """What `improve` answers when nothing is looked for."""
    return math.inf


class Lipschitz:
    """Functions with known Lipschitz constants in the maximum norm, times half the width.

    Args:
        lower: (D,).
        upper: (D,).
        functions: The objective, then constraints: points (batch, D) to (batch,).
        slopes: A Lipschitz constant of each.
        forbidden: Points that are none of the problem's: (batch, D) boxes to whether to empty them.
    """

    def __init__(self, lower, upper, functions, slopes, forbidden=None, groups=None):
        self.lower = torch.tensor(lower, dtype=torch.float64)
        self.upper = torch.tensor(upper, dtype=torch.float64)
        self.constraints = len(functions) - 1
        self.groups = groups or [list(range(len(self.lower)))]
        self.functions = functions
        self.slopes = torch.tensor(slopes, dtype=torch.float64)
        self.forbidden = forbidden
        self.seen: list[tuple[Tensor, Tensor]] = []

    def values(self, points: Tensor) -> Tensor:
        return torch.stack([f(points) for f in self.functions], 1)

    def over(self, lower: Tensor, upper: Tensor) -> LipschitzBoxes:
        self.seen.append((lower, upper))
        return LipschitzBoxes(self, lower, upper)

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        return (lower + upper) / 2


class LipschitzBoxes:
    def __init__(self, relaxation, lower, upper):
        self.lower, self.upper = lower, upper
        self.slack = 1e-9
        nowhere = torch.zeros(len(lower), dtype=torch.bool)
        self.empty = nowhere if relaxation.forbidden is None else relaxation.forbidden(lower, upper)
        center = (lower + upper) / 2
        half = (upper - lower).amax(1, keepdim=True) / 2
        self._below = relaxation.values(center) - half * relaxation.slopes
        # The group of the variable that is widest beside the whole range.
        share = (upper - lower) / (relaxation.upper - relaxation.lower).clamp_min(1e-300)
        self.looser = torch.stack([share[:, g].amax(1) for g in relaxation.groups]).argmax(0)

    def bound(self, weights: Tensor) -> Tensor:
        return self._below @ weights.T

    dual = bound


def waves(x):
    return torch.cos(3 * x).sum(1) + 0.3 * x.sum(1)


def valley(x):
    return x[:, 0] ** 4 - 2 * x[:, 0] ** 2 + 0.3 * x[:, 0] + (x[:, 1:] ** 2).sum(1)


def ring(x):
    return 1.5 - (x**2).sum(1)


def half_plane(x):
    return x.sum(1) - 1


def free(dimensions=2, objective=waves, slope=None):
    slope = 3.3 * dimensions if slope is None else slope
    return Lipschitz([-2.0] * dimensions, [2.0] * dimensions, [objective], [slope])


def ringed():
    return Lipschitz([-2.0, -2.0], [2.0, 2.0], [valley, ring], [28.0 + 4.3 + 4.0, 8.0])


def doubly():
    return Lipschitz([-2.0, -2.0], [2.0, 2.0], [waves, ring, half_plane], [6.6, 8.0, 2.0])


def hopeless(margin=0.2):
    # Outside a circle of radius 3 in a square of half-width 2: the corners come closest.
    return Lipschitz(
        [-2.0, -2.0],
        [2.0, 2.0],
        [waves, lambda x: 8.0 + margin - (x**2).sum(1), half_plane],
        [6.6, 8.0, 2.0],
    )


class Linear(Lipschitz):
    """Affine functions, rows (constant, slopes): bounds are exact whatever the weights."""

    def __init__(self, lower, upper, rows):
        self.rows = torch.tensor(rows, dtype=torch.float64)
        functions = [lambda x, row=row: row[0] + x @ row[1:] for row in self.rows]
        super().__init__(lower, upper, functions, [0.0] * len(rows))

    def over(self, lower, upper):
        boxes = super().over(lower, upper)
        center, half = (lower + upper) / 2, (upper - lower) / 2

        def bound(weights):
            combined = weights @ self.rows
            value = combined[:, 0] + center @ combined[:, 1:].T
            return value - half @ combined[:, 1:].abs().T

        boxes.bound = boxes.dual = bound
        return boxes


def torn(margin=0.1):
    """Two constraints that can each be met, but not together: x + y <= -m and x + y >= m."""
    rows = [[0.0, 1.0, 2.0], [margin, 1.0, 1.0], [margin, -1.0, -1.0]]
    return Linear([-1.0, -1.0], [1.0, 1.0], rows)


def brute_force(relaxation, per_dimension=801) -> float:
    axes = [
        torch.linspace(a, b, per_dimension, dtype=torch.float64)
        for a, b in zip(relaxation.lower.tolist(), relaxation.upper.tolist(), strict=True)
    ]
    values = relaxation.values(torch.cartesian_prod(*axes).reshape(-1, len(axes)))
    feasible = (values[:, 1:] <= 0).all(1)
    return float(values[feasible, 0].min()) if feasible.any() else math.inf


def scale_of(relaxation) -> Tensor:
    return torch.ones(1 + relaxation.constraints, dtype=torch.float64)


def improving(relaxation):
    """Look at the centres, as a local search would."""

    def improve(lower, upper):
        values = relaxation.values((lower + upper) / 2)
        feasible = (values[:, 1:] <= 0).all(1)
        return float(values[feasible, 0].min()) if feasible.any() else math.inf

    return improve


PROBLEMS = {
    "one variable": lambda: free(1),
    "two variables": lambda: free(2),
    "polynomial": lambda: free(2, valley, 36.3),
    "one constraint": ringed,
    "two constraints": doubly,
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("start", ["at the optimum", "somewhere", "nothing"])
def test_the_optimum_is_enclosed_within_the_gap(name, start):
    relaxation = PROBLEMS[name]()
    optimum = brute_force(relaxation)
    upper = {"at the optimum": optimum, "somewhere": optimum + 0.3, "nothing": math.inf}[start]
    limits = dataclasses.replace(LIMITS, absolute_gap=0.05)
    calls = []

    def improve(lower, upper):
        calls.append(len(lower))
        # What a local search finds: the optimum, when a box around it is among the most promising.
        return improving(relaxation)(lower, upper) if len(calls) < 2 else optimum

    proof = branch_and_bound(relaxation, scale_of(relaxation), upper, limits, improve)
    assert proof.status is ProofStatus.OPTIMAL
    assert proof.lower <= optimum + 1e-9
    assert proof.upper <= upper
    assert proof.upper >= optimum - 1e-3  # the grid may miss a little
    assert proof.lower >= proof.upper - 0.05
    assert proof.leaves == ()
    assert proof.slack == 1e-9
    assert proof.boxes == sum(len(low) for low, _ in relaxation.seen) or relaxation.constraints


def test_a_relative_gap_counts_too():
    relaxation = free(2, lambda x: 1000 + waves(x))
    optimum = brute_force(relaxation)
    limits = Limits(0.0, 1e-3, 100_000, None, 32)
    proof = branch_and_bound(relaxation, scale_of(relaxation), optimum, limits, known)
    assert proof.status is ProofStatus.OPTIMAL
    assert optimum - 1.0 <= proof.lower <= optimum
    loose = branch_and_bound(
        relaxation, scale_of(relaxation), optimum, Limits(0.0, 3e-3, 100_000, None, 32), known
    )
    assert loose.boxes < proof.boxes


def test_a_wrong_upper_bound_from_outside_is_never_proved_optimal():
    # Nothing better than 0.5 above the optimum is ever found: the gap must stay open.
    relaxation = free(2)
    optimum = brute_force(relaxation)
    limits = dataclasses.replace(LIMITS, boxes=20_000)
    proof = branch_and_bound(relaxation, scale_of(relaxation), optimum + 0.5, limits, known)
    assert proof.status is ProofStatus.GAP
    assert proof.lower <= optimum
    assert proof.upper == optimum + 0.5


@pytest.mark.parametrize("make", [hopeless, torn])
def test_infeasible_problems_are_proved_infeasible_by_leaves_that_fill_the_box(make):
    relaxation = make()
    assert brute_force(relaxation, 401) == math.inf
    proof = branch_and_bound(relaxation, scale_of(relaxation), math.inf, LIMITS, known)
    assert proof.status is ProofStatus.INFEASIBLE
    assert proof.lower == math.inf
    lower = torch.stack([leaf.lower for leaf in proof.leaves])
    upper = torch.stack([leaf.upper for leaf in proof.leaves])
    whole = (relaxation.upper - relaxation.lower).prod()
    assert float((upper - lower).prod(1).sum()) == pytest.approx(float(whole), rel=1e-12)
    points = torch.rand(500, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    points = relaxation.lower + (relaxation.upper - relaxation.lower) * points
    inside = (points.unsqueeze(1) >= lower).all(2) & (points.unsqueeze(1) <= upper).all(2)
    assert (inside.sum(1) == 1).all()
    for leaf in proof.leaves:
        assert leaf.margin > 0
        assert (leaf.multipliers >= 0).all()
        assert float(leaf.multipliers.sum()) == pytest.approx(1, rel=1e-12)
        weights = torch.cat([torch.zeros(1).double(), leaf.multipliers]).unsqueeze(0)
        boxes = relaxation.over(leaf.lower.unsqueeze(0), leaf.upper.unsqueeze(0))
        assert float(boxes.bound(weights)) == pytest.approx(leaf.margin, rel=1e-9)


def test_two_constraints_that_exclude_each_other_take_a_ray_of_both():
    proof = branch_and_bound(torn(), torch.ones(3).double(), math.inf, LIMITS, known)
    together = [leaf for leaf in proof.leaves if (leaf.multipliers > 0.1).all()]
    assert together
    assert proof.boxes <= 64  # one ray serves them all


def test_parts_without_points_are_leaves_without_multipliers():
    def left(lower, upper):
        return upper[:, 0] <= 0

    relaxation = Lipschitz(
        [-1.0, 0.0],
        [1.0, 1.0],
        [waves, lambda x: 0.5 - 2 * x[:, 0] * (x[:, 0] < 0)],
        [6.6, 2.0],
        left,
    )
    proof = branch_and_bound(relaxation, torch.ones(2).double(), math.inf, LIMITS, known)
    assert proof.status is ProofStatus.INFEASIBLE
    empty = [leaf for leaf in proof.leaves if leaf.margin == math.inf]
    assert empty
    assert all((leaf.multipliers == 0).all() and leaf.upper[0] <= 0 for leaf in empty)
    assert all(leaf.lower[0] >= 0 for leaf in proof.leaves if leaf.margin < math.inf)


@pytest.mark.parametrize("margin", [-1e-3, -1e-2, 0.0])
def test_a_problem_that_is_barely_feasible_is_never_called_infeasible(margin):
    relaxation = hopeless(margin)
    relaxation.functions = relaxation.functions[:2]
    relaxation.slopes, relaxation.constraints = relaxation.slopes[:2], 1
    limits = dataclasses.replace(LIMITS, boxes=3000)
    proof = branch_and_bound(relaxation, torch.ones(2).double(), math.inf, limits, known)
    assert proof.status is ProofStatus.GAP
    assert proof.lower <= brute_force(relaxation, 3)  # the corners are on this grid


@pytest.mark.parametrize("make", [*PROBLEMS.values(), hopeless, torn])
@pytest.mark.parametrize("known_point", [True, False])
def test_a_limit_leaves_a_valid_bound_and_never_a_proof_of_infeasibility(make, known_point):
    relaxation = make()
    optimum = brute_force(relaxation, 401)
    upper = optimum + 1 if known_point else math.inf
    bounds = []
    for boxes in (1, 40, 200):
        limits = dataclasses.replace(LIMITS, boxes=boxes, batch=4)
        proof = branch_and_bound(relaxation, scale_of(relaxation), upper, limits, known)
        if proof.status is ProofStatus.INFEASIBLE:
            assert optimum == math.inf
            assert proof.leaves
        else:
            assert proof.status is ProofStatus.GAP
        assert proof.lower <= optimum
        assert proof.boxes <= 2 * boxes + 16  # what was begun is finished
        bounds.append(proof.lower)
    assert bounds == sorted(bounds)


def test_time_out_leaves_a_valid_bound():
    relaxation = free(3)
    limits = dataclasses.replace(LIMITS, seconds=1e-9)
    proof = branch_and_bound(relaxation, torch.ones(1).double(), math.inf, limits, known)
    assert proof.status is ProofStatus.GAP
    assert proof.lower <= brute_force(relaxation, 61)
    impossible = branch_and_bound(hopeless(), torch.ones(3).double(), math.inf, limits, known)
    assert impossible.status is ProofStatus.GAP
    assert impossible.leaves == ()


def test_a_bound_that_is_nothing_leaves_the_status_unknown():
    relaxation = free(2)
    relaxation.slopes = torch.tensor([math.inf], dtype=torch.float64)
    limits = dataclasses.replace(LIMITS, boxes=100)
    proof = branch_and_bound(relaxation, torch.ones(1).double(), math.inf, limits, known)
    assert proof.status is ProofStatus.UNKNOWN
    assert proof.lower == -math.inf


def test_the_same_search_gives_the_same_answer():
    first, second = (
        branch_and_bound(doubly(), torch.ones(3).double(), 5.0, LIMITS, improving(doubly()))
        for _ in range(2)
    )
    assert dataclasses.replace(first, seconds=0) == dataclasses.replace(second, seconds=0)
    one, two = (
        branch_and_bound(torn(), torch.ones(3).double(), math.inf, LIMITS, known) for _ in range(2)
    )
    for left, right in zip(one.leaves, two.leaves, strict=True):
        assert torch.equal(left.lower, right.lower)
        assert torch.equal(left.multipliers, right.multipliers)


def test_every_group_is_split_and_boxes_stay_inside():
    # The second variable is all that matters to the bound, though it is the narrower one.
    relaxation = Lipschitz(
        [-2.0, 0.0], [2.0, 1e-2], [lambda x: torch.cos(300 * x[:, 1])], [300.0], None, [[0], [1]]
    )
    relaxation.over(relaxation.lower.unsqueeze(0), relaxation.upper.unsqueeze(0))
    proof = branch_and_bound(
        relaxation,
        torch.ones(1).double(),
        -1.0,
        dataclasses.replace(LIMITS, absolute_gap=0.05),
        known,
    )
    assert proof.lower <= -0.98
    lower = torch.cat([low for low, _ in relaxation.seen])
    upper = torch.cat([high for _, high in relaxation.seen])
    assert (lower >= relaxation.lower).all()
    assert (upper <= relaxation.upper).all()
    assert (lower <= upper).all()
    for variable in (0, 1):
        assert (upper - lower)[:, variable].min() < (relaxation.upper - relaxation.lower)[variable]


def test_variables_without_width_do_no_harm():
    relaxation = Lipschitz([0.5, -2.0], [0.5, 2.0], [waves], [6.6])
    optimum = brute_force(Lipschitz([0.5, -2.0], [0.5, 2.0], [waves], [6.6]), 2001)
    limits = dataclasses.replace(LIMITS, absolute_gap=0.01)
    proof = branch_and_bound(relaxation, torch.ones(1).double(), optimum, limits, known)
    assert proof.status is ProofStatus.OPTIMAL
    assert proof.lower <= optimum + 1e-9


# --- Multipliers --------------------------------------------------------------------------------


def small_program():
    """min -x - 2y over [0, 1]^2, x + y <= 1, x - y <= 0.5: multipliers (1 to 2, 0), value -2."""
    rows = torch.tensor([[-1.0, -2.0, 0.0], [1.0, 1.0, -1.0], [1.0, -1.0, -0.5]]).double()

    def bound(weights):
        slopes = weights @ rows[:, :2]
        return slopes.clamp_max(0).sum(1) + weights @ rows[:, 2]

    return bound


def test_the_right_multipliers_of_a_linear_program_are_learned():
    pool = MultiplierPool(torch.tensor([1.0, 2.0, 0.5]).double())
    bound = small_program()
    assert float(bound(pool.weights)[0]) == -3
    for _ in range(6):
        pool.learn(bound, target=-2.0)
    duals = pool.weights[pool.weights[:, 0] > 0]
    best = bound(duals).argmax()
    assert float(bound(duals)[best]) == pytest.approx(-2.0, abs=0.03)
    assert 0.9 <= float(duals[best][1]) <= 2.1
    assert float(duals[best][2]) == pytest.approx(0.0, abs=0.1)
    assert (pool.weights >= 0).all()
    assert ((pool.weights[:, 0] == 0) | (pool.weights[:, 0] == 1)).all()


def test_rays_that_prove_infeasibility_are_learned_and_sum_to_one():
    # x + y <= -0.1 and -x - y <= -0.1 over [-1, 1]^2: only both together are refuted.
    def bound(weights):
        slopes = weights[:, 1:2] - weights[:, 2:3]
        return 0.1 * weights[:, 1:].sum(1) - 2 * slopes.abs().squeeze(1)

    pool = MultiplierPool(torch.tensor([1.0, 1.0, 3.0]).double())
    _, excess, _ = pool.judge(bound(pool.weights).unsqueeze(0))
    assert float(excess) < 0
    assert pool.learn(bound, target=math.inf)
    _, excess, multipliers = pool.judge(bound(pool.weights).unsqueeze(0))
    assert float(excess) > 0
    np.testing.assert_allclose(multipliers, [[0.5, 0.5]], atol=0.05)
    rays = pool.weights[pool.weights[:, 0] == 0]
    np.testing.assert_allclose(rays.sum(1), 1.0, rtol=1e-12)


def test_the_pool_keeps_its_size_and_what_it_started_with():
    pool = MultiplierPool(torch.ones(3).double())
    start = pool.weights.clone()
    generator = torch.Generator().manual_seed(0)
    for _ in range(60):
        corners = 3 * torch.randn(4, 3, generator=generator, dtype=torch.float64)

        def bound(weights, corners=corners):
            return (weights @ corners.T).amin(1)

        pool.learn(bound, target=float(corners[:, 0].amax()))
        pool.judge(bound(pool.weights).unsqueeze(0))
    assert len(pool.weights) <= 12 + 3
    assert torch.equal(pool.weights[:3], start)
    assert len(pool.weights) > 8


def test_judging_takes_the_best_of_each_kind():
    pool = MultiplierPool(torch.ones(3).double())
    values = torch.tensor([[5.0, -1.0, -2.0], [4.0, -3.0, 0.5]]).double()
    bound, excess, multipliers = pool.judge(values)
    assert bound.tolist() == [5.0, 4.0]
    assert excess.tolist() == [-1.0, 0.5]
    assert multipliers.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    alone = MultiplierPool(torch.ones(1).double())
    bound, excess, multipliers = alone.judge(torch.tensor([[2.0]]).double())
    assert (bound.tolist(), excess.tolist(), multipliers.shape) == ([2.0], [-math.inf], (1, 0))


# --- Certified ----------------------------------------------------------------------------------


def certified_problem(relaxation):
    problem = search_problem(
        relaxation.lower.numpy(),
        relaxation.upper.numpy(),
        relaxation.functions[0],
        relaxation.functions[1:],
    )
    return dataclasses.replace(problem, relax=lambda: relaxation)


@pytest.mark.parametrize("name", ["two variables", "one constraint", "two constraints"])
def test_certified_finds_the_optimum_and_encloses_it(name):
    relaxation = PROBLEMS[name]()
    problem = certified_problem(relaxation)
    optimum = brute_force(relaxation)
    solver = gs.Certified(absolute_gap=0.02, relative_gap=0.0)
    found = solver.solve(problem, no_hints(problem), 0)
    assert found.feasible
    assert found.value == pytest.approx(optimum, abs=1e-3)
    assert found.proof.status is ProofStatus.OPTIMAL
    assert found.proof.lower <= optimum + 1e-9
    assert found.proof.upper == found.value
    assert found.proof.lower >= found.value - 0.02


def test_certified_proves_that_there_is_no_feasible_point():
    problem = certified_problem(torn())
    found = gs.Certified().solve(problem, no_hints(problem), 0)
    assert not found.feasible
    assert found.proof.status is ProofStatus.INFEASIBLE
    assert found.proof.leaves


def test_certified_finds_a_point_that_its_first_search_misses():
    class Blind:
        """A search that always answers with a corner."""

        def solve(self, problem, hints, seed):
            return gs.Grid(2).solve(problem, hints, seed)

    relaxation = free(2, valley, 36.3)
    problem = certified_problem(relaxation)
    optimum = brute_force(relaxation)
    solver = gs.Certified(absolute_gap=0.05, relative_gap=0.0, search=Blind())
    found = solver.solve(problem, no_hints(problem), 0)
    assert found.value < Blind().solve(problem, no_hints(problem), 0).value - 1
    assert found.value == pytest.approx(optimum, abs=0.05)
    assert found.proof.status is ProofStatus.OPTIMAL


def test_without_bounds_over_boxes_nothing_is_proved_and_it_says_why():
    problem = search_problem([-1.0], [1.0], lambda x: x[:, 0])
    found = gs.Certified().solve(problem, no_hints(problem), 0)
    assert found.value == pytest.approx(-1)
    assert found.proof.status is ProofStatus.UNKNOWN
    assert found.proof.lower == -math.inf
    assert found.proof.reason == "no bounds over boxes are known for this problem"

    def refuse():
        raise NoRelaxation("it is a secret")

    found = gs.Certified().solve(dataclasses.replace(problem, relax=refuse), no_hints(problem), 0)
    assert found.proof.status is ProofStatus.UNKNOWN
    assert found.proof.reason == "it is a secret"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"absolute_gap": -1}, r"absolute_gap=-1\): pass a number of at least 0"),
        ({"absolute_gap": math.nan}, "absolute_gap"),
        ({"relative_gap": math.inf}, "relative_gap"),
        ({"relative_gap": "small"}, "relative_gap"),
        ({"boxes": 0}, r"boxes=0\): a whole number of at least 1"),
        ({"boxes": 1.5}, "boxes"),
        ({"batch": 0}, "batch"),
        ({"seconds": 0}, r"seconds=0\): pass a positive number, or None"),
        ({"seconds": "long"}, "seconds"),
        ({"search": gs.MultiStart}, "search"),
        ({"search": None}, r"search=None\): pass gs.MultiStart\(\)"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(gs.ModelError, match=message):
        gs.Certified(**options)


def test_the_first_cuts_fill_the_box():
    lower, upper = module._pieces(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([1.0, 8.0, 3.0]))
    assert float((upper - lower).prod(1).sum()) == pytest.approx(16.0)
    assert (lower.amin(0).tolist(), upper.amax(0).tolist()) == ([-1, 0, 2], [1, 8, 3])
