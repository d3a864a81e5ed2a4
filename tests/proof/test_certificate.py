"""A certificate of infeasibility can be checked again, and names the constraints to blame."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.audit import Audited
from grisaille.proof.certificate import Certificate, _is_partition
from grisaille.proof.relaxation import PlausibleRelaxation
from grisaille.records import History
from grisaille.search.branch_and_bound import Limits, branch_and_bound
from grisaille.search.search_problem import ProofStatus
from tests.belief.belief_helpers import history_at, known_kernel, plausible_set

pytestmark = pytest.mark.slow


LIMITS = Limits(1e-3, 1e-4, 20_000, None, 32)
DESIGN = [[-1.0], [-0.5], [0.0], [0.5], [1.0]]


def wave(name, offset=0.0, **options):
    options = {"noise": 0.02, "kernel": known_kernel(0.8), **options}
    return gs.BlackBox(lambda s: np.sin(2 * s) + offset, name=name, **options)


def alone(**options):
    """One constraint is never met, another one always, a third one here and there."""
    x = gs.Variable("x", lower=-1, upper=1)
    g = wave("g", **options)
    return gs.Problem(minimize=x, subject_to=[x <= 2, g(x) + 1.3 <= 0, g(x) - x <= 0])


def pair():
    """Two constraints that can each be met, but not together."""
    x = gs.Variable("x", lower=-1, upper=1)
    g = wave("g")
    z = g(x)
    return gs.Problem(minimize=x, subject_to=[z - 0.2 <= 0, x - 0.9 <= 0, 0.4 - z <= 0])


def nested():
    """A black box reads another one: the regions are of (x, z)."""
    x = gs.Variable("x", lower=-1, upper=1)
    f, g = wave("f"), wave("g")
    return gs.Problem(minimize=x, subject_to=[g(f(x)) + 1.4 <= 0, f(x) ** 2 - 4 <= 0])


MAKE = {"alone": alone, "pair": pair, "nested": nested}


def certified(problem, history=None, beta=2.0) -> Certificate:
    history = history_at(problem, DESIGN) if history is None else history
    plausible = plausible_set(problem, history, beta)
    with torch.no_grad():
        relaxation = PlausibleRelaxation(plausible)
        scale = torch.ones(1 + relaxation.constraints, dtype=torch.float64)
        proof = branch_and_bound(relaxation, scale, math.inf, LIMITS, lambda _a, _b: math.inf)
    assert proof.status is ProofStatus.INFEASIBLE
    return Certificate(problem, history, beta, proof.refuted_regions)


def with_region(certificate, index, **changes) -> Certificate:
    regions = list(certificate.regions)
    regions[index] = dataclasses.replace(regions[index], **changes)
    return dataclasses.replace(certificate, regions=tuple(regions))


@pytest.mark.parametrize("name", MAKE)
def test_a_real_certificate_withstands_being_checked(name):
    certificate = certified(MAKE[name]())
    assert len(certificate.regions) > 1
    assert certificate.least_violation > 0
    assert certificate.verify()


@pytest.mark.parametrize("name", MAKE)
def test_a_certificate_with_a_hole_does_not(name):
    certificate = certified(MAKE[name]())
    for index in range(0, len(certificate.regions), max(1, len(certificate.regions) // 6)):
        rest = certificate.regions[:index] + certificate.regions[index + 1 :]
        assert not dataclasses.replace(certificate, regions=rest).verify()


@pytest.mark.parametrize("name", MAKE)
def test_a_certificate_with_a_smaller_region_does_not(name):
    certificate = certified(MAKE[name]())
    for index in (0, len(certificate.regions) // 2, len(certificate.regions) - 1):
        region = certificate.regions[index]
        for axis in range(len(region.lower)):
            lower, upper = region.lower.clone(), region.upper.clone()
            step = 1e-9 * (upper[axis] - lower[axis])
            lower[axis] += step
            assert not with_region(certificate, index, lower=lower).verify()
            upper[axis] -= step
            assert not with_region(certificate, index, upper=upper).verify()


def test_a_certificate_without_regions_does_not():
    empty = dataclasses.replace(certified(pair()), regions=())
    assert not empty.verify()
    assert empty.least_violation == 0
    assert empty.multipliers.shape == (0, 3)


def test_a_certificate_that_leaves_out_an_end_of_the_range_does_not():
    certificate = certified(alone())
    lowest = min(range(len(certificate.regions)), key=lambda i: certificate.regions[i].lower[0])
    moved = certificate.regions[lowest].lower + 1e-6
    assert not with_region(certificate, lowest, lower=moved).verify()


@pytest.mark.parametrize("name", ["alone", "pair"])
def test_a_certificate_that_blames_a_constraint_that_can_be_met_does_not(name):
    certificate = certified(MAKE[name]())
    harmless = {"alone": 0, "pair": 1}[name]
    weights = torch.zeros(3, dtype=torch.float64)
    weights[harmless] = 1.0
    for index in range(0, len(certificate.regions), max(1, len(certificate.regions) // 4)):
        assert not with_region(certificate, index, multipliers=weights).verify()
        assert not with_region(certificate, index, multipliers=torch.zeros(3).double()).verify()


def test_a_certificate_with_negative_weights_does_not():
    # The constraint x <= 2 is always met, so that its body times -1 is always positive.
    certificate = certified(alone())
    weights = torch.tensor([-1.0, 0.0, 0.0], dtype=torch.float64)
    forged = tuple(
        dataclasses.replace(region, multipliers=weights, margin=-10.0)
        for region in certificate.regions
    )
    assert not dataclasses.replace(certificate, regions=forged).verify()
    for index in range(len(certificate.regions)):
        assert not with_region(certificate, index, multipliers=weights).verify()


def test_a_certificate_that_claims_too_large_a_violation_does_not():
    certificate = certified(alone())
    forged = tuple(
        dataclasses.replace(region, margin=region.margin + 0.5) for region in certificate.regions
    )
    assert not dataclasses.replace(certificate, regions=forged).verify()


@pytest.mark.parametrize("name", ["alone", "nested"])
def test_a_certificate_for_other_observations_does_not(name):
    problem = MAKE[name]()
    certificate = certified(problem)
    # Answers that are three lower leave room for what was impossible before.
    feasible = history_at(problem, DESIGN, [-3.0] * 5)
    assert not dataclasses.replace(certificate, history=feasible).verify()
    assert not dataclasses.replace(certificate, history=History()).verify()


def test_wider_bands_need_a_certificate_of_their_own():
    problem = alone()
    certificate = certified(problem, beta=3.0)
    assert certificate.verify()
    assert dataclasses.replace(certificate, beta=2.0).verify()
    assert not dataclasses.replace(certificate, beta=100.0).verify()
    assert not dataclasses.replace(certificate, beta=100.0).verify()


@pytest.mark.parametrize("beta", [-2.0, Audited(-2.0), Audited(2.0, widening=-2.0), math.nan])
def test_bands_of_negative_width_prove_nothing(beta):
    assert not dataclasses.replace(certified(alone()), beta=beta).verify()


@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_points_at_every_corner_of_the_bands_attack_a_certificate(outputs):
    # Each constraint in turn is met at one corner of the bands alone.
    x = gs.Variable("x", lower=-1, upper=1)
    boxes = [wave(f"g{k}")(x) for k in range(outputs)]
    for corner in itertools.product([-1.0, 1.0], repeat=outputs):
        signed = sum(sign * g for sign, g in zip(corner, boxes, strict=True))
        # Without answers, the bands of each are [-2, 2].
        problem = gs.Problem(minimize=x, subject_to=[1.999 * outputs - signed <= 0])
        plausible = plausible_set(problem, History())
        assert plausible.beliefs["g0"].predict(torch.zeros(1, 1).double())[1].item() == 1
        certificate = Certificate(problem, History(), 2.0, ())
        assert not certificate._sampled_points_violate(plausible)


def test_blamed_is_the_constraint_that_cannot_be_met():
    problem = alone()
    certificate = certified(problem)
    assert certificate.blame() == [problem.constraint_names[1]]
    assert "g(x) + 1.3" in certificate.blame()[0]
    assert certificate.blame()[0] in str(certificate)


def test_blamed_are_both_constraints_that_cannot_be_met_together():
    problem = pair()
    labels = problem.constraint_names
    assert certified(problem).blame() == [labels[0], labels[2]]


def test_blamed_is_the_only_culprit_though_others_are_violated_more():
    # g(x) + 1.3 <= 0 alone is never met; the others are violated more in most regions, not in all.
    x = gs.Variable("x", lower=-1, upper=1)
    g = wave("g")
    problem = gs.Problem(
        minimize=x, subject_to=[20 * x + 15 <= 0, g(x) + 1.3 <= 0, -15 - 20 * x <= 0]
    )
    assert certified(problem).blame() == [problem.constraint_names[1]]


def test_blamed_is_a_single_culprit_though_two_others_make_a_larger_violation_everywhere():
    # Of {0, 2} together and {1} alone, the fewest are {1}.
    x = gs.Variable("x", lower=-1, upper=1)
    g = wave("g")
    problem = gs.Problem(
        minimize=x, subject_to=[100 * x + 60 <= 0, g(x) + 1.3 <= 0, 60 - 100 * x <= 0]
    )
    assert certified(problem).blame() == [problem.constraint_names[1]]


@pytest.mark.parametrize("name", MAKE)
def test_no_plausible_point_violates_less_than_the_least_violation(name):
    problem = MAKE[name]()
    certificate = certified(problem)
    plausible = plausible_set(problem, certificate.history)
    axes = [torch.linspace(-1, 1, 81).double()] * len(plausible.lower)
    points = torch.cartesian_prod(*axes[:2])
    if len(axes) > 2:
        third = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
        points = torch.cat(
            [points.repeat(3, 1), third.repeat_interleave(len(points)).unsqueeze(1)], 1
        )
    with torch.no_grad():
        _, constraints = plausible.evaluate(points)
    least = float(constraints.amax(1).min())
    assert 0 < certificate.least_violation <= least + 1e-9
    assert least < 1  # the bound is not of another kind altogether


def test_a_study_that_ends_infeasible_carries_its_certificate():
    problem = alone(noise=0, norm_bound=2.5)
    strategy = gs.Optimistic(beta=gs.Declared(), solver=gs.Certified())
    result = problem.solve(20, strategy=strategy, progress=False)
    assert result.status == "infeasible"
    assert len(result.history) < 20
    assert result.certificate.beta == gs.Declared()
    assert result.certificate.verify()
    assert result.certificate.blame() == [problem.constraint_names[1]]
    assert not result.success


def test_a_study_that_is_likely_infeasible_carries_a_certificate_of_doubted_bands():
    problem = alone()
    strategy = gs.Optimistic(beta=2.0, solver=gs.Certified())
    result = problem.solve(12, strategy=strategy, progress=False, stop_if_infeasible=True)
    assert result.status == "likely_infeasible"
    assert 5 <= len(result.history) < 12
    assert isinstance(result.certificate.beta, Audited)
    assert result.certificate.beta.widening > 1
    assert result.certificate.verify()
    assert result.certificate.blame() == [problem.constraint_names[1]]
    assert not result.success


def test_a_study_of_a_feasible_problem_carries_none():
    x = gs.Variable("x", lower=-1, upper=1)
    g = wave("g")
    problem = gs.Problem(minimize=x, subject_to=[g(x) + 0.9 <= 0])
    strategy = gs.Optimistic(beta=2.0, solver=gs.Certified())
    result = problem.solve(8, strategy=strategy, progress=False)
    assert result.status != "infeasible"
    assert result.certificate is None


@pytest.mark.parametrize(
    ("regions", "filled"),
    [
        ([([0, 0], [1, 1])], True),
        ([([0, 0], [1, 2]), ([1, 0], [2, 2])], True),
        ([([0, 0], [1, 2]), ([1, 0], [2, 1])], False),
        ([([0, 0], [1, 2]), ([1, 0], [2, 1]), ([1, 1], [2, 2])], True),
        ([([0, 0], [1, 2]), ([1.001, 0], [2, 2])], False),
        # A pinwheel around a hole, which no cut takes apart.
        ([([0, 0], [1, 2]), ([1, 0], [3, 1]), ([2, 1], [3, 3]), ([0, 2], [2, 3])], False),
        ([([0, 0], [1, 1]), ([1, 1], [2, 2])], False),
        ([([0, 0], [0, 2]), ([0, 0], [2, 0])], False),
    ],
)
def test_regions_fill_the_region_around_them_or_not(regions, filled):
    lower = torch.tensor([low for low, _ in regions], dtype=torch.float64)
    upper = torch.tensor([high for _, high in regions], dtype=torch.float64)
    assert _is_partition(lower, upper) == filled


# --- whole numbers -------------------------------------------------------------------------------
def counted():
    """Met between whole numbers, and by no whole number."""
    n, c = gs.Integer("n", lower=0, upper=5), gs.Choice("c", ["A", "B", "C"])
    g = gs.BlackBox(
        lambda n, c: np.sin(n) + (c == "B"),
        name="g",
        noise=0.02,
        kernel=known_kernel([2.0, 1.0, 1.0, 1.0]),
    )
    return gs.Problem(minimize=g(n, c), subject_to=[abs(n - 2.5) - 0.3 <= 0, n - 9 <= 0])


def test_a_certificate_over_whole_numbers_has_nothing_between_them_and_verifies():
    problem = counted()
    history = history_at(problem, [[0, 0], [3, 1], [5, 2]])
    certificate = certified(problem, history)
    ends = torch.stack([torch.stack([r.lower, r.upper]) for r in certificate.regions])
    assert (ends == ends.round()).all()
    assert certificate.verify()
    assert certificate.blame() == problem.constraint_names[:1]
    for missing in range(len(certificate.regions)):
        rest = certificate.regions[:missing] + certificate.regions[missing + 1 :]
        assert not dataclasses.replace(certificate, regions=rest).verify()


def test_what_lies_between_whole_numbers_is_a_hole_of_other_variables():
    lower = torch.tensor([[0.0, 0.0], [2.0, 0.0]]).double()
    upper = torch.tensor([[1.0, 1.0], [3.0, 1.0]]).double()
    assert _is_partition(lower, upper, torch.tensor([True, False]))
    assert not _is_partition(lower, upper, torch.tensor([False, True]))
    assert not _is_partition(lower, upper)
    lower[1, 0] = 3.0
    assert not _is_partition(lower, upper, torch.tensor([True, False]))


def test_a_notebook_shows_whom_to_blame_escaped():
    x = gs.Variable("x", lower=0, upper=3)
    y = gs.BlackBox(lambda x: x, name="f", noise=0)(x)
    constraints = {"<low>": x <= 1, "high": x >= 2, "free": y <= 9}
    result = gs.Problem(minimize=y, subject_to=constraints).solve(4, progress=False)
    shown = result.certificate._repr_html_()
    assert "&lt;low&gt;\nhigh" in shown
    assert "free" not in shown
    assert f"at least {result.certificate.least_violation:.3g} at every point" in shown
    assert f">{len(result.certificate.regions)}<" in shown
