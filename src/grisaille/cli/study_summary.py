"""What is recorded of a study, in numbers and words of the user: plain data for JSON and tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.study.budget import spent
from grisaille.study.encoding import to_plain
from grisaille.study.state import Ledger, QueryEntry, TrialState

if TYPE_CHECKING:
    from grisaille.cli.stored_studies import Stored
    from grisaille.records import Trial


def summarize(stored: Stored) -> dict[str, Any]:
    """The line of a study in a table of studies."""
    ledger, sense = stored.ledger, _sense(stored.ledger)
    best, bound = best_trial(ledger), last_bound(ledger)
    history = ledger.history()
    counts = history.counts()
    return {
        "name": stored.name,
        "trials": {
            "complete": ledger.count(TrialState.COMPLETE),
            "partial": ledger.count(TrialState.PARTIAL),
            "pending": ledger.count(TrialState.PENDING),
            "broken": ledger.count(TrialState.BROKEN),
            "wanted": ledger.settings.get("trials"),
        },
        "best": None if best is None else sense * best.objective,
        "bound": None if bound is None else sense * bound[0],
        "certified": None if bound is None else bound[1],
        "gap": None if bound is None or best is None else max(best.objective - bound[0], 0.0),
        "failures": len(history.failures),
        "cost": spent(ledger),
        "evaluations": {box: counts.get(box, 0) for box in ledger.settings.get("boxes", counts)},
        "written": _moment(stored.written),
    }


def describe(stored: Stored, last: int) -> dict[str, Any]:
    """All that `show` tells of a study.

    Args:
        stored: The study.
        last: How many trials to list.
    """
    ledger = stored.ledger
    trials = ledger.history().trials
    best = best_trial(ledger)
    least = min(trials, key=lambda t: t.violation, default=None) if best is None else None
    settings = {name: value for name, value in ledger.settings.items() if name != "problem"}
    return {
        **summarize(stored),
        "storage": stored.where,
        "settings": settings,
        "best_trial": None if best is None else _trial(ledger, best),
        "least_violation": None if least is None else _trial(ledger, least),
        "pending": [_query(q) for q in ledger.queries.values() if _is_pending(ledger, q)],
        "failed": [
            {
                "trial": failure.trial,
                "box": failure.box,
                "inputs": to_plain(failure.inputs),
                "reason": failure.reason,
            }
            for failure in ledger.history().failures
        ],
        "last_trials": [_trial(ledger, trial) for trial in trials[-last:]],
    }


def best_trial(ledger: Ledger) -> Trial | None:
    """The complete trial with the best feasible value, as observed; None if none was feasible."""
    feasible = [t for t in ledger.history() if t.violation == 0 and np.isfinite(t.objective)]
    return min(feasible, key=lambda t: t.objective, default=None)


def last_bound(ledger: Ledger) -> tuple[float, bool] | None:
    """The latest bound on the minimized objective, and whether it is certified.

    Decisions made while others were under way give none, and a best value refutes a bound above
    it: both as in the table of a running study.
    """
    best = best_trial(ledger)
    most = np.inf if best is None else best.objective + 1e-9 * (1 + abs(best.objective))
    for trial in reversed(ledger.history().trials):
        asked = trial.suggestion
        for bound, certified in ((asked.bound.proved, True), (asked.bound.estimated, False)):
            if bound is not None and not asked.pending and np.isfinite(bound) and bound <= most:
                return bound, certified
    return None


def _sense(ledger: Ledger) -> int:
    return int(ledger.settings.get("sense", 1))


def _is_pending(ledger: Ledger, query: QueryEntry) -> bool:
    return query.is_open and ledger.trials[query.trial].state is TrialState.PENDING


def _query(query: QueryEntry) -> dict[str, Any]:
    return {
        "id": query.id,
        "box": query.box,
        "inputs": to_plain(query.inputs),
        "state": str(query.state),
        "holder": query.holder,
        "since": _moment(query.asked) if query.state == "asked" else None,
        "until": _moment(query.until) if query.state == "asked" else None,
    }


def _trial(ledger: Ledger, trial: Trial) -> dict[str, Any]:
    settings = ledger.settings
    return {
        "trial": trial.number,
        "kind": str(trial.suggestion.kind),
        "objective": to_plain([_sense(ledger) * trial.objective])[0],
        "violation": to_plain([trial.violation])[0],
        "x": dict(zip(settings["entries"], to_plain(trial.x), strict=True)),
        "constraints": _by_label(settings["constraints"], to_plain(trial.constraints)),
        "seconds": {"suggesting": trial.seconds[0], "evaluating": trial.seconds[1]},
    }


def _by_label(labels: Sequence[str], bodies: Sequence[float | str]) -> list[dict[str, Any]]:
    # A list, because two constraints may have the same label.
    return [{"constraint": label, "body": body} for label, body in zip(labels, bodies, strict=True)]


def _moment(seconds: float | None) -> str | None:
    """A time as ISO 8601 has it, in UTC."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
