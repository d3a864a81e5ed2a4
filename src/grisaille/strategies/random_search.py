"""Strategies that learn nothing: chance, and a sequence that fills space."""

from __future__ import annotations

from dataclasses import dataclass

from grisaille.language.problem import Problem
from grisaille.records import Situation, Suggestion, TrialKind
from grisaille.strategies.initial_design import random_point, sobol_point
from grisaille.strategies.strategy import Strategy


class Blind(Strategy):
    """What strategies have in common that learn nothing to choose by."""

    __slots__ = ()

    def check(self, problem: Problem) -> None:
        """Every problem will do."""

    def learned(self, problem: Problem) -> list[str]:
        """Nothing that matters: with noise, the best trial is judged by what is learned."""
        return []


@dataclass(frozen=True, slots=True)
class RandomSearch(Blind):
    """Points drawn uniformly from the box of the variables, or of their logarithms.

    Linear equalities and inequalities of the variables are met: points are uniform on what they
    leave of the box.

    What any other strategy must beat (Bergstra and Bengio 2012).
    """

    def suggest(self, situation: Situation) -> Suggestion:
        """A uniform point, on the steps."""
        x = random_point(situation.problem.program, situation.generator)
        return Suggestion(TrialKind.RANDOM, x, pending=len(situation.pending))


@dataclass(frozen=True, slots=True)
class SobolSearch(Blind):
    """The points of a scrambled Sobol sequence, which fill the box more evenly than chance.

    The initial design of all strategies, gone on with.
    """

    def suggest(self, situation: Situation) -> Suggestion:
        """The next point of the sequence."""
        x = sobol_point(situation)
        return Suggestion(TrialKind.RANDOM, x, pending=len(situation.pending))
