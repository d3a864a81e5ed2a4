"""Which inputs of black boxes are learned in the logarithm, and what follows for the surrogates."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.failures import FailedInputs
from grisaille.belief.learning import believe, learned_in_logarithm, logarithmic_inputs
from grisaille.belief.processes.posterior import Posterior
from grisaille.records import Failure, History
from tests.belief.belief_helpers import history_at, plausible_set, random_design


def decades(name="k", shape=()):
    return gs.Variable(name, shape, lower=1e-3, upper=1e3, log=True)


def box(**options):
    return gs.BlackBox(lambda *values: 0.0, **{"name": "f", "noise": 0, **options})


def flags(call) -> list[bool]:
    problem = gs.Problem(minimize=call)
    return learned_in_logarithm(problem.program, problem.boxes[0]).tolist()


K, X = decades(shape=2), gs.Variable("x", 2, lower=0, upper=1)


def test_entries_of_a_variable_over_decades_are_learned_in_the_logarithm():
    assert flags(box()(K)) == [True, True]
    assert flags(box()(K[1], X)) == [True, False, False]
    assert flags(box()(np.stack([X[0], K[1], K[0]]))) == [False, True, True]


def test_what_is_computed_from_such_a_variable_is_learned_as_it_is():
    assert flags(box()(2 * K)) == [False, False]
    assert flags(box()(np.log(K[0]), K[1])) == [False, True]


def test_all_calls_of_a_black_box_must_agree_because_one_surrogate_serves_them():
    f = box()
    assert flags(f(K[0], X[0]) + f(K[1], X[1])) == [True, False]
    g = box()
    assert flags(g(K[0], X[0]) + g(X[1], X[1])) == [False, False]


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": gs.Matern(lengthscale=1.0, variance=1.0)},
        {"kernel": gs.Linear()},
        {"lipschitz": 2.0},
        {"model": lambda x, y: None},
    ],
)
def test_what_is_declared_in_the_users_units_is_used_as_it_is(options):
    assert flags(box(**options)(K)) == [False, False]
    problem = gs.Problem(minimize=box(**options)(K))
    assert logarithmic_inputs(problem.program, problem.boxes[0]).all()


def test_a_direction_is_one_of_the_logarithm_too():
    assert flags(box(monotone="increasing")(K)) == [True, True]


def test_learning_over_decades_is_learning_the_function_of_the_logarithm():
    """The same numbers as for a black box that is written as a function of u = log k."""
    k = decades()
    f = gs.BlackBox(lambda k: np.sin(np.log(k)), name="f", noise=0)
    u = gs.Variable("u", lower=np.log(1e-3), upper=np.log(1e3))
    g = gs.BlackBox(np.sin, name="f", noise=0)
    over, plain = gs.Problem(minimize=f(k)), gs.Problem(minimize=g(u))
    design = random_design(over, 9)
    learned = believe(over.program, history_at(over, design))["f"]
    other = believe(plain.program, history_at(plain, np.log(design)))["f"]
    assert isinstance(learned, Posterior)
    assert isinstance(other, Posterior)
    here = torch.tensor(random_design(over, 50, seed=1))
    for one, another in zip(learned.predict(here), other.predict(here.log()), strict=True):
        assert torch.allclose(one, another, rtol=1e-6, atol=1e-9)
    same = learned.of_logarithms(np.array([True]))
    for one, another in zip(learned.predict(here), same.predict(here.log()), strict=True):
        assert torch.allclose(one, another, rtol=1e-10, atol=1e-13)
    joint = learned.predict_jointly(here.reshape(10, 5, 1))
    expected = other.predict_jointly(here.log().reshape(10, 5, 1))
    assert torch.allclose(joint[1], expected[1], atol=1e-8)


def test_a_prediction_takes_design_points_and_the_search_their_logarithms():
    k = decades()
    f = gs.BlackBox(lambda k: np.log(k), name="f", noise=0)
    problem = gs.Problem(minimize=f(k) + k)
    plausible = plausible_set(problem, history_at(problem, random_design(problem, 8)))
    x = torch.tensor([[0.01], [1.0], [50.0]], dtype=torch.float64)
    predicted, _, _ = plausible.predict(x)
    searched, _ = plausible.evaluate(torch.cat([x.log(), torch.zeros_like(x)], 1))
    assert torch.allclose(predicted, searched)
    assert predicted.tolist() == pytest.approx((x.log() + x).ravel().tolist(), abs=0.3)
    located = plausible.locate(np.array([50.0]), np.array([np.log(50.0)]))
    assert located[0] == np.log(50.0)
    assert plausible.trace(located)[0][0].tolist() == pytest.approx([50.0], rel=1e-14)


def test_an_own_model_receives_inputs_in_the_users_units():
    seen = []

    def model(inputs, outputs):
        seen.append(inputs)
        raise gs.ModelError("enough")

    k = decades()
    problem = gs.Problem(minimize=gs.BlackBox(np.log, name="f", model=model)(k))
    with pytest.raises(gs.ModelError, match="enough"):
        believe(problem.program, history_at(problem, [[0.01], [100.0]]))
    assert seen[0].tolist() == [[0.01], [100.0]]


def test_distances_to_failures_are_measured_in_the_logarithm():
    k = decades()
    problem = gs.Problem(minimize=gs.BlackBox(np.log, name="f", noise=0)(k))
    history = history_at(problem, [[0.001], [1.0]])
    failed = Failure("f", np.array([0.03]), "no answer", 3, np.array([0.03]))
    history = History(history.trials, failures=(failed,))
    plausible = plausible_set(problem, history)
    u = torch.tensor([[0.002], [0.006], [0.03], [1.1]], dtype=torch.float64).log()
    excess = FailedInputs(problem.program, history).excess(plausible, u)
    # Twice the distance to the nearest answer, less that to the failure, in ranges of log k.
    span = np.log(1e6)
    expected = [0.0, 2 * np.log(6) - np.log(5), 2 * np.log(30), 0.0]
    assert excess.ravel().tolist() == pytest.approx([e / span for e in expected], abs=1e-6)
