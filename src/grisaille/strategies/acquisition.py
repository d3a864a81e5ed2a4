"""Strategies that minimize an acquisition function: the user's own, EI-CF, EI-FN and CUQB.

EI-CF is expected improvement of a known function of black boxes, EI-FN that of a network. CUQB is
optimism by quantiles of the composite function. `search_designs` is the search that they share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.design_problem import design_problem
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.sampled_network import SampledNetwork
from grisaille.checks import attribute_of, check_count, is_number, takes
from grisaille.errors import GrisailleError, ModelError, counted, place_of, raised, shortened
from grisaille.language.problem import Problem
from grisaille.language.unknowns import refuse_unknowns
from grisaille.records import Bound, History, Situation, Suggestion, TrialKind, taken_designs
from grisaille.reductions.collapse import unknown_outputs
from grisaille.search.multistart import MultiStart, settle
from grisaille.search.search_problem import Evaluate, SearchProblem, Solution
from grisaille.strategies.initial_design import (
    as_initial,
    check_design,
    initial_suggestion,
    still_initial,
)
from grisaille.strategies.strategy import Strategy

# Local searches and points to start them from, per design variable: the effort of the publications
# on EI-CF and EI-FN.
_STARTS = 10
_SAMPLES = 100


@dataclass(frozen=True, slots=True)
class FoundDesign:
    """The design point of least acquisition.

    Attributes:
        x: The point to try, on the steps of its variables.
        solution: The best point between the bounds, as the search found it.
    """

    x: Array
    solution: Solution

    @property
    def least(self) -> float | None:
        """The acquisition at the best point between the bounds; None if that is not feasible."""
        return self.solution.value if self.solution.feasible else None


def search_designs(knowledge: Knowledge, evaluate: Evaluate) -> FoundDesign:
    """The design point of least acquisition, away from where black boxes failed.

    Args:
        knowledge: What is known; the incumbent is one of the starts.
        evaluate: Acquisition, minimized, and constraints of design points (batch, n).
    """
    program, incumbent = knowledge.program, knowledge.incumbent
    problem = design_problem(program, evaluate)
    if knowledge.failures is not None:
        problem = knowledge.failures.avoided_in(problem, knowledge.plausible)
    hints: Tensor = problem.lower.new_zeros(0, program.size)
    if incumbent is not None:
        best = torch.tensor(knowledge.history.trials[incumbent.position].x).unsqueeze(0)
        hints = program.space.to_search(best)
    # Averages and quantiles of draws have many kinks.
    effort = MultiStart(_STARTS * program.size, _SAMPLES * program.size, again=False, polish=False)
    solution = effort.solve(problem, hints, knowledge.situation.trial_seed)
    chosen = settled(problem, solution, knowledge)
    return FoundDesign(program.space.to_try(chosen.point), solution)


def settled(problem: SearchProblem, solution: Solution, knowledge: Knowledge) -> Solution:
    """Return the best point near a solution that may be tried.

    Where answers are exact, a design point that is taken is chosen only if nothing else is near.

    Args:
        problem: What was searched; its points start with a design point.
        solution: The best point between the bounds.
        knowledge: What is known.
    """
    taken = taken_designs(knowledge.situation) if knowledge.is_exact else []
    return settle(problem, solution, taken, knowledge.situation.trial_seed)


def spreads(history: History) -> tuple[float, Tensor]:
    """Standard deviations of the objectives and of each constraint (K,) seen, 1 where none is."""
    rows = np.array([[t.objective, *t.constraints] for t in history])
    rows = np.where(np.isfinite(rows), rows, np.nan)
    rows = rows[~np.isnan(rows).any(1)]
    found = rows.std(0) if len(rows) > 1 else np.ones(rows.shape[1])
    found = np.where(found > 0, found, 1.0)
    return float(found[0]), torch.tensor(found[1:])


# --- own acquisition ------------------------------------------------------------------------------


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
        check_network(f"acquisition {self._name!r}", problem)
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


# --- expected improvement -------------------------------------------------------------------------

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
        check_network(type(self).__name__, problem)
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
        check_network("EICF", problem)
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


def check_network(who: str, problem: Problem) -> None:
    """Refuse a problem whose value is not a known function of the outputs of its black boxes.

    Raises:
        ModelError: It has process noise, unknowns, or chooses among interventions.
    """
    refuse_unknowns(who, problem.variables)
    if problem.causal is not None:
        raise ModelError(
            f"{who} knows no interventions: use gs.CBO(), gs.ConstrainedCBO() or gs.MCBO()"
        )
    noisy = [box.name for box in problem.boxes if box.process_noise]
    if noisy:
        raise ModelError(
            f"{who} does not average over process noise, which black box {noisy[0]!r} has: use "
            "gs.MCBO() or gs.Optimistic()"
        )


# --- quantile bound -------------------------------------------------------------------------------


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
        check_network("CUQB", problem)
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
