"""The page of one study, as it is now or as it was after any event: the data of its templates."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from statistics import median

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import GrisailleError, ModelError, counted
from grisaille.study.events import KINDS
from grisaille.study.one_thread import one_thread
from grisaille.study.state import QueryEntry, QueryState, StudyState, TrialState
from grisaille.study.study import Study
from grisaille.study.study_summary import Conclusion, concluded, is_finished
from grisaille.views.charts import Against, Chart, convergence_chart, gap_chart, parallel_chart
from grisaille.views.inspection.inspection import Inspection
from grisaille.views.page.facts import (
    ConstraintRow,
    StudyFacts,
    constraint_rows,
    number,
    shown,
)
from grisaille.views.page.graph import graph_svg
from grisaille.views.page.learned_parts import BoxPart, Learned, Row, cheap_notes
from grisaille.views.page.rendering import in_address
from grisaille.views.page.studies import Studies, StudyLog

# --- status ---------------------------------------------------------------------------------------
# The status of a study, in a few sentences.


@dataclass(frozen=True, slots=True)
class StudyPageConstants:
    """The constants of the page of a study.

    Attributes:
        latest: Suggestions by which the time of the next one is judged. A choice.
        at_once: Delay in seconds that feels immediate. A choice of patience.
        answers: Answers that are listed; exports have all. A choice of layout.
        events: Events that are listed. A choice of layout.
    """

    latest: int = 5
    at_once: float = 0.1
    answers: int = 200
    events: int = 100


STUDY_PAGE = StudyPageConstants()


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
    latest = [e.seconds for e in state.trials.values() if not e.is_data and e.seconds][
        -STUDY_PAGE.latest :
    ]
    if not latest or not np.isfinite(latest).all():
        return ""
    seconds = median(latest)
    if seconds < STUDY_PAGE.at_once:
        return "The next suggestion comes at once."
    return f"The next suggestion takes about {number(seconds, 2)} s."


# --- queue ----------------------------------------------------------------------------------------
# Questions that are open, and answers that were given, as rows of a page.


@dataclass(frozen=True, slots=True)
class Question:
    """A question that is open.

    Attributes:
        id: Its id.
        box: The black box.
        trial: Number of its trial.
        inputs: What to evaluate at: names and values.
        outputs: Names of the numbers that are asked for.
        holder: Who has it; empty if nobody does.
        age: How long ago it was asked, in words; empty if it was not.
        failed: Why the last attempt failed; empty if none did.
    """

    id: str
    box: str
    trial: int
    inputs: list[tuple[str, str]]
    outputs: list[str]
    holder: str
    age: str
    failed: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that was given.

    Attributes:
        id: Its id, or the name of an observed row.
        box: The black box.
        trial: Number of its trial; None for a row that belongs to no query.
        inputs: What was evaluated: names and values.
        outputs: What came out: names and values.
        exact: The values with all their digits, for a form that corrects one of them.
    """

    id: str
    box: str
    trial: int | None
    inputs: list[tuple[str, str]]
    outputs: list[tuple[str, str]]
    exact: list[str]


def questions(facts: StudyFacts, state: StudyState) -> list[Question]:
    """The questions that are open, oldest trial first."""
    return [
        Question(
            query.id,
            query.box,
            query.trial,
            _inputs(facts, state, query.box, query.inputs),
            output_names(facts, query.box),
            _holder(query),
            ago(query.asked) if query.state is QueryState.ASKED else "",
            query.reason or "",
        )
        for query in state.queries.values()
        if query.is_open and state.trials[query.trial].state is TrialState.PENDING
    ]


def answers(facts: StudyFacts, state: StudyState) -> list[Answer]:
    """The latest answers first, rows that were observed among them."""
    told = [q for q in state.queries.values() if q.state is QueryState.TOLD]
    told.sort(key=lambda query: query.recorded or 0, reverse=True)
    found = [
        Answer(
            query.id,
            query.box,
            query.trial,
            _inputs(facts, state, query.box, query.inputs),
            _outputs(facts, query.box, query.outputs),
            _exact(query.outputs),
        )
        for query in told[: STUDY_PAGE.answers]
    ]
    rows = list(state.rows().items())[::-1][: STUDY_PAGE.answers - len(found)]
    return found + [
        Answer(
            name,
            seen.box,
            None,
            _inputs(facts, state, seen.box, seen.inputs),
            _outputs(facts, seen.box, seen.outputs),
            _exact(seen.outputs),
        )
        for name, seen in rows
    ]


