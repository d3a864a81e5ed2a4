"""The loop: what a user sees of `Problem.solve`."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

import grisaille as gs
from grisaille import problems
from grisaille.records import Situation

pytestmark = pytest.mark.slow


QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


def parabola(**options: object) -> tuple[gs.Variable, gs.Expression, gs.Problem]:
    x = gs.Variable("x", lower=-2, upper=3)
    box = gs.BlackBox(lambda x: (x - 1) ** 2, name="f", **{"noise": 0, **options})
    y = box(x)
    return x, y, gs.Problem(minimize=y + 0.5)


def test_the_optimum_of_a_parabola_is_found_with_a_small_gap():
    x, y, problem = parabola()
    result = problem.solve(12, seed=1, progress=False)
    assert result.success
    assert result.fun == pytest.approx(0.5, abs=1e-3)
    assert result[x] == pytest.approx(1, abs=0.05)
    assert result[y] + 0.5 == pytest.approx(result.fun)
    assert result.lower_bound <= result.fun == result.upper_bound
    assert result.gap == result.upper_bound - result.lower_bound
    assert result.certified
    assert "bound certified for learned bands" in str(result)


def test_maximizing_reports_in_the_users_sense():
    x = gs.Variable("x", lower=-2, upper=3)
    y = gs.BlackBox(lambda x: 4 - (x - 1) ** 2, name="f", noise=0)(x)
    result = gs.Problem(maximize=y).solve(12, progress=False)
    assert result.fun == pytest.approx(4, abs=1e-2)
    assert result.lower_bound == result.fun
    assert result.upper_bound >= result.fun
    assert result[y] == pytest.approx(result.fun)


def test_the_recommended_point_of_a_constrained_problem_is_feasible_and_was_evaluated():
    known = problems.bazaraa()
    result = known.problem.solve(12, seed=3, progress=False)
    assert result.success
    assert result.maxcv == 0
    assert (result.constr <= 0).all()
    assert any(np.array_equal(t.x, result.x) for t in result.history)
    assert known.regret(result.fun) <= 0.02


def test_the_same_seed_gives_the_same_study_and_another_seed_another():
    def points(seed: int) -> np.ndarray:
        _, _, problem = parabola()
        result = problem.solve(6, seed=seed, strategy=QUICK, progress=False)
        return np.array([t.x for t in result.history])

    assert np.array_equal(points(0), points(0))
    assert not np.array_equal(points(0), points(1))


def test_a_decision_depends_on_the_history_alone_not_on_what_was_computed_before():
    from grisaille.belief.processes import likelihood
    from grisaille.records import Situation

    known = problems.williams_otto()
    result = known.problem.solve(7, seed=2, strategy=QUICK, progress=False)
    likelihood.learn.cache_clear()
    replayed = gs.History(result.history.trials[:6])
    again = QUICK.suggest(Situation(known.problem, replayed, 2, "separate", 1))
    assert np.array_equal(again.x, result.history.trials[6].x)
    assert again.bound.estimated == result.history.trials[6].suggestion.bound.estimated


def test_trials_count_everything_and_evaluations_are_counted_per_box():
    _, _, problem = parabola()
    result = problem.solve(5, strategy=QUICK, progress=False)
    assert (result.nit, result.nfev, result.evaluations) == (5, 5, {"f": 5})
    assert result.status == gs.Status.MAX_TRIALS


@pytest.mark.parametrize(
    ("solver", "assurance"),
    [
        (None, "certified"),
        (gs.Certified(), "certified"),
        (gs.MultiStart(), "estimated"),
    ],
)
def test_a_closed_gap_of_learned_bands_stops_early_and_is_not_called_optimal(solver, assurance):
    _, _, problem = parabola()
    strategy = gs.Optimistic(solver=solver)
    result = problem.solve(40, strategy=strategy, gap_tol=0.05, progress=False)
    assert result.status == gs.Status.GAP_TOL
    assert result.nit < 40
    assert result.gap <= 0.05
    assert result.assurance == assurance
    assert "also for bands twice as wide" in result.message


def test_a_gap_that_declared_constants_close_is_proved_optimal():
    _, _, problem = parabola(lipschitz=6)
    strategy = gs.Optimistic(beta=gs.Declared())
    result = problem.solve(60, strategy=strategy, gap_tol=0.2, progress=False)
    assert (result.status, result.assurance) == ("optimal", "proved")
    assert result.lower_bound <= 0.5 <= result.fun <= 0.7
    assert "bound proved" in str(result)


def test_a_closed_gap_is_doubted_before_a_run_stops_with_it():
    x = gs.Variable("x", lower=-1, upper=1)
    box = gs.BlackBox(lambda x: np.sin(9 * x) + x, name="f", noise=0)
    result = gs.Problem(minimize=box(x)).solve(40, gap_tol=0.05, progress=False)
    situation = Situation(result.problem, result.history, seed=0, widening=2.0)
    doubted = gs.Optimistic().bound(situation)
    assert result.status == gs.Status.GAP_TOL
    assert result.fun - doubted.estimated <= 0.05


def test_no_trial_starts_after_the_timeout():
    _, _, problem = parabola()
    result = problem.solve(10, timeout=0, progress=False)
    assert result.status == gs.Status.TIMEOUT
    assert result.x is None
    assert math.isnan(result.fun)
    assert "nothing was evaluated" in str(result)


def test_the_callback_sees_every_trial_and_can_stop():
    seen: list[gs.Trial] = []

    def callback(trial: gs.Trial) -> bool:
        seen.append(trial)
        return len(seen) == 3

    _, _, problem = parabola()
    result = problem.solve(10, strategy=QUICK, callback=callback, progress=False)
    assert [t.number for t in seen] == [1, 2, 3]
    assert result.status == gs.Status.CALLBACK


def test_ctrl_c_ends_with_the_result_so_far():
    calls = 0

    def interrupted(x: float) -> float:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return x**2

    x = gs.Variable("x", lower=-1, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(interrupted, noise=0)(x))
    result = problem.solve(10, strategy=QUICK, progress=False)
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 3


def test_a_box_that_breaks_for_good_stops_the_study_with_what_was_evaluated_before():
    x = gs.Variable("x", lower=0, upper=1)
    first = gs.BlackBox(lambda x: x, name="first", noise=0)
    calls = 0

    def second(y: float) -> float:
        nonlocal calls
        calls += 1
        return y if calls < 3 else math.nan

    problem = gs.Problem(minimize=gs.BlackBox(second, noise=0)(first(x)))
    with pytest.raises(gs.EvaluationError, match="10 trials in a row failed") as caught:
        problem.solve(30, strategy=QUICK, evaluation="chained", progress=False)
    assert "'second' at" in str(caught.value)
    assert "every output must be a finite number" in str(caught.value)
    result = caught.value.result
    assert result is not None
    assert result.status == gs.Status.FAILED
    assert result.nit == 2
    # The first box had answered before the second failed: these answers are kept.
    assert result.evaluations == {"first": 12, "second": 2}
    assert len(result.history.loose) == 10
    assert len(result.failures) == 10
    assert calls == 2 + 2 * 10  # each was tried once more


def test_a_box_that_always_fails_stops_the_study_at_once_with_the_reason():
    x = gs.Variable("x", lower=0, upper=1)

    def box(x: float) -> float:
        raise RuntimeError("no licence")

    with pytest.raises(gs.EvaluationError, match="all 5 trials failed") as caught:
        gs.Problem(minimize=gs.BlackBox(box)(x)).solve(30, strategy=QUICK, progress=False)
    assert "raised RuntimeError: no licence" in str(caught.value)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("12.3", "returned '12.3': it must return 1 number"),
        (None, "returned None: it must return 1 number (does it lack a return statement?)"),
        ((1.0, 2.0), "declared with outputs=1: return 1 number, or declare outputs=2"),
    ],
)
def test_a_first_answer_of_another_form_stops_the_study_at_once(answer: Any, message: str):
    x = gs.Variable("x", lower=0, upper=1)
    calls: list[float] = []

    def box(x: float) -> Any:
        calls.append(x)
        return answer if len(calls) == 1 else 0.5

    study = gs.Study(gs.Problem(minimize=gs.BlackBox(box, noise=0)(x)), strategy=QUICK)
    with pytest.raises(gs.EvaluationError) as caught:
        study.run(30, progress=False)
    assert str(caught.value).count(message) == 1
    assert "first answer of 'box', so the study stops" in str(caught.value)
    assert len(calls) == 1
    assert study.run(2, progress=False).nit == 2  # the function was mended: it goes on
    assert calls[1] == calls[0]


def test_a_later_answer_of_another_form_is_a_failure_of_that_input():
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: x if x < 0.7 else None, name="box", noise=0)
    study = gs.Study(gs.Problem(minimize=box(x)), strategy=QUICK)
    study.observe("box", [[0.1]], [0.1])
    result = study.run(6, progress=False)
    assert result.nit >= 1
    assert result.failures


def test_a_region_where_a_box_fails_is_avoided_and_the_best_point_outside_is_found():
    x = gs.Variable("x", 2, lower=0, upper=1)

    def box(x: np.ndarray) -> float:
        if x[0] + x[1] > 1.2:
            raise RuntimeError("diverged")
        return float((x[0] - 0.9) ** 2 + (x[1] - 0.8) ** 2)

    problem = gs.Problem(minimize=gs.BlackBox(box, noise=0)(x))
    result = problem.solve(24, strategy=QUICK, progress=False)
    best = 0.5**2 / 2  # the nearest point of the line to (0.9, 0.8)
    assert result.fun == pytest.approx(best, abs=0.02)
    places = np.array([f.inputs for f in result.failures])
    assert (places.sum(1) > 1.2).all()
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(len(places))
    assert apart.min() > 5e-3  # no failing input twice
    assert "failures" in str(result)
    assert result.lower_bound <= 0.01  # the bound is of the whole box, the failed region included


def test_an_answer_outside_the_declared_range_is_an_assumption_error():
    _, _, problem = parabola(upper=0.5)
    with pytest.raises(gs.AssumptionError, match=r"'f' at .* outside the range .* widen"):
        problem.solve(10, strategy=QUICK, progress=False)


def test_a_box_without_a_function_asks_for_one():
    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(None, name="laboratory")(x))
    with pytest.raises(gs.ProtocolError, match="'laboratory' has no function"):
        problem.solve(3, progress=False)


def test_a_problem_without_black_boxes_is_solved_and_says_so():
    x = gs.Variable("x", 2, lower=-2, upper=2)
    problem = gs.Problem(minimize=np.sum((x - 1) ** 2), subject_to=[x[0] + x[1] <= 1])
    result = problem.solve(progress=False)
    assert result.status == gs.Status.OPTIMAL
    assert "no black box" in result.message
    assert result.fun == pytest.approx(0.5, abs=1e-5)
    assert result.maxcv <= 1e-6
    assert result.certified
    assert 0.5 - 2e-3 <= result.lower_bound <= 0.5


@pytest.mark.parametrize("seed", range(6))
def test_rounding_does_not_decide_whether_a_linear_program_is_feasible(seed):
    random = np.random.default_rng(seed)
    rows, inside = random.normal(size=(4, 3)), random.uniform(-1, 1, 3)
    x = gs.Variable("x", 3, lower=-1, upper=1)
    limits = [rows @ x <= rows @ inside + 0.1]
    result = gs.Problem(minimize=random.normal(size=3) @ x, subject_to=limits).solve(progress=False)
    assert (result.status, result.success, result.maxcv) == (gs.Status.OPTIMAL, True, 0)


@pytest.mark.parametrize("seed", range(3))
def test_an_equality_written_as_two_inequalities_has_the_same_optimum(seed):
    random = np.random.default_rng(seed)
    row, inside, costs = random.normal(size=4), random.uniform(-1, 1, 4), random.normal(size=4)
    x = gs.Variable("x", 4, lower=-1, upper=1)
    both = [row @ x <= row @ inside, row @ x >= row @ inside]
    result = gs.Problem(minimize=costs @ x, subject_to=both).solve(progress=False)
    one = [row @ x == row @ inside]
    known = gs.Problem(minimize=costs @ x, subject_to=one).solve(progress=False)
    assert (result.status, result.success) == (gs.Status.OPTIMAL, True)
    assert result.fun == pytest.approx(known.fun, abs=1e-6)


def test_two_inequalities_that_miss_one_another_by_rounding_leave_a_black_box_its_optimum():
    x = gs.Variable("x", 2, lower=0, upper=1)
    box = gs.BlackBox(lambda x: float(x[0] - x[1]), name="box", noise=0)
    limits = [x[0] + x[1] <= 0.3, x[0] + x[1] >= 0.1 + 0.2]  # 0.30000000000000004
    result = gs.Problem(minimize=box(x), subject_to=limits).solve(trials=7, progress=False)
    assert result.success
    assert result.fun == pytest.approx(-0.3, abs=1e-6)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize(("missed", "is_met"), [(0.05, True), (0.5, False)])
def test_no_status_says_infeasible_of_what_counts_as_met(learned, missed, is_met):
    x = gs.Variable("x", 2, lower=49_999, upper=50_001)
    box = gs.BlackBox(lambda x: float(x[0] - x[1]), name="box", noise=0)
    limits = [x[0] + x[1] <= 1e5, x[0] + x[1] >= 1e5 + missed]  # met up to 0.2
    problem = gs.Problem(minimize=box(x) if learned else x[0] - x[1], subject_to=limits)
    result = problem.solve(**({"trials": 3} if learned else {}), progress=False)
    assert result.success == is_met
    assert (result.status is gs.Status.INFEASIBLE) == (not is_met)


def test_a_violation_by_rounding_counts_nowhere_unless_exact_zero_is_asked_for(tmp_path):
    def study(tolerance: float | None) -> gs.Study:
        x = gs.Variable("x", lower=0, upper=1)
        box = gs.BlackBox(lambda v: 3 * v, name="box", noise=0)
        y = box(x)
        problem = gs.Problem(maximize=y, subject_to=[y <= 0.9], feasibility_tol=tolerance)
        study = gs.Study(problem, name="s", storage=f"sqlite:///{tmp_path}/{tolerance}.db")
        for point in (0.25, 0.3 * (1 + 1e-13), 0.3 * (1 + 1e-5)):
            study.enqueue([point])
        study.run(3, progress=False)
        return study

    rounded, exact = study(None), study(0)
    assert rounded.result().fun == pytest.approx(0.9, abs=1e-9)
    assert (rounded.result().success, rounded.result().maxcv) == (True, 0)
    assert "met within 1e-06 of the size of its terms" in str(rounded.result())
    assert [t.violation > 0 for t in rounded.history] == [False, False, True]
    assert rounded.history.trials[1].constraints[0] > 0  # what was observed stays what it is
    assert exact.result().fun == 0.75
    assert [t.violation > 0 for t in exact.history] == [False, True, True]
    again = gs.Study(rounded.problem, name="s", storage=rounded.storage)
    assert [t.violation > 0 for t in again.history] == [False, False, True]


def test_a_problem_without_black_boxes_that_cannot_be_proved_says_why():
    x = gs.Variable("x", 2, lower=-2, upper=2)
    bowl = gs.white_box(lambda x: float(np.sum((x - 1) ** 2)), name="bowl")
    result = gs.Problem(minimize=bowl(x)).solve(progress=False)
    assert result.status == gs.Status.NO_BLACK_BOX
    assert not result.certified
    assert "white box 'bowl' has neither lipschitz= nor interval=" in result.message


def test_constraints_that_no_black_box_reads_are_refuted_before_any_trial():
    x = gs.Variable("x", 2, lower=0, upper=1)
    h = gs.BlackBox(
        lambda x: float(x[0]), name="h", noise=0, kernel=gs.SquaredExponential(1.0, 1.0)
    )
    problem = gs.Problem(minimize=h(x), subject_to=[x[0] + x[1] <= 0.5, x[0] >= 0.6])
    result = problem.solve(10, progress=False)
    assert result.status == gs.Status.INFEASIBLE
    assert result.nit == 0
    assert result.certificate is not None
    assert result.certificate.verify()
    assert 0.03 <= result.certificate.least_violation <= 0.05  # at (0.55, 0), scaled
    assert result.certificate.blame() == ["x[0] + x[1] <= 0.5", "x[0] >= 0.6"]
    learned = gs.BlackBox(lambda x: float(x[0]), name="h", noise=0)
    problem = gs.Problem(minimize=learned(x), subject_to=[x[0] + x[1] <= 0.5, x[0] >= 0.6])
    assert problem.solve(10, progress=False).status == gs.Status.INFEASIBLE


def test_a_known_problem_with_an_active_constraint_is_not_optimal_and_infeasible_at_once():
    u = gs.Variable("u", lower=0, upper=1)
    result = gs.Problem(minimize=u, subject_to=[u >= 0.3]).solve(progress=False)
    assert result.success == (result.status == gs.Status.OPTIMAL)


def test_learned_bands_never_call_a_problem_infeasible():
    # Ten percent of the design space is feasible, but a few flat points teach bands that say no.
    x = gs.Variable("x", 1, lower=0, upper=1)
    y = gs.BlackBox(lambda x: max(0.0, x[0] - 0.8), name="f", noise=0)(x)
    problem = gs.Problem(minimize=x[0], subject_to=[y >= 0.1])
    for seed in range(2):
        result = problem.solve(14, seed=seed, progress=False)  # with proofs
        assert result.status == gs.Status.MAX_TRIALS
        assert result.success


def test_learned_bands_that_passed_their_audit_call_a_problem_likely_infeasible():
    x = gs.Variable("x", lower=-2, upper=3)
    y = gs.BlackBox(lambda x: (x - 1) ** 2, name="f", noise=0)(x)
    problem = gs.Problem(minimize=x, subject_to=[y <= -0.5])
    patient = problem.solve(16, progress=False)
    assert patient.status == gs.Status.LIKELY_INFEASIBLE
    assert patient.nit == 16
    assert patient.message.startswith("all trials were made; no point is feasible, even for bands")
    assert patient.certificate.verify()
    hasty = problem.solve(30, stop_if_infeasible=True, progress=False)
    assert hasty.status == gs.Status.LIKELY_INFEASIBLE
    assert hasty.nit < 30


def test_prior_bands_alone_give_no_verdict():
    x = gs.Variable("x", lower=-1, upper=1)
    kernel = gs.SquaredExponential(0.2, 1.0)
    f = gs.BlackBox(lambda x: 5 * np.exp(-200 * (x - 0.5) ** 2), name="f", noise=0, kernel=kernel)
    problem = gs.Problem(minimize=x, subject_to=[f(x) >= 4.5])
    result = problem.solve(3, stop_if_infeasible=True, progress=False)
    assert result.status == gs.Status.MAX_TRIALS
    assert result.nit == 3


@pytest.mark.parametrize("flag", ["yes", 1, None])
def test_whether_to_stop_if_infeasible_is_true_or_false(flag):
    _, _, problem = parabola()
    with pytest.raises(gs.ModelError, match=f"stop_if_infeasible={flag!r}: pass True or False"):
        problem.solve(3, stop_if_infeasible=flag)


def test_an_infeasible_problem_with_declared_constants_is_proved_so():
    x = gs.Variable("x", lower=-2, upper=3)
    y = gs.BlackBox(lambda x: (x - 1) ** 2, name="f", noise=0, lipschitz=6)(x)
    problem = gs.Problem(minimize=x, subject_to=[y <= -1.5, x <= 2.5])
    result = problem.solve(60, strategy=gs.Optimistic(beta=gs.Declared()), progress=False)
    assert result.status == gs.Status.INFEASIBLE
    assert not result.success
    assert result.upper_bound == np.inf
    assert result.certificate is not None
    assert result.certificate.blame() == ["f(x) <= -1.5"]
    assert 0 < result.certificate.least_violation <= 1.5
    assert result.certificate.verify()
    assert "to blame     f(x) <= -1.5, which is violated by at least" in str(result)


def test_the_rival_proves_infeasibility_of_what_it_sees():
    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(lambda x: 0.5 * np.sin(x), name="f", noise=0)
    strategy = gs.CONFIG(kernel=gs.SquaredExponential(1.0, 1.0))
    result = gs.Problem(minimize=f(x), subject_to=[f(x) >= 5]).solve(
        10, strategy=strategy, progress=False
    )
    assert result.status == gs.Status.LIKELY_INFEASIBLE
    assert result.certificate.verify()
    assert "to blame" in str(result)


def test_a_bound_that_a_point_beats_is_neither_shown_nor_called_optimal():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    kernel = gs.SquaredExponential(3.0, 0.01)  # far too smooth and small
    f = gs.BlackBox(lambda x: 3 * np.sin(5 * x[0]) + x[1] ** 2, name="f", noise=0, kernel=kernel)
    result = gs.Problem(minimize=f(x)).solve(6, gap_tol=0.05, progress=False)
    first = result.history.trials[0]
    assert first.suggestion.bound.proved > first.objective  # the bands were wrong
    assert result.lower_bound <= result.fun
    assert result.status == gs.Status.MAX_TRIALS
    # Bands that answers ask to widen by more than 20 are refuted, and bound nothing.
    assert result.calibration[0].inside == 0
    assert result.calibration[0].factor > 20
    assert result.lower_bound == -np.inf
    assert "there is no bound" in result.message


def test_with_noise_a_closed_gap_is_not_called_optimal():
    generator = np.random.default_rng(0)
    x = gs.Variable("x", lower=-1, upper=1)
    kernel = gs.SquaredExponential(1.0, 1.0)
    f = gs.BlackBox(
        lambda x: x**2 + 0.05 * generator.standard_normal(), name="f", noise=0.05, kernel=kernel
    )
    result = gs.Problem(minimize=f(x)).solve(40, gap_tol=0.3, progress=False)
    assert result.status == gs.Status.GAP_TOL


def test_without_a_proof_an_infeasible_problem_ends_with_the_least_violation():
    x = gs.Variable("x", lower=-2, upper=3)
    y = gs.BlackBox(lambda x: (x - 1) ** 2, name="f", noise=0)(x)
    problem = gs.Problem(minimize=x, subject_to=[y <= -0.5])
    result = problem.solve(10, strategy=QUICK, progress=False)
    assert not result.success
    assert result.maxcv == pytest.approx(0.5, abs=0.05)
    assert result.status == gs.Status.MAX_TRIALS
    assert "no point tried meets all constraints, x violates them least" in result.message
    assert result.certificate is None


def test_the_certified_bound_is_never_above_the_optimum():
    known = problems.lp_with_embedded_gp(3)
    strategy = gs.Optimistic(beta=3.0, solver=gs.Certified())
    result = known.problem.solve(6, strategy=strategy, progress=False)
    bounded = [t for t in result.history if t.suggestion.has_bound]
    assert len(bounded) >= 2
    assert all(t.suggestion.bound.proved is not None for t in bounded)
    assert result.certified
    assert result.lower_bound <= known.optimum
    assert (result.to_dataframe()["certified bound"].dropna() <= known.optimum).all()


def test_with_noise_the_value_is_the_posterior_mean_not_the_luckiest_sample():
    generator = np.random.default_rng(0)
    x = gs.Variable("x", lower=-1, upper=1)
    box = gs.BlackBox(lambda x: x**2 + 0.3 * generator.standard_normal(), name="f", noise=0.3)
    result = gs.Problem(minimize=box(x)).solve(30, strategy=QUICK, progress=False)
    luckiest = min(t.objective for t in result.history)
    assert luckiest < -0.3
    assert abs(result.fun) < 0.25


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trials": 0}, "at least 1"),
        ({"trials": 2.5}, "whole number"),
        ({"evaluation": "serial"}, "'separate' or 'chained'"),
        ({"seed": -1}, "seed"),
        ({"timeout": -1}, "timeout"),
        ({"gap_tol": float("nan")}, "gap_tol"),
        ({"strategy": "optimistic"}, "strategy object"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments: dict[str, object], message: str):
    _, _, problem = parabola()
    with pytest.raises(gs.ModelError, match=message):
        problem.solve(**{"progress": False, **arguments})


def test_an_expression_the_problem_never_evaluated_has_no_value():
    x, _, problem = parabola()
    result = problem.solve(3, strategy=QUICK, progress=False)
    other = gs.BlackBox(lambda x: x, name="other", noise=0)
    stranger = gs.Variable("t", lower=0, upper=1)
    assert result[2 * x + 1] == 2 * result[x] + 1
    with pytest.raises(gs.ModelError, match="never evaluated"):
        result[other(x)]
    with pytest.raises(gs.ModelError, match="not part of this problem"):
        result[stranger]


def test_a_model_of_the_users_own_is_used():
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    sizes = []

    def own(inputs, outputs):
        sizes.append(len(inputs))
        model = SingleTaskGP((inputs + 2) / 5, outputs)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        model.eval()

        class InUserUnits:
            def posterior(self, states):
                return model.posterior((states + 2) / 5)

        return InUserUnits()

    _, _, problem = parabola(model=own)
    result = problem.solve(8, strategy=QUICK, progress=False)
    assert max(sizes) >= 7
    assert result.fun == pytest.approx(0.5, abs=0.05)


def test_an_infinite_bound_in_a_vector_constraint_is_no_constraint():
    x = gs.Variable("x", 2, lower=-2, upper=2)
    box = gs.BlackBox(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, name="f", noise=0)
    problem = gs.Problem(minimize=box(x) + x[1], subject_to=[x <= np.array([0.5, np.inf])])
    result = problem.solve(10, progress=False)
    assert result.success
    assert result.fun == pytest.approx(0, abs=0.01)


def test_a_point_without_a_value_never_wins():
    x = gs.Variable("x", lower=0, upper=4)
    box = gs.BlackBox(lambda x: (x - 1) ** 2, name="f", noise=0)
    result = gs.Problem(minimize=np.sqrt(box(x) - 0.5)).solve(8, progress=False)
    assert any(np.isnan(t.objective) for t in result.history)
    assert result.success
    assert np.isfinite(result.fun)


def test_a_bound_that_a_later_trial_beats_is_not_reported():
    calls = 0

    def box(x: float) -> float:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return x

    x = gs.Variable("x", lower=0, upper=1)
    result = gs.Problem(minimize=gs.BlackBox(box, noise=0)(x)).solve(8, progress=False)
    assert result.nit == 4
    assert result.lower_bound <= 0 or result.lower_bound == -np.inf


def test_a_callback_that_raises_loses_nothing():
    def callback(trial: gs.Trial) -> None:
        if trial.number == 2:
            raise RuntimeError("disk full")

    _, _, problem = parabola()
    with pytest.raises(RuntimeError, match="disk full") as caught:
        problem.solve(5, strategy=QUICK, callback=callback, progress=False)
    assert caught.value.result.nit == 2


class SilentError(Exception):
    """An exception that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("error", [SilentError(), SystemExit(3), gs.ModelError("mine")])
