"""How far a study is."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field

import numpy as np
import pandas
import pytest

import grisaille as gs
from grisaille.belief.incumbent import Incumbent, find_incumbent
from grisaille.records import Bound, History, Refutation, Situation, Suggestion, Trial
from grisaille.study.progress_summary import ProgressSummary
from grisaille.study.result import Status
from grisaille.study.study_summary import concluded
from grisaille.views.cli import main
from grisaille.views.page.facts import StudyFacts, number
from grisaille.views.page.study_page import status_of
from tests.study.study_helpers import nested, parabola

pytestmark = pytest.mark.slow


@dataclass
class Counting:
    """A strategy that counts how often it is asked for its best point."""

    asked: list[int] = field(default_factory=list)
    bands_are_learned: bool = False

    def incumbent(self, situation: Situation) -> Incumbent | None:
        self.asked.append(len(situation.history))
        return find_incumbent(situation.history, None)

    def learned(self, problem: gs.Problem) -> list[str]:
        return ["f"] if self.bands_are_learned else []


def summary_of(*bounds: Bound, **options: bool) -> ProgressSummary:
    """A study whose trials had these bounds; its best value is 1."""
    trials = tuple(
        Trial(
            number,
            Suggestion(gs.TrialKind.OPTIMISTIC, np.zeros(1), bound=bound),
            float(len(bounds) + 1 - number),
            np.zeros(0),
            np.zeros(1),
            (),
        )
        for number, bound in enumerate(bounds, 1)
    )
    strategy = Counting(**options)
    return ProgressSummary(strategy, Situation(parabola(), History(trials), 0))  # type: ignore[arg-type]


def test_the_best_point_is_asked_for_once():
    summary = summary_of(Bound(0.0), Bound(0.5))
    summary.row(summary.situation.history.trials[-1], 0.0)
    summary.reached(Bound(0.5), 1e-3)
    summary.result(Status.RUNNING, Bound(0.5))
    assert summary.strategy.asked == [2]


def test_a_bound_above_the_best_value_is_not_shown():
    result = summary_of(Bound(), Bound()).result(Status.RUNNING, Bound(1.1, 1.2))
    assert (result.fun, result.lower_bound, result.certified) == (1.0, -np.inf, False)


def test_the_best_proved_bound_of_all_trials_is_shown_while_bands_are_declared():
    declared = [Bound(0.902, proved, is_declared=True) for proved in (0.9, 0.2)]
    shown = summary_of(*declared).result(Status.RUNNING, declared[-1])
    assert (shown.lower_bound, shown.assurance) == (0.9, "proved")
    guessed = [Bound(0.902, 0.9), Bound(0.902, 0.2)]
    latest = summary_of(*guessed).result(Status.RUNNING, guessed[-1])
    assert (latest.lower_bound, latest.assurance) == (0.902, "estimated")


def test_an_estimate_is_shown_with_the_reason_why_nothing_is_proved():
    result = summary_of(Bound()).result(Status.RUNNING, Bound(0.5, None, "no time"), "as recorded")
    assert result.message == "as recorded; the bound is an estimate: no time"
    assert (result.lower_bound, result.certified) == (0.5, False)


def test_a_proved_gap_that_is_closed_is_optimal_and_an_estimated_one_is_not():
    summary = summary_of(Bound())
    assert summary.reached(Bound(0.999, 0.999, is_declared=True), 0.01) is Status.OPTIMAL
    assert summary.reached(Bound(0.999, 0.999), 0.01) is Status.GAP_TOL
    assert summary.reached(Bound(0.999), 0.01) is Status.GAP_TOL
    assert summary.reached(Bound(0.5, 0.5), 0.01) is None


def test_bands_that_too_few_answers_tested_neither_stop_a_study_nor_certify_a_bound():
    summary = summary_of(Bound(), bands_are_learned=True)
    for bound in (Bound(0.999, 0.999), Bound(0.999)):
        assert summary.reached(bound, 0.01) is None
        result = summary.result(Status.MAX_TRIALS, bound)
        assert (result.lower_bound, result.certified) == (0.999, False)
        assert result.assurance == "untested"
        row = summary.row(summary.situation.history.trials[-1], 0.0)
        assert row.bound_is == "untested:0/5"
    # What a strategy knows by declaration does not wait for answers.
    declared = Bound(0.999, 0.999, is_declared=True)
    assert summary.reached(declared, 0.01) is Status.OPTIMAL
    assert summary.result(Status.OPTIMAL, declared).assurance == "proved"


def test_a_plateau_does_not_stop_a_study_before_five_answers_were_predicted():
    x = gs.Variable("x", lower=-1, upper=1)
    hat = gs.BlackBox(lambda x: -np.exp(-(((x - 0.731) / 0.005) ** 2)), name="f", noise=0)
    result = gs.Problem(minimize=hat(x)).solve(6, seed=0, gap_tol=0.01, progress=False)
    assert (result.status, result.assurance) == ("max_trials", "untested")
    (row,) = result.calibration
    assert f"untested ({row.answers} of 5 answers predicted)" in str(result)
    assert "certified" not in str(result)


def test_every_door_says_that_bands_are_untested(tmp_path, capsys):
    place = f"sqlite:///{tmp_path / 'studies.db'}"
    x = gs.Variable("x", lower=-2, upper=3)
    for name, kernel, trials in (("few", None, 4), ("given", gs.Matern(2.5, 2.0, 9.0), 4)):
        box = gs.BlackBox(lambda x: (x - 1) ** 2, name='"f: g"', noise=0, kernel=kernel)
        study = gs.Study(gs.Problem(minimize=box(x)), storage=place, name=name)
        shown = [str(study.run(trials, progress=True)), capsys.readouterr().out]
        study.result().report(tmp_path / "report.html")
        shown.append((tmp_path / "report.html").read_text())
        shown.append(status_of(StudyFacts.of_result(study.result(), name), study.state).sentence)
        frame, went = study.result().to_dataframe(), StudyFacts.of_state(name, study.state).went
        study.close()
        for command in ("status", "show"):
            assert main([command, name, "--storage", place]) == 0
            shown.append(capsys.readouterr().out)
        assert main(["export", name, "--storage", place]) == 0
        for table in (frame, pandas.read_csv(io.StringIO(capsys.readouterr().out))):
            assert table["certified bound"].isna().all() == (name == "few")
        assert any(went.certified) == (name == "given")
        for text in shown:
            assert ("untested" in text) == (name == "few")
            assert "certified" not in text or name == "given"


def seen(study, place, capsys):
    """What the page, `status` and `show` say of a study: best, bound and gap."""
    facts = StudyFacts.of_state(study.name, study.state)
    assert main(["status", study.name, "--storage", place, "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)
    assert main(["show", study.name, "--storage", place]) == 0
    return facts, status_of(facts, study.state), line, capsys.readouterr().out


def test_every_view_says_the_same_of_a_noisy_study(tmp_path, capsys):
    generator = np.random.default_rng(0)
    place = f"sqlite:///{tmp_path / 'studies.db'}"
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(lambda x: np.sin(2 * x) + 0.3 * generator.standard_normal(), name="f")
    study = gs.Study(gs.Problem(maximize=f(x)), storage=place, name="noisy")
    result = study.run(14, progress=False)
    luckiest = max(-t.objective for t in result.history)
    assert result.fun < luckiest - 0.1
    trial = result.history.trials[result.best_trial].number
    for _ in range(2):  # what is worked out again changes nothing
        facts, status, line, shown = seen(study, place, capsys)
        assert (line["best"], line["bound"]) == (result.fun, result.upper_bound)
        assert line["gap"] == pytest.approx(result.gap)
        assert (line["believed"], line["certified"]) == (True, result.certified)
        assert f"believed to be {number(result.fun, 8)}, in trial {trial}" in status.sentence
        assert status.bound == number(result.upper_bound, 8)
        assert number(result.lower_bound, 8) in status.sentence
        assert f"{result.fun:.8g}, believed of trial {trial}" in shown
        result.report(tmp_path / "report.html")
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert number(result.fun, 8) in text
        assert number(luckiest, 8) not in text
        assert StudyFacts.of_result(result, "noisy").best.number == trial == facts.best.number
        again = study.result()
        assert (again.fun, again.gap) == (result.fun, result.gap)
    # After another answer, views go by what the decision believed, not by the luckiest answer.
    (query,) = study.ask()
    study.tell(query, 1.6)
    facts, _, line, _ = seen(study, place, capsys)
    assert line["best"] == pytest.approx(result.fun)
    assert line["believed"] is True
    # A result that is worked out is what all of them show.
    newest = study.result()
    assert seen(study, place, capsys)[2]["best"] == newest.fun != line["best"]
    # What an answer was wrong about is believed no longer.
    study.correct(query, 0.0)
    assert seen(study, place, capsys)[2]["best"] != newest.fun


def test_a_result_that_cannot_be_recorded_is_a_result_all_the_same(tmp_path, monkeypatch):
    place = f"sqlite:///{tmp_path / 'studies.db'}"
    x = gs.Variable("x", lower=-2, upper=3)
    box = gs.BlackBox(lambda x: (x - 1) ** 2, name="f", noise=0)
    study = gs.Study(gs.Problem(minimize=box(x)), storage=place, name="plain")
    study.run(4, progress=False)
    before = study.state.position
    study.result()
    assert study.state.position == before  # it is recorded already

    def away(_record):
        raise gs.StorageError("the storage is away")

    study.enqueue({"x": 0.0})
    (query,) = study.ask()
    study.tell(query, 1.0)
    monkeypatch.setattr(study._session, "write", away)
    assert study.result().nit == 5


def test_a_study_in_which_every_evaluation_fails_says_so_and_why():
    def broken(x):
        raise ValueError("no licence")

    x = gs.Variable("x", lower=0, upper=1)
    result = gs.Problem(minimize=gs.BlackBox(broken, name="f")(x)).solve(2, progress=False)
    assert result.status == "max_trials"
    assert "; 2 of 2 evaluations failed (black box 'f' 2 times), the last one: " in result.message
    assert result.message.endswith("raised ValueError: no licence")
    assert "nothing was evaluated" not in str(result)
    assert "every evaluation failed" in str(result)


def test_failures_that_were_told_are_named_with_their_black_boxes():
    study = gs.Study(nested(noise=0), retries=0)
    (query,) = study.ask()
    study.fail(query, "the reactor is cold")
    (query,) = study.ask()
    study.tell(query, [0.5, 0.5])
    (query,) = study.ask()
    study.fail(query, "the reactor is hot")
    message = study.result().message
    assert "2 of 3 evaluations failed (black box 'first' 1 time, 'second' 1 time)" in message
    assert message.endswith("the last one: the reactor is hot")


def test_a_study_with_a_complete_trial_counts_failures_apart():
    study = gs.Study(parabola())
    (query,) = study.ask()
    study.tell(query, 1.0)
    assert "failed" not in study.result().message


def test_an_optimal_result_shows_the_bound_that_its_status_rests_on():
    summary = summary_of(Bound(), Bound())
    bound = Bound(estimated=0.999, proved=0.9, is_declared=True)
    assert summary.reached(bound, gap_tol=0.2) is Status.OPTIMAL
    optimal = summary.result(Status.OPTIMAL, bound)
    assert (optimal.lower_bound, optimal.certified) == (0.9, True)
    other = summary.result(Status.MAX_TRIALS, bound)
    assert (other.lower_bound, other.certified) == (0.999, False)


def test_the_bound_that_stopped_a_run_is_the_one_of_its_result():
    strategy = gs.Optimistic(beta=gs.Declared())
    result = parabola(lipschitz=6).solve(40, strategy=strategy, gap_tol=0.5, progress=False)
    assert (result.status, result.certified) == ("optimal", True)
    assert result.gap <= 0.5


def test_a_refutation_is_a_proof_only_for_bands_that_hold_by_declaration():
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(lambda x: x, name="f", noise=0)
    problem = gs.Problem(minimize=x, subject_to=[f(x) <= -1])
    refutation = Refutation(problem, History(), 2.0, ())
    summary = ProgressSummary(Counting(), Situation(problem, History(), 0))  # type: ignore[arg-type]
    guessed = summary.result(Status.MAX_TRIALS, Bound(refutation=refutation))
    proved = summary.result(Status.MAX_TRIALS, Bound(refutation=refutation, is_declared=True))
    assert guessed.status is Status.LIKELY_INFEASIBLE
    assert proved.status is Status.INFEASIBLE


def test_a_bound_that_was_withheld_leaves_none_of_earlier_trials(tmp_path):
    # A spike that a smooth function does not have refutes the bands.
    place = f"sqlite:///{tmp_path / 'studies.db'}"
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(lambda x: np.sin(2 * x), name="f", noise=0)
    study = gs.Study(
        gs.Problem(minimize=f(x)), strategy=gs.Optimistic(initial=4), storage=place, name="spike"
    )
    study.run(10, progress=False)
    assert concluded(study.state).bound is not None
    (query,) = study.ask()
    with pytest.warns(gs.GrisailleWarning):
        study.tell(query, -50.0)
    result = study.run(12, progress=False)
    assert (result.assurance, result.certified) == ("none", False)
    assert "there is no bound: " in result.message
    assert "certified" not in str(result)
    row = ProgressSummary(study.strategy, study._session.summary().situation).row(
        result.history.trials[-1], 0.0
    )
    assert (row.bound, row.gap) == (None, None)
    # The same before any result is recorded, and in a study that was stored.
    study.record_settings(concluded=None)
    assert concluded(study.state).bound is None
    study.close()
    again = gs.Study(study.problem, strategy=study.strategy, storage=place, name="spike")
    assert concluded(again.state).bound is None
