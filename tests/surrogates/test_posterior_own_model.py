"""A user's own BoTorch model as a surrogate."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from botorch.models import ModelListGP, SingleTaskGP

from grisaille.errors import ModelError
from grisaille.surrogates.posterior import ModelSurrogate


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
