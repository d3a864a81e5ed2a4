"""How a study stands, in a few sentences."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from grisaille.errors import counted
from grisaille.pages.facts import StudyFacts, number
from grisaille.study.state import StudyState
from grisaille.study.study_summary import Conclusion, concluded, is_finished
from grisaille.study.trials_and_queries import TrialState

# The time of the next suggestion is judged by so many of the latest ones.
_LATEST = 5
# Nobody waits for so many seconds.
_AT_ONCE = 0.1


@dataclass(frozen=True, slots=True)
class Status:
    """How a study stands.

    Attributes:
        sentence: Best value, where the optimum lies and how sure that is, trials, questions, and
            the time to the next suggestion.
        word: One word: "finished", "waiting" if questions are open, "open" otherwise.
        best: The best feasible value; a dash if there is none.
        bound: The bound; a dash if there is none.
        gap: Their distance; a dash if one is missing.
    """

    sentence: str
    word: str
    best: str
    bound: str
    gap: str


def status_of(facts: StudyFacts, state: StudyState) -> Status:
    """How a study stands, as it is recorded."""
    found = facts.concluded or concluded(state)
    best, bound, gap = found.best, found.bound, found.gap
    open_questions = sum(
        query.is_open and state.trials[query.trial].state is TrialState.PENDING
        for query in state.queries.values()
    )
    finished = is_finished(state)
    parts = [_best(facts, found), _bound(facts, found), _trials(facts, state, finished)]
    if open_questions:
        verb = "is" if open_questions == 1 else "are"
        parts.append(f"{counted(open_questions, 'question')} {verb} open.")
    if not finished:
        parts.append(_next(state))
    word = "finished" if finished else "waiting" if open_questions else "open"
    return Status(
        " ".join(filter(None, parts)),
        word,
        "–" if best is None else facts.value(found.objective),
        "–" if bound is None else facts.value(bound.value),
        number(gap, 3),
    )


def _best(facts: StudyFacts, found: Conclusion) -> str:
    best, least = found.best, facts.least_violation
    if best is not None:
        value = facts.value(found.objective)
        if found.is_believed:
            return f"The best value so far is believed to be {value}, in trial {best.number}."
        return f"The best value so far is {value}, in trial {best.number}."
    if least is None:
        return "No trial is complete yet."
    return (
        f"No point tried meets all constraints. Trial {least.number} comes closest, with a "
        f"violation of {number(least.violation, 3)}."
    )


def _bound(facts: StudyFacts, found: Conclusion) -> str:
    bound, gap = found.bound, found.gap
    if bound is None:
        return "There is no bound on the optimum yet." if len(facts.history) else ""
    how = "certified, given the bands" if bound.certified else "estimated"
    how = f"({how})" if bound.untested is None else f": {bound.untested}"
    side = "below" if facts.sense == 1 else "above"
    if gap is None:
        return f"The optimum does not lie {side} {facts.value(bound.value)} {how}."
    ends = sorted([facts.sense * found.most, facts.sense * bound.value])
    between = f"{number(ends[0], 8)} and {number(ends[1], 8)}{facts.unit}"
    return f"The optimum lies between {between}, a gap of {number(gap, 3)} {how}."


def _trials(facts: StudyFacts, state: StudyState, finished: bool) -> str:
    complete, wanted = len(facts.history), state.settings.get("trials")
    of = f" of {wanted}" if wanted is not None and wanted >= complete else ""
    verb = "is" if complete == 1 and not of else "are"
    failures = len(facts.history.failures)
    failed = f", {counted(failures, 'evaluation')} failed" if failures else ""
    ending = "; the study is finished" if finished else ""
    noun = "trial" if complete == 1 and not of else "trials"
    return f"{complete}{of} {noun} {verb} complete{failed}{ending}."


def _next(state: StudyState) -> str:
    """How long the next suggestion takes, by the latest ones."""
    latest = [e.seconds for e in state.trials.values() if not e.is_data and e.seconds][-_LATEST:]
    if not latest or not np.isfinite(latest).all():
        return ""
    seconds = median(latest)
    if seconds < _AT_ONCE:
        return "The next suggestion comes at once."
    return f"The next suggestion takes about {number(seconds, 2)} s."
