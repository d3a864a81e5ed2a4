"""Equal starts: the initial design of a comparison, whatever a strategy would do by itself."""

from __future__ import annotations

from dataclasses import dataclass

from grisaille.confidence.incumbent import Incumbent
from grisaille.language.problem import Problem
from grisaille.records import Bound, Situation, Suggestion
from grisaille.strategies.initial_design import initial_suggestion
from grisaille.strategies.strategy import Strategy


@dataclass(frozen=True, slots=True)
class SameStart:
    """A strategy that first tries the scrambled Sobol points of the seed, and then decides.

    Optimism needs no initial design where kernels are given, and evaluates part of the chain where
    costs differ. In a comparison both would be a head start that says nothing about the choice.

    Attributes:
        strategy: Who decides after that.
        initial: How many points.
    """

    strategy: Strategy
    initial: int

    def check(self, problem: Problem) -> None:
        """As the strategy does."""
        self.strategy.check(problem)

    def suggest(self, situation: Situation) -> Suggestion:
        """A point of the initial design, or what the strategy wants."""
        if situation.started < self.initial:
            return initial_suggestion(situation)
        return self.strategy.suggest(situation)

    def bound(self, situation: Situation) -> Bound:
        """As the strategy does, once it decides."""
        return Bound() if situation.started < self.initial else self.strategy.bound(situation)

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """As the strategy does."""
        return self.strategy.incumbent(situation)

    def learned(self, problem: Problem) -> list[str]:
        """As the strategy does."""
        return self.strategy.learned(problem)
