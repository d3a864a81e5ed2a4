"""What can be read of a study: the half of `Study` that records nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from grisaille.checks import is_count
from grisaille.confidence.incumbent import Incumbent, find_incumbent
from grisaille.errors import ModelError, shortened, warn
from grisaille.inspection.learned_model import LearnedModel, learned_model
from grisaille.inspection.predictions import expression_table, predictor_for, problem_table
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem
from grisaille.markup import labelled
from grisaille.records import Failure, History, Situation, Suggestion, TrialKind
from grisaille.reporting.tables import outcome_text
from grisaille.storage.address import masked
from grisaille.storage.event_log import Event
from grisaille.strategies.strategy import Strategy
from grisaille.study.budget import Limits, spent
from grisaille.study.machine import replay_remark
from grisaille.study.one_thread import one_thread
from grisaille.study.query import Query
from grisaille.study.result import Result, Status
from grisaille.study.session import Session
from grisaille.study.state import StudyState
from grisaille.study.suggestion_check import suggestion_of

if TYPE_CHECKING:
    import pandas


class ReadableStudy:
    """What is recorded of a study, and what its strategy makes of it.

    `Study` is the whole: it also asks, records and runs.

    Attributes:
        problem: The problem.
        name: What the study is called in its storage.
        storage: Address of the storage.
        strategy: How to choose.
    """

    problem: Problem
    name: str
    storage: str
    strategy: Strategy
    _session: Session

    @property
    def state(self) -> StudyState:
        """Everything recorded so far: settings, trials, queries. To be read only, by one thread."""
        return self._session.state()

    @property
    def situation(self) -> Situation:
        """What the strategy would decide from now, if the number of trials is open."""
        return self._session.summary().situation

    @property
    def seed(self) -> int:
        """What makes the study repeatable."""
        return int(self.state.settings["seed"])

    @property
    def evaluation(self) -> Literal["separate", "chained"]:
        """Whether black boxes may be evaluated apart from the chain."""
        return self.situation.evaluation

    @property
    def history(self) -> History:
        """Every complete trial, loose answer and failure recorded so far."""
        return self._session.look(StudyState.history)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Where black boxes gave no answer, and why."""
        return self.history.failures

    @property
    def pending(self) -> list[Query]:
        """The queries that were handed out and have no answer yet."""
        return self._session.look(lambda s: [self._session.query(q) for q in s.asked()])

    @property
    def cost(self) -> float:
        """The cost of all evaluations so far, failed ones included."""
        return self._session.look(spent)

    @property
    def changes(self) -> str:
        """What became of the trials when this study was opened with a changed problem; or empty."""
        return self._session.changes

    def answers(self, box: str | BlackBox | None = None) -> pandas.DataFrame:
        """All answers of a black box, or of all: id, trial, where it comes from, inputs, outputs.

        The id is what `correct` and `retract` take.
        """
        from grisaille.study.answers_table import answers_table

        boxes = self.problem.boxes if box is None else [self.box(box)]
        return self._session.look(lambda state: answers_table(self.problem, boxes, state))

    def events(self) -> list[Event]:
        """The log of the study: everything that happened, in order, as plain data."""
        return self._session.events()

    def incumbent(self) -> Incumbent | None:
        """The best point tried, by the strategy's judgement; None before the first trial."""
        return self._session.summary().incumbent

    def box(self, box: str | BlackBox) -> BlackBox:
        """A black box of the problem, by its name."""
        name = box.name if isinstance(box, BlackBox) else box
        if not isinstance(name, str) or name not in self._session.boxes:
            known = ", ".join(map(repr, self._session.boxes))
            raise ModelError(f"the problem has no black box {shortened(name)}: it has {known}")
        return self._session.boxes[name]

    def predict(self, x: Any, expression: Expression | None = None) -> pandas.DataFrame:
        """What is believed of one or many design points, one row per point.

        Each value comes with the interval that the confidence bands leave at that point: the least
        and the greatest value, as a search finds them, that the expression takes while every black
        box stays in its band. For `Optimistic` the bands are those of the bound, as wide as their
        audit asks for; for strategies without bands, two posterior standard deviations. At a point
        that was evaluated without noise, the interval is the value.

        Args:
            x: A flat point, or one point per row; or a dictionary or DataFrame by variable, or by
                entry as in `result.to_dataframe()`. Points must lie within the bounds.
            expression: Any expression of the problem's variables and black boxes. None for the
                objective and the slack of each constraint, which is positive where it is met.

        Returns:
            Columns `mean`, `lower` and `upper` (`mean[0]`, ... for an array); without an
            expression, `objective`, `objective lower`, `objective upper`, and the same three of
            each constraint's slack. A DataFrame's own index is kept.
        """
        with one_thread():
            predictor = predictor_for(self.problem, self.history, self.strategy)
            if expression is None:
                return problem_table(predictor, x)
            return expression_table(predictor, expression, x)

    def model(self, box: str | BlackBox) -> LearnedModel:
        """What was learned of a black box: its predictions, length-scales, noise and data."""
        return learned_model(self.problem, self.history, self.strategy, box)

    def result(self) -> Result:
        """What has been found so far."""
        summary = self._session.summary(Limits(self._planned()))
        now = summary.situation
        bound = self._session.bound(now)
        wanted = self.state.settings.get("trials") or self._planned()
        if wanted is not None and self.state.made() >= wanted and not now.pending:
            return summary.result(Status.MAX_TRIALS, bound)
        message = f"as recorded: {len(now.history)} trials complete, {len(now.pending)} under way"
        return summary.result(Status.RUNNING, bound, message)

    def replay(self, trial: int) -> Suggestion:
        """Derive the decision for a trial again, from what was known when it was made.

        `state.trials[trial].made_on` names the processor and the versions it was made with. On
        others the last bits differ, and a search may end elsewhere.

        Warns with a `warn` if the decision differs from the recorded one: because this
        is another machine, or because it is another decision.
        """
        trials = len(self.state.trials)
        if not is_count(trial) or trial > trials:
            raise ModelError(f"replay({shortened(trial)}): the study has trials 1 to {trials}")
        kind = self.state.trials[int(trial)].suggestion.kind
        if kind in (TrialKind.OWN, TrialKind.DATA):
            raise ModelError(
                f"replay({trial}): no strategy decided trial {trial}, it is one of your own"
            )
        with one_thread():
            again = suggestion_of(self.strategy, self._session.situation_of(trial))
        entry = self.state.trials[int(trial)]
        remark = replay_remark(entry.number, entry.suggestion, entry.asked_x, entry.made_on, again)
        if remark:
            warn(remark)
        return again

    def close(self) -> None:
        """Give back what this process holds, and close the storage."""
        self._session.close()

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {len(self.state.trials)} trials, in {masked(self.storage)})"

    def _repr_html_(self) -> str:
        history, best = self.history, find_incumbent(self.history, None)
        counts = ", ".join(f"{box} {count}" for box, count in history.counts().items()) or "none"
        rows = [
            ("study", f"{self.name}, in {masked(self.storage)}"),
            ("strategy", repr(self.strategy)),
            ("trials", f"{len(history)} complete, of {len(self.state.trials)} begun"),
            ("answers", counts),
            ("pending", ", ".join(query.id for query in self.pending) or "none"),
        ]
        if best is not None:
            text = outcome_text(self.problem, history.trials[best.position])
            rows.append(("best observed", text))
        if history.failures:
            rows.append(("failures", f"{len(history.failures)}: {history.failures[-1].reason}"))
        return labelled(rows)

    def _planned(self) -> int | None:
        """How many trials the latest decision assumed, if it assumed a number."""
        made = [entry for entry in self.state.trials.values() if not entry.is_data]
        known = ((place, e.remaining) for place, e in enumerate(made) if e.remaining is not None)
        place, remaining = max(known, default=(0, None))
        return None if remaining is None else place + remaining
