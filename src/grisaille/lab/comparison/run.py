"""Runs: a strategy on a problem from a seed, its measurements as JSON, and its regret curves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from grisaille.errors import EvaluationError, GrisailleError, ModelError, cut, raised, text_of
from grisaille.lab.comparison.plan import ComparedProblem, Job, ProblemMaker, StrategyMaker
from grisaille.lab.comparison.run_folder import file_name
from grisaille.records import Trial
from grisaille.study.events import from_plain, to_plain
from grisaille.study.result import Status
from grisaille.study.study import Study

# --- run ------------------------------------------------------------------------------------------
# One run: a strategy on a problem from a seed, and what is measured of each trial.

FAILED = "failed"
"""How a run ended that broke off with an error."""


@dataclass(frozen=True, slots=True)
class Step:
    """One trial of a run.

    Attributes:
        number: Counts from 1; a trial that has no objective leaves a gap.
        kind: The kind of trial.
        x: The design point, flat.
        objective: Its objective, in the problem's own sense: the true one, if that can be known.
        violation: Its largest violation, likewise.
        regret: Of the point that would be recommended after it; infinite while that is infeasible.
            Where the optimum is not known, the minimized objective of that point.
        constrained_regret: The least sum of regret and largest violation so far, each at least 0;
            nan where the optimum is not known.
        suggesting: Seconds of choosing it.
        evaluating: Seconds of evaluating it.
    """

    number: int
    kind: str
    x: tuple[float, ...]
    objective: float
    violation: float
    regret: float
    constrained_regret: float
    suggesting: float
    evaluating: float


@dataclass(frozen=True, slots=True)
class Run:
    """One run and its results.

    Attributes:
        settings: What it depends on.
        structure: The kind of problem, as tables group them.
        optimum: The optimal objective, in the problem's own sense; None if that is not known.
        steps: Its trials.
        ended: Why it ended: a status of the study, or "failed".
        message: What went wrong, if it failed.
        seconds: How long the run took.
        sense: 1 if the problem minimizes, -1 if it maximizes.
    """

    settings: dict[str, Any]
    structure: str
    optimum: float | None
    steps: tuple[Step, ...]
    ended: str
    message: str = ""
    seconds: float = 0.0
    sense: int = 1

    @property
    def job(self) -> Job:
        """The job of the run."""
        return Job(self.settings["problem"], self.settings["strategy"], self.settings["seed"])

    @property
    def failed(self) -> bool:
        """Whether it broke off with an error."""
        return self.ended == FAILED

    @property
    def initial(self) -> int:
        """Points of the initial design."""
        return int(self.settings["initial"])

    @property
    def evaluations(self) -> int:
        """Evaluations after the initial design that were planned."""
        return int(self.settings["evaluations"])


@dataclass(frozen=True, slots=True)
class Task:
    """A run to be made, in a form that can be sent to another process.

    Attributes:
        settings: What it depends on.
        makers: Maker of the problem and factory of the strategy, pickled.
    """

    settings: dict[str, Any]
    makers: bytes

    @classmethod
    def of(cls, settings: dict[str, Any], maker: ProblemMaker, factory: StrategyMaker) -> Task:
        """The run of a strategy on a problem.

        Raises:
            EvaluationError: One of them cannot be pickled.
        """
        try:
            return cls(settings, cloudpickle.dumps((maker, factory)))
        except Exception as error:
            raise EvaluationError(
                f"{settings['strategy']} on {settings['problem']} cannot be sent to another "
                f"process ({cut(raised(error))}): open files, connections and locks inside the "
                "functions, or leave workers= out"
            ) from error


def make_sent_run(task: Task) -> Run:
    """Make one run that came from another process."""
    import torch

    torch.set_num_threads(1)  # other processes make other runs
    return make_run(task.settings, *cloudpickle.loads(task.makers))


def make_run(settings: dict[str, Any], maker: ProblemMaker, factory: StrategyMaker) -> Run:
    """Make one run; an error is recorded in it."""
    started = time.perf_counter()
    compared = maker(settings["seed"])
    watch = _Watch(compared)
    try:
        study = Study(
            compared.problem,
            strategy=factory(settings["initial"]),
            evaluation=settings["evaluation"],
            seed=settings["seed"],
        )
        watch.recommended = lambda: _recommended(study)
        result = study.run(
            settings["initial"] + settings["evaluations"], progress=False, callback=watch
        )
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        ended, message = str(result.status), ""
    except Exception as error:  # an error in one strategy must not stop the others
        ended, message = FAILED, _reason(error)
    return Run(
        settings,
        compared.structure,
        compared.optimum,
        tuple(watch.steps),
        ended,
        message,
        time.perf_counter() - started,
        compared.problem.sense,
    )


def failed_run(settings: dict[str, Any], maker: ProblemMaker, error: Exception) -> Run:
    """A run that gave no result, whatever happened to its process."""
    compared = maker(settings["seed"])
    return Run(
        settings,
        compared.structure,
        compared.optimum,
        (),
        FAILED,
        _reason(error),
        sense=compared.problem.sense,
    )


def _reason(error: Exception) -> str:
    """Why a run failed: our own errors are sentences already."""
    return text_of(error) if isinstance(error, GrisailleError) else raised(error)


def _recommended(study: Study) -> int | None:
    """Position of the trial that the strategy would recommend now."""
    incumbent = study.incumbent()
    return None if incumbent is None else incumbent.position


@dataclass(slots=True)
class _Watch:
    """Measures each trial as it is completed."""

    compared: ComparedProblem
    steps: list[Step] = field(default_factory=list)
    recommended: Callable[[], int | None] = lambda: None

    def __call__(self, trial: Trial) -> None:
        objective, violation = self.compared.measure(trial)
        step = Step(
            trial.number,
            str(trial.suggestion.kind),
            tuple(map(float, trial.x)),
            float(objective),
            float(violation),
            np.inf,
            min([self._merit(objective, violation), *(s.constrained_regret for s in self.steps)]),
            *trial.seconds,
        )
        self.steps.append(step)
        self.steps[-1] = replace(step, regret=self._regret())

    def _regret(self) -> float:
        """Regret of the best feasible point so far; with noise, of what is recommended."""
        if self.compared.problem.is_exact:
            return min(map(self._shortfall, self.steps))
        chosen = self.recommended()
        return np.inf if chosen is None else self._shortfall(self.steps[chosen])

    def _merit(self, objective: float, violation: float) -> float:
        """Regret and violation in one number (the paper's constrained regret at one point)."""
        optimum, sense = self.compared.optimum, self.compared.problem.sense
        return np.nan if optimum is None else merit(objective, violation, optimum, sense)

    def _shortfall(self, step: Step) -> float:
        if step.violation > 0 or not np.isfinite(step.objective):
            return np.inf
        optimum, sense = self.compared.optimum, self.compared.problem.sense
        if optimum is None:
            return sense * step.objective
        return max(sense * (step.objective - optimum), 0.0)


def merit(objective: float, violation: float, optimum: float, sense: int) -> float:
    """Regret, at least 0, plus violation; infinite where there is no value."""
    if not np.isfinite(objective + violation):
        return np.inf
    return float(max(sense * (objective - optimum), 0.0) + violation)


# --- run json -------------------------------------------------------------------------------------
# One run of a comparison as a JSON file: `runs/PROBLEM/STRATEGY/SEED.json`.

_NUMBERS = (
    "objective",
    "violation",
    "regret",
    "constrained_regret",
    "suggesting",
    "evaluating",
)


@dataclass(frozen=True, slots=True)
class RunJson:
    """A `RunFormat` with one file for each run.

    Attributes:
        command: The command that makes the runs, stored with each of them.
    """

    command: str

    def files(self, folder: Path) -> list[Path]:
        """The files of all runs."""
        return sorted(folder.glob("runs/*/*/*.json"))

    def file_of(self, job: Job) -> Path:
        """The file of a job."""
        return Path("runs", file_name(job.problem), file_name(job.strategy), f"{job.seed}.json")

    def decode(self, file: Path, text: str) -> dict[Job, Run]:
        """The run in a file."""
        run = _from_plain(json.loads(text))
        return {run.job: run}

    def encode(self, runs: Mapping[Job, Run]) -> str:
        """The text of a file with one run."""
        (run,) = runs.values()
        return json.dumps({"command": self.command, **_to_plain(run)}, allow_nan=False) + "\n"


def _to_plain(run: Run) -> dict[str, Any]:
    steps = [
        {
            **asdict(step),
            "x": to_plain(step.x),
            **dict(zip(_NUMBERS, to_plain(getattr(step, n) for n in _NUMBERS), strict=True)),
        }
        for step in run.steps
    ]
    return {**{name: getattr(run, name) for name in Run.__slots__}, "steps": steps}


def _from_plain(data: dict[str, Any]) -> Run:
    steps = tuple(
        Step(
            number=step["number"],
            kind=step["kind"],
            x=tuple(map(float, from_plain(step["x"]))),
            **{name: float(step[name]) for name in _NUMBERS},
        )
        for step in data["steps"]
    )
    # Version 0.1.0 stored no sense.
    stored = {"sense": 1, **data, "steps": steps}
    return Run(**{name: stored[name] for name in Run.__slots__})


# --- regret curves --------------------------------------------------------------------------------
# The regret curve of a run, and what is read off regret curves.

# Optima are known to about this many digits, so that smaller regrets are all the same.
_DIGITS = 1e-6


def regret_curve(run: Run) -> Array:
    """Regret after the initial design and after each evaluation that follows, (evaluations + 1,).

    A run that ended early would recommend the same point ever after.
    """
    regrets = np.full(run.initial + run.evaluations + 1, np.nan)
    regrets[0] = np.inf
    for step in run.steps:
        regrets[step.number] = step.regret
    latest = np.maximum.accumulate(np.where(np.isnan(regrets), 0, np.arange(len(regrets))))
    return np.asarray(regrets[latest][run.initial :])


def suggesting_seconds(run: Run) -> Array:
    """Seconds of suggesting each evaluation after the initial design, (evaluations,).

    Evaluations that have no objective, and those after an early end, count as 0.
    """
    seconds = np.zeros(run.evaluations)
    for step in run.steps:
        if step.number > run.initial:
            seconds[step.number - run.initial - 1] = step.suggesting
    return seconds


def seconds_per_suggestion(run: Run) -> float:
    """Median of suggesting after the initial design; nan if nothing was suggested."""
    seconds = [step.suggesting for step in run.steps if step.number > run.initial]
    return float(np.median(seconds)) if seconds else np.nan


def final_value(run: Run) -> float:
    """The objective that a run came to, in the problem's own sense; nan if nothing is feasible."""
    last = regret_curve(run)[-1] if run.steps else np.inf
    if not np.isfinite(last) or run.optimum is None:
        return np.nan
    return float(run.optimum + run.sense * last)


def quantile(values: Array, share: float, axis: int = 0) -> Array:
    """A quantile by linear interpolation, infinite where one of its two neighbours is.

    NumPy's own has no value there, because it takes differences.
    """
    ordered = np.sort(np.moveaxis(np.asarray(values, dtype=float), axis, 0), axis=0)
    position = share * (len(ordered) - 1)
    below, above = ordered[int(np.floor(position))], ordered[int(np.ceil(position))]
    weight = position - np.floor(position)
    with np.errstate(invalid="ignore"):
        between = below + weight * (above - below)
    return np.asarray(np.where(below == above, below, between))


def resolution(run: Run) -> float:
    """The regret below which differences mean nothing, because the optimum is not known better."""
    return _DIGITS * max(1.0, abs(run.optimum or 0.0))


def first_at_most(curve: Array, target: float) -> float:
    """Position of the first finite value at or below a target; infinite if there is none."""
    reached = np.flatnonzero(np.isfinite(curve) & (curve <= target))
    return float(reached[0]) if len(reached) else np.inf


# --- results --------------------------------------------------------------------------------------
# The runs of a comparison, grouped by problem and strategy.

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one strategy on one problem that did not fail, by seed."""

    runs: tuple[Run, ...]

    @property
    def curves(self) -> Array:
        """Regret curves, (seeds, evaluations + 1)."""
        return np.array([regret_curve(run) for run in self.runs])

    @property
    def final(self) -> Array:
        """Final regrets, (seeds,)."""
        return np.asarray(self.curves[:, -1])

    @property
    def resolution(self) -> float:
        """The largest of its runs."""
        return max(resolution(run) for run in self.runs)

    @property
    def seeds(self) -> dict[int, Run]:
        """Its runs by seed."""
        return {run.job.seed: run for run in self.runs}


@dataclass(frozen=True, slots=True)
class Results:
    """Runs of several strategies on several problems.

    Attributes:
        runs: All of them, failed ones included.
        reference: The strategy that the others are compared with, drawn in colour; "" for none.
        baseline: The strategy against which its saving of evaluations is counted; "" for none.
        best_found: Problems whose optimum is not known: it is the best value of any run.
    """

    runs: tuple[Run, ...]
    reference: str = ""
    baseline: str = ""
    best_found: frozenset[str] = frozenset()

    @classmethod
    def measured(cls, runs: Iterable[Run], reference: str, baseline: str = "") -> Results:
        """Runs of which some may be on problems whose optimum is not known."""
        kept = list(runs)
        unknown = {run.job.problem for run in kept if run.optimum is None}
        for problem in unknown:
            best = _best_found(run for run in kept if run.job.problem == problem)
            kept = [_against(r, best) if r.job.problem == problem else r for r in kept]
        return cls(tuple(kept), reference, baseline, frozenset(unknown))

    def __post_init__(self) -> None:
        for problem in self.problems:
            budgets = sorted({(r.initial, r.evaluations) for r in self.of(problem)})
            if len(budgets) > 1:
                shown = " and ".join(f"{i} + {e}" for i, e in budgets)
                raise ModelError(
                    f"the runs on {problem} have {shown} evaluations, so they cannot share a "
                    "table: keep them in folders of their own"
                )

    @property
    def problems(self) -> list[str]:
        """Names of the problems, those of a kind together."""
        kinds = {run.job.problem: (run.structure, run.job.problem) for run in self.runs}
        return sorted(kinds, key=kinds.__getitem__)

    @property
    def structures(self) -> dict[str, list[str]]:
        """Problems by kind."""
        found: dict[str, list[str]] = {}
        kinds = {run.job.problem: run.structure for run in self.runs}
        for problem in self.problems:
            found.setdefault(kinds[problem], []).append(problem)
        return found

    def of(self, problem: str) -> list[Run]:
        """Every run on a problem."""
        return [run for run in self.runs if run.job.problem == problem]

    def strategies(self, order: Sequence[str], problems: Iterable[str]) -> list[str]:
        """Strategies with a run on each of some problems that did not fail, in a given order.

        Args:
            order: Names that come first, if they are there.
            problems: The problems.
        """
        each = [{r.job.strategy for r in self.of(p) if not r.failed} for p in problems]
        common = set.intersection(*each) if each else set()
        return [n for n in order if n in common] + sorted(common.difference(order))

    def strategies_of_all(self, order: Sequence[str]) -> list[str]:
        """Strategies with any run that did not fail, in a given order."""
        present = {run.job.strategy for run in self.runs if not run.failed}
        return [n for n in order if n in present] + sorted(present.difference(order))

    def group(self, problem: str, strategy: str) -> Group:
        """The runs of a strategy on a problem that did not fail."""
        chosen = (r for r in self.of(problem) if r.job.strategy == strategy and not r.failed)
        return Group(tuple(sorted(chosen, key=lambda run: run.job)))

    def starts(self, problem: str) -> dict[int, float]:
        """Regret of the best point of the initial design, by seed.

        Where none of it is feasible, the median over other seeds; where that is so for all seeds,
        the largest regret that any run on the problem came to.
        """
        runs = [run for run in self.of(problem) if not run.failed]
        starts = {run.job.seed: float(regret_curve(run)[0]) for run in runs}
        known = [value for value in starts.values() if np.isfinite(value)]
        if known:
            instead = float(np.median(known))
        else:
            reached = (step.regret for run in runs for step in run.steps)
            instead = max(filter(np.isfinite, reached), default=np.inf)
        return {seed: v if np.isfinite(v) else instead for seed, v in starts.items()}


def _best_found(runs: Iterable[Run]) -> float:
    """The least objective that any run came to, minimized; 0 if nothing feasible was found."""
    values = (step.regret for run in runs for step in run.steps)
    return float(min(filter(np.isfinite, values), default=0.0))


def _against(run: Run, best: float) -> Run:
    """A run with regrets against the best value of any run, which is minimized."""
    optimum, least, steps = run.sense * best, np.inf, []
    for step in run.steps:
        least = min(least, merit(step.objective, step.violation, optimum, run.sense))
        steps.append(replace(step, regret=step.regret - best, constrained_regret=least))
    return replace(run, optimum=optimum, steps=tuple(steps))