def output_names(facts: StudyFacts, box: str) -> list[str]:
    """A name for each output of a black box."""
    outputs = facts.boxes.get(box, {}).get("outputs", 1)
    if isinstance(outputs, list):
        return [str(name) for name in outputs]
    return [box] if outputs == 1 else [f"{box}[{k}]" for k in range(outputs)]


def ago(moment: float | None) -> str:
    """How long ago a moment was, in words."""
    if not moment:
        return ""
    seconds = max(0.0, time.time() - moment)
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' * (count != 1)} ago"
    return "just now"


def _inputs(facts: StudyFacts, state: StudyState, box: str, inputs: Array) -> list[tuple[str, str]]:
    values = state.readable_inputs(box, inputs)
    names = (facts.settings.get("input_names") or {}).get(box, [])
    if len(names) != len(values):
        names = [f"input {k + 1}" if len(values) > 1 else "input" for k in range(len(values))]
    return [(name, shown(value, 8)) for name, value in zip(names, values, strict=True)]


def _outputs(facts: StudyFacts, box: str, outputs: Array | None) -> list[tuple[str, str]]:
    names = output_names(facts, box)
    values = [] if outputs is None else outputs.tolist()
    if len(names) != len(values):
        names = [f"output {k + 1}" for k in range(len(values))]
    return [(name, number(value, 8)) for name, value in zip(names, values, strict=True)]


def _exact(outputs: Array | None) -> list[str]:
    return [] if outputs is None else [repr(value).removesuffix(".0") for value in outputs.tolist()]


def _holder(query: QueryEntry) -> str:
    if query.state is not QueryState.ASKED:
        return ""
    return query.holder or "asked by a person"


# --- study page -----------------------------------------------------------------------------------
# The page of one study, as it is now or as it was after any event: what its templates show.