def test_any_exception_carries_what_was_evaluated_before_it(error):
    def callback(trial: gs.Trial) -> None:
        if trial.number == 2:
            raise error

    _, _, problem = parabola()
    with pytest.raises(type(error)) as caught:
        problem.solve(5, strategy=QUICK, callback=callback, progress=False)
    assert caught.value.result.nit == 2
    assert caught.value.result.status == gs.Status.FAILED


def test_a_model_that_fails_leaves_what_was_observed():
    def own(inputs, outputs):
        raise RuntimeError("singular matrix")

    _, _, problem = parabola(model=own, noise=None)
    with pytest.raises(RuntimeError, match="singular matrix") as caught:
        problem.solve(8, strategy=QUICK, progress=False)
    result = caught.value.result
    assert result.nit >= 1
    assert result.fun == min(trial.objective for trial in result.history)


class Stubborn(Future):
    def cancel(self) -> bool:
        raise OSError("no connection")


class Job:
    """A job of a queueing system, which has less than a future of Python's."""

    def __init__(self) -> None:
        future = Future()
        self.set_result, self.result, self.done = future.set_result, future.result, future.done
        self.exception, self.add_done_callback = future.exception, future.add_done_callback


@pytest.mark.parametrize("kind", [Stubborn, Job])
def test_an_executor_that_cannot_cancel_hides_no_error_and_loses_nothing(kind: type[Any]):
    class Executor:
        def submit(self, call: Callable[[], object]) -> Any:
            future = kind()
            if calls < 4:
                future.set_result(call())
            return future

    calls = 0

    def callback(trial: gs.Trial) -> None:
        raise RuntimeError("disk full")

    def counted(x: float) -> float:
        nonlocal calls
        calls += 1
        return x

    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(counted, noise=0)(x))
    with pytest.raises(RuntimeError, match="disk full") as caught:
        problem.solve(
            9, strategy=QUICK, executor=Executor(), workers=5, callback=callback, progress=False
        )
    assert caught.value.result.nit == 4  # the answers that were there are recorded


