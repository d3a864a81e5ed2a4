"""Running a study: suggest, evaluate and record until there is a reason to stop."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from grisaille.array_types import Array
from grisaille.belief.audit import DOUBT
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.checks import (
    check_amount,
    check_confidence,
    check_count,
    check_flag,
    check_function,
)
from grisaille.errors import AssumptionError, EvaluationError, raised, text_of
from grisaille.interrupts import Uninterrupted, interruptible
from grisaille.language.black_box import WrongFormError
from grisaille.language.problem import Problem, derived
from grisaille.language.program import Program
from grisaille.language.variable import Choice
from grisaille.metrics import violations
from grisaille.proof.relaxation import relaxed
from grisaille.records import (
    NO_BOUND,
    Bound,
    Evaluation,
    History,
    Refutation,
    Situation,
    Suggestion,
    Trial,
    TrialKind,
)
from grisaille.reductions.linear_equalities import points_to_try
from grisaille.reductions.reduction import border
from grisaille.search.certified import Certified
from grisaille.search.multistart import MultiStart
from grisaille.search.search_problem import ProofStatus
from grisaille.strategies.acquisition import settled
from grisaille.strategies.initial_design import with_likely_unknowns
from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.strategy import Strategy
from grisaille.study.argument_checks import check_functions, check_range, check_settings
from grisaille.study.evaluation.evaluators import (
    Evaluators,
    NotEvaluatedError,
    check_executor,
    evaluators_for,
)
from grisaille.study.one_thread import one_thread
from grisaille.study.progress_summary import ProgressSummary
from grisaille.study.result import Result, Status
from grisaille.study.session import Session
from grisaille.study.state import (
    DEFAULT_TRIALS,
    Limits,
    Query,
    QueryEntry,
    StudyState,
    TrialState,
    left,
)
from grisaille.study.study import Study
from grisaille.study.writer import Chain, Writer
from grisaille.views.progress import Progress, show_progress

# --- options --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of `Study.run` and of `Problem.solve`, checked."""

    trials: int | None = None
    executor: Any = None
    workers: int | None = None
    timeout: float | None = None
    gap_tol: float | None = None
    stop_if_infeasible: bool = False
    max_cost: float | None = None
    callback: Callable[[Trial], object] | None = None
    progress: bool | None = None
    dashboard: bool = False

    def __post_init__(self) -> None:
        for name in ("trials", "workers"):
            check_count("", name, getattr(self, name), optional=True)
        for name in ("timeout", "gap_tol", "max_cost"):
            check_amount("", name, getattr(self, name), optional=True)
        check_flag("", "stop_if_infeasible", self.stop_if_infeasible)
        check_flag("", "progress", self.progress, optional=True)
        check_flag("", "dashboard", self.dashboard)
        check_function("", "callback", self.callback, "a function of one trial")
        check_executor(self.executor)

    @property
    def limits(self) -> Limits:
        """How long the study may go on."""
        unlimited = self.trials is None and self.max_cost is None
        return Limits(DEFAULT_TRIALS if unlimited else self.trials, self.max_cost, self.gap_tol)


# --- runner ---------------------------------------------------------------------------------------

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class RunConstants:
    """The constants of runs.

    Attributes:
        first_broken: First trials that all break off before a study stops. A choice of patience.
        broken_in_a_row: Later trials in a row that break off before it stops. A choice of patience.
        ahead: A suggestion is made ahead if it takes more than this part of an evaluation. A
            choice.
        away_evaluations: Evaluations without news of a process that needs no queries. A choice of
            patience.
        away_seconds: Seconds without news of a process that needs no queries. A choice of patience.
        poll: Seconds between looks for work that others left. A choice of patience.
        long: Seconds without an answer before something may be wrong. A choice of patience.
        regions: Regions of the proof before any trial. A choice.
        absolute_gap: Gap of a proof without black boxes. A choice.
        relative_gap: The same, in parts of the objective. A choice.
        same_gap: Gaps that differ by at most this part look the same to a reader. A choice of
            layout.
    """

    first_broken: int = 5
    broken_in_a_row: int = 10
    ahead: float = 0.05
    away_evaluations: float = 3.0
    away_seconds: float = 2.0
    poll: float = 0.05
    long: float = 10.0
    regions: int = 1000
    absolute_gap: float = 1e-9
    relative_gap: float = 1e-4
    same_gap: float = 0.05


