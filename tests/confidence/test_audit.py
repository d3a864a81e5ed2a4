"""How well bands predicted answers: errors by hand, and how far they widen what bounds rest on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm

import grisaille as gs
from grisaille.confidence import audit
from grisaille.confidence.audit import Audited, standardized_errors, widening_factors
from grisaille.confidence.beliefs import believe
from grisaille.confidence.knowledge import Knowledge
from grisaille.records import History, Situation, TrialKind
from tests.confidence.confidence_helpers import history_at, known_kernel

BETA = 2.0


def chosen_after(history: History, initial: int) -> History:
    """The same, where the trials after the initial design were chosen by a strategy."""
    trials = [
        replace(t, suggestion=replace(t.suggestion, kind=TrialKind.NARROWED)) if i >= initial else t
        for i, t in enumerate(history.trials)
    ]
    return replace(history, trials=tuple(trials))


def wave(**options: object) -> gs.Problem:
    """The minimum of one black box of one variable in [0, 4]."""
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(lambda x: np.sin(2 * x), name="f", **{"noise": 0, **options})  # type: ignore[arg-type]
    return gs.Problem(minimize=f(x))


def errors_of(problem: gs.Problem, history: History) -> dict[str, np.ndarray]:
    return standardized_errors(problem.program, history, believe(problem.program, history))


# --- errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_errors_are_those_of_the_posterior_of_earlier_answers(noise):
    # k(s, s') = exp(-(s - s')^2 / 2); an answer has the variance of its value and of its noise.
    problem = wave(kernel=known_kernel(), noise=noise)
    points = np.array([0.5, 1.5, 3.0, 2.2, 3.8])
    answers = np.sin(2 * points)
    history = chosen_after(history_at(problem, points[:, None]), 2)
    expected = []
    for n in (2, 3, 4):
        seen = points[:n]
        system = np.exp(-((seen[:, None] - seen) ** 2) / 2) + max(noise**2, 1e-10) * np.eye(n)
        cross = np.exp(-((points[n] - seen) ** 2) / 2)
        weights = np.linalg.solve(system, cross)
        deviation = np.sqrt(1 - weights @ cross + noise**2)
        expected.append(abs(answers[n] - weights @ answers[:n]) / deviation)
    errors = errors_of(problem, history)["f"]
    assert errors.shape == (3, 1)
    np.testing.assert_allclose(errors[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_latest_errors_of_a_long_study_are_those_of_the_posterior_of_earlier_answers(
    noise, monkeypatch
):
    problem = wave(kernel=known_kernel(), noise=noise)
    points = np.array([0.5, 1.5, 3.0, 2.2, 3.8, 0.1, 2.7, 1.1, 3.4, 1.9])
    history = chosen_after(history_at(problem, points[:, None]), 2)
    every = errors_of(problem, history)["f"]
    monkeypatch.setattr(audit, "_AT_LEAST", 3)
    latest = errors_of(problem, history)["f"]  # of 8, from the fourth on
    assert len(latest) == 5
    np.testing.assert_allclose(latest, every[3:], rtol=1e-5, atol=1e-9)


def test_answers_of_one_trial_are_predicted_from_those_before_it(monkeypatch):
    # A probe and the chain of one trial do not tell about each other.
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(lambda x: np.sin(2 * x), name="f", noise=0, kernel=known_kernel())
    problem = gs.Problem(minimize=f(x) + f(4 - x))
    points = np.array([0.5, 1.5, 3.1, 2.2, 3.8, 0.1, 2.7])
    history = chosen_after(history_at(problem, points[:, None]), 1)
    every = errors_of(problem, history)["f"]
    monkeypatch.setattr(audit, "_AT_LEAST", 3)
    latest = errors_of(problem, history)["f"]
    assert len(latest) == 6
    np.testing.assert_allclose(latest, every[-6:], rtol=1e-4, atol=1e-7)


def test_answers_of_the_initial_design_are_not_counted_but_learned_from():
    problem = wave(kernel=known_kernel())
    history = history_at(problem, [[0.5], [1.5], [3.0]])
    assert errors_of(problem, history)["f"].shape == (0, 1)
    one, more = (errors_of(problem, chosen_after(history, n))["f"] for n in (2, 1))
    np.testing.assert_array_equal(more[1:], one)


def test_an_answer_that_nothing_came_before_was_not_predicted():
    problem = wave(kernel=known_kernel())
    history = chosen_after(history_at(problem, [[0.5], [1.5]]), 0)
    assert len(errors_of(problem, history)["f"]) == 1


def test_noise_found_later_explains_early_errors():
    # The answers could be exact until the last one, which differs at the same input.
    generator = np.random.default_rng(0)
    problem = wave(noise=None)
    points = [*np.linspace(0, 4, 6), 1.0, 2.9, 1.7, 1.7]
    noises = 0.3 * generator.normal(size=len(points))
    history = chosen_after(history_at(problem, np.array(points)[:, None], noises), 6)
    shorter = History(history.trials[:-1])
    before, after = (believe(problem.program, h) for h in (shorter, history))
    assert not before["f"].hyperparameters.noise.any()
    assert after["f"].hyperparameters.noise.item() > 0
    early = standardized_errors(problem.program, shorter, before)["f"]
    late = standardized_errors(problem.program, history, after)["f"]
    assert (late[: len(early)] < early).all()


# --- widening ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kernel", "largest", "beta", "factor"),
    [
        (None, 5.0, 2.0, 2.5),
        (None, 1.0, 2.0, 1.0),
        (known_kernel(), 1.0, 2.0, 1.5),
        (known_kernel(), 7.0, 2.0, 3.5),
        (known_kernel(), 1.0, 4.0, 1.0),
    ],
)
def test_bands_are_widened_as_far_as_the_largest_error_and_given_ones_to_three(
    kernel, largest, beta, factor
):
    program = wave(kernel=kernel).program
    errors = {"f": np.array([[0.3], [largest]])}
    assert widening_factors(program, errors, beta) == {"f": factor}


@pytest.mark.parametrize(("kernel", "factor"), [(None, 1.0), (known_kernel(), 1.5)])
def test_bands_that_predicted_nothing_yet_are_widened_only_if_given(kernel, factor):
    program = wave(kernel=kernel).program
    assert widening_factors(program, {"f": np.zeros((0, 1))}, BETA) == {"f": factor}


@pytest.mark.parametrize("kernel", [None, known_kernel()])
@pytest.mark.parametrize("widening", [1.0, 2.0])
def test_an_audited_plausible_set_is_the_one_that_bounds_come_from(kernel, widening):
    problem = wave(kernel=kernel)
    points = np.array([0.1, 0.9, 2.0, 3.6, 1.3, 2.8])[:, None]
    history = chosen_after(history_at(problem, points), 4)
    known = Knowledge(Situation(problem, history, 0, widening=widening), BETA)
    ours = Audited(BETA, widening).plausible_set(problem.program, history)
    largest = float(errors_of(problem, history)["f"].max())
    least = 1.0 if kernel is None else 1.5
    expected = widening * max(least, largest / BETA) * BETA
    assert ours.beta["f"].item() == pytest.approx(expected)
    at = torch.linspace(0, 4, 9, dtype=torch.float64)[:, None]
    for eta in (-1.0, 0.5, 1.0):
        points_and_eta = torch.cat([at, torch.full_like(at, eta)], 1)
        for one, other in zip(
            ours.evaluate(points_and_eta), known.audited.evaluate(points_and_eta), strict=True
        ):
            assert torch.equal(one, other)


# --- what a result shows -------------------------------------------------------------------------
def test_a_result_has_a_row_of_calibration_per_box():
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(lambda x: np.sin(2 * x), name="f")
    g = gs.BlackBox(lambda y: y**2, name="g", noise=0, kernel=known_kernel())
    problem = gs.Problem(minimize=g(f(x)) + f(x))
    strategy = gs.Optimistic(beta=BETA, solver=gs.MultiStart(4, 128, 10), initial=4)
    result = problem.solve(7, strategy=strategy, progress=False)
    errors = errors_of(problem, result.history)
    assert [row.box for row in result.calibration] == ["f", "g"]
    for row in result.calibration:
        assert row.answers == len(errors[row.box]) >= 3
        assert row.inside == int((errors[row.box] <= BETA).all(1).sum())
        assert row.largest == pytest.approx(errors[row.box].max())
        assert row.factor == pytest.approx(max(1.0 if row.box == "f" else 1.5, row.largest / BETA))
    exact, declared = (row.conclusions for row in result.calibration)
    assert exact[0].startswith("without noise")
    assert declared == ()


def test_bands_that_hold_by_declaration_are_not_audited():
    problem = wave(lipschitz=2.0)
    history = chosen_after(history_at(problem, [[0.5], [1.5], [3.0]]), 1)
    known = Knowledge(Situation(problem, history, 0), gs.Declared())
    assert known.calibration == ()
    assert known.audited is known.plausible


# --- curves --------------------------------------------------------------------------------------
def curve_errors(noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Errors of the last of five noisy curves: those of the audit, and in predicted deviations."""
    times, generator = np.linspace(0, 1, 200), np.random.default_rng(0)
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(
        lambda x: np.sin(3 * x + times) + generator.normal(0, 0.1, 200) * (noise > 0),
        name="f",
        outputs=200,
        noise=noise,
        kernel=gs.Matern(lengthscale=1.0, variance=1.0),
        shared_kernel=True,
    )
    problem = gs.Problem(minimize=np.sum(box(x)))
    history = chosen_after(history_at(problem, [[0.1], [0.4], [0.6], [0.9], [0.5]]), 4)
    before = replace(history, trials=history.trials[:4])
    belief = believe(problem.program, before)["f"]
    mean, deviation = belief.predict(torch.tensor([[0.5]], dtype=torch.float64))
    miss = np.abs(history.trials[4].chain - mean[0].numpy())
    plain = miss / np.sqrt(deviation[0].numpy() ** 2 + noise**2)
    return errors_of(problem, history)["f"][0], plain


def test_many_noisy_outputs_are_expected_to_leave_some_outside():
    errors, plain = curve_errors(0.1)
    assert plain.max() > 2  # by chance: there are 200 of them
    factor = norm.ppf(1 - 0.025 / 200) / norm.ppf(0.975)
    np.testing.assert_allclose(errors, plain / factor, rtol=1e-6)
    assert errors.max() < 2


def test_errors_of_a_curve_without_noise_count_as_they_are():
    errors, plain = curve_errors(0.0)
    np.testing.assert_allclose(errors, plain, rtol=1e-6)