def test_an_executor_whose_jobs_do_not_say_when_they_end_is_refused():
    class Executor:
        def submit(self, call: Callable[[], object]) -> object:
            return call

    _, _, problem = parabola()
    with pytest.raises(gs.ModelError, match=r"which has no result\(\): let it return a concurrent"):
        problem.solve(3, strategy=QUICK, executor=Executor(), workers=2, progress=False)


def test_evaluators_that_cannot_be_closed_lose_nothing(monkeypatch):
    def close(_: object) -> None:
        raise OSError("a child cannot be killed")

    monkeypatch.setattr("grisaille.study.evaluation.evaluators._ThisProcess.close", close)
    _, _, problem = parabola()
    with pytest.raises(OSError, match="cannot be killed") as caught:
        problem.solve(3, strategy=QUICK, progress=False)
    assert caught.value.result.nit == 3


def test_ctrl_c_twice_loses_nothing(monkeypatch):
    def give_up(_: object) -> None:
        raise KeyboardInterrupt

    def callback(trial: gs.Trial) -> None:
        if trial.number == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("grisaille.study.run.Runner.give_up", give_up)
    _, _, problem = parabola()
    result = problem.solve(5, strategy=QUICK, callback=callback, progress=False)
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 2


@pytest.mark.parametrize("workers", [None, 1])
def test_an_exception_whose_text_raises_fails_its_evaluation_and_nothing_more(workers):
    def silent(x: float) -> float:
        if x > 0.5:
            raise SilentError
        return x

    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(silent, name="f", noise=0)(x))
    result = problem.solve(5, strategy=QUICK, workers=workers, progress=False)
    assert result.success
    assert result.failures
    assert "raised SilentError: (no text: its __str__ raises)" in result.failures[0].reason