RUN = RunConstants()


# What a result says when somebody pressed Stop. Evaluations under way were finished first.
_STOPPED = "stopped with the button; everything evaluated is in the result"


@dataclass(slots=True)
class _Evaluation:
    """A pending evaluation."""

    query: Query
    future: Future[Any]
    started: float


@dataclass(slots=True)
class Runner:
    """Keeps evaluators busy until there is a reason to stop."""

    session: Session
    options: RunOptions
    limits: Limits
    evaluators: Evaluators
    table: Progress
    refutation: Refutation | None = None
    bound: Bound | None = None
    _started: float = field(default_factory=time.perf_counter)
    _pending: dict[str, _Evaluation] = field(default_factory=dict)
    _held: set[str] = field(default_factory=set)
    _finished: queue.SimpleQueue[tuple[str, float]] = field(default_factory=queue.SimpleQueue)
    _status: Status | None = None
    _broken: list[str] = field(default_factory=list)
    _cause: BaseException | None = None
    _suggesting: float = 0.0
    _unbounded: int = 0
    _evaluating: list[float] = field(default_factory=list)

    def result(self) -> Result:
        """Run until there is a reason to stop; returns what was found, with a bound."""
        status = self.until_stopped()
        summary = self.session.summary(self.limits)
        if status is Status.INFEASIBLE:
            return summary.result(status, NO_BOUND, refutation=self.refutation)
        bound = self.bound  # a status that rests on a bound is shown with it
        if bound is None:
            self.table.doing("computing the final bound")
            bound = self.session.bound(summary.situation)
        message = _STOPPED if status is Status.INTERRUPTED else None
        return interruptible(lambda: summary.result(status, bound, message))

    def until_stopped(self) -> Status:
        """Suggest, evaluate and record until there is a reason to stop; then finish the rest."""
        while True:
            while len(self._pending) < self.evaluators.slots and self._submit_one():
                pass
            if self._pending:
                if 1 < self.evaluators.slots <= len(self._pending):
                    self._suggest_ahead()
                self._receive_one()
            elif self._status is not None and not self._others_may_need_help():
                return self._status
            else:
                # Other processes decide, or evaluate what is needed here.
                interruptible(partial(time.sleep, RUN.poll))

    def give_up(self) -> None:
        """Keep finished answers, cancel pending evaluations where possible, give queries back."""
        ended: dict[str, float] = {}
        while not self._finished.empty():
            ended.update([self._finished.get()])
        for name, evaluation in list(self._pending.items()):
            with self.session.cleaning_up():
                # An interrupt may have come after its name was taken from the queue.
                if evaluation.future.done() and evaluation.future.exception() is None:
                    self._keep(name, ended.get(name, time.perf_counter()))
        with suppress(Exception):  # an executor may be away
            self.evaluators.cancel()
        for evaluation in self._pending.values():
            with suppress(Exception):  # the jobs of some executors cannot be cancelled
                evaluation.future.cancel()
        with self.session.cleaning_up():
            self.session.drop_decision()
        with self.session.cleaning_up():
            self.session.give_back(self._held)

    def _others_may_need_help(self) -> bool:
        """Whether other processes are at work: if they are lost, their queries are done here."""
        used_up = self._status in (Status.MAX_TRIALS, Status.MAX_COST)
        return used_up and not self._is_late() and self.session.others_at_work()

    def _submit_one(self) -> bool:
        """Submit one query; False if there is none now."""
        self._check_end()
        query = self.session.take(self.limits.trials)
        while query is None:
            if self._status is not None or not self._suggest():
                return False
            self._suggest_ahead()
            query = self.session.take(self.limits.trials)
        self._held.add(query.id)
        self.table.doing(f"trial {query.trial}: evaluating {query.box}")
        name, started = query.id, time.perf_counter()
        future = self.evaluators.submit(self.session.boxes[query.box], query.arguments)
        self._pending[name] = _Evaluation(query, future, started)
        future.add_done_callback(lambda _: self._finished.put((name, time.perf_counter())))
        return True

    def _suggest(self) -> bool:
        """Start one more trial; False if there will be none, or none yet."""
        number = len(self.session.state().trials) + 1
        self.table.doing(f"trial {number}: choosing what to try")
        before = time.perf_counter()
        decision = self.session.decide(self.limits)
        self._suggesting = time.perf_counter() - before
        if decision is None:
            return False
        if isinstance(decision, Status):
            self._status = decision
            return False
        self.refutation = decision.suggestion.refutation
        if self.refutation is not None:
            self._status = Status.INFEASIBLE
            return False
        if self.options.stop_if_infeasible and self._seems_infeasible(decision.suggestion):
            self._status = Status.LIKELY_INFEASIBLE
            self.session.drop_decision()
            return False
        self._status = self._reached(decision.suggestion)
        if self._status is not None:
            self.session.drop_decision()
            return False
        started = self.session.start(decision)
        self._count_if_broken(number)
        return started

    def _count_if_broken(self, number: int) -> None:
        """Count a trial that broke off because a known part failed, not a black box."""
        trial = self.session.state().trials.get(number)
        if trial is not None and trial.state is TrialState.BROKEN:
            self._broke_off(number, trial.reason)

    def _broke_off(self, number: int, reason: str) -> None:
        self.table.note(f"trial {number} broke off: {reason}")
        self._broken.append(reason)
        self._stop_if_nothing_works()

    def _seems_infeasible(self, suggestion: Suggestion) -> bool:
        """Whether the bands, also when they are doubted, leave no feasible point."""
        if suggestion.kind is TrialKind.INITIAL or suggestion.bound.estimated is not None:
            return False
        summary = self.session.summary(self.limits)
        if np.isfinite(interruptible(lambda: summary.best)):
            return False
        bound = self.session.bound(summary.situation)
        self.bound = bound if bound.refutation is not None else None
        return self.bound is not None

    def _reached(self, suggestion: Suggestion) -> Status | None:
        """The status to stop with if the gap is closed."""
        gap_tol = self.limits.gap_tol
        if gap_tol is None:
            return None
        summary = self.session.summary(self.limits)
        bound = suggestion.bound
        if not suggestion.has_bound:
            # Decided while others are pending, or with narrower bands: compute a bound sometimes.
            self._unbounded += 1
            if self._unbounded % self.evaluators.slots:
                return None
            bound = self.session.bound(summary.situation)
        status = interruptible(partial(summary.reached, bound, gap_tol))
        if status is Status.GAP_TOL:
            # Bands that are a guess are doubted first: the gap must be closed for wider ones, too.
            doubting = replace(summary.situation, widening=DOUBT)
            status = summary.reached(self.session.bound(doubting), gap_tol)
        self.bound = None if status is None else bound
        return status

    def _suggest_ahead(self) -> None:
        """Choose trials before they are needed, if choosing takes a while.

        One is for this process. The others are for processes that share the study: only one of them
        decides at a time, and it has learned already what another one would have to learn first.
        """
        if not self._evaluating:
            return
        usual = float(np.median(self._evaluating))
        if self._suggesting <= RUN.ahead * usual:
            return
        away = max(RUN.away_seconds, RUN.away_evaluations * usual)

        def is_enough(state: StudyState) -> bool:
            others = state.others_at_work(self.session.worker.name, time.time() - away)
            return sum(1 for _ in state.waiting(self.limits.trials)) >= 1 + others

        self._check_end()
        while self._status is None and not self.session.look(is_enough) and self._suggest():
            self._check_end()

    def _check_end(self) -> None:
        """Notice that the time is up, or that somebody pressed Stop in the view."""
        if self._status is None and self._is_late():
            self._status = Status.TIMEOUT
        if self._status is None and self.table.stop_requested:
            self._status = Status.INTERRUPTED

    def _is_late(self) -> bool:
        timeout = self.options.timeout
        return timeout is not None and time.perf_counter() - self._started >= timeout

    def _receive_one(self) -> None:
        name, ended = self._next_finished()
        evaluation = self._pending.pop(name)
        query, seconds = evaluation.query, ended - evaluation.started
        self._evaluating.append(seconds)
        box = self.session.boxes[query.box]
        where = f"black box {box.name!r} at {box.describe(query.inputs)}"
        try:
            answer = evaluation.future.result()
            outputs = box.check(answer, where)
            check_range(box, query.inputs, outputs, self.session.look(StudyState.history))
        except AssumptionError as error:
            self._fail(query, text_of(error))
            raise
        except BrokenExecutor as error:
            self._lose(query, f"{where}: the process that evaluated it died ({text_of(error)})")
            raise EvaluationError(
                f"{where}: the executor broke, a worker process died: {text_of(error)}; pass "
                "workers= instead of executor= to have child processes that are replaced when they "
                "die"
            ) from error
        except NotEvaluatedError as error:
            logging.getLogger("grisaille").warning(
                "query %s: %s; it is evaluated again", query.id, text_of(error)
            )
            self._write(query, lambda writer, entry: writer.release(entry))
        except CancelledError:
            self._lose(query, f"{where}: the executor cancelled it")
        except EvaluationError as error:
            text = text_of(error)
            self._fail(query, text if text.startswith(where) else f"{where}: {text}", error)
            if isinstance(error, WrongFormError):
                self._stop_if_first_of(query.box, text)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() in a function ends the evaluation, not more
            self._fail(query, f"{where} raised {raised(error)}", error)
        else:
            self._tell(query, outputs, seconds)

    def _next_finished(self) -> tuple[str, float]:
        """Wait for an evaluation to end, and say what is wrong if that is known."""
        said = ""
        while True:
            with suppress(queue.Empty):
                return interruptible(partial(self._finished.get, timeout=RUN.long))
            complaint = self.evaluators.complaint()
            if complaint not in ("", said):
                logging.getLogger("grisaille").warning("no evaluation ends: %s", complaint)
            said = complaint

    def _tell(self, query: Query, outputs: Array, seconds: float) -> None:
        trial, in_time = self.session.keep(query, outputs, seconds)
        self._held.discard(query.id)
        if trial is not None:
            self._completed(trial)
        elif in_time:
            self._count_if_broken(query.trial)
        else:
            self.table.note(
                f"trial {query.trial}: the answer of black box {query.box!r} to query {query.id} "
                "came too late for its trial, and is kept as an observation"
            )

    def _keep(self, name: str, ended: float) -> None:
        """Record an answer that was made before the run was broken off."""
        evaluation = self._pending.pop(name)
        query, box = evaluation.query, self.session.boxes[evaluation.query.box]
        outputs = box.check(evaluation.future.result(), f"black box {box.name!r}")
        check_range(box, query.inputs, outputs, self.session.look(StudyState.history))
        self.session.keep(query, outputs, ended - evaluation.started)
        self._held.discard(query.id)

    def _write(self, query: Query, record: Callable[[Writer, QueryEntry], Value]) -> Value | None:
        """Record a failure of a query, unless another process has answered it meanwhile."""

        def unless_answered(writer: Writer) -> Value | None:
            entry = writer.state.queries[query.id]
            return record(writer, entry) if entry.is_open else None

        value = self.session.write(unless_answered)
        self._held.discard(query.id)
        return value

    def _completed(self, trial: Trial) -> None:
        self._broken.clear()
        if not self.table.is_silent:  # with noise, a row learns every Gaussian process again
            elapsed = time.perf_counter() - self._started
            summary = self.session.summary(self.limits)
            self.table.add(interruptible(lambda: summary.row(trial, elapsed)))
        if self.options.callback is None:
            return
        if interruptible(partial(self.options.callback, trial)) and self._status is None:
            self._status = Status.CALLBACK

    def _fail(self, query: Query, reason: str, cause: BaseException | None = None) -> None:
        def record(writer: Writer, entry: QueryEntry) -> TrialState:
            _, budget = left(writer.problem, writer.state, self.limits)
            # The budget already covers this query once; a second attempt costs as much again.
            affordable = budget is None or budget >= self.session.boxes[query.box].cost
            writer.fail(entry, reason, may_retry=affordable)
            return writer.state.trials[query.trial].state

        self._cause = cause
        state = self._write(query, record)
        if state is TrialState.BROKEN:
            self._broke_off(query.trial, reason)
        elif state is TrialState.COMPLETE:  # the last query of its trial was a probe that failed
            trial = self.session.state().trials[query.trial].record
            assert trial is not None
            self._completed(trial)

    def _lose(self, query: Query, reason: str) -> None:
        self._write(query, lambda writer, entry: writer.fail(entry, reason, lost=True))

    def _stop_if_first_of(self, box: str, text: str) -> None:
        """Stop if no answer of a black box had the right form yet: no other input helps."""

        def was_answered(state: StudyState) -> bool:
            answered = (q.box for q in state.queries.values() if q.outputs is not None)
            return box in answered or box in state.history().counts()

        if not self.session.look(was_answered):
            raise EvaluationError(
                f"{text}. This was the first answer of {box!r}, so the study stops. Let the "
                "function raise an exception where it has no answer."
            ) from self._cause

    def _stop_if_nothing_works(self) -> None:
        ever = len(self.session.look(StudyState.history))
        limit = RUN.broken_in_a_row if ever else RUN.first_broken
        if len(self._broken) < limit:
            return
        count = f"all {limit} trials" if not ever else f"{limit} trials in a row"
        reasons = "\n".join(f"  {reason}" for reason in dict.fromkeys(self._broken[-3:]))
        raise EvaluationError(
            f"{count} failed, so the study stops; the last ones:\n{reasons}"
        ) from self._cause


