"""The page of one study, as it is now or as it was after any event: what its templates show."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property

from grisaille.errors import GrisailleError, ModelError
from grisaille.inspection.inspection import Inspection
from grisaille.pages.addresses import in_address
from grisaille.pages.chart import Chart
from grisaille.pages.constraints import ConstraintRow, constraint_rows
from grisaille.pages.event_text import event_text
from grisaille.pages.facts import StudyFacts
from grisaille.pages.graph import graph_svg
from grisaille.pages.learned_parts import BoxPart, Learned, Row, cheap_notes
from grisaille.pages.queue import Answer, Question, answers, questions
from grisaille.pages.status import Status, status_of
from grisaille.pages.studies import Studies
from grisaille.pages.study_charts import convergence_chart, parallel_chart
from grisaille.pages.study_log import StudyLog
from grisaille.study.one_thread import one_thread
from grisaille.study.readable_study import ReadableStudy
from grisaille.study.state import StudyState
from grisaille.study.study import Study

_LINES_OF_LOG = 100


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
    def convergence(self) -> Chart | None:
        """Best value and bound."""
        return convergence_chart(self.facts)

    def parallel(self) -> Chart | None:
        """All trials side by side."""
        return parallel_chart(self.facts)

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
        found = self._log.events(self.at or self.last, _LINES_OF_LOG)
        return [(e.number, when(e.time), str(e.kind), event_text(e)) for e in found]

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
            certificate = ReadableStudy.result(self.study).certificate
            return [] if certificate is None else certificate.blame()

    # --- exports -----------------------------------------------------------------------------
    def export(self, file: str) -> tuple[str, str] | None:
        """The text and the media type of an export; None if there is no such export."""
        from grisaille.interoperation.export import (
            export_csv,
            export_json,
            export_observations_csv,
        )
        from grisaille.pages.report import study_report

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
