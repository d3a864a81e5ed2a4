"""A known problem: the problem, its optimum and its true values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import is_number, real_numbers
from grisaille.errors import ModelError, shortened
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, split_outputs
from grisaille.metrics import violations


@dataclass(frozen=True, slots=True)
class KnownProblem:
    """A problem whose answer is known.

    Attributes:
        name: Its name.
        problem: The problem.
        optimum: Its optimal objective, in its own sense.
        x: A point where it is attained, flat.
        source: Where the problem comes from.
        kind: What structure it has.
        truth: Objective, in its own sense, and largest violation at a flat design point, for
            problems whose black boxes are noisy; None if their answers are the truth.
    """

    name: str
    problem: Problem
    optimum: float
    x: Array
    source: str
    kind: Structure
    truth: Callable[[Array], tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        if self.truth is None:
            for box in self.problem.boxes:
                if not box.is_exact:
                    noise = "noise to be learned" if box.noise is None else f"noise {box.noise}"
                    raise ModelError(
                        f"known problem {self.name!r} has black box {box.name!r} with {noise}, so "
                        "calling it does not tell the truth: pass truth=, or declare noise=0"
                    )

    def regret(self, value: float) -> float:
        """How much worse than the optimum a value is; negative if it is better."""
        if not is_number(value):
            raise ModelError(f"regret({shortened(value)}): pass a number")
        return self.problem.sense * (float(value) - self.optimum)

    def measure(self, x: ArrayLike) -> tuple[float, float]:
        """The true objective f(x), in the problem's own sense, and max_k [g_k(x)]^+.

        Args:
            x: A flat design point, (n,).

        Raises:
            EvaluationError: A black box has no value there.
        """
        try:
            point = real_numbers(x)
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"known problem {self.name!r} measured at {shortened(x)}: pass numbers"
            ) from error
        size = self.problem.program.size
        if point.shape != (size,):
            raise ModelError(
                f"known problem {self.name!r} measured at an array of shape {point.shape}: pass "
                f"a flat design point, of shape ({size},)"
            )
        if self.truth is not None:
            return self.truth(point)
        at = torch.tensor(point).unsqueeze(0)
        objective, constraints = split_outputs(self.problem.program.run(at, call_boxes))
        (allowed,) = self.problem.allowances.needed(at, call_boxes, constraints.numpy())
        return measured(self.problem, objective, constraints, allowed)


class Structure(StrEnum):
    """The structure of a problem. Tables of results group by it, because different methods apply.

    A problem with constraints is CONSTRAINED, one in which a black box reads another is NESTED,
    and the rest is ONE_LAYER. In a CAUSAL problem the black boxes are noisy mechanisms, and an
    intervention is chosen.
    """

    ONE_LAYER = "one layer"
    CONSTRAINED = "constrained"
    NESTED = "nested"
    CAUSAL = "causal"


def measured(
    problem: Problem, objective: Tensor, constraints: Tensor, allowed: Array | None = None
) -> tuple[float, float]:
    """What `measure` returns, from a run of the problem's program at one point.

    Args:
        problem: The problem.
        objective: The objective, minimized, (1,).
        constraints: The bodies of the constraints, (1, K).
        allowed: How far they may be above 0 (`Trial.allowed`); None for not at all.
    """
    worst = violations(constraints[0].numpy(), 0.0 if allowed is None else allowed).max(initial=0.0)
    return problem.sense * float(objective[0]), float(worst)


def call_boxes(call: BoxCall, states: Tensor) -> Tensor:
    """The real function of a black box, at states (batch, inputs)."""
    return torch.tensor(np.array([call.box.evaluate(state) for state in states.numpy()]))
