"""The durable loop: ask, tell, fail, observe, run, result."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from grisaille.checks import is_number, is_whole
from grisaille.errors import EvaluationError, ModelError
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.records import Failure, History, Suggestion, Trial
from grisaille.storage.log import Kind
from grisaille.strategies.causal.mcbo import MCBO
from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.strategy import Strategy
from grisaille.study.budget import Limits, spent
from grisaille.study.encoding import to_plain
from grisaille.study.result import Result, Status
from grisaille.study.session import MEMORY, Desk, Query
from grisaille.study.state import QueryState
from grisaille.study.threads import one_thread
from grisaille.study.transitions import Page, check_range

if TYPE_CHECKING:
    import pandas

DEFAULT_STORAGE = "sqlite:///study.db"
"""Where a named study lives unless it is told otherwise."""

# Trials that may break off one after the other, without a query, before asking is given up.
_MOST_BROKEN = 10

# How often to look whether somebody else's suggestion is ready, in seconds.
_POLL = 0.05


class Study:
    """An optimization that can be interrupted, resumed and shared.

    Everything that happens is recorded before it counts: a study that was killed goes on where it
    stopped, with the decisions it would have made.

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
        allow_changes: Go on with a stored study although the problem or the strategy has changed:
            answers are kept, trials are computed anew from them.
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
        _check_arguments(problem, name, storage, strategy, seed, evaluation, retries)
        self.problem = problem
        self.name = name or "study"
        self.storage = storage or (DEFAULT_STORAGE if name else MEMORY)
        self.strategy: Strategy = strategy or (MCBO() if problem.causal else Optimistic())
        self.strategy.check(problem)
        self.desk = Desk(problem, self.strategy, self.name, self.storage, int(retries))
        try:
            self.desk.settle(seed, evaluation, allow_changes)
        except BaseException:
            self.desk.close()
            raise

    @property
    def seed(self) -> int:
        """What makes the study repeatable."""
        return int(self.desk.ledger().settings["seed"])

    @property
    def evaluation(self) -> Literal["separate", "chained"]:
        """Whether black boxes may be evaluated apart from the chain."""
        return self.desk.standing().situation.evaluation

    @property
    def history(self) -> History:
        """Every complete trial, loose answer and failure recorded so far."""
        return self.desk.ledger().history()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Where black boxes gave no answer, and why."""
        return self.history.failures

    @property
    def pending(self) -> list[Query]:
        """The queries that were handed out and have no answer yet."""
        return [self.desk.query(q) for q in self.desk.ledger().asked()]

    @property
    def cost(self) -> float:
        """What all evaluations so far have cost, failed ones included."""
        return spent(self.desk.ledger())

    def ask(
        self, n: int = 1, *, trials: int | None = None, lease: float | None = None
    ) -> list[Query]:
        """Take the next evaluations to make; nobody else will get them.

        Evaluations that trials under way still need come first. When there are none, a new trial is
        suggested as if those under way had come out as predicted, so a batch is spread out.

        Args:
            n: How many.
            trials: How many trials the study is to have in all, if that is known: the last ones
                then go to points believed to be best. By default what the command line stored.
            lease: Seconds after which they may be given to somebody else; None for never.

        Returns:
            The queries: fewer than n, or none, if the trials are used up, if what is under way
            must be answered first, or if the problem is proved to be infeasible.
        """
        if not is_whole(n) or n < 1:
            raise ModelError(f"ask({n!r}): how many is a whole number of at least 1")
        if trials is not None and not (is_whole(trials) and trials >= 1):
            raise ModelError(f"ask(trials={trials!r}): a whole number of at least 1, or None")
        if lease is not None and not (is_number(lease) and 0 < lease < np.inf):
            raise ModelError(f"ask(lease={lease!r}): pass seconds above 0, or None")
        limits = Limits(trials or self.desk.ledger().settings.get("trials"))
        found: list[Query] = []
        try:
            while len(found) < n and (query := self._next(limits, lease)) is not None:
                found.append(query)
        except BaseException:
            for query in found:  # nobody has seen them
                self.release(query)
            raise
        return found

    def _next(self, limits: Limits, lease: float | None) -> Query | None:
        """One query, of a new trial if there is no other; None if there will be none."""
        broken = 0
        while (query := self.desk.take(lease=lease, by_worker=False)) is None:
            if broken == _MOST_BROKEN:
                reason = list(self.desk.ledger().trials.values())[-1].reason
                raise EvaluationError(
                    f"{broken} trials in a row broke off before any black box was asked: {reason}"
                )
            decision = self.desk.decide(limits)
            if decision.waited:
                time.sleep(_POLL)
            elif decision.suggestion is None or decision.status is not None:
                return None
            else:
                broken += self.desk.start(decision.suggestion)
        return query

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
        if seconds is not None and not (is_number(seconds) and 0 <= seconds < np.inf):
            raise ModelError(f"tell(seconds={seconds!r}): pass a number of at least 0, or None")
        name = _id_of(query)

        def record(page: Page) -> Trial | None:
            entry = page.open_entry(name)
            box = self.desk.boxes[entry.box]
            where = f"query {name}: black box {box.name!r} at {box.describe(entry.inputs)}"
            outputs = box.check(value, where)
            check_range(box, entry.inputs, outputs)
            took = seconds
            if took is None:  # the time since it was asked, if it was
                took = page.turn.now() - entry.asked if entry.asked else 0.0
            return page.tell(entry, outputs, max(float(took), 0.0))

        return self.desk.write(record)

    def fail(self, query: Query | str, reason: str) -> bool:
        """Record that an evaluation gave no answer.

        Returns:
            Whether it will be asked for again: it is, as often as `retries` says.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise ModelError(f"fail(reason={reason!r}): say in words what happened")
        name = _id_of(query)

        def record(page: Page) -> bool:
            return page.fail(page.open_entry(name), reason.strip())

        return self.desk.write(record)

    def release(self, query: Query | str) -> None:
        """Give a query back, unanswered: the next one who asks gets it."""
        name = _id_of(query)

        def record(page: Page) -> None:
            if page.open_entry(name).state is QueryState.ASKED:
                page.append(Kind.RELEASED, {"query": name})

        self.desk.write(record)

    def observe(
        self, box: str | BlackBox, inputs: ArrayLike | pandas.DataFrame, outputs: Any = None
    ) -> int:
        """Add answers of one black box that were made elsewhere.

        Args:
            box: The black box, or its name.
            inputs: One row per answer, one column per input number; for a single answer also just
                its numbers. With a DataFrame the columns may carry the names of the inputs and
                outputs, and `outputs` be left out: the last columns are the outputs then.
            outputs: One row per answer, one column per output.

        Returns:
            How many were added.
        """
        from grisaille.study.external_data import observed_rows

        known = self._box(box)
        x, y = observed_rows(known, inputs, outputs)
        data = {
            "box": known.name,
            "inputs": [to_plain(row) for row in x],
            "outputs": [to_plain(row) for row in y],
        }
        for row, answer in zip(x, y, strict=True):
            check_range(known, row, answer)
        self.desk.write(lambda page: page.append(Kind.OBSERVED, data))
        return len(x)

    def run(
        self,
        trials: int | None = None,
        *,
        executor: Any = None,
        workers: int | None = None,
        timeout: float | None = None,
        gap_tol: float | None = None,
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
            gap_tol: Stop when best value and bound are this close, in the objective's units.
            max_cost: What all evaluations of the study may cost together.
            callback: Called with each `Trial`; a true return value stops the run.
            progress: True for a live table, False for silence, None for a live table in a
                terminal and plain lines elsewhere.

        Returns:
            The result. Ctrl-C ends the run with the result so far; running again resumes.

        Raises:
            EvaluationError: No trial succeeds; what happened is in the error's `result`.
        """
        from grisaille.study.runner import run

        return run(
            self,
            trials=trials,
            executor=executor,
            workers=workers,
            timeout=timeout,
            gap_tol=gap_tol,
            max_cost=max_cost,
            callback=callback,
            progress=progress,
        )

    def result(self) -> Result:
        """What has been found so far."""
        standing = self.desk.standing(Limits(self._planned()))
        with one_thread():
            bound = self.strategy.bound(standing.situation)
        done, under_way = len(standing.situation.history), len(standing.situation.pending)
        message = f"as recorded: {done} trials complete, {under_way} under way"
        return standing.result(Status.RUNNING, bound, message)

    def replay(self, trial: int) -> Suggestion:
        """Derive the decision for a trial again, from what was known when it was made."""
        trials = len(self.desk.ledger().trials)
        if not is_whole(trial) or not 1 <= trial <= trials:
            raise ModelError(f"replay({trial!r}): the study has trials 1 to {trials}")
        with one_thread():
            return self.strategy.suggest(self.desk.past(trial))

    def close(self) -> None:
        """Give back what this process holds, and let go of the storage."""
        self.desk.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {len(self.desk.ledger().trials)} trials, in {self.storage})"

    def _planned(self) -> int | None:
        """How many trials the latest decision counted on, if it did."""
        entries = list(self.desk.ledger().trials.values())
        if not entries or entries[-1].remaining is None:
            return None
        return entries[-1].number - 1 + entries[-1].remaining

    def _box(self, box: str | BlackBox) -> BlackBox:
        name = box.name if isinstance(box, BlackBox) else box
        if not isinstance(name, str) or name not in self.desk.boxes:
            known = ", ".join(map(repr, self.desk.boxes))
            raise ModelError(f"the problem has no black box {name!r}: it has {known}")
        return self.desk.boxes[name]


def _id_of(query: Query | str) -> str:
    if isinstance(query, Query):
        return query.id
    if isinstance(query, str):
        return query
    raise ModelError(f"{query!r} is no query: pass what ask() gave, or its id")


def _check_arguments(
    problem: object,
    name: object,
    storage: object,
    strategy: object,
    seed: object,
    evaluation: object,
    retries: object,
) -> None:
    if not isinstance(problem, Problem):
        raise ModelError(f"Study({problem!r}): pass a gs.Problem")
    if not problem.boxes:
        raise ModelError(
            "the problem has no black box, so there is nothing to ask: use problem.solve()"
        )
    if not problem.variables:
        raise ModelError(
            "the problem has no variable, so there is nothing to choose: build it from a "
            "gs.Variable, or intervene in it with gs.causal_problem(...)"
        )
    for what, value in (("name", name), ("storage", storage)):
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise ModelError(f"Study({what}={value!r}): pass a text, or leave it out")
    if isinstance(name, str) and len(name) > 255:
        raise ModelError(f"Study(name={name[:20]!r}...): a name has at most 255 characters")
    check_settings(strategy, seed, evaluation)
    if not is_whole(retries) or retries < 0:  # type: ignore[operator]
        raise ModelError(f"Study(retries={retries!r}): a whole number of at least 0")


def check_settings(strategy: object, seed: object, evaluation: object) -> None:
    """Refuse a strategy, a seed or a way of evaluation that is none."""
    if strategy is not None and (isinstance(strategy, type) or not hasattr(strategy, "suggest")):
        raise ModelError(f"strategy={strategy!r}: pass a strategy object such as gs.Optimistic()")
    if seed is not None and not (is_whole(seed) and seed >= 0):  # type: ignore[operator]
        raise ModelError(f"seed={seed!r}: a seed is a whole number of at least 0")
    if evaluation not in (None, "separate", "chained"):
        raise ModelError(f"evaluation={evaluation!r}: use 'separate' or 'chained'")
