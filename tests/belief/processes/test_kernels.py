"""Kernels: their formulas, their derivatives, and what is refused."""

import dataclasses
import math

import gpytorch
import numpy as np
import pytest
import sklearn.gaussian_process.kernels as sk
import torch

import grisaille as gs
from grisaille.errors import ModelError
from tests.belief.processes.process_helpers import FAMILIES, STATIONARY, label

every_family = pytest.mark.parametrize("kernel", FAMILIES, ids=label)
every_stationary = pytest.mark.parametrize("kernel", STATIONARY, ids=label)
KINDS = [gs.SquaredExponential, gs.Matern, gs.Linear]


def points(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


# --- formulas ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (gs.SquaredExponential(), math.exp(-12.5)),
        (gs.Matern(0.5), math.exp(-5)),
        (gs.Matern(1.5), (1 + 5 * math.sqrt(3)) * math.exp(-5 * math.sqrt(3))),
        (gs.Matern(2.5), (1 + 5 * math.sqrt(5) + 125 / 3) * math.exp(-5 * math.sqrt(5))),
        (gs.Linear(), 1 * 4 + 2 * 6),
    ],
    ids=lambda value: label(value) if not isinstance(value, int | float) else "",
)
def test_a_correlation_is_the_one_worked_out_by_hand(kernel, expected):
    # (1, 2) and (4, 6) are 5 apart
    first, second = torch.tensor([[1.0, 2.0]]).double(), torch.tensor([[4.0, 6.0]]).double()
    assert kernel.correlation(first, second).item() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        (gs.SquaredExponential(), gpytorch.kernels.RBFKernel),
        (gs.Matern(0.5), lambda: gpytorch.kernels.MaternKernel(nu=0.5)),
        (gs.Matern(1.5), lambda: gpytorch.kernels.MaternKernel(nu=1.5)),
        (gs.Matern(2.5), lambda: gpytorch.kernels.MaternKernel(nu=2.5)),
        (gs.Linear(), gpytorch.kernels.LinearKernel),
    ],
)
def test_correlations_are_those_of_gpytorch(kernel, theirs):
    module = theirs().double()
    if isinstance(kernel, gs.Linear):
        module.variance = 1.0
    else:
        module.lengthscale = 1.0
    a, b = points(7, 3), points(5, 3, seed=1)
    with torch.no_grad():
        expected = module(a, b).to_dense().numpy()
    np.testing.assert_allclose(kernel.correlation(a, b).numpy(), expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        (gs.SquaredExponential(), lambda scale: sk.RBF(scale)),
        (gs.Matern(0.5), lambda scale: sk.Matern(scale, nu=0.5)),
        (gs.Matern(1.5), lambda scale: sk.Matern(scale, nu=1.5)),
        (gs.Matern(2.5), lambda scale: sk.Matern(scale, nu=2.5)),
    ],
)
def test_a_length_scale_per_input_is_that_of_scikit_learn(kernel, theirs):
    scale = np.array([0.5, 2.0, 7.0])
    a, b = points(7, 3), points(5, 3, seed=1)
    ours = kernel.correlation(a / torch.tensor(scale), b / torch.tensor(scale))
    np.testing.assert_allclose(ours.numpy(), theirs(scale)(a.numpy(), b.numpy()), rtol=1e-12)


def test_the_linear_kernel_is_the_dot_product_of_scikit_learn():
    a, b = points(7, 3), points(5, 3, seed=1)
    expected = sk.DotProduct(sigma_0=0.0)(a.numpy(), b.numpy())
    np.testing.assert_allclose(gs.Linear().correlation(a, b).numpy(), expected, rtol=1e-12)


@every_family
def test_the_diagonal_is_the_correlation_of_each_point_with_itself(kernel):
    a = points(6, 3)
    np.testing.assert_allclose(
        kernel.diagonal(a), kernel.correlation(a, a).diagonal(), rtol=1e-15, atol=1e-15
    )


@every_family
def test_correlation_matrices_are_symmetric_and_positive_semidefinite(kernel):
    a = points(40, 3)
    a = torch.cat([a, a[:5], a[:5] + 1e-9])
    matrix = kernel.correlation(a, a).numpy()
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-14, atol=1e-14)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12 * np.abs(matrix).max()


@every_family
def test_leading_axes_are_batches(kernel):
    a, b = points(2, 4, 3), points(2, 5, 3, seed=1)
    both = kernel.correlation(a, b)
    assert both.shape == (2, 4, 5)
    for i in range(2):
        torch.testing.assert_close(both[i], kernel.correlation(a[i], b[i]))


@every_family
def test_no_points_have_an_empty_correlation_matrix(kernel):
    assert kernel.correlation(points(0, 3), points(5, 3)).shape == (0, 5)
    assert kernel.diagonal(points(0, 3)).shape == (0,)


