"""What a strategy is: a pure function of problem, history and seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from grisaille.confidence.incumbent import Incumbent
from grisaille.language.problem import Problem
from grisaille.records import Bound, History, Pending, Suggestion

Evaluation = Literal["separate", "chained"]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision may depend on.

    Attributes:
        problem: The problem.
        history: Everything observed so far.
        seed: The study's seed.
        evaluation: "separate" when black boxes may be evaluated on their own at an invented state.
        remaining: Trials left, this one included; None when the budget is open.
        pending: Trials under way.
        incomplete: How many trials ended without an objective: they broke off, or were partial.
        budget: Cost left for evaluations; None when it is open.
    """

    problem: Problem
    history: History
    seed: int
    evaluation: Evaluation = "separate"
    remaining: int | None = None
    pending: tuple[Pending, ...] = ()
    incomplete: int = 0
    budget: float | None = None

    @property
    def started(self) -> int:
        """How many trials were suggested before this one."""
        return len(self.history) + len(self.pending) + self.incomplete

    @property
    def at_once(self) -> int:
        """How many evaluations are under way, this trial's first one included."""
        calls = len(self.problem.program.calls)
        return 1 + sum(
            len(p.probes) + (calls - len(p.answers) if p.suggestion.chain else 0)
            for p in self.pending
        )

    @property
    def trial_seed(self) -> int:
        """Where randomness of this trial comes from: (seed, trial number), nothing else."""
        return int(np.random.SeedSequence([self.seed, self.started]).generate_state(1)[0])


class Strategy(Protocol):
    """Chooses what to try next. The same situation always gives the same answer."""

    def check(self, problem: Problem) -> None:
        """Refuse a problem that the method is not for.

        Raises:
            ModelError: Says why not, and which strategies are.
        """
        ...

    def suggest(self, situation: Situation) -> Suggestion:
        """What to try next."""
        ...

    def bound(self, situation: Situation) -> Bound:
        """A lower bound on the minimized objective after the history."""
        ...

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The best point tried; None before the first trial."""
        ...

    def learned(self, problem: Problem) -> list[str]:
        """What it learns hyper-parameters of, as a person would call it."""
        ...