# --- presolve -------------------------------------------------------------------------------------
# Solutions and proofs that need no evaluation of any black box.


def solve_without_black_boxes(problem: Problem, seed: int) -> Result:
    """A problem without black boxes needs no learning: search it once, and prove the answer."""
    reductions = border(problem)
    searched = reductions.problem
    box = relaxed(PlausibleSet(searched.program, {}, {}))
    search = MultiStart(starts=48, samples=8192, iterations=200)
    solver = Certified(RUN.absolute_gap, RUN.relative_gap, 20_000, search=search)
    solution = solver.solve(box, box.lower.new_zeros(0, searched.program.size), seed)
    proof = solution.proof
    assert proof is not None
    knowledge = Knowledge(Situation(searched, History(), seed))
    x = searched.program.space.to_try(settled(box, solution, knowledge).point)
    found = reductions.up(Suggestion(TrialKind.RECOMMENDED, x))
    objective, constraints, chain, allowed, _ = Chain(problem).outcome(found.x, {})
    trial = Trial(1, found, objective, constraints, chain, (), allowed=allowed)
    summary = ProgressSummary(Optimistic(), Situation(problem, History((trial,)), seed))
    if proof.status is ProofStatus.INFEASIBLE and trial.violation > 0:
        refutation = Refutation(searched, History(), 1.0, proof.refuted_regions)
        return summary.result(Status.INFEASIBLE, Bound(), refutation=refutation)
    proved = proof.lower if np.isfinite(proof.lower) else None
    bound = Bound(
        solution.value if solution.feasible else None, proved, proof.reason, is_declared=True
    )
    # The proof is one for all numbers between the bounds, of which steps leave only some.
    gap = max(RUN.absolute_gap, RUN.relative_gap * abs(trial.objective))
    reached = box.steps is None or trial.objective - proof.lower <= gap
    if proof.status is ProofStatus.OPTIMAL and trial.violation == 0 and reached:
        message = "the problem has no black box: solved at once, and proved"
        return summary.result(Status.OPTIMAL, bound, message)
    return summary.result(Status.NO_BLACK_BOX, bound)


