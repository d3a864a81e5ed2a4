"""How far a study is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import grisaille as gs
from grisaille.confidence.incumbent import Incumbent, find_incumbent
from grisaille.records import Bound, History, Situation, Suggestion, Trial
from grisaille.study.progress_summary import ProgressSummary
from grisaille.study.result import Status
from tests.study.study_helpers import parabola


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


def test_the_best_proved_bound_of_all_trials_is_shown_while_bands_are_given():
    bounds = [Bound(0.902, 0.9), Bound(0.902, 0.2)]
    shown = summary_of(*bounds).result(Status.RUNNING, bounds[-1])
    assert (shown.lower_bound, shown.certified) == (0.9, True)
    learned = summary_of(*bounds, bands_are_learned=True).result(Status.RUNNING, bounds[-1])
    assert (learned.lower_bound, learned.certified) == (0.902, False)


def test_an_estimate_is_shown_with_the_reason_why_nothing_is_proved():
    result = summary_of(Bound()).result(Status.RUNNING, Bound(0.5, None, "no time"), "as recorded")
    assert result.message == "as recorded; the bound is estimated: no time"
    assert (result.lower_bound, result.certified) == (0.5, False)


def test_a_proved_gap_that_is_closed_is_optimal_and_an_estimated_one_is_not():
    summary = summary_of(Bound())
    assert summary.reached(Bound(0.999, 0.999), 0.01) is Status.OPTIMAL
    assert summary.reached(Bound(0.999), 0.01) is Status.GAP_TOL
    assert summary.reached(Bound(0.5, 0.5), 0.01) is None
