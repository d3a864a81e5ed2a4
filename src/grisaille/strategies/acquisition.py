"""A user's own acquisition function as a strategy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.belief.knowledge import Knowledge
from grisaille.checks import attribute_of, takes
from grisaille.errors import GrisailleError, ModelError, counted, place_of, raised, shortened
from grisaille.language.problem import Problem
from grisaille.records import Situation, Suggestion, TrialKind
from grisaille.reductions.collapse import unknown_outputs
from grisaille.search.search_problem import Evaluate
from grisaille.strategies.acquisition_search import search_designs
from grisaille.strategies.expected_improvement import EIFN, check_drawn
from grisaille.strategies.initial_design import (
    as_initial,
    check_design,
    initial_suggestion,
    still_initial,
)
from grisaille.strategies.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Acquisition(Strategy):
    """A strategy that maximizes your own acquisition function over the design space.

    Everything else is as in the other strategies: the initial design, 10 n local searches from
    100 n points for n variables, pending trials that count as if they had come out as predicted,
    and distance from inputs that a black box failed at.

    Constraints hold as predicted, by posterior means, at the point that is chosen; those that read
    no black box hold exactly. While nothing feasible is known, the point that is most probably
    feasible is tried instead, and your function is not called.

    Attributes:
        function: Called with a `Knowledge` before each trial after the initial design. It returns
            the acquisition: a function of design points, a PyTorch tensor (batch, n), to values
            (batch,), of which the largest is wanted. It is searched with gradients where it has
            any. It may return a pair, values and constraints (batch, any number): these are then
            kept at most 0 in place of the predicted ones.
        initial: As in `Optimistic`.
    """

    function: Callable[[Knowledge], Callable[[Tensor], Any]]
    initial: Any = None

    def __post_init__(self) -> None:
        if not callable(self.function) or not takes(self.function, 1):
            raise ModelError(
                f"Acquisition(function={shortened(self.function)}): pass a function that takes a "
                "gs.Knowledge and returns a function of design points"
            )
        object.__setattr__(self, "initial", as_initial("Acquisition", self.initial))

    def check(self, problem: Problem) -> None:
        """Networks of any depth, without process noise."""
        check_drawn(f"acquisition {self._name!r}", problem)
        check_design(self.initial, problem)

    def suggest(self, situation: Situation) -> Suggestion:
        """The next point of the initial design, or the one of greatest acquisition."""
        learned = self.learned(situation.problem)
        if not len(situation.history) or still_initial(situation, self.initial, learned):
            return initial_suggestion(situation, self.initial)
        knowledge = Knowledge(situation)
        if knowledge.best is None:
            return EIFN(initial=self.initial).suggest(situation)
        found = search_designs(knowledge, self._searched(knowledge))
        if not np.isfinite(found.solution.value):
            raise ModelError(
                f"acquisition {self._name!r} has no finite value at any of "
                f"{counted(found.solution.evaluations, 'point')}: check what it computes"
            )
        return Suggestion(TrialKind.ACQUIRED, found.x, pending=len(situation.pending))

    def _searched(self, knowledge: Knowledge) -> Evaluate:
        """The acquisition, minimized, and constraints of design points (batch, n)."""
        value = self._called(self.function, knowledge)
        if not callable(value):
            raise ModelError(
                f"acquisition {self._name!r} returned {shortened(value)} for a gs.Knowledge: it "
                "must return a function of design points"
            )
        unknown = torch.tensor(unknown_outputs(knowledge.situation.problem)[1:])

        def evaluate(design: Tensor) -> tuple[Tensor, Tensor]:
            found = self._called(value, design)
            values, own = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
            constraints = design.new_zeros(len(design), 0)
            if len(unknown):
                _, constraints = knowledge.predict(design)
            if own is not None:
                own = self._numbers(own, len(design), 2)
                constraints = torch.cat([own, constraints[:, ~unknown]], 1)
            return -self._numbers(values, len(design), 1), constraints

        return evaluate

    def _called(self, function: Callable[[Any], Any], argument: object) -> Any:
        try:
            return function(argument)
        except GrisailleError:
            raise
        except Exception as error:
            what = f"acquisition {self._name!r} raised {raised(error)}{place_of(error)}"
            raise GrisailleError(what) from error

    def _numbers(self, found: Any, batch: int, dimensions: int) -> Tensor:
        """What the user's function returned, as numbers (batch,) or (batch, any number)."""
        try:
            numbers = torch.as_tensor(found).to(torch.float64)
        except Exception as error:
            raise ModelError(self._wrong(shortened(found), batch)) from error
        if numbers.dim() != dimensions or len(numbers) != batch:
            raise ModelError(self._wrong(f"an array of shape {tuple(numbers.shape)}", batch))
        return numbers

    def _wrong(self, found: str, batch: int) -> str:
        return (
            f"acquisition {self._name!r} gave {found} for {counted(batch, 'design point')}: it "
            f"must give a tensor of shape ({batch},), or a pair of that and constraints of shape "
            f"({batch}, any number)"
        )

    @property
    def _name(self) -> str:
        return str(attribute_of(self.function, "__name__") or type(self.function).__name__)
