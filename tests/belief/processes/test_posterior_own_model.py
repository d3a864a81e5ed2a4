"""A user's own BoTorch model as a surrogate."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from botorch.models import KroneckerMultiTaskGP, ModelListGP, SingleTaskGP
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from gpytorch.distributions import MultivariateNormal

from grisaille.belief.processes.posterior import ModelSurrogate
from grisaille.errors import ModelError


def own_model(outputs):
    rng = np.random.default_rng(0)
    inputs, answers = torch.tensor(rng.random((8, 2))), torch.tensor(rng.random((8, outputs)))
    return SingleTaskGP(inputs, answers)


class Answers:
    """A model that answers the same mean and variance whatever it is asked."""

    def __init__(self, mean, variance):
        self.answer = SimpleNamespace(mean=mean, variance=variance)

    def posterior(self, points):
        return self.answer


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_predictions_are_those_of_the_model_point_by_point(outputs):
    model = own_model(outputs)
    at = torch.tensor(np.random.default_rng(1).random((5, 2)))
    mean, deviation = ModelSurrogate(model, "h", outputs).predict(at)
    assert mean.shape == deviation.shape == (5, outputs)
    with torch.no_grad():
        for i in range(5):
            theirs = model.posterior(at[i : i + 1])
            np.testing.assert_allclose(mean[i].detach(), theirs.mean[0], rtol=1e-9)
            np.testing.assert_allclose(deviation[i].detach() ** 2, theirs.variance[0], rtol=1e-6)


def test_a_list_of_models_is_a_model_too():
    models = ModelListGP(own_model(1), own_model(1))
    mean, deviation = ModelSurrogate(models, "h", 2).predict(torch.rand(4, 2).double())
    assert mean.shape == deviation.shape == (4, 2)


def test_gradients_reach_the_states():
    at = torch.full((3, 2), 0.4, dtype=torch.float64, requires_grad=True)
    mean, deviation = ModelSurrogate(own_model(2), "h", 2).predict(at)
    (mean.sum() + deviation.sum()).backward()
    assert torch.isfinite(at.grad).all()
    assert (at.grad != 0).all()


def test_a_variance_of_zero_has_finite_gradients():
    at = torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
    model = SimpleNamespace(
        posterior=lambda x: SimpleNamespace(mean=x, variance=(x - 1).square().clamp_min(0))
    )
    mean, deviation = ModelSurrogate(model, "h", 1).predict(at)
    assert deviation.item() == pytest.approx(0, abs=1e-100)
    (mean.sum() + deviation.sum()).backward()
    assert at.grad.tolist() == [[1.0]]


@pytest.mark.parametrize("shape", [(4, 1, 1), (4, 1, 3), (4, 2), (1, 1, 2)])
def test_predictions_of_another_shape_are_refused(shape):
    surrogate = ModelSurrogate(Answers(torch.zeros(shape), torch.ones(shape)), "rig", 2)
    with pytest.raises(
        ModelError,
        match=r"the model of black box 'rig' predicts \(.*\) numbers per point, not \(1, 2\): "
        "model= must return a model of 2 outputs",
    ):
        surrogate.predict(torch.zeros(4, 2))


@pytest.mark.parametrize(
    ("mean", "variance"), [(np.nan, 1.0), (np.inf, 1.0), (0.0, np.nan), (0.0, np.inf)]
)
def test_predictions_that_are_no_numbers_are_refused(mean, variance):
    model = Answers(torch.full((4, 1, 1), mean), torch.full((4, 1, 1), variance))
    with pytest.raises(ModelError, match="'rig' predicts numbers that are not finite"):
        ModelSurrogate(model, "rig", 1).predict(torch.zeros(4, 2))


# --- models that are asked in other ways ---------------------------------------------------------
@pytest.mark.filterwarnings("ignore:A not p.d.")  # about the unfitted model
def test_a_model_that_cannot_be_differentiated_in_batches_is_asked_jointly():
    rng = np.random.default_rng(0)
    inputs = torch.tensor(rng.random((6, 2)))
    model = KroneckerMultiTaskGP(inputs, torch.stack([inputs.sum(1), inputs.prod(1)], 1))
    at = torch.tensor(rng.random((70, 2)), requires_grad=True)
    surrogate = ModelSurrogate.tried(model, "h", 2, inputs[0])
    mean, deviation = surrogate.predict(at)
    (slopes,) = torch.autograd.grad(mean.sum() + deviation.sum(), at)
    assert (slopes != 0).all()
    with torch.no_grad():
        theirs = model.posterior(at[69:])
    np.testing.assert_allclose(mean[69].detach(), theirs.mean[0], rtol=1e-6)
    np.testing.assert_allclose(deviation[69].detach() ** 2, theirs.variance[0], rtol=1e-4)


def mixture(points):
    """Two samples of a fully Bayesian model: means x and x + 1, standard deviations 1 and 2."""
    mean = torch.stack([points[..., 0], points[..., 0] + 1], -2)  # (batch, samples, q)
    eye = torch.eye(points.shape[-2], dtype=torch.float64)
    covariance = torch.stack([eye, 4 * eye]).expand(*mean.shape[:-1], *eye.shape)
    return GaussianMixturePosterior(MultivariateNormal(mean, covariance))


def test_a_fully_bayesian_model_has_the_moments_of_its_mixture():
    surrogate = ModelSurrogate.tried(SimpleNamespace(posterior=mixture), "h", 1, torch.zeros(1))
    at = torch.tensor([[0.0], [3.0]], dtype=torch.float64)
    mean, deviation = surrogate.predict(at)
    assert mean[:, 0].tolist() == [0.5, 3.5]
    np.testing.assert_allclose(deviation[:, 0] ** 2, 2.5 + 0.25)  # within and between samples
    mean, covariance = surrogate.predict_jointly(at.unsqueeze(0))
    assert mean[0, :, 0].tolist() == [0.5, 3.5]
    np.testing.assert_allclose(covariance[0, 0], [[2.75, 0.25], [0.25, 2.75]])


@pytest.mark.parametrize("kind", ["batched", "list"])
def test_joint_covariances_of_several_outputs_are_those_of_the_model(kind):
    rng = np.random.default_rng(0)
    inputs, answers = torch.tensor(rng.random((8, 2))), torch.tensor(rng.random((8, 2)))
    model = {
        "batched": lambda: SingleTaskGP(inputs, answers),
        "list": lambda: ModelListGP(*(SingleTaskGP(inputs, a.unsqueeze(1)) for a in answers.T)),
    }[kind]()
    at = torch.tensor(rng.random((4, 3, 2)))
    surrogate = ModelSurrogate(model, "h", 2)
    with torch.no_grad():
        mean, covariance = surrogate.predict_jointly(at)
        theirs = model.posterior(at)
        # The difference of the values at two points has this variance, whatever the order.
        drawn = model.posterior(at).rsample(torch.Size([20_000]))
    assert (mean.shape, covariance.shape) == ((4, 3, 2), (4, 2, 3, 3))
    diagonal = covariance.diagonal(dim1=-2, dim2=-1).transpose(1, 2)
    np.testing.assert_allclose(diagonal, theirs.variance, rtol=1e-4)
    apart = covariance[..., 0, 0] + covariance[..., 1, 1] - 2 * covariance[..., 0, 1]
    np.testing.assert_allclose((drawn[:, :, 0] - drawn[:, :, 1]).var(0), apart, rtol=0.1)


@pytest.mark.filterwarnings("ignore:A not p.d.")
def test_a_covariance_that_botorch_does_not_tell_is_not_taken_for_zero():
    rng = np.random.default_rng(0)
    model = KroneckerMultiTaskGP(torch.tensor(rng.random((8, 2))), torch.tensor(rng.random((8, 2))))
    with pytest.raises(
        ModelError, match="'h' is called more than once, and its model tells no cov"
    ):
        ModelSurrogate(model, "h", 2).predict_jointly(torch.tensor(rng.random((4, 3, 2))))


def test_a_model_without_derivatives_is_used_as_it_is():
    def posterior(points):
        fixed = points.detach()[..., :1]
        return SimpleNamespace(mean=fixed, variance=torch.ones_like(fixed))

    surrogate = ModelSurrogate.tried(SimpleNamespace(posterior=posterior), "h", 1, torch.zeros(2))
    assert surrogate.predict(torch.ones(3, 2).double())[0].tolist() == [[1.0]] * 3
    with pytest.raises(ModelError, match="'h' is called more than once, and its model"):
        surrogate.predict_jointly(torch.ones(1, 2, 2).double())


def test_a_model_that_cannot_be_conditioned_stays_as_it_is():
    class Stubborn(Answers):
        def condition_on_observations(self, points, answers):
            raise NotImplementedError

    surrogate = ModelSurrogate(Stubborn(torch.zeros(1, 1, 1), torch.ones(1, 1, 1)), "h", 1)
    assert surrogate.with_predicted(torch.zeros(2)) is surrogate


@pytest.mark.parametrize(
    ("posterior", "kind"),
    [(lambda points: 1 / 0, ZeroDivisionError), (lambda x: x @ x.mT.float(), RuntimeError)],
)
def test_a_model_that_cannot_predict_is_named(posterior, kind):
    with pytest.raises(kind) as caught:
        ModelSurrogate.tried(SimpleNamespace(posterior=posterior), "rig", 1, torch.zeros(2))
    assert caught.value.__notes__[0] == (
        "The model of black box 'rig' could not predict: it must take float64 tensors of shape "
        "(batch, q, 2)."
    )


def test_predictions_that_are_no_tensors_are_refused():
    surrogate = ModelSurrogate(Answers(np.zeros((4, 1, 1)), np.ones((4, 1, 1))), "rig", 1)
    with pytest.raises(ModelError, match="'rig' predicts ndarray, not tensors: mean and variance"):
        surrogate.predict(torch.zeros(4, 2))
