"""The record of a study, in the user's sense and names: plain data for JSON and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.records import History, Untested, untested
from grisaille.study.events import Believed, Concluded, number_to_plain, to_plain, values_to_plain
from grisaille.study.identity import learned_of
from grisaille.study.state import QueryEntry, QueryState, StudyState, TrialState, spent

if TYPE_CHECKING:
    from grisaille.records import Trial
    from grisaille.study.result import Result
    from grisaille.study.stored_studies import Stored

# Settings that are no one's to read: the problem's fingerprint, and what is shown elsewhere.
_NOT_SHOWN = ("problem", "concluded")


def summarize(stored: Stored) -> dict[str, Any]:
    """The line of a study in a table of studies."""
    state, sense = stored.state, int(stored.state.settings.get("sense", 1))
    found = concluded(state)
    history = state.history()
    counts = history.counts()
    made = Counter(entry.state for entry in state.trials.values() if not entry.is_data)
    elsewhere = sum(entry.record is not None for entry in state.trials.values() if entry.is_data)
    return {
        "name": stored.name,
        "finished": is_finished(state),
        "trials": {
            "complete": made[TrialState.COMPLETE],
            "elsewhere": elsewhere,
            "partial": made[TrialState.PARTIAL],
            "pending": state.count(TrialState.PENDING),
            "broken": made[TrialState.BROKEN],
            "wanted": state.settings.get("trials"),
        },
        "best": None if found.best is None else sense * found.objective,
        "believed": found.is_believed,
        "bound": None if found.bound is None else sense * found.bound.value,
        "certified": None if found.bound is None else found.bound.certified,
        "untested": None
        if found.bound is None or found.bound.untested is None
        else {"box": found.bound.untested.box, "predicted": found.bound.untested.predicted},
        "gap": found.gap,
        "failures": len(history.failures),
        "cured": cured_attempts(state),
        "cost": spent(state),
        "evaluations": {box: counts.get(box, 0) for box in state.settings.get("boxes", counts)},
        "written": _moment(stored.written),
    }


def describe(stored: Stored, last: int | None) -> dict[str, Any]:
    """Everything that `show` prints of a study, with its `last` latest trials; None for all."""
    state = stored.state
    trials = state.history().trials
    best = concluded(state).best
    least = min(trials, key=lambda t: t.violation, default=None) if best is None else None
    settings = {name: value for name, value in state.settings.items() if name not in _NOT_SHOWN}
    return {
        **summarize(stored),
        "storage": stored.where,
        "settings": settings,
        "best_trial": None if best is None else _trial(state, best),
        "least_violation": None if least is None else _trial(state, least),
        "pending": [
            _query(state, query)
            for query in state.queries.values()
            if query.is_open and state.trials[query.trial].state is TrialState.PENDING
        ],
        "failed": [
            {
                "trial": failure.trial,
                "box": failure.box,
                "inputs": values_to_plain(state.readable_inputs(failure.box, failure.inputs)),
                "reason": failure.reason,
            }
            for failure in state.history().failures
        ],
        "last_trials": [_trial(state, trial) for trial in trials[-(last or 0) :]],
    }


def is_finished(state: StudyState) -> bool:
    """Whether all trials that are wanted were made, and nothing is pending."""
    wanted = state.settings.get("trials")
    made = wanted is not None and state.made() >= wanted
    return made and not state.count(TrialState.PENDING)


def cured_attempts(state: StudyState) -> int:
    """How many attempts failed or were lost, and were answered when they were tried again."""
    told = (query for query in state.queries.values() if query.state is QueryState.TOLD)
    return sum(query.attempts + query.losses for query in told)


@dataclass(frozen=True, slots=True)
class RecordedBound:
    """A bound on the minimized objective that was recorded.

    Attributes:
        value: The bound.
        certified: Whether it is proved for bands that were tested.
        untested: Bands that too few answers have tested; None if all were tested.
    """

    value: float
    certified: bool
    untested: Untested | None


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What is recorded of the answer; every view without the problem shows this.

    Objectives are minimized.

    Attributes:
        best: The best trial; None if none was feasible.
        objective: Its objective as it is believed, which with noise is not what was observed.
        most: The most that the optimum can be: with noise, the far end of what is believed.
        is_believed: Whether noise makes a difference between what is believed and observed.
        bound: The bound; None if there is none.
    """

    best: Trial | None
    objective: float
    most: float
    is_believed: bool
    bound: RecordedBound | None

    @property
    def gap(self) -> float | None:
        """The distance from the bound to the most that the optimum can be; None without them."""
        if self.best is None or self.bound is None:
            return None
        return max(self.most - self.bound.value, 0.0)


