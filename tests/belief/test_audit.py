"""How well bands predicted answers: errors by hand, and how far they widen what bounds rest on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binom, norm

import grisaille as gs
from grisaille.belief import audit
from grisaille.belief.audit import Audited, standardized_errors, widening_factors
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.learning import believe
from grisaille.records import REFUTED, History, Situation, TrialKind
from tests.belief.belief_helpers import history_at, known_kernel

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


def test_no_point_is_called_infeasible_without_a_margin_of_one_deviation():
    # Six answers are next to 0; at 4, a given kernel knows nothing: 0, give or take 1. Bands for a
    # bound reach 3 deviations there, twice as wide ones 6.
    def situation(limit: float) -> Situation:
        x = gs.Variable("x", lower=0, upper=4)
        f = gs.BlackBox(lambda x: 0.0 * x, name="f", noise=0, kernel=gs.Matern(2.5, 0.2, 1.0))
        problem = gs.Problem(minimize=x, subject_to=[f(x) <= limit])
        history = history_at(problem, np.linspace(0, 0.5, 6)[:, None])
        return Situation(problem, chosen_after(history, 0), 0)

    verdicts = {limit: gs.Optimistic().bound(situation(limit)).refutation for limit in (-6.5, -7.5)}
    assert verdicts[-6.5] is None
    refutation = verdicts[-7.5]
    assert refutation is not None
    assert refutation.beta == Audited(BETA, audit.DOUBT, audit.MARGIN, confidence=0.95)
    wider = refutation.beta.plausible_set(refutation.problem.program, refutation.history)
    assert wider.beta["f"].tolist() == [7.0]


# --- noise that was declared and is wrong ---------------------------------------------------------
def limited(height: float, noise: float | None) -> Situation:
    """The situation after 24 answers, 20 of them predicted, that vary by 0.5 at the same point.

    Args:
        height: At most so high may the black box be: it never falls below -1.
        noise: What its noise is declared to be.
    """
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(lambda x: np.sin(2 * x), name="f", noise=noise)
    problem = gs.Problem(minimize=f(x), subject_to=[f(x) <= height])
    generator = np.random.default_rng(3)
    points = [0.0, 4.0, 1.0, 3.0, *generator.uniform(2.2, 2.5, 20)]
    noises = 0.5 * generator.standard_normal(24)
    return Situation(problem, chosen_after(history_at(problem, points, noises), 4), 0)


def test_answers_that_vary_at_one_point_refute_noise_0():
    situation = limited(5.0, noise=0)
    (row,) = Knowledge(situation).calibration
    assert row.inside <= row.answers - 4
    advice = "if answers of black box 'f' vary at the same point, leave noise=0 out"
    assert row.complaint == f"calibration is poor: {advice}"
    bound = gs.Optimistic().bound(situation)
    # Answers that ask for bands 20 times as wide leave no bound at all.
    assert row.factor > REFUTED
    assert (bound.proved, bound.estimated, bound.withheld) == (None, None, True)
    assert bound.reason == row.complaint
    # Nor does a closed gap stop a study, or bands without a feasible point.
    doubting = gs.Optimistic().bound(replace(situation, widening=audit.DOUBT))
    assert (doubting.proved, doubting.estimated) == (None, None)
    impossible = gs.Optimistic().bound(limited(-1e9, noise=0))
    assert impossible.refutation is None
    assert impossible.reason == row.complaint


@pytest.mark.parametrize("noise", [None, 0.5])
def test_answers_do_not_speak_against_noise_that_is_right_or_learned(noise):
    situation = limited(5.0, noise)
    (row,) = Knowledge(situation).calibration
    assert row.complaint == ""
    assert gs.Optimistic().bound(situation).proved is not None
    assert gs.Optimistic().bound(limited(-1e9, noise)).refutation is not None


def test_calibration_is_poor_where_chance_leaves_so_few_answers_inside_in_one_of_a_hundred_cases():
    box = gs.BlackBox(None, name="f", noise=0.2, outputs=2)
    inside = [k for k in range(21) if not audit.noise_complaint(box, 20, k, BETA)]
    # Each of two outputs lies inside with 95.45 %, so both of them with 91.1 %.
    assert inside == [k for k in range(21) if binom.cdf(k, 20, 0.9545**2) >= 0.01]
    assert audit.noise_complaint(box, 20, 3, BETA) == (
        "calibration is poor: if answers of black box 'f' vary more at the same point, leave "
        "noise=0.2 out"
    )
    given = gs.BlackBox(None, name="f", noise=0, kernel=known_kernel())
    assert audit.noise_complaint(given, 20, 3, BETA).endswith("declare more than noise=0")
    assert audit.noise_complaint(gs.BlackBox(None, name="f"), 20, 3, BETA) == ""


def test_a_result_says_that_its_calibration_is_poor():
    generator = np.random.default_rng(0)
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(lambda x: np.sin(2 * x) + 0.1 * generator.standard_normal(), name="f", noise=0)
    strategy = gs.Optimistic(initial=4)
    result = gs.Problem(minimize=f(x)).solve(18, strategy=strategy, progress=False)
    (row,) = result.calibration
    assert (result.certified, result.assurance) == (False, "estimated")
    assert f"the bound is an estimate: {row.complaint}" in result.message
    assert f"{row.inside} of {row.answers} answers were inside" in str(result)
    assert str(result).count("calibration is poor: ") == 2  # with the status, and with the bands


def test_answers_far_beyond_the_bands_refute_the_kernel_and_leave_no_bound():
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(lambda x: np.sin(2 * x), name="f", noise=0)
    problem = gs.Problem(minimize=f(x))
    points = np.array([0.0, 4.0, 1.0, 3.0, 2.0, 0.5, 3.5, 1.5, 2.5, 1.25])
    situation = Situation(problem, chosen_after(history_at(problem, points[:, None]), 4), 0)
    assert gs.Optimistic().bound(situation).estimated is not None
    # A spike that a smooth function does not have.
    spiked = history_at(problem, points[:, None], np.where(points == 1.25, 50.0, 0.0))
    situation = Situation(problem, chosen_after(spiked, 4), 0)
    (row,) = Knowledge(situation).calibration
    assert row.factor > 20
    assert row.complaint.startswith("an answer of black box 'f' lay ")
    assert "leave noise=0 out if answers vary at the same point" in row.complaint
    bound = gs.Optimistic().bound(situation)
    assert (bound.estimated, bound.proved, bound.withheld) == (None, None, True)
    assert bound.reason == row.complaint
    suggestion = gs.Optimistic().suggest(situation)
    assert not suggestion.has_bound
    assert audit.kernel_complaint(gs.BlackBox(None, name="g", noise=0), 20.0, 9) == ""
    noisy = gs.BlackBox(None, name="g", noise=0.1)
    assert "noise" not in audit.kernel_complaint(noisy, 21.0, 9)
    # The first answers are no reason to ask the user for another kernel.
    assert audit.kernel_complaint(noisy, 21.0, 4).endswith("more trials tell")


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
