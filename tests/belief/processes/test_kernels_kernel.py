"""Kernels put together: what they read as, what they are equal to, and what is refused."""

import math

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.processes.kernels import Product, Restricted, Sum
from grisaille.errors import ModelError

A, B, C = gs.Matern(), gs.Linear(), gs.SquaredExponential()


def points(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


def test_sums_and_products_of_more_than_two_kernels_are_flat():
    assert A + B + C == Sum((A, B, C)) == A + (B + C)
    assert A * B * C == Product((A, B, C)) == A * (B * C)
    assert Product((Sum((A, B)), C)) == (A + B) * C


def test_python_s_own_sum_and_product_of_kernels_work():
    assert sum(gs.Matern().on(i) for i in range(3)) == A.on(0) + A.on(1) + A.on(2)
    assert math.prod([A, B]) == A * B


def test_with_unit_hyperparameters_they_are_what_their_names_say():
    x, y = points(4, 3), points(5, 3, seed=1)
    a, b = A.correlation(x, y), C.correlation(x[:, [0, 2]], y[:, [0, 2]])
    torch.testing.assert_close((A + C.on(0, 2)).correlation(x, y), a + b)
    torch.testing.assert_close((A * C.on(0, 2)).correlation(x, y), a * b)
    for kernel in (A + B, A * B.on(1), (A + B) * C):
        torch.testing.assert_close(
            kernel.diagonal(x), kernel.correlation(x, x).diagonal(), rtol=1e-12, atol=1e-12
        )


def test_hyperparameters_are_given_to_all_parts_or_learned_for_all():
    given = gs.Matern(lengthscale=[1, 2], variance=3) + gs.Linear(4, 5).on(0)
    assert (given.lengthscale, given.variance) == ((1.0, 2.0, 4.0), 8.0)
    assert (gs.Matern(lengthscale=1, variance=3) * gs.Linear(4, 5)).variance == 15.0
    assert ((A + B).lengthscale, (A * B).variance, A.on(1).variance) == (None, None, None)
    with pytest.raises(ModelError, match="has hyper-parameters in some parts only: give every"):
        gs.Matern(lengthscale=1, variance=1) + gs.Linear()


def test_they_are_written_as_they_are_made():
    assert repr((A + B) * C.on(0, 2)) == f"({A!r} + {B!r}) * {C!r}.on(0, 2)"
    assert repr((A * B).on(1)) == f"({A!r} * {B!r}).on(1)"
    assert (A + B, hash(A + B)) == (gs.Matern() + gs.Linear(), hash(gs.Matern() + gs.Linear()))
    assert A + B != B + A


@pytest.mark.parametrize("inputs", [(), (0, 0), (-1,), (0.5,), ([0, 1],), ("x",), (True,)])
def test_inputs_are_different_whole_numbers(inputs):
    with pytest.raises(ModelError, match=r"a kernel on inputs .*: pass different whole numbers"):
        gs.Matern().on(*inputs)
    assert gs.Matern().on(np.int64(1)) == Restricted(A, (1,))


@pytest.mark.parametrize(
    "wrong", [lambda: A + 3, lambda: 3 + A, lambda: A * 2.0, lambda: 2 * A, lambda: A + "x"]
)
def test_kernels_go_with_kernels_only(wrong):
    with pytest.raises(ModelError, match="kernels are added to and multiplied by kernels; pass"):
        wrong()


def test_a_kernel_without_a_correlation_says_so():
    class Empty(gs.Kernel):
        pass

    with pytest.raises(NotImplementedError, match="kernel Empty needs a method correlation"):
        Empty().correlation(points(2, 1), points(2, 1))


def test_a_class_that_inherits_nothing_can_be_a_part():
    class Own:
        lengthscale = variance = None

        def correlation(self, first, second):
            return gs.Linear().correlation(first, second)

        def diagonal(self, inputs):
            return gs.Linear().diagonal(inputs)

    own = Own()
    assert (A + own).parts == (A, own)
    assert (own + A).parts == (own, A)
    assert (own * A).parts == (own, A)
