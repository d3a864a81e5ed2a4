"""Predictions of expressions, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import norm

import grisaille as gs
from grisaille.belief.learning import believe
from grisaille.belief.predictions import Predictor
from grisaille.belief.rules import rule_of
from grisaille.records import History
from tests.belief.belief_helpers import history_at, known_kernel, random_design


def chain(noise: float = 0.0) -> tuple[gs.Problem, dict[str, gs.Expression]]:
    """Two black boxes in a chain, with given kernels."""
    x = gs.Variable("x", 2, lower=-1, upper=1)
    first = gs.BlackBox(
        lambda x: np.array([np.sin(2 * x[0]) + x[1], np.cos(x[1])]),
        name="first",
        outputs=2,
        noise=noise,
        kernel=known_kernel(0.8),
    )
    second = gs.BlackBox(
        lambda y: y[0] ** 2 - y[1], name="second", noise=noise, kernel=known_kernel(1.0, 4.0)
    )
    y = first(x)
    z = second(y)
    problem = gs.Problem(minimize=z + 0.1 * np.sum(x**2), subject_to=[y[0] <= 0.5])
    return problem, {"x": x, "y": y, "z": z, "elsewhere": first(0.5 * x), "first": first}


def test_an_affine_expression_of_one_box_has_the_ends_of_its_bands():
    problem, parts = chain(noise=0.1)
    history = history_at(problem, random_design(problem, 5))
    x = random_design(problem, 4, seed=1)
    found = Predictor(problem, history, 1.5).predict([parts["y"], 3 - 2 * parts["y"][1]], x)
    surrogate = believe(problem.program, history)["first"]
    mean, deviation = (part.numpy() for part in surrogate.predict(torch.tensor(x)))
    np.testing.assert_allclose(found.mean[:, :2], mean, rtol=1e-12)
    np.testing.assert_allclose(found.lower[:, :2], mean - 1.5 * deviation, rtol=1e-9)
    np.testing.assert_allclose(found.upper[:, :2], mean + 1.5 * deviation, rtol=1e-9)
    np.testing.assert_allclose(found.lower[:, 2], 3 - 2 * (mean + 1.5 * deviation)[:, 1], rtol=1e-9)


def test_the_interval_of_a_chain_contains_all_plausible_values_and_its_ends_are_among_them():
    problem, parts = chain()
    history = history_at(problem, random_design(problem, 4))
    x = random_design(problem, 2, seed=3)
    predictor = Predictor(problem, history, 2.0)
    found = predictor.predict([parts["z"]], x)
    axis = torch.linspace(-1, 1, 41, dtype=torch.float64)
    etas = torch.cartesian_prod(axis, axis, axis)
    for row, point in enumerate(torch.tensor(x)):
        points = torch.cat([point.expand(len(etas), -1), etas], 1)
        values, _ = predictor.bands.evaluate(points)
        values = values - 0.1 * point.square().sum()
        spread = (values.max() - values.min()).item()
        assert found.lower[row, 0] <= values.min() + 1e-4 * spread
        assert found.upper[row, 0] >= values.max() - 1e-4 * spread
        assert found.upper[row, 0] - found.lower[row, 0] <= 1.05 * spread


def test_exact_answers_leave_no_interval_where_they_are_known_however_deep():
    problem, parts = chain()
    design = random_design(problem, 6)
    history = history_at(problem, design)
    found = Predictor(problem, history).predict([problem.objective, parts["y"]], design)
    assert found.mean[:, 0].tolist() == pytest.approx([t.objective for t in history], rel=1e-14)
    np.testing.assert_array_equal(found.lower, found.upper)
    away = Predictor(problem, history).predict([parts["elsewhere"]], design)
    assert (away.upper > away.lower).all()


def test_noisy_answers_leave_an_interval_around_the_posterior_mean_of_the_incumbent():
    problem, _ = chain(noise=0.2)
    history = history_at(problem, random_design(problem, 6), [0.1, -0.2, 0.1, 0.0, 0.2, -0.1])
    result_like = Predictor(problem, history, 2.0)
    x = history.trials[0].x.reshape(1, -1)
    found = result_like.predict([problem.objective], x)
    assert found.lower[0, 0] < found.mean[0, 0] < found.upper[0, 0]
    objective, _, _ = result_like.middle.predict(torch.tensor(x))
    assert found.mean[0, 0] == pytest.approx(objective.item(), rel=1e-12)


def test_intervals_cover_functions_that_their_kernel_describes():
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(20):
        centers, weights = rng.uniform(-1, 1, 40), rng.normal(size=40) / 6
        x = gs.Variable("x", lower=-1, upper=1)

        def draw(x, centers=centers, weights=weights):
            return float(weights @ np.exp(-((x - centers) ** 2) / 0.18))

        # The kernel of such sums is that of the bumps convolved: wider by the root of 2.
        kernel = gs.SquaredExponential(lengthscale=0.3 * 2**0.5, variance=0.6)
        f = gs.BlackBox(draw, name="f", noise=0, kernel=kernel)
        problem = gs.Problem(minimize=np.exp(f(x)))
        history = history_at(problem, rng.uniform(-1, 1, (4, 1)))
        at = rng.uniform(-1, 1, (20, 1))
        found = Predictor(problem, history, 2.0).predict([problem.objective], at)
        true = np.exp([draw(v) for v in at[:, 0]])
        inside += ((found.lower[:, 0] <= true) & (true <= found.upper[:, 0])).tolist()
    assert 0.9 <= np.mean(inside) <= 1.0


def test_a_part_without_black_boxes_is_certain():
    problem, parts = chain()
    history = history_at(problem, random_design(problem, 3))
    x = random_design(problem, 3, seed=1)
    found = Predictor(problem, history).predict([parts["x"] * 2], x)
    for part in (found.mean, found.lower, found.upper):
        np.testing.assert_array_equal(part, 2 * x)


def test_expected_values_over_process_noise_have_intervals():
    x = gs.Variable("x", lower=-1, upper=1)
    box = gs.BlackBox(
        lambda x: x, name="f", noise=0.3, process_noise=True, kernel=known_kernel(1.0)
    )
    problem = gs.Problem(minimize=box(x) ** 2)
    history = history_at(problem, [[-0.5], [0.5], [0.1]])
    found = Predictor(problem, history).predict([problem.objective], np.array([[0.0]]))
    assert 0.05 < found.lower[0, 0] <= found.mean[0, 0] < found.upper[0, 0]


def test_bands_that_hold_by_declaration_give_certain_intervals():
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(np.sin, name="f", noise=0, lipschitz=1.0)
    problem = gs.Problem(minimize=f(x))
    predictor = Predictor(problem, history_at(problem, [[1.0], [3.0]]), gs.Declared())
    found = predictor.predict([problem.objective], np.array([[2.0]]))
    assert found.lower[0, 0] == pytest.approx(max(np.sin(1), np.sin(3)) - 1, abs=1e-6)
    assert found.upper[0, 0] == pytest.approx(min(np.sin(1), np.sin(3)) + 1, abs=1e-6)
    with pytest.raises(gs.ModelError, match="black box 'f' has no answer"):
        Predictor(problem, History(), gs.Declared())


@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_audited_bands_of_a_given_kernel_hold_at_a_point_with_the_confidence(confidence):
    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(np.sin, name="f", noise=0, kernel=known_kernel(0.3))
    problem = gs.Problem(minimize=f(x))
    history = history_at(problem, [[-0.5], [0.5]])
    plain, audited = (
        Predictor(problem, history, rule_of(2.0, confidence), audited=audited).predict(
            [problem.objective], np.array([[0.0]])
        )
        for audited in (False, True)
    )
    # A normal number is within so many deviations of 0; two in any case.
    factor = max(norm.ppf((1 + confidence) / 2), 2.0) / 2.0
    assert audited.upper - audited.mean == pytest.approx(factor * (plain.upper - plain.mean))


def test_what_cannot_be_predicted_is_refused_with_the_names():
    problem, parts = chain()
    learned = gs.BlackBox(np.sin, name="learned", noise=0)
    x = parts["x"]
    wider = gs.Problem(minimize=parts["z"] + learned(x[0]))
    history = history_at(problem, random_design(problem, 3))
    with pytest.raises(gs.ModelError, match="black box 'learned' has no answer"):
        Predictor(wider, history)
    with pytest.raises(gs.ModelError, match=r"reads black box 'learned', which is not part"):
        Predictor(problem, history).predict([learned(x[0])], np.zeros((1, 2)))
    other = gs.Variable("other", lower=0, upper=1)
    with pytest.raises(gs.ModelError, match="reads variable 'other'"):
        Predictor(problem, history).predict([other + 1], np.zeros((1, 2)))
