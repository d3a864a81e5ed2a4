"""Expected improvement of a known function of black boxes (EI-CF), and of a network (EI-FN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grisaille.belief.knowledge import Knowledge
from grisaille.belief.sampled_network import SampledNetwork
from grisaille.checks import check_count
from grisaille.errors import ModelError
from grisaille.language.problem import Problem
from grisaille.language.unknowns import refuse_unknowns
from grisaille.records import Situation, Suggestion, TrialKind
from grisaille.reductions.collapse import unknown_outputs
from grisaille.strategies.acquisition_search import search_designs, spreads
from grisaille.strategies.initial_design import (
    as_initial,
    check_design,
    initial_suggestion,
    still_initial,
)
from grisaille.strategies.strategy import Strategy

# Widths of the smoothing of max(improvement, 0) and of the feasibility of a draw, in spreads of
# what was seen: those of BoTorch's acquisition functions in logarithms.
_SMOOTH_IMPROVEMENT = 1e-6
_SMOOTH_FEASIBILITY = 1e-3


class SampledImprovement:
    """Expected improvement over the best value so far, averaged over draws of a network.

    EI(x) = E[max(best - f(x), 0)], or with constraints E[max(best - f(x), 0) 1{g(x) <= 0}]; the
    probability of g(x) <= 0 while nothing feasible is known.

    Args:
        network: The draws.
        best: The least feasible objective so far, minimized; None if there is none.
        scale: Spread of the objectives seen.
        spreads: (K,), spreads of the constraints seen.
    """

    def __init__(
        self, network: SampledNetwork, best: float | None, scale: float, spreads: Tensor
    ) -> None:
        self.network = network
        self.best = best
        self.scale = scale
        self.spreads = spreads

    def values(self, design: Tensor) -> Tensor:
        """Expected improvement at design points (batch, n), to (batch,)."""
        objective, constraints = self.network.draw(design)
        feasible = (constraints <= 0).all(-1).to(objective)
        if self.best is None:
            return feasible.mean(0)
        return ((self.best - objective).clamp_min(0) * feasible).mean(0)

    def logarithm(self, design: Tensor, counted: Tensor) -> tuple[Tensor, Tensor]:
        """Its smoothed logarithm, which has a slope everywhere, and the mean constraints.

        Args:
            design: (batch, n).
            counted: (K,), which constraints are in the expectation.

        Returns:
            (batch,) and (batch, K).
        """
        from botorch.utils.safe_math import log_fatplus, logmeanexp

        objective, constraints = self.network.draw(design)
        logarithm = torch.zeros_like(objective)
        if self.best is not None:
            logarithm = log_fatplus((self.best - objective) / self.scale, tau=_SMOOTH_IMPROVEMENT)
        if counted.any():
            excess = constraints[..., counted] / self.spreads[counted]
            logarithm = logarithm + torch.nn.functional.logsigmoid(
                -excess / _SMOOTH_FEASIBILITY
            ).sum(-1)
        return logmeanexp(logarithm, dim=0), constraints.mean(0)


@dataclass(frozen=True, slots=True)
class EIFN(Strategy):
    """Expected improvement for function networks (Astudillo and Frazier 2021).

    x^t maximizes E[max(best - f(x), 0)], where f is drawn node by node: each call answers
    mu(s) + sigma(s) w at the states that the draw has reached, w fixed quasi-random normal numbers.
    What is searched is the smoothed logarithm of the average, with 10 n local searches from 100 n
    points for n variables. White boxes between the nodes are computed as they are.

    The publication has no constraints. Here they are met in the expectation, which is an extension:
    E[max(best - f(x), 0) 1{g(x) <= 0}]; constraints that no black box reaches are kept exactly.

    Attributes:
        samples: How many draws.
        initial: Sobol points tried first; by default 2 (n + 1), at most 20 and at most a third of
            the trials.
    """

    samples: int = 128
    initial: Any = None

    def __post_init__(self) -> None:
        check_samples(type(self).__name__, self.samples)
        object.__setattr__(self, "initial", as_initial(type(self).__name__, self.initial))

    def check(self, problem: Problem) -> None:
        """Networks of any depth, without process noise."""
        check_drawn(type(self).__name__, problem)
        check_design(self.initial, problem)

    def suggest(self, situation: Situation) -> Suggestion:
        """The next point of the initial design, or the one of greatest expected improvement."""
        learned = self.learned(situation.problem)
        if not len(situation.history) or still_initial(situation, self.initial, learned):
            return initial_suggestion(situation, self.initial)  # there is nothing to improve on
        knowledge = Knowledge(situation)
        improvement = self.acquisition(knowledge)
        unknown = torch.tensor(unknown_outputs(situation.problem)[1:])

        def evaluate(design: Tensor) -> tuple[Tensor, Tensor]:
            logarithm, constraints = improvement.logarithm(design, unknown)
            return -logarithm, constraints[:, ~unknown]

        x = search_designs(knowledge, evaluate).x
        return Suggestion(TrialKind.ACQUIRED, x, pending=len(situation.pending))

    def acquisition(self, knowledge: Knowledge) -> SampledImprovement:
        """The expected improvement that the next suggestion maximizes."""
        network = knowledge.network(self.samples)
        return SampledImprovement(network, knowledge.best, *spreads(knowledge.history))


@dataclass(frozen=True, slots=True)
class EICF(EIFN):
    """Expected improvement for composite functions (Astudillo and Frazier 2019).

    x^t maximizes E[max(best - g(x, h(x)), 0)] for a known g and black boxes h of the variables
    alone, averaged over draws h(x) = mu(x) + sigma(x) w: `EIFN` on one layer of black boxes, which
    is all it is for. Constraints are met in the expectation, an extension (EIC-CF in Lu and
    Paulson 2023).

    Attributes:
        samples: As in `EIFN`.
        initial: As in `EIFN`.
    """

    def check(self, problem: Problem) -> None:
        """One layer of black boxes, without process noise."""
        check_drawn("EICF", problem)
        check_design(self.initial, problem)
        deep = [call.box.name for call in problem.program.calls if not call.first_layer]
        if deep:
            raise ModelError(
                f"EICF is for one layer of black boxes, but {deep[0]!r} reads what another one "
                "gives: use gs.EIFN(), gs.CUQB() or gs.Optimistic()"
            )


def check_samples(who: str, samples: object) -> None:
    """Raise ModelError if the number of draws is not a whole number of at least 1."""
    check_count(who, "samples", samples)


def check_drawn(who: str, problem: Problem) -> None:
    """Refuse a problem that one draw of every black box does not settle.

    Raises:
        ModelError: It has process noise, unknowns, or chooses among interventions.
    """
    refuse_unknowns(who, problem.variables)
    if problem.causal is not None:
        raise ModelError(
            f"{who} knows no interventions: use gs.CBO(), gs.ConstrainedCBO() or gs.MCBO()"
        )
    if problem.program.process_noise:
        raise ModelError(
            f"{who} draws black boxes, not what disturbs them, and this problem has process noise: "
            "use gs.MCBO() or gs.Optimistic()"
        )