def refute_known_parts(problem: Problem, seed: int) -> Refutation | None:
    """A proof that the constraints without black boxes cannot be met together, if one is found."""
    problem = problem.searched
    program = problem.program
    known = [
        constraint
        for constraint in problem.constraints
        if not Program([constraint.body], problem.variables).calls
    ]
    if not known:
        return None
    # The objective does not matter; this one keeps all variables, in their order.
    first, *others = (v.indicators if isinstance(v, Choice) else v for v in problem.variables)
    anything: Any = sum(map(np.sum, others), np.sum(first))
    demands = derived(1, anything, known, problem.variables)
    box = relaxed(PlausibleSet(demands.program, {}, {}))
    nothing = box.lower.new_zeros(0, program.size)
    solution = Certified(regions=RUN.regions).solve(box, nothing, seed)
    proof = solution.proof
    if proof is None or proof.status is not ProofStatus.INFEASIBLE:
        return None
    x = demands.program.space.design(solution.point)
    _, bodies, _, allowed, lenient = Chain(demands).outcome(x, {})
    tolerance = allowed if lenient is None else lenient
    if not violations(bodies, 0.0 if tolerance is None else tolerance).any():
        return None  # a trial there counts as feasible
    return Refutation(demands, History(), 1.0, proof.refuted_regions)


