"""What can be a kernel: given ones, put together, and a user's own, which are tried first."""

import gpytorch
import pytest

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.surrogates.kernel_checks import check_kernel

KINDS = [gs.SquaredExponential, gs.Matern, gs.Linear]


@pytest.mark.parametrize("mistake", ["rbf", gs.Matern, None, gpytorch.kernels.RBFKernel()])
def test_what_is_no_kernel_is_refused_with_the_box_and_the_remedy(mistake):
    with pytest.raises(
        ModelError,
        match=r"(?s)black box 'reactor' has kernel=.*: pass gs\.SquaredExponential\(\), gs\.Matern",
    ):
        check_kernel(mistake, "reactor", 2)


def test_a_wrong_number_of_length_scales_is_refused():
    kernel = gs.Matern(lengthscale=[1, 2, 3], variance=1)
    with pytest.raises(
        ModelError,
        match="black box 'reactor' takes 2 numbers, but its kernel has 3 length-scales: pass one, "
        "or one per input",
    ):
        check_kernel(kernel, "reactor", 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengthscale", [1.0, [1.0, 2.0]])
def test_one_length_scale_or_one_per_input_is_accepted(kind, lengthscale):
    check_kernel(kind(lengthscale=lengthscale, variance=1.0), "reactor", 2)
    check_kernel(kind(), "reactor", 2)
