"""`Study`: the loop that can be interrupted, resumed and shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from grisaille.array_types import Array
from grisaille.belief.incumbent import Incumbent, find_incumbent
from grisaille.checks import check_flag, is_count, is_one_of, tuple_of
from grisaille.errors import ModelError, shortened, warn
from grisaille.interrupts import Uninterrupted
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem
from grisaille.markup import labelled
from grisaille.records import Failure, History, Observation, Situation, Suggestion, Trial, TrialKind
from grisaille.reductions.linear_equalities import points_to_try
from grisaille.strategies.causal.mcbo import MCBO
from grisaille.strategies.initial_design import with_likely_unknowns
from grisaille.strategies.optimistic import Optimistic, with_confidence
from grisaille.strategies.strategy import Strategy
from grisaille.study.answers import NewRows, remarks_on_answer, remarks_on_rows
from grisaille.study.argument_checks import (
    check_ask,
    check_range,
    check_seconds,
    check_study,
    id_of,
)
from grisaille.study.border import suggestion_of
from grisaille.study.events import Changed
from grisaille.study.identity import labels_to_store, replay_remark, shown_to_store
from grisaille.study.log.address import masked
from grisaille.study.log.event_log import Event
from grisaille.study.one_thread import one_thread
from grisaille.study.result import Result, Status
from grisaille.study.session import MEMORY, Session
from grisaille.study.state import Limits, Query, QueryEntry, StudyState, TrialEntry, spent
from grisaille.study.trial_tables import outcome_text
from grisaille.study.writer import (
    ChainAnswers,
    Decision,
    Writer,
    correct,
    no_answer,
    observe,
    retract,
)

if TYPE_CHECKING:
    import pandas

    from grisaille.views.inspection.learned_model import LearnedModel


# How often the trials that observed rows make are worked out outside of any turn, while others
# record rows, too; the last time is in the turn.
_ATTEMPTS = 4


def _check_reason(who: str, reason: object) -> None:
    if not isinstance(reason, str) or not reason.strip():
        raise ModelError(f"{who}(reason={shortened(reason)}): say in words what happened")


def _warn(remarks: Iterable[str]) -> None:
    """Warn of what looks like a mistake, where the user called the study."""
    for remark in remarks:
        warn(remark)


DEFAULT_STORAGE = "sqlite:///study.db"
"""Where a named study is stored by default."""


class Study:
    """An optimization that can be interrupted, resumed and shared.

    Everything is recorded before it counts: a study that was killed goes on where it stopped, with
    the decisions it would have made.

    Args:
        problem: The problem.
        name: What it is called in its storage; without a name (and storage) it lives in memory.
        storage: `sqlite:///study.db`, a file, the default for a named study;
            `postgresql+psycopg://user@host/database` for many machines; or `memory`.
        strategy: How to choose; `Optimistic()` by default, and `MCBO()` for a problem over
            interventions.
        seed: Makes the study repeatable; that of the stored study by default, else 0.
        evaluation: "separate" evaluates each black box also at its optimistic state (the paper);
            "chained" observes only the real chain. By default as stored, else "separate". Black
            boxes without a function follow the chain anyway, unless declared separable=True.
        confidence: The chance that a shown bound is right; by default that of the strategy, which
            is 0.95.
        retries: How often a failed evaluation is tried again.
        allow_changes: Continue a stored study although the problem or the strategy has changed:
            answers are kept, and trials are computed again from them.
    """

    problem: Problem
    name: str
    storage: str
    strategy: Strategy
    _session: Session

    def __init__(
        self,
        problem: Problem,
        *,
        name: str | None = None,
        storage: str | None = None,
        strategy: Strategy | None = None,
        seed: int | None = None,
        evaluation: Literal["separate", "chained"] | None = None,
        confidence: float | None = None,
        retries: int = 1,
        allow_changes: bool = False,
    ) -> None:
        check_study(
            problem, name, storage, strategy, seed, evaluation, confidence, retries, allow_changes
        )
        self.problem = problem
        self.name = name or "study"
        self.storage = storage or (DEFAULT_STORAGE if name else MEMORY)
        default = MCBO() if problem.causal else Optimistic()
        self.strategy: Strategy = with_confidence(strategy or default, confidence)
        self.strategy.check(problem.searched)
        self._session = Session(problem, self.strategy, self.name, self.storage, int(retries))
        try:
            self._session.create_or_resume(seed, evaluation, allow_changes)
            # The newest names count; where they are the stored ones, nothing is written.
            self.record_settings(
                constraints=problem.constraint_names,
                labels=labels_to_store(problem),
                **shown_to_store(problem),
            )
        except BaseException:
            self._session.close()
            raise

    def ask(
        self, n: int = 1, *, trials: int | None = None, lease: float | None = None
    ) -> list[Query]:
        """Take the next evaluations to make; nobody else will get them.

        Evaluations that pending trials still need come first. When there are none, a new trial is
        suggested as if the pending ones had come out as predicted, so a batch is spread out.

        Args:
            n: How many.
            trials: How many trials the study is to have in all, if that is known: the last ones
                then go to points believed to be best. By default what the command line stored.
            lease: Seconds after which they may be given to somebody else; None for never.

        Returns:
            The queries: fewer than n, or none, if the trials are used up, if what is pending
            must be answered first, or if the problem is proved to be infeasible.
        """
        check_ask(n, trials, lease)
        limits = Limits(trials or self.state.settings.get("trials"))
        complaint = "{broken} trials in a row broke off before any black box was asked: {reason}"
        take = partial(self._session.take, limits.trials, lease=lease, by_worker=False)
        found: list[Query] = []
        try:
            with Uninterrupted():
                while len(found) < n:
                    query = self._session.take_or_suggest(take, limits, complaint)
                    if query is None:
                        break
                    found.append(query)
        except BaseException:
            with self._session.cleaning_up():
                for query in found:  # nobody has seen them
                    self.release(query)
            raise
        return found

    def ask_sheet(
        self,
        n: int = 1,
        *,
        trials: int | None = None,
        lease: float | None = None,
        pending: bool = False,
    ) -> pandas.DataFrame:
        """Take the next evaluations to make, as a table to print and to fill in.

        One row per query: its id, trial and box, a column per input, an empty one per output, and
        an empty column `failed` to say why there is no answer. Inputs are rounded to what people
        can set. Cells that do not belong to the black box of a row hold `-`.

        Args:
            n: How many.
            trials: How many trials the study is to have in all, as in `ask`.
            lease: Seconds after which they may be given to somebody else; None for never.
            pending: Whether queries that people were asked before and have not answered stand on
                the sheet, too, before the n new ones.
        """
        from grisaille.study.sheets import sheet_of

        check_flag("ask_sheet", "pending", pending)
        asked = self.state.asked() if pending else []
        by_people = {entry.id for entry in asked if entry.holder is None}
        before = [query for query in self.pending if query.id in by_people]
        return sheet_of(self.problem, [*before, *self.ask(n, trials=trials, lease=lease)])

    def tell_sheet(self, sheet: pandas.DataFrame) -> pandas.DataFrame:
        """Record what people wrote on a sheet of `ask_sheet`.

        Each row counts on its own: what does not fit is refused, and the rest is recorded. Inputs
        on the sheet are what was really done, so write over those that were not set as asked. Rows
        without an answer stay open, and rows that are recorded already change nothing.

        Args:
            sheet: The table, its rows and columns in any order. Columns besides are left alone.

        Returns:
            One row per row of the sheet: `id`, `outcome` ("recorded", "failed", "open", "known" or
            "refused") and `message`, which says what to do if it was refused.
        """
        from grisaille.study.sheets import tell_sheet

        return tell_sheet(self, sheet)

    def ask_trial(self) -> TrialEntry | None:
        """Take all queries of one trial, to evaluate its chain as a whole.

        Pending trials that nobody evaluates come first. When there are none, a new one is suggested
        as in `ask`.

        Returns:
            The trial; None if the problem is proved to be infeasible.

        Raises:
            EvaluationError: A known part has no value wherever a point is suggested.
        """
        complaint = (
            "{broken} suggestions in a row broke off before their first black box, because a known "
            "part has no value there: change the bounds of the variables"
        )
        return self._session.take_or_suggest(self._session.take_trial, Limits(), complaint)

    def run(
        self,
        trials: int | None = None,
        *,
        executor: Any = None,
        workers: int | None = None,
        timeout: float | None = None,
        gap_tol: float | None = None,
        stop_if_infeasible: bool = False,
        max_cost: float | None = None,
        callback: Callable[[Trial], object] | None = None,
        progress: bool | None = None,
        dashboard: bool = False,
    ) -> Result:
        """Ask, evaluate and tell until there is a reason to stop.

        Args:
            trials: How many trials the study is to hold in all, those already recorded included.
                By default 50, or as many as `max_cost` pays for.
            executor: Who evaluates: anything with `submit`, such as a process pool of
                `concurrent.futures` or a Dask client. None for this process, one at a time.
            workers: How many evaluations at once; without an executor, child processes make them.
            timeout: Seconds after which no new trial starts.
            gap_tol: Stop when best value and bound are this close. Bands that are a guess are
                doubted first, and so is noise that was left out: see `Problem.solve`.
            stop_if_infeasible: Stop when the bands, twice as wide as the answers so far ask for,
                leave no feasible point. Without it the trials go on, and the result says so. A
                proof that rests on declared constants stops in any case.
            max_cost: What all evaluations of the study may cost together.
            callback: Called with each `Trial`; a true return value stops the run.
            progress: True for a live table, False for silence, None for what the output can show.
            dashboard: Whether to serve a live page of the study to browsers of this machine. Its
                address is printed. It is there as long as this process lives.

        Returns:
            The result. Ctrl-C ends the run with the result so far; running again resumes.

        Raises:
            EvaluationError: No trial succeeds. Any exception has a `result` so far.
        """
        from grisaille.study.run import RunOptions, run

        options = RunOptions(
            trials=trials,
            executor=executor,
            workers=workers,
            timeout=timeout,
            gap_tol=gap_tol,
            stop_if_infeasible=stop_if_infeasible,
            max_cost=max_cost,
            callback=callback,
            progress=progress,
            dashboard=dashboard,
        )
        if dashboard:
            from grisaille.views.page.serving import show_running

            show_running(self)
        return run(self._session, options)

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        from grisaille.study.answers import answers_table

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
        if not is_one_of(name, self._session.boxes):
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
        from grisaille.views.inspection.predictions import (
            expression_table,
            predictor_for,
            problem_table,
        )

        with one_thread():
            predictor = predictor_for(self.problem, self.history, self.strategy)
            if expression is None:
                return problem_table(predictor, x)
            return expression_table(predictor, expression, x)

    def model(self, box: str | BlackBox) -> LearnedModel:
        """What was learned of a black box: its predictions, length-scales, noise and data."""
        from grisaille.views.inspection.learned_model import learned_model

        return learned_model(self.problem, self.history, self.strategy, box)

    def result(self) -> Result:
        """Return what has been found so far.

        It is recorded, so that other views show the same.
        """
        found = self._found_so_far()
        self._session.conclude(found)
        return found

    def _found_so_far(self) -> Result:
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

    def record_settings(self, **settings: Any) -> None:
        """Store settings with the study, such as how many trials it is to have.

        They appear in `state.settings`; nothing is written if they are there already.
        """
        known = self.state.settings
        news = {name: value for name, value in settings.items() if known.get(name) != value}
        if news:
            self._session.write(lambda writer: writer.append(Changed(news)))

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
        from grisaille.study.answers import inputs_done

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
        from grisaille.views.inspection.predictions import predictor_for

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
        from grisaille.study.answers import observed_rows

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
