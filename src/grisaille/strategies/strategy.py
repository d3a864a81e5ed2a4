"""The interface of a strategy: a pure function of problem, history and seed."""

from __future__ import annotations

from typing import Protocol

from grisaille.array_types import Array
from grisaille.belief.incumbent import Incumbent
from grisaille.belief.knowledge import Knowledge
from grisaille.language.problem import Problem
from grisaille.records import Bound, Situation, Suggestion


class Strategy(Protocol):
    """Chooses what to try next. The same situation always gives the same answer.

    An own strategy is a subclass with a method `suggest`; the other methods have a default. What it
    returns may depend on the situation only, and chance comes from `situation.generator`: then
    studies resume, replay and run in parallel exactly.
    """

    __slots__ = ()

    def check(self, problem: Problem) -> None:
        """Refuse a problem that the method is not for. By default every problem will do.

        Raises:
            ModelError: Says why not, and which strategies are.
        """

    def suggest(self, situation: Situation) -> Suggestion | Array:
        """What to try next: a design point, flat, or a `Suggestion` that says more."""
        ...

    def bound(self, situation: Situation) -> Bound:
        """A lower bound on the minimized objective after the history. By default none is known."""
        return Bound(reason=f"{type(self).__name__} gives none, and gs.Optimistic() does")

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The best point tried; None before the first trial. By default as `Knowledge` has it."""
        return Knowledge(situation).incumbent

    def learned(self, problem: Problem) -> list[str]:
        """What it learns hyper-parameters of, as a person would call it.

        By default the black boxes that have no kernel of their own.
        """
        return [box.name for box in problem.boxes if box.is_learned]

    def __repr__(self) -> str:
        """Its options, which identify it in a stored study; those that begin with _ do not count.

        Dataclasses write this themselves.
        """
        options = getattr(self, "__dict__", {}).items()
        shown = (f"{name}={value!r}" for name, value in options if not name.startswith("_"))
        return f"{type(self).__name__}({', '.join(shown)})"
