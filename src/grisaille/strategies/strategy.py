"""What a strategy is: a pure function of problem, history and seed."""

from __future__ import annotations

from typing import Protocol

from grisaille.confidence.incumbent import Incumbent
from grisaille.language.problem import Problem
from grisaille.records import Bound, Situation, Suggestion


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
