"""`Study`: the loop that can be interrupted, resumed and shared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from grisaille.checks import check_flag
from grisaille.interrupts import Uninterrupted
from grisaille.language.problem import Problem
from grisaille.records import Trial
from grisaille.strategies.causal.mcbo import MCBO
from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.strategy import Strategy
from grisaille.study.answered_study import AnsweredStudy
from grisaille.study.argument_checks import check_ask, check_study
from grisaille.study.budget import Limits
from grisaille.study.identity import labels_to_store, shown_to_store
from grisaille.study.log_access import MEMORY
from grisaille.study.query import Query
from grisaille.study.result import Result
from grisaille.study.session import Session
from grisaille.study.trials_and_queries import TrialEntry

if TYPE_CHECKING:
    import pandas

DEFAULT_STORAGE = "sqlite:///study.db"
"""Where a named study is stored by default."""


class Study(AnsweredStudy):
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
        from grisaille.study.run import run

        check_flag("", "dashboard", dashboard)
        if dashboard:
            from grisaille.pages.serving import show_running

            show_running(self)
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
