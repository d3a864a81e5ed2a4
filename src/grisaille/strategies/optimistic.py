"""The paper's algorithm: optimism in the face of uncertainty (Alg. 1 and 2), and what exploits it.

Each trial solves the auxiliary problem: the best objective over all design points and all
intermediate values that the confidence bands allow. Its solution is tried; its value is a bound.
Its points approach active constraints from the infeasible side (paper notes, point 6), so some
trials instead go to a point that is believed feasible with certainty and good.

Where hyper-parameters are learned, the bands are a guess to begin with. As wide as a bound needs
them they explore more than pays, so points are chosen with bands half as wide. And once these leave
next to nothing to gain, they are doubted: widened by as little as leaves something to gain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.certification.relaxation import branching_variables, relaxed
from grisaille.checks import is_number
from grisaille.confidence.failures import Avoidance
from grisaille.confidence.incumbent import Incumbent
from grisaille.confidence.pending import hallucinated
from grisaille.confidence.plausible_set import PlausibleSet, plausible_set
from grisaille.errors import ModelError
from grisaille.language.problem import Problem
from grisaille.records import Bound, History, Probe, Refutation, Suggestion, TrialKind
from grisaille.solvers.certified import Certified
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.proof import Proof, ProofStatus
from grisaille.solvers.search_problem import SearchProblem, Solution, Solver, nearby
from grisaille.strategies.acquisition_search import best_trial, check_solver
from grisaille.strategies.initial_design import (
    check_initial,
    initial_points,
    initial_suggestion,
    sobol_point,
    still_initial,
)
from grisaille.strategies.practical.band_widening import doubted
from grisaille.strategies.practical.costs import (
    cheapest_initial,
    costs_differ,
    missing_for_a_start,
    within_budget,
    without_what_is_not_worth_it,
)
from grisaille.strategies.practical.gap import (
    CLOSED,
    NEARLY_CLOSED,
    relative_gap,
    spread_of,
    stalled,
)
from grisaille.strategies.practical.recommendation import is_closing, recommendation
from grisaille.strategies.practical.repetition import repeats
from grisaille.strategies.strategy import Situation
from grisaille.theory.theory import Theory

Array = NDArray[np.float64]

# How much learned bands are narrowed to choose by; and after how many trials the bound, which these
# do not give, is worked out with the whole ones.
_NARROWING = 0.5
_BOUND_EVERY = 4
# Boxes that a proof may take in the automatic mode when a trial takes less than four seconds, and
# how many times as many at most when it takes longer.
_LEAST_BOXES = 2000
_MOST_BOXES = 256
# With more variables to branch on than this, a proof is not tried for such quick trials.
_FEW_VARIABLES = 6
# While trials are under way others wait for a suggestion, and many are made between answers.
_QUICK_SEARCH = MultiStart(starts=6, samples=512, iterations=10, again=False)
# Where to doubt need not be known to many digits, and is asked several times in a trial.
_DOUBTING_SEARCH = MultiStart(starts=12, samples=1024, iterations=30, again=False)
# Distances to failures have kinks, on which a long local search gains little.
_AVOIDING_SEARCH = MultiStart(starts=12, samples=1024, iterations=20, again=False)
# The last digits are looked for in a small box around where they are.
_FINE_SEARCH = MultiStart(starts=6, samples=256, iterations=40, again=False)


@dataclass(frozen=True, slots=True)
class Optimistic:
    """Optimistic optimization of nested grey-box functions (Alg. 1; Alg. 2 with constraints).

    Attributes:
        beta: Half-width of the confidence bands in posterior standard deviations. The default, 2,
            covers 95 % of a Gaussian at each point: tight enough to learn quickly, and for smooth
            black boxes rarely wrong. Larger values explore more and give a more cautious bound. Or
            a `Theory`, for the paper's own beta, with which its theorems hold.
        solver: Solves the auxiliary problem: `Certified` for a proved bound, `MultiStart` or `Grid`
            for an estimate. By default multi-start search, followed by as much of a proof as is
            cheap beside a trial.
        initial: Sobol points tried first when hyper-parameters are learned; by default 2 (n + 1)
            for n variables, at most 20 and at most a third of the trials. With all
            hyper-parameters given there is no initial design.
        exploit: Whether some trials exploit what is believed. Some go to believed-feasible points:
            the last two, and earlier ones when such a point is predicted to close half of the gap.
            And where hyper-parameters are learned, points are chosen with bands half as wide as
            those of the bound, which is then worked out every fourth trial. By default it does,
            but not with a `Theory`, whose theorems are about the algorithm's own points.
    """

    beta: float | Theory = 2.0
    solver: Solver | None = None
    initial: int | None = None
    exploit: bool | None = None

    def __post_init__(self) -> None:
        theory = isinstance(self.beta, Theory)
        if not theory and not (is_number(self.beta) and 0 < float(self.beta) < np.inf):  # type: ignore[arg-type]
            raise ModelError(
                f"Optimistic(beta={self.beta!r}): beta must be a positive number or a gs.Theory()"
            )
        check_solver("Optimistic", self.solver, "gs.Certified(), gs.MultiStart() or gs.Grid()")
        check_initial("Optimistic", self.initial)

    def check(self, problem: Problem) -> None:
        """Every problem but one over interventions will do; a `Theory` asks for its constants."""
        if problem.causal is not None:
            raise ModelError(
                "Optimistic: this is a problem over interventions: use gs.MCBO() or gs.CBO()"
            )
        if isinstance(self.beta, Theory):
            self.beta.check(problem.program)

    def suggest(self, situation: Situation) -> Suggestion:
        """The next point of the initial design, of the algorithm, or one of its companions."""
        problem, history = situation.problem, situation.history
        under_way = len(situation.pending)
        if self._still_initial(situation):
            initial = initial_suggestion(situation)
            if costs_differ(problem):
                return cheapest_initial(situation, initial, initial_points(situation, self.initial))
            return initial
        plausible = plausible_set(problem.program, history, self.beta, situation.at_once)
        plausible = hallucinated(plausible, situation.pending)
        incumbent = self.incumbent(situation)
        whole, kind = plausible, TrialKind.OPTIMISTIC
        if self._narrows(problem):
            plausible, kind = whole.scaled(_NARROWING), TrialKind.NARROWED
        search = None if plausible is whole else MultiStart()
        solution = self._solve_auxiliary(plausible, situation, incumbent, search)
        if not solution.feasible and plausible is not whole:
            plausible, kind = whole, TrialKind.OPTIMISTIC
            solution = self._solve_auxiliary(plausible, situation, incumbent)
        promise = solution.value if solution.feasible else None
        _, outputs = plausible.trace(solution.point)
        gap = relative_gap(history, incumbent, promise)
        known = Suggestion(kind, _design(problem, solution), pending=under_way)
        if not under_way:  # hallucinated bands have an optimum that is none of the algorithm's
            known = replace(known, optimum=(_design(problem, solution), outputs))
            bounding = solution if plausible is whole else None
            due = len(history) % _BOUND_EVERY == 0 or not any(
                t.suggestion.has_bound for t in history
            )
            if bounding is None and due:
                bounding = self._solve_auxiliary(whole, situation, incumbent)
            if bounding is not None:
                least = bounding.value if bounding.feasible else None
                known = replace(known, bound=Bound(least, _proved(bounding)))

        learned = bool(self.learned(problem))
        nearly = learned and gap <= NEARLY_CLOSED
        # Exact answers cannot narrow bands below rounding: a gap that stalls there is closed, too.
        halted = nearly and stalled(history, incumbent, promise)
        # Then most trials doubt the bands: every other one, or three of four if nothing is left.
        turn = situation.started % (2 if gap > CLOSED else 4) != 0
        doubts = halted and turn and not is_closing(situation)
        recommended = None
        if self._exploits and not doubts:
            closed = gap <= CLOSED or halted
            recommended = recommendation(whole, situation, incumbent, promise, closed)
        if recommended is not None:
            return replace(known, kind=TrialKind.RECOMMENDED, x=recommended)
        if doubts or (learned and _refuted(solution)):
            known = replace(known, kind=TrialKind.DOUBTING)
            plausible, solution = doubted(
                plausible,
                lambda wider: self._solve_auxiliary(wider, situation, incumbent, _DOUBTING_SEARCH),
                lambda found: _gains(found, history, incumbent),
                quick=bool(under_way),
            )
        elif nearly:
            solution = _refined(plausible, solution, situation.trial_seed)
        solution = _away_from_failures(plausible, solution, situation)
        states, _ = plausible.trace(solution.point)
        probes = self._probes(situation, states)
        refutation = None
        if solution.proof is not None and _refuted(solution) and not learned and not under_way:
            refutation = Refutation(problem, history, self.beta, solution.proof.refuted_regions)
        found = replace(known, x=_design(problem, solution), probes=probes, refutation=refutation)
        if learned and self._exploits and not probes and repeats(found.x, situation):
            # Nothing is to be learned where bands send us: see whether they are right elsewhere.
            found = replace(found, kind=TrialKind.RANDOM, x=sobol_point(situation))
        if costs_differ(problem) and len(history) and not is_closing(situation):
            found = without_what_is_not_worth_it(
                situation, found, plausible, solution.point, states
            )
        return within_budget(situation, found)

    def bound(self, situation: Situation) -> Bound:
        """The optimum of the auxiliary problem after the history, and what is proved about it."""
        situation = replace(situation, pending=())  # only answers count
        if self._still_initial(situation):
            return Bound()
        plausible = plausible_set(situation.problem.program, situation.history, self.beta)
        solution = self._solve_auxiliary(plausible, situation, self.incumbent(situation))
        if _refuted(solution):
            return Bound(reason="no feasible point is left, proved for bands that may be wrong")
        reason = "" if solution.proof is None else solution.proof.reason
        promise = solution.value if solution.feasible else None
        return Bound(promise, _proved(solution), reason)

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The best point tried; None before the first trial."""
        return best_trial(situation, self.beta)

    def learned(self, problem: Problem) -> list[str]:
        """Names of the black boxes whose hyper-parameters are learned."""
        return [box.name for box in problem.boxes if box.is_learned]

    def _still_initial(self, situation: Situation) -> bool:
        """Whether there is too little to learn hyper-parameters from."""
        learned = self.learned(situation.problem)
        if costs_differ(situation.problem):
            wanted = initial_points(situation, self.initial)
            return any(missing_for_a_start(situation, name, wanted) for name in learned)
        return still_initial(situation, self.initial, learned)

    def _solve_auxiliary(
        self,
        plausible: PlausibleSet,
        situation: Situation,
        incumbent: Incumbent | None,
        search: MultiStart | None = None,
    ) -> Solution:
        """Solve it with the solver that was given; else by a search, or with a proof for None."""
        trials = situation.history.trials
        hints: list[Tensor] = []
        if incumbent is not None:
            best = trials[incumbent.position]
            hints.append(plausible.locate(best.x, best.chain))
        if trials and trials[-1].suggestion.optimum is not None:
            hints.append(plausible.locate(*trials[-1].suggestion.optimum))
        stacked = (
            torch.stack(hints) if hints else plausible.lower.new_zeros(0, len(plausible.lower))
        )
        problem = relaxed(plausible)
        if self.solver is not None:
            return self.solver.solve(problem, stacked, situation.trial_seed)
        if situation.pending:
            return _QUICK_SEARCH.solve(problem, stacked, situation.trial_seed)
        if search is not None:
            return search.solve(problem, stacked, situation.trial_seed)
        return self._solve_as_affordable(problem, stacked, situation, incumbent)

    def _solve_as_affordable(
        self,
        problem: SearchProblem,
        hints: Tensor,
        situation: Situation,
        incumbent: Incumbent | None,
    ) -> Solution:
        """Multi-start search, and a proof if it is cheap beside a trial.

        The allowance is counted in boxes, not in seconds, and depends on what trials took so far
        only through a coarse class: the same history gives the same answer.
        """
        found = MultiStart().solve(problem, hints, situation.trial_seed)
        cost = min(_trial_class(situation.history), _MOST_BOXES)
        if cost == 1 and branching_variables(situation.problem.program) > _FEW_VARIABLES:
            reason = f"there are more than {_FEW_VARIABLES} variables to branch on"
            unknown = Proof.unknown(found.value, reason=reason)
            return replace(found, proof=unknown)
        gap = 1e-4 * spread_of(situation.history)
        if incumbent is not None and incumbent.feasible and found.feasible:
            # A bound need not be closer than what there is to gain.
            gap = max(gap, 0.02 * (incumbent.objective - found.value))
        solver = Certified(gap, 1e-5, _LEAST_BOXES * cost)
        solution = solver.prove(problem, found, situation.trial_seed)
        proof = solution.proof
        if proof is not None and proof.status is ProofStatus.GAP:
            reason = "a closer proof would have taken longer than a trial is worth"
            return replace(solution, proof=replace(proof, reason=reason))
        return solution

    def _probes(self, situation: Situation, states: list[Array]) -> tuple[Probe, ...]:
        """Each black box at its optimistic state (Alg. 1 line 4), where the chain is elsewhere."""
        if situation.evaluation == "chained":
            return ()
        # Calls of the first layer are made along the chain anyway, at the same inputs.
        calls = enumerate(situation.problem.program.calls)
        return tuple(
            Probe(i, states[i]) for i, call in calls if call.box.separable and not call.first_layer
        )

    def _narrows(self, problem: Problem) -> bool:
        """Whether to choose with narrower bands than the bound has: learned bands are a guess."""
        return self._exploits and bool(self.learned(problem))

    @property
    def _exploits(self) -> bool:
        return not isinstance(self.beta, Theory) if self.exploit is None else self.exploit


