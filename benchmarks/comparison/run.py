"""One run: a strategy on a known problem from a seed, measured by the true functions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import torch

import grisaille as gs
from benchmarks.comparison.plan import Job, ProblemMaker
from benchmarks.comparison.strategies_compared import StrategyMaker
from grisaille.problems import KnownProblem

# A point that meets its constraints may violate the true ones by as much, through rounding.
_ROUNDING = 1e-9

_FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Step:
    """One trial of a run.

    Attributes:
        number: Counts from 1; a trial that has no objective leaves a gap.
        kind: The kind of trial.
        x: The design point, flat.
        objective: Its true objective, in the problem's own sense.
        violation: Its true largest violation.
        regret: Of the point that would be recommended after it; infinite while that is infeasible.
        constrained_regret: The least sum of regret and largest violation so far, each at least 0.
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
        optimum: The optimal objective, in the problem's own sense.
        steps: Its trials.
        ended: Why it ended: a status of the study, or "failed".
        message: What went wrong, if it failed.
        seconds: How long the run took.
    """

    settings: dict[str, Any]
    structure: str
    optimum: float
    steps: tuple[Step, ...]
    ended: str
    message: str = ""
    seconds: float = 0.0

    @property
    def job(self) -> Job:
        """The job of the run."""
        return Job(self.settings["problem"], self.settings["strategy"], self.settings["seed"])

    @property
    def failed(self) -> bool:
        """Whether it broke off with an error."""
        return self.ended == _FAILED

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
        """The run of a strategy on a problem."""
        return cls(settings, cloudpickle.dumps((maker, factory)))


def make_run(task: Task) -> Run:
    """Make one run; an error is recorded in it."""
    torch.set_num_threads(1)
    maker, factory = cloudpickle.loads(task.makers)
    settings, started = task.settings, time.perf_counter()
    known = maker(settings["seed"])
    watch = _Watch(known)
    try:
        study = gs.Study(
            known.problem,
            strategy=factory(settings["initial"]),
            evaluation=settings["evaluation"],
            seed=settings["seed"],
        )
        watch.recommended = lambda: _recommended(study)
        result = study.run(
            settings["initial"] + settings["evaluations"], progress=False, callback=watch
        )
        if result.status is gs.Status.INTERRUPTED:
            raise KeyboardInterrupt
        ended, message = str(result.status), ""
    except Exception as error:  # an error in one strategy must not stop the others
        ended, message = _FAILED, f"{type(error).__name__}: {error}"
    return Run(
        settings,
        str(known.kind),
        known.optimum,
        tuple(watch.steps),
        ended,
        message,
        time.perf_counter() - started,
    )


def _recommended(study: gs.Study) -> int | None:
    """Position of the trial that the strategy would recommend now."""
    incumbent = study.incumbent()
    return None if incumbent is None else incumbent.position


@dataclass(slots=True)
class _Watch:
    """Measures each trial as it is completed."""

    known: KnownProblem
    steps: list[Step] = field(default_factory=list)
    recommended: Callable[[], int | None] = lambda: None

    def __call__(self, trial: gs.Trial) -> None:
        objective, violation = self.known.measure(trial.x)
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
        if self.known.problem.is_exact:
            return min(map(self._shortfall, self.steps))
        chosen = self.recommended()
        return np.inf if chosen is None else self._shortfall(self.steps[chosen])

    def _merit(self, objective: float, violation: float) -> float:
        """Regret and violation in one number (the paper's constrained regret at one point)."""
        if not np.isfinite(objective + violation):
            return np.inf
        return max(self.known.regret(objective), 0.0) + violation

    def _shortfall(self, step: Step) -> float:
        if step.violation > _ROUNDING or not np.isfinite(step.objective):
            return np.inf
        return max(self.known.regret(step.objective), 0.0)
