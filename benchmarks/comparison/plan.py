"""The plan of a comparison: which strategy runs on which problem, with which settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.comparison.strategies_compared import StrategyMaker
from benchmarks.versions import versions
from grisaille import ModelError
from grisaille.problems import KnownProblem

ProblemMaker = Callable[[int], KnownProblem]
"""Makes a known problem, given the seed that its random parts depend on."""


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
    seeds: int,
    evaluations: int,
) -> Plan:
    """Plan every strategy on every problem it applies to.

    The jobs are ordered by seed, so that an interrupted comparison is balanced.

    Args:
        problems: Makers of the problems, by name.
        strategies: Makers of the strategies, by name.
        seeds: How many seeds, counted from 0.
        evaluations: Evaluations of the whole chain after the initial design.
    """
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    left_out = []
    made_with = versions()
    for problem, maker in problems.items():
        known = maker(0)
        initial = initial_size(known)
        for name, factory in strategies.items():
            strategy = factory(initial)
            try:
                strategy.check(known.problem)
            except ModelError as error:
                left_out.append(LeftOut(problem, name, str(error)))
                continue
            pairs[problem, name] = {
                "problem": problem,
                "strategy": name,
                "options": repr(strategy),
                "initial": initial,
                "evaluations": evaluations,
                "evaluation": "chained",
                "versions": made_with,
            }
    settings = {
        Job(*pair, seed): {**shared, "seed": seed}
        for seed in range(seeds)
        for pair, shared in pairs.items()
    }
    return Plan(problems, strategies, settings, tuple(left_out))


def by_reason(left_out: Iterable[LeftOut]) -> dict[tuple[str, str], list[str]]:
    """The problems on which a strategy is left out, by strategy and reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in left_out:
        found.setdefault((case.strategy, case.reason), []).append(case.problem)
    return found


def initial_size(known: KnownProblem) -> int:
    """Points of the initial design, 2 (d + 1) for d variables (Astudillo and Frazier 2021)."""
    return 2 * (known.problem.program.size + 1)
