"""The plan of a comparison: which strategy runs on which problem, with which settings."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

from grisaille.array_types import Array
from grisaille.errors import ModelError
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.fingerprint import fingerprint
from grisaille.language.problem import Problem
from grisaille.records import Trial
from grisaille.strategies.strategy import Strategy
from grisaille.study.identity import describe

# --- digests --------------------------------------------------------------------------------------
# Short digests that tell if problems and strategies are those of an earlier comparison.
#
# A user changes an own strategy and compares again: runs of the former one must not be mixed
# in.

_DIGITS = 12


def problem_digest(problem: Problem) -> str:
    """A digest of a problem, and of the code of its black boxes as far as that is a user's own."""
    code = (text for box in problem.boxes for text in _sources(box.fn))
    return _digest([*fingerprint(problem), *code])


def code_digest(strategy: object) -> str:
    """A digest of the code of a user's own strategy, and of own functions among its options.

    Empty for the library's own, whose version counts. Code that is called from there and lies
    elsewhere is not read.
    """
    texts = list(_sources(strategy))
    return _digest(texts) if texts else ""


def _sources(thing: Any) -> Iterator[str]:
    """The source texts of a user's own functions and classes in an object."""
    if isinstance(thing, partial):
        yield from _sources(thing.func)
    elif inspect.isroutine(thing):
        yield from _source(thing)
    elif hasattr(thing, "suggest") or callable(thing):
        yield from _source(type(thing))
        names = [f.name for f in fields(thing)] if is_dataclass(thing) else list(_dict(thing))
        for name in names:
            yield from _sources(getattr(thing, name))


def _source(thing: Any) -> list[str]:
    module = getattr(thing, "__module__", None) or ""
    if module.split(".")[0] in ("grisaille", "builtins", "numpy", "torch"):
        return []
    try:
        return [inspect.getsource(thing)]
    except (OSError, TypeError):  # typed into a console, or compiled
        return []


def _dict(thing: object) -> dict[str, Any]:
    return getattr(thing, "__dict__", {})


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:_DIGITS]


# --- compared problem -----------------------------------------------------------------------------
# A problem to compare strategies on: what is to be solved, and how a trial is measured.


@dataclass(frozen=True, slots=True)
class ComparedProblem:
    """A problem, and what is known of it.

    Attributes:
        problem: The problem.
        optimum: Its optimal objective, in its own sense; None if that is not known.
        truth: As in `KnownProblem`; None if what was observed is all there is.
        structure: What structure it has.
    """

    problem: Problem
    optimum: float | None
    truth: Callable[[Array], tuple[float, float]] | None
    structure: str

    @classmethod
    def of(cls, problem: Problem | KnownProblem, optimum: float | None = None) -> ComparedProblem:
        """What is known of a problem; a given optimum takes the place of the known one."""
        if isinstance(problem, Problem):
            return cls(problem, optimum, None, str(structure_of(problem)))
        best = problem.optimum if optimum is None else optimum
        return cls(problem.problem, best, problem.truth, str(problem.kind))

    def measure(self, trial: Trial) -> tuple[float, float]:
        """The objective of a trial, in the problem's own sense, and its largest violation.

        They are the true ones if these can be known: nothing is evaluated a second time.
        """
        if self.truth is not None:
            return self.truth(trial.x)
        # A point must not be better for missing its loop, so the aim of searches counts.
        return self.problem.sense * trial.objective, float(trial.missed.max(initial=0.0))


def structure_of(problem: Problem) -> Structure:
    """The structure of a problem, as tables group them."""
    if problem.causal is not None:
        return Structure.CAUSAL
    if problem.constraints:
        return Structure.CONSTRAINED
    nested = any(not call.first_layer for call in problem.program.calls)
    return Structure.NESTED if nested else Structure.ONE_LAYER


# --- plan -----------------------------------------------------------------------------------------

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
