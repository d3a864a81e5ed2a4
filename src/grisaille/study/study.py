"""`Study`: the loop that can be interrupted, resumed and shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from grisaille.checks import is_count, tuple_of
from grisaille.errors import ModelError, shortened
from grisaille.interrupts import Uninterrupted
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.records import Trial
from grisaille.storage.event_log import Kind
from grisaille.strategies.causal.mcbo import MCBO
from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.strategy import Strategy
from grisaille.study.argument_checks import check_ask, check_seconds, check_study, id_of
from grisaille.study.budget import Limits
from grisaille.study.declared_ranges import check_range
from grisaille.study.event_writer import ChainAnswers, Writer
from grisaille.study.identity import labels_to_store
from grisaille.study.log_access import MEMORY
from grisaille.study.query import Query
from grisaille.study.readable_study import ReadableStudy
from grisaille.study.result import Result
from grisaille.study.session import Session
from grisaille.study.trials_and_queries import TrialEntry

if TYPE_CHECKING:
    import pandas

DEFAULT_STORAGE = "sqlite:///study.db"
"""Where a named study is stored by default."""


class Study(ReadableStudy):
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
            "chained" observes only the real chain. By default as stored, else "separate".
        retries: How often a failed evaluation is tried again.
        allow_changes: Continue a stored study although the problem or the strategy has changed:
            answers are kept, and trials are computed again from them.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        name: str | None = None,
        storage: str | None = None,
        strategy: Strategy | None = None,
        seed: int | None = None,
        evaluation: Literal["separate", "chained"] | None = None,
        retries: int = 1,
        allow_changes: bool = False,
    ) -> None:
        check_study(problem, name, storage, strategy, seed, evaluation, retries, allow_changes)
        self.problem = problem
        self.name = name or "study"
        self.storage = storage or (DEFAULT_STORAGE if name else MEMORY)
        self.strategy: Strategy = strategy or (MCBO() if problem.causal else Optimistic())
        self.strategy.check(problem)
        self._session = Session(problem, self.strategy, self.name, self.storage, int(retries))
        try:
            self._session.create_or_resume(seed, evaluation, allow_changes)
            # The newest names count; where they are the stored ones, nothing is written.
            self.record_settings(
                constraints=problem.constraint_names, labels=labels_to_store(problem)
            )
        except BaseException:
            self._session.close()
            raise

    def record_settings(self, **settings: Any) -> None:
        """Store settings with the study, such as how many trials it is to have.

        They appear in `state.settings`; nothing is written if they are there already.
        """
        known = self.state.settings
        news = {name: value for name, value in settings.items() if known.get(name) != value}
        if news:
            self._session.write(lambda writer: writer.append(Kind.CHANGED, news))

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
        take = partial(self._session.take, lease=lease, by_worker=False)
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

    def tell(self, query: Query | str, value: Any, *, seconds: float | None = None) -> Trial | None:
        """Record the answer to a query.

        Args:
            query: What `ask` gave, or its id.
            value: What the black box returned: a number, or one per output, by name or in order.
            seconds: How long it took; by default the time since it was asked.

        Returns:
            The trial that this answer completes, if it does.

        Raises:
            EvaluationError: The value is not what the black box was declared to return; nothing is
                recorded.
            AssumptionError: It lies outside the declared range; nothing is recorded.
            ProtocolError: There is no such query, or it has an answer already.
        """
        check_seconds(seconds)
        name = id_of(query)

        def record(writer: Writer) -> Trial | None:
            entry = writer.open_entry(name)
            box = self.box(entry.box)
            where = f"query {name}: black box {box.name!r} at {box.describe(entry.inputs)}"
            outputs = box.check(value, where)
            check_range(box, entry.inputs, outputs, writer.state.history())
            took = seconds
            if took is None:  # the time since it was asked, if it was
                took = writer.turn.now() - entry.asked if entry.asked else 0.0
            return writer.tell(entry, outputs, max(float(took), 0.0))

        return self._session.write(record)

    def fail(self, query: Query | str, reason: str) -> bool:
        """Record that an evaluation gave no answer.

        Returns:
            Whether the query will be asked again: it is, up to `retries` times.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise ModelError(f"fail(reason={shortened(reason)}): say in words what happened")
        name = id_of(query)
        return self._session.write(
            lambda writer: writer.fail(writer.open_entry(name), reason.strip())
        )

    def release(self, query: Query | str) -> None:
        """Give a query back, unanswered: the next one who asks gets it."""
        name = id_of(query)
        self._session.write(lambda writer: writer.release(writer.open_entry(name)))

    def observe(
        self, box: str | BlackBox, inputs: ArrayLike | pandas.DataFrame, outputs: Any = None
    ) -> int:
        """Add answers of one black box that were made elsewhere.

        Args:
            box: The black box, or its name.
            inputs: One row per answer, one column per input number; for a single answer also just
                its numbers. Columns that carry the names of inputs or outputs are found by name.
                Others count in order, in a DataFrame with both the outputs last.
            outputs: One row per answer, one column per output. None if `inputs` has them.

        Returns:
            How many were added.
        """
        from grisaille.study.external_data import observed_rows

        known = self.box(box)
        x, y = observed_rows(self.problem, known, inputs, outputs)
        for row, answer in zip(x, y, strict=True):
            check_range(known, row, answer, self.history)
        self._session.write(lambda writer: writer.observe(known.name, x, y))
        return len(x)

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

        Returns:
            The result. Ctrl-C ends the run with the result so far; running again resumes.

        Raises:
            EvaluationError: No trial succeeds. Any exception has a `result` so far.
        """
        from grisaille.study.run import run

        return run(
            self._session,
            trials=trials,
            executor=executor,
            workers=workers,
            timeout=timeout,
            gap_tol=gap_tol,
            stop_if_infeasible=stop_if_infeasible,
            max_cost=max_cost,
            callback=callback,
            progress=progress,
        )

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
