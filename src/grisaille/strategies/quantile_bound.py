"""CUQB: optimism by quantiles of the composite function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from grisaille.belief.knowledge import Knowledge
from grisaille.belief.sampled_network import SampledNetwork
from grisaille.checks import is_number
from grisaille.errors import ModelError, shortened
from grisaille.language.problem import Problem
from grisaille.records import Bound, Situation, Suggestion, TrialKind
from grisaille.strategies.acquisition_search import FoundDesign, search_designs
from grisaille.strategies.expected_improvement import check_drawn, check_samples
from grisaille.strategies.initial_design import (
    as_initial,
    check_design,
    initial_suggestion,
    still_initial,
)
from grisaille.strategies.strategy import Strategy


class SampledQuantiles:
    """Lower quantiles of objective and constraints over draws of a network.

    Q(x) = inf{v: P(f(x) <= v) >= 1 - probability}, estimated from the draws, linearly between two
    of them. Sorting has a derivative wherever no two draws are equal, so that with fixed normal
    numbers the quantile has one almost everywhere.

    Args:
        network: The draws.
        probability: With which the value lies above its lower quantile.
    """

    def __init__(self, network: SampledNetwork, probability: float) -> None:
        self.network = network
        self.probability = probability

    def values(self, design: Tensor) -> tuple[Tensor, Tensor]:
        """Quantiles at design points (batch, n): objective (batch,), constraints (batch, K)."""
        objective, constraints = self.network.draw(design)
        level = 1 - self.probability
        return _quantile(objective, level), _quantile(constraints, level)


@dataclass(frozen=True, slots=True)
class CUQB(Strategy):
    """Constrained upper quantile bound (Lu and Paulson 2023), here lower, since we minimize.

    x^t minimizes the lower quantile of f(x) where the lower quantiles of all g_k(x) are at most 0,
    f and g_k being composites of black boxes drawn from their posteriors. When no point has such
    quantiles, the publication declares the problem infeasible; a search that finds none is no
    proof, so here `bound` says it, and the point of least violation is tried.

    The publication has one layer of black boxes; drawing node by node extends it to networks. It
    sorts softly to get a derivative; here the derivative is that of sorting itself, so that the
    quantile is the empirical one. A quantile is less optimistic than the paper's bound over the
    confidence box.

    Attributes:
        probability: With which f lies above its lower quantile, and each g_k above its own.
        samples: How many draws. The publication's code uses 50 to 1000.
        initial: As in `EIFN`.
    """

    probability: float = 0.95
    samples: int = 128
    initial: Any = None

    def __post_init__(self) -> None:
        if not (is_number(self.probability) and 0.5 <= self.probability < 1):
            raise ModelError(
                f"CUQB(probability={shortened(self.probability)}): at least 0.5, which is the "
                "median, and below 1"
            )
        check_samples("CUQB", self.samples)
        object.__setattr__(self, "initial", as_initial("CUQB", self.initial))

    def check(self, problem: Problem) -> None:
        """Networks of any depth, without process noise."""
        check_drawn("CUQB", problem)
        check_design(self.initial, problem)

    def suggest(self, situation: Situation) -> Suggestion:
        """The next point of the initial design, or the one of the best quantile."""
        if still_initial(situation, self.initial, self.learned(situation.problem)):
            return initial_suggestion(situation, self.initial)
        found = self._solve(Knowledge(situation))
        known = Suggestion(TrialKind.ACQUIRED, found.x)
        if situation.pending:
            return replace(known, pending=len(situation.pending))
        return replace(known, bound=Bound(found.least))

    def acquisition(self, knowledge: Knowledge) -> SampledQuantiles:
        """The quantiles that the next suggestion is chosen by."""
        return SampledQuantiles(knowledge.network(self.samples), self.probability)

    def bound(self, situation: Situation) -> Bound:
        """The least lower quantile: an estimate."""
        situation = replace(situation, pending=())
        if still_initial(situation, self.initial, self.learned(situation.problem)):
            return Bound()
        found = self._solve(Knowledge(situation))
        if found.least is not None:
            return Bound(found.least, reason="CUQB takes it from random draws")
        return Bound(
            reason="no point was found that is likely to meet all constraints: by CUQB's rule the "
            "problem is infeasible, which is not proved"
        )

    def _solve(self, knowledge: Knowledge) -> FoundDesign:
        return search_designs(knowledge, self.acquisition(knowledge).values)


def _quantile(draws: Tensor, level: float) -> Tensor:
    """The empirical quantile over the first dimension, linear between two draws.

    `torch.quantile` gives the same numbers, but not for empty or for very many draws.
    """
    place = level * (len(draws) - 1)
    below = int(place)
    ordered = draws.sort(0).values
    above = min(below + 1, len(draws) - 1)
    return torch.lerp(ordered[below], ordered[above], place - below)