def stored_conclusion(result: Result, known: int = 0) -> Concluded:
    """A result as it is stored with a study, objectives minimized.

    Args:
        result: The result.
        known: Number of the last event that it includes.
    """
    sense, best = result.problem.sense, None
    if result.x is not None:
        best = Believed(
            result.history.trials[result["best_trial"]].number,
            number_to_plain(sense * result.fun),
            number_to_plain(result.upper_bound if sense == 1 else -result.lower_bound),
            bool(result.success),
        )
    bound = result.lower_bound if sense == 1 else -result.upper_bound
    stored = number_to_plain(bound) if np.isfinite(bound) else None
    return Concluded(known, best, stored, str(result.assurance))


def conclusion_of(result: Result) -> Conclusion:
    """A result as views show it that have no more than what is recorded."""
    return _conclusion(stored_conclusion(result), result.history, result.learned)


def concluded(state: StudyState) -> Conclusion:
    """Return the answer as far as it is recorded.

    That is the latest result, if no answer came after it. Else, it is what the latest decision
    believed, and its bound; of answers without noise, what was observed.
    """
    stored = Concluded.recorded(state.settings)
    if stored is not None and stored.known >= state.learned:
        return _conclusion(stored, state.history(), learned_of(state.settings))
    best, objective, most, is_believed = _best(state.history(), state.believed)
    return Conclusion(best, objective, most, is_believed, _last_bound(state, most))


def _conclusion(stored: Concluded, history: History, learned: Iterable[str]) -> Conclusion:
    """A result that was stored."""
    bound = None
    if stored.bound is not None:
        how = stored.assurance
        doubted = untested(learned, history) if how == "untested" else None
        bound = RecordedBound(float(stored.bound), how in ("certified", "proved"), doubted)
    return Conclusion(*_best(history, stored.best), bound)


def _best(history: History, believed: Believed | None) -> tuple[Trial | None, float, float, bool]:
    """The best trial, its objective, the most of it, and whether this is a belief."""
    trials = {trial.number: trial for trial in history}
    if believed is None or believed.trial not in trials:
        found = history.best()
        value = np.inf if found is None else found.objective
        return found, value, value, False
    trial = trials[believed.trial]
    objective, most = float(believed.objective), float(believed.most)
    if not believed.feasible:
        return None, np.inf, np.inf, False
    return trial, objective, most, objective != trial.objective


def _last_bound(state: StudyState, most: float) -> RecordedBound | None:
    """Return the bound of the latest decision that has one; None if there is none.

    As in the table of a running study, decisions made while others were pending give none, and a
    best value refutes a bound above it. Decisions that rest on what was corrected since give none.
    """
    most = most + 1e-9 * (1 + abs(most))
    for trial in reversed(state.history().trials):
        asked = trial.suggestion
        if trial.known < state.taken_back:
            continue
        if asked.bound.withheld:
            return None
        for bound, certified in ((asked.bound.proved, True), (asked.bound.estimated, False)):
            if bound is not None and not asked.pending and np.isfinite(bound) and bound <= most:
                doubted = untested(learned_of(state.settings), state.history())
                return RecordedBound(bound, certified and doubted is None, doubted)
    return None


def _query(state: StudyState, query: QueryEntry) -> dict[str, Any]:
    return {
        "id": query.id,
        "box": query.box,
        "inputs": values_to_plain(state.readable_inputs(query.box, query.inputs)),
        "state": str(query.state),
        "holder": query.holder,
        "since": _moment(query.asked) if query.state == "asked" else None,
        "until": _moment(query.until) if query.state == "asked" else None,
    }


def _trial(state: StudyState, trial: Trial) -> dict[str, Any]:
    data = state.trial_data(state.trials[trial.number])
    assert data.x is not None  # it is complete
    assert data.constraints is not None
    bodies = zip(state.settings["constraints"], to_plain(data.constraints), strict=True)
    return {
        "trial": trial.number,
        "kind": data.kind,
        "objective": number_to_plain(data.objective),
        "violation": number_to_plain(data.violation),
        "x": dict(zip(data.x, values_to_plain(data.x.values()), strict=True)),
        # A list, because two constraints may have the same label.
        "constraints": [{"constraint": label, "body": body} for label, body in bodies],
        "seconds": {"suggesting": trial.seconds[0], "evaluating": trial.seconds[1]},
    }


def _moment(seconds: float | None) -> str | None:
    """A time as ISO 8601 has it, in UTC."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