class StudyPage:
    """What the templates of a study's page read. Each part is worked out when it is shown.

    Args:
        log: The log of the study.
        at: The event after which it is shown; None for now.
        studies: Where its problem comes from.
        learned: What was learned before, to be used again.
        form: The word that forms send along; empty if this reader may not answer.
        read_only: Whether nobody may answer.
    """

    PARTS = (
        "status",
        "graph",
        "convergence",
        "constraints",
        "influence",
        "queue",
        "answers",
        "explore",
        "contour",
        "log",
        "blame",
        "main",
    )

    def __init__(
        self,
        log: StudyLog,
        at: int | None,
        studies: Studies,
        learned: Learned,
        *,
        form: str = "",
        read_only: bool = False,
    ) -> None:
        self._log = log
        self._studies = studies
        self._learned = learned
        self.name = log.name
        self.last = log.look(None, lambda state: state.position)
        self.at = at if at is not None and 1 <= at < self.last else None
        self.form = "" if self.at else form
        self.read_only = read_only
        self.facts = log.look(self.at, lambda state: StudyFacts.of_state(log.name, state))

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"/studies/{in_address(self.name)}"

    @property
    def moment(self) -> str:
        """When the event happened after which the study is shown; empty for now."""
        event = self._log.event(self.at) if self.at else None
        return "" if event is None else when(event.time)

    @property
    def query(self) -> str:
        """What addresses of parts end with, so that all show the same moment."""
        return f"?at={self.at}" if self.at else ""

    @cached_property
    def status(self) -> Status:
        """How the study stands."""
        return self._log.look(self.at, lambda state: status_of(self.facts, state))

    @cached_property
    def study(self) -> Study | None:
        """The study with its problem; None if that is not known here."""
        try:
            return self._studies.study(self.name)
        except GrisailleError as error:
            self.no_problem = str(error)
            return None

    no_problem = ""
    """Why the problem is not known here; empty if it is."""

    def inspection(self) -> Inspection:
        """What was learned.

        Raises:
            GrisailleError: The problem is not known here, or there is nothing to look at yet.
        """
        if self.study is None:
            raise ModelError(self.no_problem)
        problem, strategy = self.study.problem, self.study.strategy
        return self._learned.inspection(problem, self.facts.history, strategy)

    # --- parts from the log alone ------------------------------------------------------------
    def convergence(self, over: str = "trial", scale: str = "value") -> Chart | None:
        """Best value and bound, or their gap, over trials or cost; None without them."""
        if not len(self.facts.history):
            return None
        against: Against = "cost" if over == "cost" else "trial"
        course = self.facts.course(against)
        return gap_chart(course) if scale == "gap" else convergence_chart(course)

    def parallel(self) -> Chart | None:
        """All trials side by side."""
        facts = self.facts
        lower, upper = (np.array(facts.settings[end], dtype=float) for end in ("lower", "upper"))
        return parallel_chart(facts.history.trials, facts.entries, lower, upper)

    def constraints(self) -> list[ConstraintRow]:
        """Each constraint at the best point."""
        return constraint_rows(self.facts)

    def questions(self) -> list[Question]:
        """Open questions."""
        return self._log.look(self.at, lambda state: questions(self.facts, state))

    def answers(self) -> list[Answer]:
        """The latest answers."""
        return self._log.look(self.at, lambda state: answers(self.facts, state))

    def boxes(self) -> list[str]:
        """Names of the black boxes."""
        return list(self.facts.boxes)

    def log(self) -> list[tuple[int, str, str, str]]:
        """The latest events: number, time, kind, and what happened."""
        found = self._log.events(self.at or self.last, STUDY_PAGE.events)
        return [(e.number, when(e.time), e.kind, KINDS[e.kind].of(e.data).words()) for e in found]

    # --- parts that need the problem ---------------------------------------------------------
    def graph(self, learn: bool = False) -> str:
        """The graph; with what was learned of each black box if that is asked for."""
        counts = self.facts.history.counts()
        failures = Counter(failure.box for failure in self.facts.history.failures)
        notes = cheap_notes(counts, failures, self.facts.boxes)
        if learn:
            with suppress(GrisailleError):  # else the graph shows what is recorded
                notes |= self._learned.notes(self.inspection(), with_shares=True)
        return graph_svg(self.facts.graph, notes, f"{self.address}/box/")

    def box(self, name: str, output: str | None) -> BoxPart:
        """What was learned of a black box."""
        return self._learned.box(self.inspection(), name, output)

    def influence(self) -> tuple[list[Row], list[Row]]:
        """What variables and black boxes do."""
        return self._learned.influence(self.inspection())

    def slices(self) -> list[Chart]:
        """Slices of the objective."""
        return self._learned.slices(self.inspection())

    def contour(self, first: int, second: int) -> Chart:
        """The objective over two variables."""
        return self._learned.contour(self.inspection(), first, second)

    def blame(self) -> list[str]:
        """Constraints that cannot be met together; none if that is not proved."""
        if self.study is None:
            raise ModelError(self.no_problem)
        with one_thread():
            certificate = Study.result(self.study).certificate
            return [] if certificate is None else certificate.blame()

    # --- exports -----------------------------------------------------------------------------
    def export(self, file: str) -> tuple[str, str] | None:
        """The text and the media type of an export; None if there is no such export."""
        from grisaille.adapters.export import export_csv, export_json, export_observations_csv
        from grisaille.views.report import study_report

        def as_json(state: StudyState) -> str:
            return json.dumps(export_json(state), indent=2)

        match file:
            case "trials.csv":
                return self._log.look(self.at, export_csv), "text/csv"
            case "answers.csv":
                return self._log.look(self.at, export_observations_csv), "text/csv"
            case "study.json":
                return self._log.look(self.at, as_json), "application/json"
            case "report.html":
                return study_report(self), "text/html"
        return None


def when(moment: float) -> str:
    """A time, in UTC, as people read it."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