def test_a_known_part_whose_exception_cannot_be_shown_breaks_its_trial_off():
    def silent(x: float) -> float:
        if x > 0.5:
            raise SilentError
        return x

    x = gs.Variable("x", lower=0, upper=1)
    known = gs.white_box(silent, name="known")(x)
    f = gs.BlackBox(lambda x: x, name="f", noise=0)
    with pytest.raises(gs.EvaluationError, match="no text: its __str__ raises"):
        gs.Problem(minimize=f(known)).solve(5, strategy=QUICK, progress=False)


def test_a_callback_may_answer_with_a_numpy_bool():
    _, _, problem = parabola()
    result = problem.solve(5, strategy=QUICK, callback=lambda t: np.bool_(True), progress=False)
    assert result.nit == 1


def test_a_failure_at_an_invented_input_says_that_it_was_invented():
    kernel = gs.Matern(2.5, 1.0, 1.0)
    x = gs.Variable("x", lower=-1, upper=1)
    square = gs.BlackBox(lambda x: x**2, name="square", noise=0, kernel=kernel)
    root = gs.BlackBox(
        lambda y: float("nan") if y < 0 else np.sqrt(y), name="root", noise=0, kernel=kernel
    )
    result = gs.Problem(minimize=root(square(x))).solve(6, progress=False)
    assert result.success  # the chain itself never failed
    assert result.nit == 6
    assert result.failures
    for failure in result.failures:
        assert failure.box == "root"
        assert failure.inputs[0] < 0
        assert "optimistic guess" in failure.reason
        assert "input_lower" in failure.reason


