"""Lemma conf_int: |mu_{t-1}(s) - phi(s)| <= beta_t sigma_{t-1}(s), everywhere and at all steps."""

import math

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.plausible_set import mean_and_reach
from grisaille.belief.rules import plausible_set
from grisaille.records import History, Observation, Suggestion, Trial, TrialKind
from tests.theory.theory_helpers import KERNELS, KnownNorm, box, covariance

pytestmark = pytest.mark.slow


GRID = np.linspace(-1, 1, 201)[:, None]


def with_observations(xs, ys):
    suggestion = [Suggestion(TrialKind.OPTIMISTIC, x) for x in xs]
    return History(
        tuple(
            Trial(i + 1, suggestion[i], 0.0, np.zeros(0), y, (Observation("phi", x, y),))
            for i, (x, y) in enumerate(zip(xs, ys, strict=True))
        )
    )


def always_covered(problem, function, theory, steps, generator, factor=1.0):
    """Whether the bands contain the function on a fine grid before every one of `steps` steps.

    Points are where the band is widest: an adaptive choice, as the lemma allows.
    """
    xs, ys = [], []
    (call,) = problem.program.calls
    truth = function.values(GRID)
    for _ in range(steps):
        plausible = plausible_set(problem.program, with_observations(xs, ys), theory)
        belief, beta = plausible.beliefs[call.box.name], plausible.beta[call.box.name]
        mean, reach = mean_and_reach(belief, beta, call, torch.tensor(GRID))
        error = np.abs(mean.numpy()[:, 0] - truth)
        if (error > factor * reach.numpy()[:, 0] + 1e-9).any():
            return False
        x = GRID[int(reach.argmax()) if generator.random() < 0.5 else generator.integers(len(GRID))]
        xs.append(x)
        ys.append(np.array([function(x)]))
    return True


def study(function, norm):
    x = gs.Variable("x", 1, lower=-1, upper=1)
    return gs.Problem(minimize=box(function, "phi", norm)(x))


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("gain", ["maximum", "observed"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_bands_contain_functions_of_known_norm_as_often_as_promised(kernel, gain, noise):
    covered = []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        function = KnownNorm(kernel, 1.5, generator, noise=noise)
        theory = gs.Theory(delta=0.1, horizon=12, gain=gain)
        covered.append(always_covered(study(function, 1.5), function, theory, 12, generator))
    assert np.mean(covered) >= 0.9


def test_without_noise_any_regularization_gives_certain_bands():
    for seed in range(10):
        generator = np.random.default_rng(seed)
        function = KnownNorm(KERNELS["squared exponential"], 2.0, generator)
        theory = gs.Theory(regularization=1e-6)
        assert always_covered(study(function, 2.0), function, theory, 15, generator)


def test_a_narrower_band_would_miss_a_function_of_the_declared_norm():
    # B k(c, .) / sqrt(k(c, c)) is the function that the prior band touches.
    kernel = KERNELS["squared exponential"]
    generator = np.random.default_rng(0)
    function = KnownNorm(kernel, 1.5, generator, centers=1)
    function.centers = np.array([[0.0]])
    assert function.values(np.zeros((1, 1))) == pytest.approx(np.sign(function.weights) * 1.5)
    problem = study(function, 1.5)
    theory = gs.Theory(horizon=5)
    assert always_covered(problem, function, theory, 1, generator)
    assert not always_covered(problem, function, theory, 1, generator, factor=0.99)


def test_a_band_for_a_smaller_norm_misses_some_functions():
    kernel = KERNELS["squared exponential"]
    missed = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        function = KnownNorm(kernel, 3.0, generator, centers=3)
        missed += not always_covered(study(function, 1.0), function, gs.Theory(), 4, generator)
    assert missed > 0


def test_beta_and_lambda_are_those_of_the_definition():
    kernel = gs.SquaredExponential(0.4, 1.0)
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = gs.BlackBox(
        None, name="f", outputs=2, noise=[0.1, 0.2], kernel=kernel, norm_bound=[1.5, 2.5]
    )
    g = gs.BlackBox(None, name="g", noise=0, kernel=kernel, norm_bound=4.0)
    problem = gs.Problem(minimize=f(x)[0] + f(x)[1] + g(x))
    seen = [np.array([v]) for v in (-0.5, 0.1, 0.7)]
    trials = tuple(
        Trial(
            i + 1,
            Suggestion(TrialKind.OPTIMISTIC, s),
            0.0,
            np.zeros(0),
            np.zeros(3),
            (Observation("f", s, np.zeros(2)), Observation("g", s, np.zeros(1))),
        )
        for i, s in enumerate(seen)
    )
    theory = gs.Theory(delta=0.05, horizon=10, gain="observed")
    plausible = plausible_set(problem.program, History(trials), theory)
    points = np.array(seen)
    scale = 1 + 2 / 10
    gain = math.log(np.linalg.det(np.eye(3) + covariance(kernel, points, points) / scale)) / 2
    root = math.sqrt(2 * (gain + 1 + math.log(3 / 0.05)))
    assert plausible.beta["f"].tolist() == pytest.approx([1.5 + 0.1 * root, 2.5 + 0.2 * root])
    assert plausible.beta["g"].tolist() == [4.0]
    assert plausible.beliefs["f"].hyperparameters.noise.tolist() == pytest.approx([scale] * 2)
    largest = plausible_set(problem.program, History(trials), gs.Theory(delta=0.05, horizon=10))
    gamma = gs.maximum_information_gain(kernel, [-1], [1], 3, scale)
    assert gamma > gain
    root = math.sqrt(2 * (gamma + 1 + math.log(3 / 0.05)))
    assert largest.beta["f"].tolist() == pytest.approx([1.5 + 0.1 * root, 2.5 + 0.2 * root])


def test_a_box_that_answers_more_often_than_the_horizon_pays_for_it():
    kernel = gs.SquaredExponential(0.4, 1.0)
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = gs.BlackBox(None, name="f", noise=1.0, kernel=kernel, norm_bound=1.0)
    program = gs.Problem(minimize=f(x)).program
    theory = gs.Theory(horizon=4)
    current = theory.round(0)
    gamma = gs.maximum_information_gain(kernel, [-1], [1], 12, current.regularization)
    expected = 1 + math.sqrt(2 * (gamma + 12 / 4 + math.log(1 / 0.1)))
    assert theory.beta(program, f, 12, current).tolist() == pytest.approx([expected])