@every_stationary
def test_only_differences_of_inputs_count_however_far_from_the_origin(kernel):
    # Steps of 2^-20 and an offset of 2^20 are exact in floating point, and so are all differences.
    steps = torch.tensor(np.random.default_rng(0).integers(-3, 4, size=(30, 2)) * 2.0**-20)
    near, far = kernel.correlation(steps, steps), kernel.correlation(steps + 2.0**20, steps + 2**20)
    np.testing.assert_array_equal(near, far)
    assert (near[steps.unsqueeze(0).ne(steps.unsqueeze(1)).any(-1)] < 1).all()


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
def test_smoothness_may_be_any_kind_of_number(smoothness):
    assert gs.Matern(np.float32(smoothness)) == gs.Matern(smoothness)


# --- derivatives ---------------------------------------------------------------------------------
@every_family
def test_gradients_are_right_away_from_coincident_points(kernel):
    a, b = points(3, 2).requires_grad_(), points(4, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(kernel.correlation, (a, b))
    assert torch.autograd.gradcheck(kernel.diagonal, (a,))


@every_stationary
def test_the_gradient_at_coincident_points_is_zero(kernel):
    a = points(4, 3)
    b = a.clone().requires_grad_()
    kernel.correlation(a, b).diagonal().sum().backward()
    np.testing.assert_array_equal(b.grad, torch.zeros(4, 3))


@every_stationary
def test_the_gradient_next_to_coincident_points_is_the_derivative(kernel):
    # along the ray from 0, with r the distance: d exp(-r^2/2) = -r, d exp(-r) = -1, ...
    expected = {
        "SquaredExponential": -1e-9,
        "Matern0.5": -1.0,
        "Matern1.5": -3e-9,
        "Matern2.5": -5 / 3 * 1e-9,
    }
    b = torch.tensor([[1e-9]], dtype=torch.float64, requires_grad=True)
    kernel.correlation(torch.zeros(1, 1, dtype=torch.float64), b).sum().backward()
    assert b.grad.item() == pytest.approx(expected[label(kernel)], rel=1e-6)


# --- hyper-parameters ----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", [2, 2.0, np.float64(2), [2.0], (2,), np.array([2.0])])
def test_one_length_scale_may_be_written_in_many_ways(kind, given):
    kernel = kind(lengthscale=given, variance=3)
    assert kernel.lengthscale == (2.0,)
    assert (kernel.variance, type(kernel.variance)) == (3.0, float)


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_without_hyperparameters_leave_them_to_be_learned(kind):
    assert (kind().lengthscale, kind().variance) == (None, None)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_kernels_are_equal_and_cannot_change(kind):
    kernel = kind(lengthscale=[1, 2], variance=3)
    twin = kind(lengthscale=np.array([1.0, 2.0]), variance=3.0)
    assert (kernel, hash(kernel)) == (twin, hash(twin))
    assert kernel != kind(lengthscale=[1, 2], variance=4)
    assert kernel != kind()
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernel.variance = 1.0


def test_kernels_of_different_kinds_differ():
    assert len({gs.SquaredExponential(), gs.Linear(), *map(gs.Matern, (0.5, 1.5, 2.5))}) == 5
    assert gs.Matern() == gs.Matern(2.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "mistake",
    [
        {"lengthscale": 0, "variance": 1},
        {"lengthscale": -1, "variance": 1},
        {"lengthscale": [1, -1], "variance": 1},
        {"lengthscale": np.nan, "variance": 1},
        {"lengthscale": np.inf, "variance": 1},
        {"lengthscale": "long", "variance": 1},
        {"lengthscale": [[1, 2], [3, 4]], "variance": 1},
        {"lengthscale": 1, "variance": 0},
        {"lengthscale": 1, "variance": -1},
        {"lengthscale": 1, "variance": np.nan},
        {"lengthscale": 1, "variance": [1, 2]},
        {"lengthscale": [1.0, np.ma.masked], "variance": 1},
        {"lengthscale": 1, "variance": True},
    ],
)
def test_hyperparameters_that_are_not_positive_numbers_are_refused(kind, mistake):
    with pytest.raises(ModelError, match=f"a {kind.__name__} kernel has lengthscale=") as caught:
        kind(**mistake)
    assert f"lengthscale={mistake['lengthscale']!r}" in str(caught.value)
    assert "they must be positive numbers" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("half", [{"lengthscale": 2.0}, {"variance": 2.0}])
def test_a_kernel_half_given_is_refused(kind, half):
    with pytest.raises(
        ModelError,
        match=f"a {kind.__name__} kernel needs both lengthscale and variance, or neither to have "
        r"them learned; got lengthscale=.* and variance=",
    ):
        kind(**half)


@pytest.mark.parametrize("smoothness", [1, 2, 3.5, "rough", None])
def test_other_smoothnesses_are_refused_with_those_that_exist(smoothness):
    with pytest.raises(ModelError, match=r"is not there: use 0\.5, 1\.5 or 2\.5"):
        gs.Matern(smoothness)