def test_a_misspelled_field_of_a_result_is_answered_with_the_right_one():
    _, _, problem = parabola()
    result = problem.solve(1, strategy=QUICK, progress=False)
    with pytest.raises(AttributeError, match=r"Result has no func: write result\.fun"):
        result.func  # noqa: B018
    assert {"plot", "to_dataframe", "fun"} <= set(dir(result))


def test_a_copied_result_still_knows_its_variables():
    import copy

    x, _, problem = parabola()
    result = problem.solve(1, strategy=QUICK, progress=False)
    assert copy.deepcopy(result)[x] == result[x]


def test_a_known_problem_with_steps_is_proved_only_where_a_step_reaches_the_bound():
    def solve(**options: object) -> gs.Result:
        x = gs.Variable("x", 2, lower=0, upper=3, **options)
        known = (x[0] - 1.3) ** 2 + (x[1] - 0.5) ** 2 + 1
        return gs.Problem(minimize=known, subject_to=[x[0] + x[1] >= 1.7]).solve(1, progress=False)

    beside = solve(step=0.5)
    grid = [(a, b) for a in np.arange(0, 3.1, 0.5) for b in np.arange(0, 3.1, 0.5) if a + b >= 1.7]
    best = min((a - 1.3) ** 2 + (b - 0.5) ** 2 + 1 for a, b in grid)
    assert beside.fun == pytest.approx(best)
    assert beside.lower_bound < best
    assert beside.status == gs.Status.NO_BLACK_BOX
    assert solve(step=0.1).status == gs.Status.OPTIMAL


@pytest.mark.parametrize("strategy", [QUICK, gs.LogEI(restarts=2, raw_samples=16)], ids=repr)
def test_an_objective_without_a_finite_value_is_said_and_ends_no_run(strategy):
    x, y, _ = parabola()
    result = gs.Problem(minimize=y + np.log(x - 5)).solve(6, strategy=strategy, progress=False)
    assert not result.success
    assert "the objective has no finite value at any point tried" in result.message


def test_a_search_goes_on_where_a_formula_had_no_value_yet():
    x, y, _ = parabola()
    strategy = gs.LogEI(restarts=2, raw_samples=16, initial=[[-1.0], [0.0], [1.0]])
    result = gs.Problem(minimize=y + np.sqrt(x - 2)).solve(6, strategy=strategy, progress=False)
    assert result.success
    assert math.isfinite(result.fun)