# --- run ------------------------------------------------------------------------------------------
# One run of a study: it ends with a result, also when it is interrupted or fails.


def run(session: Session, options: RunOptions) -> Result:
    """See `Study.run`."""
    problem, limits = session.problem, options.limits
    check_functions(problem)
    table, silent = Progress(), options.progress is not None and not options.progress
    # Interrupts raise where something may take long: in a search, an evaluation, a pause. Elsewhere
    # they could leave a lock behind that a thread waits for, or lose an answer.
    with Uninterrupted() as interrupts:
        try:
            refutation = interruptible(partial(_refuted_by_known_parts, session))
            if refutation is not None:
                summary = session.summary(limits)
                return summary.result(Status.INFEASIBLE, NO_BOUND, refutation=refutation)
            shown = show_progress(problem, options.progress, limits.trials)
            view = nullcontext(table) if silent else shown
            with view as table, evaluators_for(options.executor, options.workers) as evaluators:
                runner = Runner(session, options, limits, evaluators, table)
                try:
                    result = runner.result()
                except BaseException:
                    runner.give_up()
                    raise
        except KeyboardInterrupt:
            interrupts.answer()
            # Nobody wants to wait for another search, or for a storage that is away.
            with session.impatient():
                summary = session.summary(limits)
            result = _result_so_far(summary, Status.INTERRUPTED)
        except BaseException as error:
            with session.cleaning_up():
                _attach_result(error, session.summary(limits))
            raise
    session.conclude(result)
    result.message += _changed_gap(table.shown_gap, result.gap)
    if table.trouble:
        result.message += f"; the view was switched off: {table.trouble}"
    return result


