"""Quadratics below confidence bands are below them: sampled, and exactly with 60 digits."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import torch
from torch import Tensor

import grisaille as gs
from grisaille.belief.processes import minorants as band_minorants
from grisaille.belief.processes.kernels import Composite
from grisaille.belief.processes.minorants import BandMinorants, Quadratics, least_of
from grisaille.belief.processes.posterior import Posterior
from tests.belief.processes.process_helpers import FAMILIES, STATIONARY, hyperparameters, label

pytestmark = pytest.mark.slow


DIGITS = 60
EPSILON = torch.finfo(torch.float64).eps
RADII = [*np.logspace(-8, 2, 41), 0.3, 0.9, 1.1, 3.3]


# --- Kernels ------------------------------------------------------------------------------------


def correlation(kernel, r):
    """The kernel at a scaled distance, in mpmath."""
    if isinstance(kernel, gs.SquaredExponential):
        return mpmath.exp(-r * r / 2)
    a = mpmath.sqrt(2 * mpmath.mpf(kernel.smoothness)) * r
    return {0.5: 1, 1.5: 1 + a, 2.5: 1 + a + a * a / 3}[kernel.smoothness] * mpmath.exp(-a)


def derivatives_on_a_line(kernel, r):
    """k and its first two derivatives in r, written down once more."""
    if isinstance(kernel, gs.SquaredExponential):
        value = mpmath.exp(-r * r / 2)
        return value, -r * value, (r * r - 1) * value
    b = mpmath.sqrt(2 * mpmath.mpf(kernel.smoothness))
    a, decay = b * r, mpmath.exp(-b * r)
    if kernel.smoothness == 0.5:
        return decay, None, None
    if kernel.smoothness == 1.5:
        return (1 + a) * decay, -b * a * decay, None
    value = (1 + a + a * a / 3) * decay
    return value, -b * a * (1 + a) / 3 * decay, -b * b * (1 + a - a * a) / 3 * decay


def remainder_norm(kernel, r):
    """The norm of f -> f(r) - f(0) - r f'(0) - r^2 f''(0) / 2, from covariances.

    Cov(f(r), f'(0)) = -k'(r), Cov(f(r), f''(0)) = k''(r), and at 0: Var f' = -k''(0), Cov(f, f'')
    = k''(0), Var f'' = k''''(0), everything else 0.
    """
    r = mpmath.mpf(r)
    value, first, second = derivatives_on_a_line(kernel, r)
    variance = 2 - 2 * value
    if kernel.order >= 1:
        curvature = {"SquaredExponential": 1, "Matern1.5": 3, "Matern2.5": mpmath.mpf(5) / 3}
        minus_second = curvature[label(kernel)]
        variance += r * r * minus_second + 2 * r * first
    if kernel.order == 2:
        fourth = 3 if isinstance(kernel, gs.SquaredExponential) else 25
        variance += r**4 / 4 * fourth - r * r * (second + minus_second)
    return mpmath.sqrt(variance)


@pytest.mark.parametrize("kernel", STATIONARY, ids=label)
def test_the_remainder_is_the_norm_of_the_remainder_functional_and_never_below_it(kernel):
    radius = torch.tensor(RADII, dtype=torch.float64)
    found = kernel.remainder(radius)
    with mpmath.workdps(2 * DIGITS):  # all but the last of which cancel at small radii
        for r, claimed in zip(RADII, found.tolist(), strict=True):
            exact = remainder_norm(kernel, r)
            assert claimed >= exact * (1 - mpmath.mpf(4 * EPSILON))
            assert claimed <= exact * (1 + mpmath.mpf("0.05")) + mpmath.mpf(1e-13)


@pytest.mark.parametrize("kernel", STATIONARY, ids=label)
def test_the_remainder_grows_with_the_radius(kernel):
    radius = torch.logspace(-8, 2, 400, dtype=torch.float64)
    found = kernel.remainder(radius)
    assert (found.diff() >= -4 * EPSILON * found[1:]).all()
    assert kernel.remainder(torch.zeros(1).double()).item() == 0


@pytest.mark.parametrize("kernel", STATIONARY, ids=label)
def test_no_function_of_norm_one_leaves_its_taylor_polynomial_by_more_than_the_remainder(kernel):
    generator = np.random.default_rng(1)
    closest = 0.0
    with mpmath.workdps(30):
        for _ in range(60):
            centers = generator.uniform(-2, 2, 3)
            weights = generator.standard_normal(3)
            squared = sum(
                a * b * correlation(kernel, abs(mpmath.mpf(s) - t))
                for a, s in zip(weights, centers, strict=True)
                for b, t in zip(weights, centers, strict=True)
            )
            r = float(10 ** generator.uniform(-2, 1))
            left = mpmath.mpf(0)
            for a, s in zip(weights, centers, strict=True):
                value, first, second = derivatives_on_a_line(kernel, abs(mpmath.mpf(s)))
                here = correlation(kernel, abs(mpmath.mpf(s) - r)) - value
                if kernel.order >= 1:
                    here += r * mpmath.sign(s) * first
                if kernel.order == 2:
                    here -= mpmath.mpf(r) ** 2 / 2 * second
                left += a * here
            allowed = kernel.remainder(torch.tensor(r).double()).item()
            part = abs(left) / mpmath.sqrt(squared) / allowed
            assert part <= 1 + 1e-9
            closest = max(closest, float(part))
    assert closest > 0.3  # else anything would pass


@pytest.mark.parametrize("kernel", STATIONARY, ids=label)
def test_the_profile_is_the_kernel_with_its_derivatives_convex_and_decreasing(kernel):
    q = torch.logspace(-3, 2, 60, dtype=torch.float64)
    value, first, second = kernel.profile(q)
    zero = torch.zeros(1, 1).double()
    np.testing.assert_allclose(value, kernel.correlation(zero, q.sqrt().unsqueeze(1))[0], 1e-14)
    step = 1e-4 * q
    high, low = kernel.profile(q + step), kernel.profile(q - step)
    np.testing.assert_allclose(first, (high[0] - low[0]) / (2 * step), rtol=2e-6, atol=1e-12)
    np.testing.assert_allclose(second, (high[1] - low[1]) / (2 * step), rtol=2e-6, atol=1e-12)
    assert (first < 0).all()
    assert (second > 0).all()


# --- Bands --------------------------------------------------------------------------------------


def split_evenly(given, kernel):
    """Hyper-parameters for the parts of a sum: all shares differ, and so do the length-scales."""
    shares = torch.arange(1.0, len(kernel.parts) + 1, dtype=torch.float64)
    stretched = torch.linspace(1.0, 2.0, len(kernel.columns), dtype=torch.float64)
    return dataclasses.replace(
        given,
        lengthscale=given.lengthscale[:, kernel.columns] * stretched,
        shares=(shares / shares.sum()).repeat(len(given.variance), 1),
    )


def random_posterior(kernel, inputs, observations, seed, noise=1e-2, outputs=2) -> Posterior:
    """Two outputs with different hyper-parameters, length-scales of different sizes."""
    generator = np.random.default_rng([seed, inputs, observations])
    scale = 10 ** generator.uniform(-0.5, 0.5, (outputs, inputs))
    x = generator.uniform(-1, 1, (observations, inputs)) + 0.3
    y = generator.standard_normal((observations, outputs))
    given = hyperparameters(
        lengthscale=scale,
        variance=[1.7, 0.4][:outputs],
        noise=noise,
        mean=[0.3, -2.0][:outputs],
        center=generator.uniform(-0.5, 0.5, inputs),
    )
    if isinstance(kernel, Composite):
        given = split_evenly(given, kernel)
    return Posterior(kernel, given, torch.tensor(x), torch.tensor(y))


def random_regions(posterior, count, seed, spread=1.0):
    """Regions from huge to tiny, some without width, some around observations; a point in each."""
    generator = torch.Generator().manual_seed(seed)

    def rand(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    inputs = posterior.inputs.shape[1]
    half = spread * 10 ** (4 * rand(count, 1) - 3) * (0.2 + rand(count, inputs))
    half[count // 4 : count // 2] *= (rand(count // 2 - count // 4, inputs) < 0.6).double()
    half[: count // 8] = 0.0
    center = 0.3 + spread * (4 * rand(count, inputs) - 2)
    if len(posterior.inputs):
        near = torch.arange(0, count, 3)
        chosen = posterior.inputs[torch.arange(len(near)) % len(posterior.inputs)]
        shift = (rand(len(near), 1) < 0.5).double() * half[near]  # a corner or the centre there
        center[near] = chosen + shift
    touch = center + half * (2 * rand(count, inputs) - 1)
    return center, half, touch


def points_in(center: Tensor, half: Tensor, count: int, seed: int) -> Tensor:
    """Random points, corners, and points of faces: (count, regions, d)."""
    generator = torch.Generator().manual_seed(seed)
    size = (count, *center.shape)
    unit = 2 * torch.rand(size, generator=generator, dtype=torch.float64) - 1
    kind = torch.rand(size, generator=generator)
    unit = torch.where(kind < 0.3, unit.sign(), unit)
    unit[: count // 4] = unit[: count // 4].sign()
    unit[-1] = 0.0
    return center + half * unit


def value_at(quadratics: Quadratics, displacement: Tensor) -> Tensor:
    """(points, regions, d) to (2, k, points, regions)."""
    slope, curvature = quadratics.slope.unsqueeze(2), quadratics.curvature.unsqueeze(2)
    terms = slope * displacement + 0.5 * curvature * displacement.square()
    return quadratics.constant.unsqueeze(2) + terms.sum(-1)


def bands_at(posterior: Posterior, beta: Tensor, points: Tensor) -> Tensor:
    """L and -u, (2, k, points, regions)."""
    mean, deviation = posterior.predict(points.reshape(-1, points.shape[-1]))
    reach = beta * deviation
    both = torch.stack([mean - reach, -mean - reach]).transpose(1, 2)
    return both.reshape(2, len(beta), *points.shape[:2])


@pytest.mark.parametrize("observations", [0, 1, 5, 40])
@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel", FAMILIES, ids=label)
def test_the_quadratic_is_below_the_band_all_over_the_region(kernel, inputs, observations):
    posterior = random_posterior(kernel, inputs, observations, 0)
    beta = torch.tensor([2.0, 0.7], dtype=torch.float64)
    center, half, touch = random_regions(posterior, 96, 1)
    minorants = BandMinorants(posterior, beta)
    found = minorants(center, half, touch)
    points = points_in(center, half, 40, 2)
    truth = bands_at(posterior, beta, points)
    below = value_at(found, points - center)
    # The reported slack pays for the rounding of both.
    assert (below <= truth + found.slack.unsqueeze(2)).all()
    least = found.least(half).unsqueeze(2)
    assert (least <= below + 1e-12 * (1 + below.abs())).all()
    assert (least <= truth + found.slack.unsqueeze(2)).all()
    assert (found.slack > 0).all()
    floor = minorants.floor().unsqueeze(2)
    assert (floor <= truth).all()
    assert floor.isneginf().all() == isinstance(kernel, gs.Linear)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("inputs", [1, 3])
@pytest.mark.parametrize("kernel", FAMILIES, ids=label)
def test_without_a_band_the_quadratic_is_below_the_mean(kernel, inputs, seed):
    # A short length-scale and little noise: large weights that cancel one another.
    posterior = random_posterior(kernel, inputs, 60, seed, noise=1e-5)
    beta = torch.zeros(2, dtype=torch.float64)
    center, half, touch = random_regions(posterior, 96, seed)
    found = BandMinorants(posterior, beta)(center, half, touch)
    points = points_in(center, half, 40, seed)
    truth = bands_at(posterior, beta, points)
    below = value_at(found, points - center)
    assert (below <= truth + found.slack.unsqueeze(2)).all()
    # A mean needs no touching point.
    again = BandMinorants(posterior, beta)(center, half, center)
    assert torch.equal(again.constant, found.constant)


@pytest.mark.parametrize("kernel", FAMILIES, ids=label)
def test_parts_of_a_batch_and_single_ends_of_the_band_have_the_same_bounds(kernel, monkeypatch):
    posterior = random_posterior(kernel, 3, 20, 1)
    minorants = BandMinorants(posterior, torch.tensor([2.0, 0.7], dtype=torch.float64))
    regions = random_regions(posterior, 50, 2)
    whole = minorants(*regions)
    monkeypatch.setattr(
        band_minorants, "MINORANTS", replace(band_minorants.MINORANTS, in_cache=7 * 61)
    )
    for sides in (slice(0, 2), slice(0, 1), slice(1, 2)):
        found = minorants(*regions, sides)
        for name in ("slope", "curvature"):
            expected = getattr(whole, name)[sides]
            np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-9, atol=1e-9)
        # The slack is that of the farthest region of a part, which is no farther than that of all.
        assert (found.slack <= whole.slack[sides] * (1 + 1e-6)).all()
        before, after = whole.constant[sides] + whole.slack[sides], found.constant + found.slack
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)


def test_quadratics_are_replaced_in_the_regions_asked_for():
    generator = torch.Generator().manual_seed(0)
    first, second = (
        Quadratics(
            *(torch.rand(2, 1, 4, *end, generator=generator) for end in ((), (3,), (3,), ()))
        )
        for _ in range(2)
    )
    rows = torch.tensor([1, 3])
    part = Quadratics(
        second.constant[..., rows],
        second.slope[..., rows, :],
        second.curvature[..., rows, :],
        second.slack[..., rows],
    )
    found = first.replaced(rows, part)
    for name in ("constant", "slope", "curvature", "slack"):
        mine, old, new = (getattr(q, name) for q in (found, first, second))
        assert torch.equal(mine[:, :, [0, 2]], old[:, :, [0, 2]])
        assert torch.equal(mine[:, :, rows], new[:, :, rows])


@pytest.mark.parametrize("kernel", FAMILIES, ids=label)
def test_regions_that_are_points_have_the_band_itself_for_a_bound(kernel):
    posterior = random_posterior(kernel, 2, 6, 3)
    beta = torch.tensor([2.0, 0.7], dtype=torch.float64)
    center, _, _ = random_regions(posterior, 30, 4)
    nothing = torch.zeros_like(center)
    found = BandMinorants(posterior, beta)(center, nothing, center)
    truth = bands_at(posterior, beta, center.unsqueeze(0)).squeeze(2)
    np.testing.assert_allclose(found.constant, truth, atol=1e-7)


@pytest.mark.parametrize(
    ("kernel", "order"),
    [(gs.SquaredExponential(), 2), (gs.Matern(2.5), 2), (gs.Linear(), 2), (gs.Matern(1.5), 1.5)],
    ids=str,
)
def test_the_bound_tightens_with_the_square_of_the_width(kernel, order):
    posterior = random_posterior(kernel, 2, 8, 5)
    beta = torch.tensor([2.0, 0.7], dtype=torch.float64)
    minorants = BandMinorants(posterior, beta)
    center = random_regions(posterior, 40, 6)[0] + 0.05
    gaps = []
    for width in (0.08, 0.02):
        half = torch.full_like(center, width)
        found = minorants(center, half, center)
        points = points_in(center, half, 60, 7)
        truth = bands_at(posterior, beta, points)
        gaps.append((truth - value_at(found, points - center)).amax(2))
    assert gaps[1].median() < 1.4 * 4.0**-order * gaps[0].median()
    assert gaps[1].max() < 0.2


def test_the_touching_point_is_where_the_bound_is_tightest():
    # Not exactly at it: v is chosen for points a little farther away from the observations.
    posterior = random_posterior(gs.SquaredExponential(), 2, 12, 8)
    beta = torch.tensor([2.0, 0.7], dtype=torch.float64)
    minorants = BandMinorants(posterior, beta)
    center = random_regions(posterior, 60, 9)[0]
    half = torch.full_like(center, 0.1)
    corner = center + half
    truth = bands_at(posterior, beta, corner.unsqueeze(0)).squeeze(2)
    gaps = [
        truth - value_at(minorants(center, half, at), half.unsqueeze(0)).squeeze(2)
        for at in (corner, center, center - half)
    ]
    assert gaps[0].mean() < gaps[1].mean() < gaps[2].mean()


def test_the_floor_of_a_predicted_deviation_counts():
    # At its origin a linear function is known to be 0, but `predict` never says so.
    posterior = random_posterior(gs.Linear(), 2, 6, 21)
    beta = torch.tensor([2.0, 0.7], dtype=torch.float64)
    origin = posterior.hyperparameters.center.unsqueeze(0)
    found = BandMinorants(posterior, beta)(origin, torch.zeros_like(origin), origin)
    truth = bands_at(posterior, beta, origin.unsqueeze(0)).squeeze(2)
    assert (found.constant <= truth).all()
    assert (found.constant >= truth - 1e-5).all()


def test_the_least_of_a_quadratic_is_its_minimum():
    generator = torch.Generator().manual_seed(3)
    slope, curvature = torch.randn(2, 400, generator=generator, dtype=torch.float64)
    half = torch.rand(400, generator=generator, dtype=torch.float64)
    half[:10], curvature[10:20] = 0.0, 0.0
    found = least_of(slope, curvature, half)
    d = half * torch.linspace(-1, 1, 20001, dtype=torch.float64).unsqueeze(1)
    truth = (slope * d + curvature * d * d / 2).amin(0)
    assert (found <= truth + 1e-15).all()
    assert (truth - found).max() < 1e-8


# --- The truth with 60 digits -------------------------------------------------------------------


def exact_scaled(states, given, output, kernel=None):
    """(x - origin) / length-scale without rounding, as lists of mpmath numbers.

    With a composite kernel, of the inputs of its parts one after the other.
    """
    columns = range(len(given.center)) if kernel is None else kernel.columns
    origin = [mpmath.mpf(c) for c in given.center[list(columns)].tolist()]
    scale = [mpmath.mpf(s) for s in given.lengthscale[output].tolist()]
    return [
        [(mpmath.mpf(v) - c) / s for v, c, s in zip(row, origin, scale, strict=True)]
        for row in states[:, list(columns)].tolist()
    ]


def exact_covariance(kernel, variance, a, b):
    if isinstance(kernel, Composite):  # a sum, with the variances of its parts
        terms, start = [], 0
        for part, own in zip(kernel.parts, variance, strict=True):
            end = start + len(part.inputs)
            terms.append(exact_covariance(part.kernel, own, a[start:end], b[start:end]))
            start = end
        return mpmath.fsum(terms)
    if isinstance(kernel, gs.Linear):
        return variance * mpmath.fsum(s * t for s, t in zip(a, b, strict=True))
    squared = mpmath.fsum((s - t) ** 2 for s, t in zip(a, b, strict=True))
    return variance * correlation(kernel, mpmath.sqrt(squared))


class ExactPosterior:
    """One output of a posterior from its stored numbers, with 60 digits."""

    def __init__(self, posterior: Posterior, output: int) -> None:
        given = posterior.hyperparameters
        self.kernel, self.given, self.output = posterior.kernel, given, output
        self.variance = mpmath.mpf(given.variance[output].item())
        self.composite = None
        if given.shares is not None:
            self.composite = posterior.kernel
            self.variance = [self.variance * mpmath.mpf(s) for s in given.shares[output].tolist()]
        self.mean = mpmath.mpf(given.mean[output].item())
        self.data = exact_scaled(posterior.inputs, given, output, self.composite)
        noise = posterior.regularization(posterior.scaled)[output].tolist()
        n = len(self.data)
        self.factor = [[mpmath.mpf(0)] * n for _ in range(n)]
        for i in range(n):
            row = self.factor[i]
            for j in range(i + 1):
                entry = exact_covariance(self.kernel, self.variance, self.data[i], self.data[j])
                if i == j:
                    entry += mpmath.mpf(noise[i])
                entry -= mpmath.fdot(zip(row[:j], self.factor[j][:j], strict=True))
                row[j] = mpmath.sqrt(entry) if i == j else entry / self.factor[j][j]
        target = [mpmath.mpf(y) - self.mean for y in posterior.outputs[:, output].tolist()]
        self.whitened = self._solve(target)

    def _solve(self, right):
        found = []
        for row, value in zip(self.factor, right, strict=True):
            known = mpmath.fdot(zip(row[: len(found)], found, strict=True))
            found.append((value - known) / row[len(found)])
        return found

    def __call__(self, states: Tensor):
        """Mean and standard deviation at (batch, d)."""
        answers = []
        for s in exact_scaled(states, self.given, self.output, self.composite):
            cross = [exact_covariance(self.kernel, self.variance, s, t) for t in self.data]
            solved = self._solve(cross)
            mean = self.mean + mpmath.fdot(zip(solved, self.whitened, strict=True))
            prior = exact_covariance(self.kernel, self.variance, s, s)
            variance = prior - mpmath.fdot(zip(solved, solved, strict=True))
            answers.append((mean, mpmath.sqrt(variance)))
        return answers


def exact_quadratic(found: Quadratics, side: int, output: int, index: int, displacement):
    """The value of a stored quadratic, its coefficients taken as they are."""
    value = mpmath.mpf(found.constant[side, output, index].item())
    slope = found.slope[side, output, index].tolist()
    curvature = found.curvature[side, output, index].tolist()
    for s, c, d in zip(slope, curvature, displacement, strict=True):
        value += mpmath.mpf(s) * d + mpmath.mpf(c) * d * d / 2
    return value


def nasty_data(case: str, seed: int = 0):
    """Inputs, length-scales, output and noise variances that are hard on floating-point numbers."""
    generator = np.random.default_rng(seed)
    noise, scale, shift, count, inputs = 1e-10, [0.6, 1.1], 0.0, 14, 2
    if case == "large":
        count, scale = 200, [0.5, 0.9]
    if case == "relative 1e-6":
        noise = 1e-6
    if case == "very different length-scales":
        scale = [1e-3, 1.0]
    if case == "far from the origin":
        shift, scale = 1e3, [1.0, 1.0]
    if case == "far and different":
        shift, scale = 1e3, [0.05, 40.0]
    x = generator.uniform(-1, 1, (count, inputs)) + shift
    if case == "duplicates":
        x[5:] = x[generator.integers(0, 5, count - 5)]
    if case == "near duplicates":
        x[5:] = x[generator.integers(0, 5, count - 5)] + 1e-7 * generator.standard_normal((9, 2))
    if case == "crowded":
        x *= 0.02
    y = generator.standard_normal((count, 1)) * (100 if case == "large outputs" else 1)
    return x, y, scale, noise


CASES = [
    "duplicates",
    "near duplicates",
    "crowded",
    "relative 1e-6",
    "very different length-scales",
    "far from the origin",
    "far and different",
    "large outputs",
]


@functools.cache
def nasty(kernel, case) -> tuple[Posterior, ExactPosterior]:
    x, y, scale, noise = nasty_data(case)
    given = hyperparameters(lengthscale=[scale], variance=1.3, noise=1.3 * noise, mean=0.4)
    if isinstance(kernel, Composite):
        given = split_evenly(given, kernel)
    posterior = Posterior(kernel, given, torch.tensor(x), torch.tensor(y))
    with mpmath.workdps(DIGITS):
        return posterior, ExactPosterior(posterior, 0)


def assert_exactly_below(
    posterior: Posterior, exact: ExactPosterior, regions: int, seed: int, width: float = 1.7
):
    """The bounds, slack taken off as they are, are not above the exact bands by anything at all."""
    beta = torch.tensor([width], dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    n, inputs = posterior.inputs.shape
    chosen = posterior.inputs[torch.randint(n, (regions,), generator=generator)]
    scale = posterior.hyperparameters.lengthscale[0, :inputs]
    size = 10 ** (-9 * torch.rand(regions, 1, generator=generator, dtype=torch.float64) + 0.5)
    size[: regions // 4] = 0.0
    offset = torch.randn(regions, inputs, generator=generator, dtype=torch.float64) * scale
    center = chosen + torch.where(torch.arange(regions).unsqueeze(1) % 2 == 0, size, 1.0) * offset
    half = size * scale * torch.rand(regions, inputs, generator=generator, dtype=torch.float64)
    minorants = BandMinorants(posterior, beta)
    found = minorants(center, half, center)
    least = found.least(half)
    floor = minorants.floor()
    points = points_in(center, half, 3, seed)
    with mpmath.workdps(DIGITS):
        for index in range(regions):
            states = torch.cat([center[index : index + 1], points[:, index]])
            for state, (mean, deviation) in zip(states, exact(states), strict=True):
                ends = [mpmath.mpf(v) for v in state.tolist()]
                displacement = [
                    s - mpmath.mpf(c) for s, c in zip(ends, center[index].tolist(), strict=True)
                ]
                inside = all(
                    abs(d) <= mpmath.mpf(h)
                    for d, h in zip(displacement, half[index].tolist(), strict=True)
                )
                for side, sign in enumerate((1, -1)):
                    truth = sign * mean - mpmath.mpf(width) * deviation
                    assert mpmath.mpf(floor[side, 0, 0].item()) <= truth
                    if inside:  # rounding may have put a point barely outside its region
                        below = exact_quadratic(found, side, 0, index, displacement)
                        assert below <= truth
                        assert mpmath.mpf(least[side, 0, index].item()) <= truth


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kernel", FAMILIES, ids=label)
def test_in_exact_arithmetic_no_bound_is_above_the_band(kernel, case):
    assert_exactly_below(*nasty(kernel, case), regions=32, seed=11)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kernel", FAMILIES, ids=label)
def test_in_exact_arithmetic_no_bound_is_above_the_mean(kernel, case):
    assert_exactly_below(*nasty(kernel, case), regions=32, seed=14, width=0.0)


@pytest.mark.parametrize("kernel", [gs.SquaredExponential(), gs.Matern(2.5)], ids=label)
def test_in_exact_arithmetic_no_bound_is_above_the_band_for_many_observations(kernel):
    assert_exactly_below(*nasty(kernel, "large"), regions=8, seed=12)


def test_a_posterior_extended_one_by_one_is_no_exception():
    x, y, scale, noise = nasty_data("near duplicates")
    given = hyperparameters(lengthscale=[scale], variance=1.3, noise=1.3 * noise, mean=0.4)
    kernel = gs.SquaredExponential()
    posterior = Posterior(kernel, given, torch.tensor(x[:2]), torch.tensor(y[:2]))
    for state, answer in zip(torch.tensor(x[2:]), torch.tensor(y[2:]), strict=True):
        posterior = posterior.extended(state, answer)
    _, exact = nasty(kernel, "near duplicates")
    assert_exactly_below(posterior, exact, regions=16, seed=13)


@pytest.mark.parametrize("kernel", FAMILIES, ids=label)
def test_the_slack_bounds_the_rounding_of_the_mean(kernel):
    for case in ("near duplicates", "crowded", "far and different"):
        posterior, exact = nasty(kernel, case)
        states = torch.cat([posterior.inputs[:6], posterior.inputs[:6] + 0.013])
        nothing = torch.zeros_like(states)
        beta = torch.zeros(1, dtype=torch.float64)
        slack = BandMinorants(posterior, beta)(states, nothing, states).slack[0, 0]
        mean, _ = posterior.predict(states)
        with mpmath.workdps(DIGITS):
            for computed, allowed, (truth, _) in zip(
                mean[:, 0].tolist(), slack.tolist(), exact(states), strict=True
            ):
                assert abs(mpmath.mpf(computed) - truth) <= mpmath.mpf(allowed)


@pytest.mark.parametrize("kernel", FAMILIES, ids=label)
def test_less_noise_takes_more_slack(kernel):
    slacks = []
    for noise in (1e-1, 1e-3, 1e-5, 1e-7):
        posterior = random_posterior(kernel, 1, 12, 17, noise=noise)
        center, half, touch = random_regions(posterior, 30, 18, spread=0.3)
        beta = torch.tensor([2.0, 0.7], dtype=torch.float64)
        slacks.append(BandMinorants(posterior, beta)(center, half, touch).slack.median().item())
    assert slacks == sorted(slacks)
    assert slacks[-1] > 100 * slacks[0]
    assert slacks[-1] < 1e-2
