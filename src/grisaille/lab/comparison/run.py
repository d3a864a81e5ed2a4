"""One run: a strategy on a problem from a seed, and its measurements as a JSON file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np

from grisaille.errors import EvaluationError, GrisailleError, cut, raised, text_of
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
