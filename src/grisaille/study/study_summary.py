"""What is recorded of a study, in the user's sense and names: plain data for JSON and tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.records import Untested, untested
from grisaille.study.budget import spent
from grisaille.study.encoding import number_to_plain, to_plain, values_to_plain
from grisaille.study.identity import learned_of
from grisaille.study.state import StudyState
from grisaille.study.trials_and_queries import QueryEntry, QueryState, TrialState

if TYPE_CHECKING:
    from grisaille.records import Trial
    from grisaille.study.stored_studies import Stored


def summarize(stored: Stored) -> dict[str, Any]:
    """The line of a study in a table of studies."""
    state, sense = stored.state, int(stored.state.settings.get("sense", 1))
    best, bound = best_trial(state), last_bound(state)
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
        "best": None if best is None else sense * best.objective,
        "bound": None if bound is None else sense * bound.value,
        "certified": None if bound is None else bound.certified,
        "untested": None
        if bound is None or bound.untested is None
        else {"box": bound.untested.box, "predicted": bound.untested.predicted},
        "gap": None if bound is None or best is None else max(best.objective - bound.value, 0.0),
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
    best = best_trial(state)
    least = min(trials, key=lambda t: t.violation, default=None) if best is None else None
    settings = {name: value for name, value in state.settings.items() if name != "problem"}
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


def best_trial(state: StudyState) -> Trial | None:
    """The complete trial with the best feasible value, as observed; None if none was feasible."""
    return state.history().best()


@dataclass(frozen=True, slots=True)
class RecordedBound:
    """A bound on the minimized objective that a decision recorded.

    Attributes:
        value: The bound.
        certified: Whether it is proved for bands that were tested.
        untested: Bands that too few answers have tested; None if all were tested.
    """

    value: float
    certified: bool
    untested: Untested | None


def last_bound(state: StudyState) -> RecordedBound | None:
    """Return the latest bound; None if there is none.

    As in the table of a running study, decisions made while others were pending give none, and a
    best value refutes a bound above it.
    """
    best = best_trial(state)
    most = np.inf if best is None else best.objective + 1e-9 * (1 + abs(best.objective))
    for trial in reversed(state.history().trials):
        asked = trial.suggestion
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
