"""Bands that hold everywhere at once: how many regions there are, which still count, how wide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm
from scipy.stats import t as student

import grisaille as gs
from grisaille.belief.audit import audited_answers
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.simultaneous import Survey, count_regions, covered_share, quantile
from grisaille.records import History, Situation, TrialKind
from tests.belief.belief_helpers import history_at


def chosen(history: History, initial: int) -> History:
    """The same, where the trials after the initial design were chosen by a strategy."""
    trials = [
        replace(t, suggestion=replace(t.suggestion, kind=TrialKind.NARROWED)) if i >= initial else t
        for i, t in enumerate(history.trials)
    ]
    return replace(history, trials=tuple(trials))


def wave(variables: int = 1, **options: object) -> gs.Problem:
    x = gs.Variable("x", shape=variables, lower=0, upper=4)
    given = {"noise": 0, **options}
    f = gs.BlackBox(lambda x: float(np.sin(2 * np.sum(x))), name="f", **given)  # type: ignore[arg-type]
    return gs.Problem(minimize=f(x))


def knowledge(problem: gs.Problem, points: list[float], **options: float) -> Knowledge:
    history = chosen(history_at(problem, np.array(points)[:, None]), 3)
    return Knowledge(Situation(problem, history, 0, **options))  # type: ignore[arg-type]


POINTS = [0.1, 0.9, 2.0, 3.6, 1.3, 2.8, 2.3, 2.4]


# --- quantiles -----------------------------------------------------------------------------------
@pytest.mark.parametrize("regions", [1.0, 7.0, 400.0])
def test_a_learned_half_width_is_the_quantile_of_student_for_all_regions_and_both_ends(regions):
    found = quantile(0.05, np.array([regions]), np.array([12.0]), True)
    assert found == pytest.approx([student(11).ppf(1 - 0.05 / (2 * regions))])


def test_a_given_half_width_is_normal_and_for_one_end():
    found = quantile(0.05, np.array([40.0]), np.array([3.0]), False)
    assert found == pytest.approx([norm.ppf(1 - 0.05 / 40)])


# --- regions -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("length", "regions"), [(0.5, 1.6 * 8), (2.0, 1.6 * 2), (40.0, 1.0)])
def test_regions_are_the_widths_of_the_inputs_in_length_scales(length, regions):
    problem = wave(kernel=gs.Matern(2.5, length, 1.0))
    history = history_at(problem, np.array(POINTS)[:, None])
    belief = Knowledge(Situation(problem, history, 0)).answered.beliefs["f"]
    found = count_regions(problem.program, problem.boxes[0], belief, np.array(POINTS)[:, None])
    assert found == pytest.approx([regions])


def test_a_kernel_that_is_no_function_of_the_distance_has_regions_of_its_errors():
    # A sum of two kernels of one length-scale is that kernel: both ways count about the same.
    kernel = gs.SquaredExponential(0.5, 0.5) + gs.SquaredExponential(0.5, 0.5)
    counts = []
    for one in (gs.SquaredExponential(0.5, 1.0), kernel):
        problem = wave(kernel=one)
        history = history_at(problem, np.array([[0.1], [3.9]]))
        belief = Knowledge(Situation(problem, history, 0)).answered.beliefs["f"]
        inputs = np.array([[0.1], [3.9]])
        counts += count_regions(problem.program, problem.boxes[0], belief, inputs).tolist()
    assert counts[1] == pytest.approx(counts[0], rel=0.25)


def test_hundreds_of_short_length_scales_leave_a_finite_band():
    problem = wave(300, kernel=gs.Matern(2.5, 0.001, 1.0))
    points = np.random.default_rng(0).uniform(0, 4, (4, 300))
    known = Knowledge(Situation(problem, history_at(problem, points), 0))
    assert torch.isfinite(known.confident.beta["f"]).all()


def test_labels_have_no_more_regions_than_there_are():
    choice = gs.Choice("metal", ["Pt", "Pd", "Ni"])
    f = gs.BlackBox(lambda metal: float(len(metal)), name="f", noise=0)
    problem = gs.Problem(minimize=f(choice))
    result = problem.solve(6, progress=False)
    belief = Knowledge(Situation(problem, result.history, 0)).answered.beliefs["f"]
    inputs, _ = result.history.data("f", 3, 1)
    assert count_regions(problem.program, problem.boxes[0], belief, inputs) <= 3 + 1e-9


def test_a_share_counts_the_volume_that_points_cover():
    unit = torch.quasirandom.SobolEngine(2, seed=0).draw(4096).double().numpy()
    half = covered_share(unit, unit[:, 0] < 0.5, 10.0)
    assert half == pytest.approx(0.5, abs=0.05)
    assert covered_share(unit, np.ones(4096, dtype=bool), 10.0) == 1.0
    assert covered_share(unit, np.zeros(4096, dtype=bool), 10.0) < 0.01


def test_a_share_of_some_inputs_is_that_of_the_projection():
    # A thin diagonal has next to no area, and covers the whole range of the first input.
    unit = torch.quasirandom.SobolEngine(2, seed=0).draw(4096).double().numpy()
    thin = np.abs(unit[:, 0] - unit[:, 1]) < 0.05
    assert covered_share(unit[:, :1], thin, 10.0) > 0.95
    assert covered_share(unit, thin, 10.0) < 0.3


# --- survey --------------------------------------------------------------------------------------
def test_points_that_may_be_better_are_those_whose_band_reaches_below_the_best_value():
    known = knowledge(wave(), POINTS)
    bands, best = known.audited, known.best
    survey = Survey(bands)
    possible, states = survey.look(bands.beta, best)
    (inputs,) = states["f"]
    call = known.program.calls[0]
    lower, _ = bands.band(call, inputs)
    np.testing.assert_array_equal(possible, (lower[:, 0] < best).numpy())
    assert 0 < possible.mean() < 1


def test_an_inner_minimum_of_a_known_part_is_seen():
    # (f - 1/2)^2 is least inside the band where the band holds 1/2, not at its ends.
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(np.sin, name="f", noise=0, kernel=gs.SquaredExponential(1.0, 1.0))
    problem = gs.Problem(minimize=(f(x) - 0.5) ** 2)
    history = history_at(problem, np.array([[0.1], [3.9]]))
    bands = Knowledge(Situation(problem, history, 0)).answered
    possible, states = Survey(bands).look(bands.beta, 0.05)
    lower, upper = bands.band(problem.program.calls[0], states["f"][0])
    inside = ((lower < 0.5) & (upper > 0.5))[:, 0].numpy()
    assert possible[inside].mean() > 0.9


def test_points_that_no_band_makes_feasible_do_not_count():
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(np.sin, name="f", noise=0, kernel=gs.SquaredExponential(1.0, 1.0))
    problem = gs.Problem(minimize=-x, subject_to=[f(x) >= 0.9])
    history = history_at(problem, np.linspace(0, 4, 9)[:, None])
    bands = Knowledge(Situation(problem, history, 0)).answered
    possible, states = Survey(bands).look(bands.beta, np.inf)
    upper = bands.band(problem.program.calls[0], states["f"][0])[1]
    np.testing.assert_array_equal(possible, (upper[:, 0] >= 0.9).numpy())


# --- widths --------------------------------------------------------------------------------------
def test_bands_of_a_bound_are_no_narrower_than_the_audit_asks_for_and_no_wider_than_everywhere():
    known = knowledge(wave(), POINTS)
    audited, confident = known.audited.beta["f"], known.confident.beta["f"]
    everywhere = known.everywhere(known.audited).beta["f"]
    assert audited.item() <= confident.item() <= everywhere.item()


def test_more_confidence_and_more_doubt_mean_wider_bands():
    problem = wave()
    widths = []
    for confidence in (0.5, 0.95, 0.999):
        situation = knowledge(problem, POINTS).situation
        rule = gs.Optimistic(confidence=confidence)._rule
        widths.append(Knowledge(situation, rule).confident.beta["f"].item())
    assert widths == sorted(set(widths))
    doubted = knowledge(problem, POINTS, widening=2.0)
    assert doubted.confident.beta["f"].item() >= 2 * doubted.rule._width


def test_an_audit_that_failed_widens_bands_as_far_as_this_rule_was_wrong():
    known = knowledge(wave(), POINTS)
    tested = audited_answers(known.program, known.history, known.answered.beliefs)["f"]
    beta = quantile(0.05, tested.regions, tested.degrees, True)
    factor = max(1.0, float((tested.errors / np.maximum(beta, 2.0)).max()))
    assert known._simultaneous().factors["f"] == pytest.approx(factor)


def test_an_answer_next_to_others_tests_little():
    known = knowledge(wave(kernel=gs.SquaredExponential(1.0, 1.0)), [0.1, 2.0, 3.9, 2.001, 1.0])
    weights = audited_answers(known.program, known.history, known.answered.beliefs)["f"].weights
    assert weights[0] < 0.01
    assert weights[1] > 0.1
    (row,) = known.calibration
    assert row.weight == pytest.approx(weights.sum())


def test_noisy_answers_at_one_place_tell_less_about_deviations():
    kernel = gs.SquaredExponential(1.0, 1.0)
    problem = wave(kernel=kernel, noise=0.1)
    together = history_at(problem, np.array([[1.0]] * 8))
    apart = history_at(problem, np.linspace(0, 4, 8)[:, None])
    degrees = [
        Knowledge(Situation(problem, h, 0)).answered.beliefs["f"].degrees(8).item()
        for h in (together, apart)
    ]
    # tr (K (K + lambda I)^-1) with K = 1 everywhere: one eigenvalue of 8.
    assert degrees[0] == pytest.approx(8 / 8.01, rel=1e-6)
    assert degrees[1] > 4


def test_a_declared_band_stays_as_it_is():
    problem = wave(lipschitz=2.0)
    history = history_at(problem, np.array(POINTS)[:, None])
    known = Knowledge(Situation(problem, history, 0), gs.Declared())
    assert known.confident is known.plausible


def test_every_kind_of_belief_has_bands_of_a_bound():
    from botorch.models import SingleTaskGP

    x = gs.Variable("x", shape=2, lower=0, upper=1)
    g = gs.Choice("g", ["a", "b"])
    n = gs.Integer("n", lower=0, upper=5)
    curve = gs.BlackBox(
        lambda x: np.sin(np.arange(30) + x.sum()), name="c", outputs=30, shared_kernel=True
    )
    own = gs.BlackBox(lambda x: float(x.sum()), name="own", model=SingleTaskGP, noise=0)
    mixed = gs.BlackBox(lambda g, n: len(g) + n**2 / 9, name="mixed", noise=0)
    summed = gs.BlackBox(
        lambda x: float(x[0] ** 2 + x[1]),
        name="summed",
        noise=0,
        kernel=gs.Matern(2.5) + gs.Linear(),
    )
    total = np.mean(curve(x)) + own(x) + mixed(g, n) + summed(x)
    problem = gs.Problem(minimize=total, subject_to=[own(x) >= 0.5])
    history = problem.solve(10, strategy=gs.SobolSearch(), progress=False).history
    known = Knowledge(Situation(problem, chosen(history, 6), 0))
    for name, width in known.confident.beta.items():
        assert (width >= known.rule._width).all(), name
        assert torch.isfinite(width).all(), name


# --- the argument --------------------------------------------------------------------------------
@pytest.mark.parametrize(("value", "hint"), [(95, "0.95"), (0, "0.95"), (1, "0.95"), ("a", "0.95")])
def test_a_confidence_is_a_number_between_0_and_1(value, hint):
    with pytest.raises(gs.ModelError, match=f"confidence=.*between 0 and 1, such as {hint}"):
        gs.Optimistic(confidence=value)
    with pytest.raises(gs.ModelError, match=f"confidence=.*between 0 and 1, such as {hint}"):
        wave().solve(5, confidence=value)


def test_only_strategies_with_a_bound_have_a_confidence():
    with pytest.raises(gs.ModelError, match=r"gs\.EIFN\(\) shows no bound"):
        gs.Study(wave(), strategy=gs.EIFN(), confidence=0.9)
    with pytest.raises(gs.ModelError, match="Declared says itself"):
        gs.Optimistic(beta=gs.Declared(), confidence=0.9)


def test_the_confidence_of_a_study_is_that_of_its_strategy():
    study = gs.Study(wave(), confidence=0.99)
    assert study.strategy == gs.Optimistic(confidence=0.99)
    assert gs.Study(wave()).strategy == gs.Optimistic()


def test_a_result_says_with_which_chance_its_bound_holds():
    result = wave().solve(9, confidence=0.9, progress=False)
    assert "90 %: nothing better than" in str(result)


def test_confidence_changes_what_is_shown_and_not_where_trials_go():
    some, more = (wave().solve(9, confidence=c, progress=False) for c in (0.8, 0.999))
    assert [t.x.tolist() for t in some.history] == [t.x.tolist() for t in more.history]
    assert more.lower_bound <= some.lower_bound
