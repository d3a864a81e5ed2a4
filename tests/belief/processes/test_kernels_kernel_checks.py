"""What can be a kernel: given ones, put together, and a user's own, which are tried first."""

from dataclasses import dataclass

import gpytorch
import pytest
import torch

import grisaille as gs
from grisaille.belief.processes.kernels import check_kernel, length_scales
from grisaille.errors import ModelError

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


@dataclass(frozen=True)
class Periodic(gs.Kernel):
    """Repeats itself; a length-scale is a period."""

    roughness: float = 1.0
    lengthscale: float | None = None
    variance: float | None = None

    def correlation(self, first, second):
        turn = torch.sin(torch.pi * (first.unsqueeze(-2) - second.unsqueeze(-3)))
        return torch.exp(-2 * turn.square().sum(-1) / self.roughness**2)


def test_a_kernel_of_a_user_s_own_is_accepted_alone_and_in_sums():
    for kernel in (Periodic(), Periodic(2.0, 1.5, 3.0), Periodic().on(1) * gs.Linear()):
        check_kernel(kernel, "reactor", 2)
    assert length_scales(Periodic(2.0, 1.5, 3.0)) == (1.5,)


def own(correlation, diagonal=None):
    """An own kernel with these methods."""
    methods = {"correlation": lambda self, a, b: correlation(a, b)}
    if diagonal is not None:
        methods["diagonal"] = lambda self, a: diagonal(a)
    return type("Own", (gs.Kernel,), methods)()


def plain(a, b):
    return gs.Matern().correlation(a, b)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (own(lambda a, b: a @ b), r"correlation or diagonal failed on points of shape \(2, 6, 2\)"),
        (own(lambda a, b: plain(a, b).detach().numpy()), "correlation returned ndarray: return a"),
        (own(lambda a, b: plain(a, b).float()), "returned torch.float32: return a float64 tensor"),
        (own(lambda a, b: plain(a, b).sum(0)), r"returned shape \(6, 6\), expected \(2, 6, 6\)"),
        (own(plain, lambda a: a), r"diagonal returned shape \(2, 6, 2\), expected \(2, 6\)"),
        (own(lambda a, b: a @ b.mT), "diagonal says 1 where correlation says"),
        (own(lambda a, b: plain(a, b) / 0), "it returned numbers that are not finite"),
        (own(lambda a, b: 2 * plain(a, b) - plain(a, b) ** 0.1), "the negative eigenvalue -"),
        (own(lambda a, b: plain(a, b).detach()), "correlation has no derivative: compute it in"),
        (
            own(lambda a, b: torch.exp(-((a.unsqueeze(-2) - b.unsqueeze(-3)).norm(dim=-1) ** 0.9))),
            "derivative of correlation is not finite where two inputs are equal: use torch.cdist",
        ),
    ],
)
def test_what_is_wrong_with_an_own_kernel_is_said(kernel, message):
    with pytest.raises(ModelError, match=message) as caught:
        check_kernel(gs.Matern() + kernel, "reactor", 2)
    assert "of black box 'reactor'" in str(caught.value)


def test_an_own_kernel_that_is_not_symmetric_is_refused():
    def lopsided(a, b):
        return plain(a, b) + 0.1 * torch.relu(a[..., :1] - b[..., :1].mT)

    with pytest.raises(ModelError, match=r"correlation is not symmetric: .* one way, .* the other"):
        check_kernel(own(lopsided), "reactor", 2)


def test_an_own_kernel_that_depends_on_the_other_points_is_refused():
    def centered(a, b):
        return plain(a, b) * (1 + 0.1 * (a.shape[-2] == 2))

    with pytest.raises(ModelError, match="correlation of two points depends on which other points"):
        check_kernel(own(centered), "reactor", 2)


@pytest.mark.parametrize(
    "given", [{"lengthscale": 1.0}, {"variance": 1.0}, {"lengthscale": -1.0, "variance": 1.0}]
)
def test_hyperparameters_of_an_own_kernel_are_positive_and_given_together(given):
    with pytest.raises(ModelError, match="kernel Periodic of black box 'reactor' has lengthscale="):
        check_kernel(Periodic(**given), "reactor")


def test_an_own_kernel_that_cannot_be_hashed_is_refused():
    @dataclass
    class Mutable(gs.Kernel):
        weight: float = 1.0

    with pytest.raises(ModelError, match="kernel Mutable of black box 'reactor' cannot be hashed"):
        check_kernel(Mutable(), "reactor")


def test_inputs_that_a_black_box_does_not_have_are_refused():
    with pytest.raises(
        ModelError, match=r"takes 2 numbers, but kernel .*\.on\(0, 2\) reads input 2"
    ):
        check_kernel(gs.Matern().on(0, 2) + gs.Linear(), "reactor", 2)
    with pytest.raises(ModelError, match="takes 1 number, but its kernel has 2 length-scales"):
        check_kernel(gs.Matern(lengthscale=[1, 2], variance=1).on(0), "reactor", 3)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_a_caller_without_gradients_spoils_no_verdict(context):
    @dataclass(frozen=True)
    class Own(gs.Kernel):
        def correlation(self, first, second):
            apart = first.unsqueeze(-2) - second.unsqueeze(-3)
            return torch.exp(-apart.square().sum(-1))

    with context():
        check_kernel(Own(), "reactor", 2)
    check_kernel(Own(), "reactor", 2)
