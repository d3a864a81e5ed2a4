"""Small problems and strategies, and made-up runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import grisaille as gs
from grisaille.lab.comparison.comparison import Folder
from grisaille.lab.comparison.plan import ComparedProblem, Plan, make_plan
from grisaille.lab.comparison.run import Run, RunJson, Step
from grisaille.lab.comparison.run_folder import RunFolder
from grisaille.lab.problems import KnownProblem, Structure
from grisaille.records import Bound, Situation, Suggestion, TrialKind

INITIAL = 4
COMMAND = "python -m benchmarks.comparison"


@dataclass(frozen=True)
class Steps:
    """Tries x = 1 - 1 / (t + 1), whatever it hears."""

    fails_at: int | None = None
    breaks: bool = False

    def check(self, problem: gs.Problem) -> None:
        if problem.constraints:
            raise gs.ModelError("Steps knows no constraints: use gs.Optimistic()")

    def suggest(self, situation: Situation) -> Suggestion:
        if self.fails_at == situation.started:
            raise ArithmeticError("out of luck")
        return Suggestion(TrialKind.RANDOM, np.array([1 - 1 / (situation.started + 1)]))

    def bound(self, situation: Situation) -> Bound:
        return Bound()

    def incumbent(self, situation: Situation):
        return gs.Optimistic().incumbent(situation)

    def learned(self, problem: gs.Problem) -> list[str]:
        return []


def slope(seed: int) -> KnownProblem:
    """Minimize (1 + seed) (1 - x), whose optimum is 0 at 1."""
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: (1 + seed) * (1 - x), name="slope", noise=0)
    problem = gs.Problem(minimize=box(x))
    return KnownProblem("slope", problem, 0.0, np.ones(1), "made up", Structure.ONE_LAYER)


def limited(seed: int) -> KnownProblem:
    """Maximize x where 1 - x >= 0.3, with an optimum of 0.7."""
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: 1 - x, name="room", noise=0)
    problem = gs.Problem(maximize=x, subject_to=[box(x) >= 0.3])
    known = np.array([0.7])
    return KnownProblem("limited", problem, 0.7, known, "made up", Structure.CONSTRAINED)


def steps(_initial: int) -> Steps:
    return Steps()


def unlucky(_initial: int) -> Steps:
    return Steps(fails_at=3)


def optimistic(initial: int) -> gs.Optimistic:
    search = gs.MultiStart(starts=2, samples=64, iterations=5)
    return gs.Optimistic(initial=initial, solver=search)


def small_plan(seeds: int = 2, evaluations: int = 3, **strategies) -> Plan:
    return plan_of({"slope": slope}, strategies or {"steps": steps}, seeds, evaluations)


def plan_of(problems, strategies, seeds: int, evaluations: int) -> Plan:
    """A plan with as many initial points as the benchmarks use."""

    def budget(problem: gs.Problem) -> tuple[int, int]:
        return 2 * (problem.program.size + 1), evaluations

    makers = {name: compared(maker) for name, maker in problems.items()}
    return make_plan(makers, strategies, range(seeds), budget, {"grisaille": "1"})


def compared(maker):
    return lambda seed: ComparedProblem.of(maker(seed))


def folder_of(path: Path) -> Folder:
    return RunFolder(path, RunJson(COMMAND), "--folder")


def made_up(
    problem: str,
    strategy: str,
    seed: int,
    regrets: list[float],
    *,
    structure: str = "nested",
    initial: int = 2,
    seconds: float = 0.5,
    failed: bool = False,
) -> Run:
    """A run with given regrets, those of the initial design included."""
    settings = {
        "problem": problem,
        "strategy": strategy,
        "seed": seed,
        "initial": initial,
        "evaluations": len(regrets) - initial,
    }
    made = tuple(
        Step(t, "random", (float(seed + t),), r, 0.0, r, r, seconds * t, 0.1)
        for t, r in enumerate(regrets, 1)
    )
    ended, message = ("failed", "ArithmeticError: out of luck") if failed else ("max_trials", "")
    return Run(settings, structure, 0.0, made, ended, message, 1.0)
