"""The border between a problem as its user wrote it and as strategies see it.

A study hands a strategy the situation of the reduced problem, and lifts the suggestion that comes
back. Events, tables and results keep points of the problem as written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from grisaille.language.problem import Problem
from grisaille.records import Situation, Suggestion


class Reduction(Protocol):
    """A problem written as an easier one, and the way back."""

    @property
    def original(self) -> Problem:
        """The problem as it was written."""
        ...

    @property
    def problem(self) -> Problem:
        """The easier problem."""
        ...

    def down(self, situation: Situation) -> Situation:
        """Write a situation of the original as one of the easier problem.

        Trials keep their numbers. Those that are not trials of the easier problem are left out.
        """
        ...

    def up(self, suggestion: Suggestion) -> Suggestion:
        """Write a suggestion for the easier problem as one for the original."""
        ...


@dataclass(frozen=True, slots=True)
class Reductions:
    """Reductions in turn.

    Attributes:
        original: The problem as it was written.
        links: The reductions, each of the problem that the one before leads to.
    """

    original: Problem
    links: Sequence[Reduction] = ()

    @property
    def problem(self) -> Problem:
        """The easiest problem."""
        return self.links[-1].problem if self.links else self.original

    def down(self, situation: Situation) -> Situation:
        """Write a situation of the original as one of the easiest problem."""
        for link in self.links:
            situation = link.down(situation)
        return situation

    def up(self, suggestion: Suggestion) -> Suggestion:
        """Write a suggestion for the easiest problem as one for the original."""
        for link in reversed(self.links):
            suggestion = link.up(suggestion)
        return suggestion


def border(problem: Problem) -> Reductions:
    """Return the reductions between a problem and the one that strategies see."""
    elimination = problem.elimination
    return Reductions(problem, () if elimination is None else (elimination,))