def _gains(solution: Solution, history: History, incumbent: Incumbent | None) -> bool:
    """Whether a solution of the auxiliary problem leaves something to gain."""
    promise = solution.value if solution.feasible else None
    if promise is None and (incumbent is None or not incumbent.feasible):
        return False
    return relative_gap(history, incumbent, promise) > NEARLY_CLOSED


def _refined(plausible: PlausibleSet, solution: Solution, seed: int) -> Solution:
    """A solution to more digits: a search is only as exact as the spread over its box allows."""
    problem = nearby(plausible.search_problem(), solution.point, plausible.program.size)
    found = _FINE_SEARCH.solve(problem, solution.point.unsqueeze(0), seed)
    better = found.feasible and found.value < solution.value
    return replace(found, proof=solution.proof) if better else solution


def _away_from_failures(
    plausible: PlausibleSet, solution: Solution, situation: Situation
) -> Solution:
    """The solution of an auxiliary problem, or the best one away from where black boxes failed."""
    avoidance = Avoidance(plausible.program, situation.history)
    point = solution.point.unsqueeze(0)
    if not avoidance or (avoidance.excess(plausible, point) <= 0).all():
        return solution
    problem = avoidance.around(plausible, plausible.search_problem())
    return replace(
        _AVOIDING_SEARCH.solve(problem, point, situation.trial_seed), proof=solution.proof
    )


def _design(problem: Problem, solution: Solution) -> Array:
    """The design point of a solution, whatever else it holds."""
    return np.array(solution.point[: problem.program.size].numpy())


def _proved(solution: Solution) -> float | None:
    """The proved lower bound of an auxiliary problem; None if there is none."""
    proof = solution.proof
    if proof is None or not np.isfinite(proof.lower):
        return None
    return proof.lower


def _refuted(solution: Solution) -> bool:
    return solution.proof is not None and solution.proof.status is ProofStatus.INFEASIBLE


def _trial_class(history: History) -> int:
    """What evaluating a trial takes, in seconds: 1 for all that take less, else a power of 4."""
    if not len(history):
        return 1
    seconds = float(np.median([t.seconds[1] for t in history]))
    return int(4 ** max(0, np.floor(np.log(max(seconds, 1.0)) / np.log(4))))
