"""What people tell a study: answers, corrections, points of their own, data from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from grisaille.array_types import Array
from grisaille.checks import check_flag, is_count, tuple_of
from grisaille.errors import ModelError, shortened, warn
from grisaille.language.black_box import BlackBox
from grisaille.language.elimination import points_to_try
from grisaille.records import History, Observation, Situation, Suggestion, Trial, TrialKind
from grisaille.storage.event_log import Kind
from grisaille.strategies.likely_unknowns import with_likely_unknowns
from grisaille.study.argument_checks import check_seconds, id_of
from grisaille.study.corrections import correct, no_answer, observe, retract
from grisaille.study.data_trials import NewRows
from grisaille.study.declared_ranges import check_range
from grisaille.study.event_writer import ChainAnswers, Decision, Writer
from grisaille.study.query import Query
from grisaille.study.readable_study import ReadableStudy
from grisaille.study.remarks import remarks_on_answer, remarks_on_rows
from grisaille.study.trials_and_queries import QueryEntry

if TYPE_CHECKING:
    import pandas

    from grisaille.study.result import Result


# How often the trials that observed rows make are worked out outside of any turn, while others
# record rows, too; the last time is in the turn.
_ATTEMPTS = 4


class AnsweredStudy(ReadableStudy):
    """A study that records what it is told. `Study` is the whole: it also suggests and runs."""

    def record_settings(self, **settings: Any) -> None:
        """Store settings with the study, such as how many trials it is to have.

        They appear in `state.settings`; nothing is written if they are there already.
        """
        known = self.state.settings
        news = {name: value for name, value in settings.items() if known.get(name) != value}
        if news:
            self._session.write(lambda writer: writer.append(Kind.CHANGED, news))

    def result(self) -> Result:
        """What has been found so far. It is recorded, so that other views show the same."""
        found = super().result()
        self._session.conclude(found)
        return found

    def tell_trials(self, told: Iterable[ChainAnswers]) -> None:
        """Record the answers along the chains of trials: all of them, or none if there is an error.

        Raises:
            AssumptionError: An answer lies outside the declared range of its black box.
            ProtocolError: A trial has its answers already.
        """
        told = tuple_of("tell_trials: the answers", told)
        if not all(isinstance(answers, ChainAnswers) for answers in told):
            raise ModelError(f"tell_trials({shortened(told)}): pass answers along chains")

        def record(writer: Writer) -> None:
            for answers in told:
                writer.tell_chain(answers)

        self._session.write(record)

    def release_trials(self, numbers: Iterable[int]) -> None:
        """Give the queries of some trials back, unanswered: the next one who asks gets them."""
        chosen = tuple_of("release_trials: the numbers of trials", numbers)
        for number in chosen:
            if not is_count(number) or number not in self.state.trials:
                raise ModelError(f"release_trials: there is no trial {shortened(number)}")

        def record(writer: Writer) -> None:
            for number in sorted(chosen):
                for query in writer.state.trials[number].queries:
                    writer.release(query)

        if chosen:
            self._session.write(record)

    def tell(
        self,
        query: Query | str,
        value: Any,
        *,
        inputs: Any = None,
        seconds: float | None = None,
    ) -> Trial | None:
        """Record the answer to a query.

        Warns with a `warn` if the answer is far from what was expected.

        Args:
            query: What `ask` gave, or its id.
            value: What the black box returned: a number, or one per output, by name or in order.
            inputs: What it was really evaluated at, if that is not what was asked for: all input
                numbers, or by name those that differ. Inputs that are variables move the trial
                there. Inputs further down a chain may differ by 1 % of their range; beyond that,
                or outside the bounds, the answer teaches the model, and the trial breaks off.
            seconds: How long it took; by default the time since it was asked.

        Returns:
            The trial that this answer completes, if it does.

        Raises:
            EvaluationError: The value is not what the black box was declared to return, or beyond
                ±1e150; nothing is recorded.
            AssumptionError: It lies outside the declared range; nothing is recorded.
            ProtocolError: There is no such query, or it has an answer already.
        """
        check_seconds(seconds)
        name = id_of(query)

        def record(writer: Writer) -> tuple[Trial | None, BlackBox, Array, Array, History]:
            entry = writer.open_entry(name)
            before, box = writer.state.history(), self.box(entry.box)
            done, outputs = self._checked(name, entry, value, inputs, before)
            took = seconds
            if took is None:  # the time since it was asked, if it was
                took = writer.turn.now() - entry.asked if entry.asked else 0.0
            trial = writer.tell(entry, outputs, max(float(took), 0.0), done)
            return trial, box, done, outputs, before

        trial, box, done, outputs, before = self._session.write(record)
        # Learning takes long: the answer is recorded, and nobody waits any more.
        _warn(remarks_on_answer(self.problem, box, name, done, outputs, before))
        return trial

    def correct(self, query: Query | str, value: Any, *, inputs: Any = None) -> Trial | None:
        """Put the right answer in place of a wrong one.

        The wrong one stays in the log, and everything from now on follows the right one: its trial
        is computed again. Black boxes further down the chain were evaluated for the wrong answer.
        With separate evaluation they are asked again. With chained evaluation, and if they are
        not separable, they were given what really came out: their inputs follow the correction.

        Args:
            query: The query or its id; `12/1` for a row that was observed. See `answers`.
            value: The right answer, as in `tell`.
            inputs: What it was really evaluated at, as in `tell`, if that was wrong, too.

        Returns:
            The trial that is complete with this answer, if it is.

        Raises:
            ProtocolError: There is no such answer.
        """
        name = id_of(query)

        def record(writer: Writer) -> Trial | None:
            state = writer.state
            seen = state.answer(name)
            if seen is None:
                raise no_answer(writer, name)
            done, outputs = self._checked(name, seen, value, inputs, state.history())
            return correct(writer, name, outputs, done)

        return self._session.write(record)

    def retract(self, query: Query | str, reason: str = "retracted") -> None:
        """Take an answer back: it stays in the log, but nothing is learned from it any more.

        Its trial no longer has an objective; `enqueue` tries its point again.

        Args:
            query: The query or its id; `12/1` for a row that was observed, `12` for all rows that
                were observed together with it. See `answers`.
            reason: Why, in words.

        Raises:
            ProtocolError: There is no such answer.
        """
        _check_reason("retract", reason)
        name = id_of(query)

        def record(writer: Writer) -> None:
            rows = [row for row in writer.state.rows() if row.split("/")[0] == name]
            retract(writer, rows or [name], reason.strip())

        self._session.write(record)

    def _checked(
        self, name: str, asked: QueryEntry | Observation, value: Any, inputs: Any, before: History
    ) -> tuple[Array, Array]:
        """Inputs and outputs of an answer, checked against what was declared."""
        from grisaille.study.external_data import inputs_done

        box = self.box(asked.box)
        done = inputs_done(self.problem, box, asked.inputs, inputs)
        outputs = box.check(value, f"query {name}: black box {box.name!r} at {box.describe(done)}")
        check_range(box, done, outputs, before)
        return done, outputs

    def enqueue(self, points: Any = None, /, **values: Any) -> list[int]:
        """Have points of your own tried, before anything else is suggested.

        They are trials of their own kind, and count as trials. Points beyond the number of trials
        of a run are left for a later one.

        Args:
            points: A flat design point, one row per point, values by the names of variables, a list
                of these, or a DataFrame whose columns are the names of the variables' entries.
                Unknowns may be left out: they are where predictions close the loops, or, before
                there are any, where equations and the latest answers put them.
            **values: One point by the names of its variables: `enqueue(T=350, feed=[1, 2])`.

        Returns:
            The numbers of the trials.
        """
        if self.problem.causal is not None:
            raise ModelError("enqueue: a problem over interventions takes no points of your own")
        if (points is None) == (not values):
            raise ModelError("enqueue: pass points, or one point as values of the variables")
        given = values if points is None else points
        x = points_to_try(self.problem, given, "enqueue", self._with_unknowns)

        def record(writer: Writer) -> list[int]:
            own = [Suggestion(TrialKind.OWN, point) for point in x]
            situation = Situation(self.problem, writer.state.history(), self.seed)
            position = writer.state.position
            return [writer.start(Decision(one, situation, position, 0.0)) for one in own]

        return self._session.write(record)

    def _with_unknowns(self, x: Array) -> Array:
        """A point (n,) with values for the unknowns, which are NaN."""
        from grisaille.inspection.predictions import predictor_for

        history = self.history
        if len(history):
            predictor = predictor_for(self.problem, history, self.strategy)
            closed: Array = predictor.closed(x[None])[0]
            return closed
        return with_likely_unknowns(self.problem, history, x)

    def fail(self, query: Query | str, reason: str, *, retry: bool = True) -> bool:
        """Record that an evaluation gave no answer.

        Args:
            query: The query.
            reason: What happened.
            retry: False if trying again is pointless, such as for an experiment that cannot be
                made: the query is given up, and its inputs are avoided.

        Returns:
            Whether the query will be asked again: it is, up to `retries` times.
        """
        _check_reason("fail", reason)
        check_flag("", "retry", retry)
        name = id_of(query)
        return self._session.write(
            lambda writer: writer.fail(writer.open_entry(name), reason.strip(), may_retry=retry)
        )

    def release(self, query: Query | str) -> None:
        """Give a query back, unanswered: the next one who asks gets it."""
        name = id_of(query)
        self._session.write(lambda writer: writer.release(writer.open_entry(name)))

    def observe(
        self, box: str | BlackBox, inputs: ArrayLike | pandas.DataFrame, outputs: Any = None
    ) -> int:
        """Add answers of one black box that were made elsewhere.

        Rows that together answer the whole chain at a point inside the bounds are trials, which
        cost nothing and count for no limit: the best of them can be the best point. Each row has
        a name, such as `12/1`, under which it can be corrected or retracted; see `answers`. Warns
        with a `warn` of rows outside the bounds, of copies and of contradictions.

        Args:
            box: The black box, or its name.
            inputs: One row per answer, one column per input number; for a single answer also just
                its numbers. Columns with names are found by name, see `answers`; a table with a
                name that is not known is refused. Numbers without names count in order, in a table
                with both the outputs last.
            outputs: One row per answer, one column per output. None if `inputs` has them.

        Returns:
            How many were added.
        """
        from grisaille.study.external_data import observed_rows

        known = self.box(box)
        x, y = observed_rows(self.problem, known, inputs, outputs)
        before = self.history
        for row, answer in zip(x, y, strict=True):
            check_range(known, row, answer, before)

        new, session = NewRows(self.problem, known, x, y), self._session
        for attempt in range(1, _ATTEMPTS + 1):
            position, earlier, free = session.look(lambda s: (s.position, s.rows(), s.free_rows()))
            new.assemble(position, earlier, free if session.makes_trials else None)
            last = attempt == _ATTEMPTS
            if session.write(partial(observe, new=new, at_all_costs=last)):
                break
        _warn(remarks_on_rows(self.problem, known, x, y, new.earlier))
        return len(x)


def _check_reason(who: str, reason: object) -> None:
    if not isinstance(reason, str) or not reason.strip():
        raise ModelError(f"{who}(reason={shortened(reason)}): say in words what happened")


def _warn(remarks: Iterable[str]) -> None:
    """Warn of what looks like a mistake, where the user called the study."""
    for remark in remarks:
        warn(remark)
