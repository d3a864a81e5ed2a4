"""The plan of a comparison: which strategy runs on which problem, with which settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from grisaille.comparison.compared_problem import ComparedProblem
from grisaille.comparison.digests import code_digest, problem_digest
from grisaille.errors import ModelError
from grisaille.language.problem import Problem
from grisaille.strategies.strategy import Strategy
from grisaille.study.identity import describe

ProblemMaker = Callable[[int], ComparedProblem]
"""Makes a problem, given the seed that its random parts depend on."""

StrategyMaker = Callable[[int], Strategy]
"""Makes a strategy, given how many points of the initial design it tries first."""

Budget = Callable[[Problem], tuple[int, int]]
"""Points of the initial design, and evaluations of the whole chain that follow, of a problem."""


@dataclass(frozen=True, slots=True, order=True)
class Job:
    """One run: a problem, a strategy and a seed, all by name."""

    problem: str
    strategy: str
    seed: int

    def __str__(self) -> str:
        return f"{self.strategy} on {self.problem}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A strategy that does not apply to a problem, and why in a sentence."""

    problem: str
    strategy: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Every run of a comparison.

    Attributes:
        problems: Makers of the problems, by name.
        strategies: Makers of the strategies, by name.
        settings: What each run depends on, by job, in the order in which they run.
        left_out: Strategies and problems that do not fit together.
    """

    problems: Mapping[str, ProblemMaker]
    strategies: Mapping[str, StrategyMaker]
    settings: Mapping[Job, dict[str, Any]]
    left_out: tuple[LeftOut, ...]


def make_plan(
    problems: Mapping[str, ProblemMaker],
    strategies: Mapping[str, StrategyMaker],
    seeds: Iterable[int],
    budget: Budget,
    made_with: Mapping[str, str],
) -> Plan:
    """Plan every strategy on every problem it applies to.

    The jobs are ordered by seed, so that an interrupted comparison is balanced.

    Args:
        problems: Makers of the problems, by name.
        strategies: Makers of the strategies, by name.
        seeds: The seeds.
        budget: How many evaluations a problem gets.
        made_with: Versions of what the numbers depend on.
    """
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    left_out = []
    seeds = list(seeds)
    for problem, maker in problems.items():
        compared = maker(seeds[0])
        initial, evaluations = budget(compared.problem)
        described = problem_digest(compared.problem)
        for name, factory in strategies.items():
            strategy = factory(initial)
            try:
                strategy.check(compared.problem.searched)
            except ModelError as error:
                left_out.append(LeftOut(problem, name, str(error)))
                continue
            pairs[problem, name] = {
                "problem": problem,
                "problem_digest": described,
                "strategy": name,
                "options": describe(strategy),
                "strategy_code": code_digest(strategy),
                "initial": initial,
                "evaluations": evaluations,
                "evaluation": "chained",
                "versions": dict(made_with),
            }
    settings = {
        Job(*pair, seed): {**shared, "seed": seed}
        for seed in seeds
        for pair, shared in pairs.items()
    }
    return Plan(problems, strategies, settings, tuple(left_out))


def by_reason(left_out: Iterable[LeftOut]) -> dict[tuple[str, str], list[str]]:
    """The problems on which a strategy is left out, by strategy and reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in left_out:
        found.setdefault((case.strategy, case.reason), []).append(case.problem)
    return found
