"""The same initial design for every strategy of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from grisaille.confidence.incumbent import Incumbent
from grisaille.language.problem import Problem
from grisaille.records import Bound, Situation, Suggestion
from grisaille.strategies.initial_design import initial_suggestion
from grisaille.strategies.strategy import Strategy
from grisaille.study.suggestion_check import suggestion_of


@dataclass(frozen=True, slots=True)
class SameStart:
    """A strategy that first tries the scrambled Sobol points of the seed.

    `Optimistic` needs no initial design where kernels are given, and evaluates part of the chain
    where costs differ. Both would be a head start that says nothing about the choice of points.

    Attributes:
        strategy: Decides after the initial design.
        initial: How many points the initial design has.
    """

    strategy: Strategy
    initial: int

    def check(self, problem: Problem) -> None:
        """Check the problem as the strategy does."""
        self.strategy.check(problem)

    def suggest(self, situation: Situation) -> Suggestion:
        """A point of the initial design first, then what the strategy suggests."""
        if situation.started < self.initial:
            return initial_suggestion(situation)
        return suggestion_of(self.strategy, situation)

    def bound(self, situation: Situation) -> Bound:
        """No bound during the initial design, then that of the strategy."""
        return Bound() if situation.started < self.initial else self.strategy.bound(situation)

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The incumbent of the strategy."""
        return self.strategy.incumbent(situation)

    def learned(self, problem: Problem) -> list[str]:
        """The black boxes that the strategy learns."""
        return self.strategy.learned(problem)