def _changed_gap(shown: float | None, gap: float) -> str:
    """What a message adds if the gap is not the one that the table showed last."""
    if shown is None or abs(gap - shown) <= RUN.same_gap * max(gap, shown):
        return ""
    now = f"is {gap:.3g}" if np.isfinite(gap) else "is unknown"
    return (
        f"; the gap {now}, not {shown:.3g} as in the last line of the table, because the bound was "
        "worked out anew from all answers"
    )


def _refuted_by_known_parts(session: Session) -> Refutation | None:
    """The proof that no point is feasible, if the known parts alone give one."""
    state = session.state()
    if state.trials:
        return None
    with one_thread():
        return refute_known_parts(session.problem, int(state.settings["seed"]))


def _attach_result(error: BaseException, summary: ProgressSummary) -> None:
    """Attach to an error what was found before it."""
    history = summary.situation.history
    reason = text_of(error) or type(error).__name__
    error.result = _result_so_far(summary, Status.FAILED, reason)  # type: ignore[attr-defined]
    if len(history) or history.loose:
        error.add_note("What was evaluated before is in this exception's `result`.")


def _result_so_far(summary: ProgressSummary, status: Status, reason: str = "") -> Result:
    """The result of a run that was broken off, by the strategy's judgement if there is one."""
    bound = summary.last_bound()
    try:
        return interruptible(lambda: summary.result(status, bound, reason))
    except (Exception, KeyboardInterrupt):  # the model fails, or somebody cannot wait for it
        return replace(summary, as_observed=True).result(status, bound, reason)


# --- solve ----------------------------------------------------------------------------------------
# `Problem.solve`: a study in memory, run to its end.


def solve(
    problem: Problem,
    *,
    x0: Any,
    strategy: Strategy | None,
    evaluation: Evaluation,
    seed: int,
    confidence: float | None,
    **options: Any,
) -> Result:
    """See `Problem.solve`; the options are those of `Study.run`."""
    check_settings(strategy, seed, evaluation)
    check_confidence("", confidence, optional=True)
    RunOptions(**options)  # before a search for points
    fill = partial(with_likely_unknowns, problem, History())
    first = None if x0 is None else points_to_try(problem, x0, "x0", fill)
    if not problem.boxes:
        return solve_without_black_boxes(problem, seed or 0)
    study = Study(
        problem, strategy=strategy, evaluation=evaluation, seed=seed, confidence=confidence
    )
    if first is not None:
        study.enqueue(first)
    return study.run(**options)
