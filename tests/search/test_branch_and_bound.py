"""Branch and bound proves what is true: relaxations written down by hand, optima known."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch import Tensor

from grisaille.search import branch_and_bound as module
from grisaille.search.branch_and_bound import Limits, branch_and_bound
from grisaille.search.search_problem import ProofStatus
from tests.search.relaxation_helpers import (
    PROBLEMS,
    Lipschitz,
    brute_force,
    doubly,
    free,
    hopeless,
    torn,
    waves,
)

pytestmark = pytest.mark.slow


LIMITS = Limits(absolute_gap=1e-3, relative_gap=0.0, regions=100_000, seconds=None, batch=32)


def known(lower, upper):
    """What `improve` answers when nothing is looked for."""
    return math.inf


def scale_of(relaxation) -> Tensor:
    return torch.ones(1 + relaxation.constraints, dtype=torch.float64)


def improving(relaxation):
    """Look at the centres, as a local search would."""

    def improve(lower, upper):
        values = relaxation.values((lower + upper) / 2)
        feasible = (values[:, 1:] <= 0).all(1)
        return float(values[feasible, 0].min()) if feasible.any() else math.inf

    return improve


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
        # What a local search finds: the optimum, if a region around it is promising.
        return improving(relaxation)(lower, upper) if len(calls) < 2 else optimum

    proof = branch_and_bound(relaxation, scale_of(relaxation), upper, limits, improve)
    assert proof.status is ProofStatus.OPTIMAL
    assert proof.lower <= optimum + 1e-9
    assert proof.upper <= upper
    assert proof.upper >= optimum - 1e-3  # the grid may miss a little
    assert proof.lower >= proof.upper - 0.05
    assert proof.refuted_regions == ()
    assert proof.slack == 1e-9
    assert proof.regions == sum(len(low) for low, _ in relaxation.seen) or relaxation.constraints


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
    assert loose.regions < proof.regions


def test_a_wrong_upper_bound_from_outside_is_never_proved_optimal():
    # Nothing better than 0.5 above the optimum is ever found: the gap must stay open.
    relaxation = free(2)
    optimum = brute_force(relaxation)
    limits = dataclasses.replace(LIMITS, regions=20_000)
    proof = branch_and_bound(relaxation, scale_of(relaxation), optimum + 0.5, limits, known)
    assert proof.status is ProofStatus.GAP
    assert proof.lower <= optimum
    assert proof.upper == optimum + 0.5


@pytest.mark.parametrize("make", [hopeless, torn])
def test_infeasible_problems_are_proved_infeasible_by_regions_that_fill_the_space(make):
    relaxation = make()
    assert brute_force(relaxation, 401) == math.inf
    proof = branch_and_bound(relaxation, scale_of(relaxation), math.inf, LIMITS, known)
    assert proof.status is ProofStatus.INFEASIBLE
    assert proof.lower == math.inf
    lower = torch.stack([region.lower for region in proof.refuted_regions])
    upper = torch.stack([region.upper for region in proof.refuted_regions])
    whole = (relaxation.upper - relaxation.lower).prod()
    assert float((upper - lower).prod(1).sum()) == pytest.approx(float(whole), rel=1e-12)
    points = torch.rand(500, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    points = relaxation.lower + (relaxation.upper - relaxation.lower) * points
    inside = (points.unsqueeze(1) >= lower).all(2) & (points.unsqueeze(1) <= upper).all(2)
    assert (inside.sum(1) == 1).all()
    for region in proof.refuted_regions:
        assert region.margin > 0
        assert (region.multipliers >= 0).all()
        assert float(region.multipliers.sum()) == pytest.approx(1, rel=1e-12)
        weights = torch.cat([torch.zeros(1).double(), region.multipliers]).unsqueeze(0)
        regions = relaxation.over(region.lower.unsqueeze(0), region.upper.unsqueeze(0))
        assert float(regions.bound(weights)) == pytest.approx(region.margin, rel=1e-9)


def test_two_constraints_that_exclude_each_other_take_a_ray_of_both():
    proof = branch_and_bound(torn(), torch.ones(3).double(), math.inf, LIMITS, known)
    together = [region for region in proof.refuted_regions if (region.multipliers > 0.1).all()]
    assert together
    assert proof.regions <= 64  # one ray serves them all


def test_regions_without_points_are_refuted_without_multipliers():
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
    empty = [region for region in proof.refuted_regions if region.margin == math.inf]
    assert empty
    assert all((region.multipliers == 0).all() and region.upper[0] <= 0 for region in empty)
    assert all(region.lower[0] >= 0 for region in proof.refuted_regions if region.margin < math.inf)


@pytest.mark.parametrize("margin", [-1e-3, -1e-2, 0.0])
def test_a_problem_that_is_barely_feasible_is_never_called_infeasible(margin):
    relaxation = hopeless(margin)
    relaxation.functions = relaxation.functions[:2]
    relaxation.slopes, relaxation.constraints = relaxation.slopes[:2], 1
    limits = dataclasses.replace(LIMITS, regions=3000)
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
    for regions in (1, 40, 200):
        limits = dataclasses.replace(LIMITS, regions=regions, batch=4)
        proof = branch_and_bound(relaxation, scale_of(relaxation), upper, limits, known)
        if proof.status is ProofStatus.INFEASIBLE:
            assert optimum == math.inf
            assert proof.refuted_regions
        else:
            assert proof.status is ProofStatus.GAP
        assert proof.lower <= optimum
        assert proof.regions <= 2 * regions + 16  # what was begun is finished
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
    assert impossible.refuted_regions == ()


def test_a_bound_that_is_nothing_leaves_the_status_unknown():
    relaxation = free(2)
    relaxation.slopes = torch.tensor([math.inf], dtype=torch.float64)
    limits = dataclasses.replace(LIMITS, regions=100)
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
    for left, right in zip(one.refuted_regions, two.refuted_regions, strict=True):
        assert torch.equal(left.lower, right.lower)
        assert torch.equal(left.multipliers, right.multipliers)


def test_every_group_is_split_and_regions_stay_inside():
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


def test_the_first_regions_fill_the_search_space():
    lower, upper = module._first_regions(
        torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([1.0, 8.0, 3.0])
    )
    assert float((upper - lower).prod(1).sum()) == pytest.approx(16.0)
    assert (lower.amin(0).tolist(), upper.amax(0).tolist()) == ([-1, 0, 2], [1, 8, 3])


# --- whole numbers -------------------------------------------------------------------------------
def counted(objective, slope, lower, upper, constraints=(), slopes=()):
    whole = [True] * len(lower)
    return Lipschitz(lower, upper, [objective, *constraints], [slope, *slopes], whole=whole)


def whole_only(relaxation):
    """Look at the centres, rounded: regions end at whole numbers."""

    def improve(lower, upper):
        values = relaxation.values(((lower + upper) / 2).round())
        feasible = (values[:, 1:] <= 0).all(1)
        return float(values[feasible, 0].min()) if feasible.any() else math.inf

    return improve


def test_whole_numbers_are_cut_between_two_of_them():
    relaxation = counted(waves, 6.6, [-3.0, 0.0], [4.0, 9.0])
    proof = branch_and_bound(relaxation, scale_of(relaxation), math.inf, LIMITS, known)
    assert proof.status is not ProofStatus.INFEASIBLE
    for lower, upper in relaxation.seen:
        assert (lower == lower.round()).all()
        assert (upper == upper.round()).all()
        assert (lower <= upper).all()


def test_the_optimum_of_whole_numbers_is_proved_where_that_between_them_is_lower():
    relaxation = counted(lambda x: -torch.sin(3 * x).square().sum(1), 6.0, [-3.0, 0.0], [4.0, 9.0])
    found = whole_only(relaxation)
    proof = branch_and_bound(relaxation, scale_of(relaxation), math.inf, LIMITS, found)
    axes = [torch.arange(-3, 5).double(), torch.arange(0, 10).double()]
    least = float(relaxation.values(torch.cartesian_prod(*axes)).min())
    assert proof.status is ProofStatus.OPTIMAL
    assert proof.upper == least
    assert least - 1e-3 <= proof.lower <= least


def test_points_that_nothing_is_found_at_end_the_proof_with_a_gap():
    relaxation = counted(waves, 6.6, [0.0, 0.0], [2.0, 1.0])
    proof = branch_and_bound(relaxation, scale_of(relaxation), math.inf, LIMITS, known)
    axes = [torch.arange(0, 3).double(), torch.arange(0, 2).double()]
    assert proof.status is ProofStatus.GAP
    assert proof.lower == pytest.approx(float(waves(torch.cartesian_prod(*axes)).min()))
    assert proof.regions <= 12


def test_a_constraint_that_only_numbers_between_whole_ones_meet_is_refuted():
    relaxation = counted(
        waves, 6.6, [0.0, 0.0], [5.0, 5.0], [lambda x: (x[:, 0] - 2.5).abs() - 0.4], [1.0]
    )
    proof = branch_and_bound(relaxation, scale_of(relaxation), math.inf, LIMITS, known)
    assert proof.status is ProofStatus.INFEASIBLE
    covered = set()
    for region in proof.refuted_regions:
        low, high = region.lower.int().tolist(), region.upper.int().tolist()
        covered |= {(a, b) for a in range(low[0], high[0] + 1) for b in range(low[1], high[1] + 1)}
    assert len(covered) == 36


def test_a_group_of_whole_numbers_without_width_leaves_the_split_to_another_group():
    relaxation = Lipschitz(
        [0.0, -2.0], [1.0, 2.0], [waves], [6.6], groups=[[0], [1]], whole=[True, False]
    )
    over = relaxation.over

    def misled(lower, upper):
        regions = over(lower, upper)
        regions.looser = torch.zeros(len(lower), dtype=torch.long)
        return regions

    relaxation.over = misled
    proof = branch_and_bound(
        relaxation, scale_of(relaxation), math.inf, LIMITS, improving(relaxation)
    )
    assert proof.lower > -math.inf
    assert proof.regions > 100
