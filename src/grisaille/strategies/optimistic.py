"""The paper's algorithm: optimism in the face of uncertainty (Alg. 1, and Alg. 2 with constraints).

Each trial solves the auxiliary problem: the best objective over all design points and all
intermediate values that the confidence bands allow. Its solution is tried; its value is a bound.
What the default adds to the paper is in `practical/`, in the order of `practical/policy.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from grisaille.belief.incumbent import Incumbent
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.rules import CONFIDENCE, BandRule, Declared, learned_by, rule_of
from grisaille.checks import check_confidence, check_flag, check_solver, is_finite
from grisaille.errors import ModelError, shortened
from grisaille.language.problem import Problem
from grisaille.records import Bound, Probe, Refutation, Situation, Suggestion, TrialKind
from grisaille.search.multistart import MultiStart
from grisaille.search.search_problem import Solution, Solver
from grisaille.strategies.auxiliary_problem import solve_auxiliary
from grisaille.strategies.initial_design import (
    as_initial,
    check_design,
    initial_suggestion,
    still_initial,
)
from grisaille.strategies.plan import Plan, bound_of, is_refuted
from grisaille.strategies.practical.costs import (
    cheapest_initial,
    costs_differ,
    still_initial_by_box,
)
from grisaille.strategies.practical.doubting import doubted_refutation
from grisaille.strategies.practical.policy import (
    EXPLOITING,
    WHAT_TO_EVALUATE,
    WHERE_TO_GO,
    Step,
    bounding_solution,
    narrowed,
)
from grisaille.strategies.strategy import Strategy
from grisaille.theory.beta import Theory

_NO_VERDICT = (
    "the answers so far leave no feasible point, but not surely enough for a verdict: try more "
    "points, or relax a constraint"
)


@dataclass(frozen=True, slots=True)
class Optimistic:
    """Optimistic optimization of nested grey-box functions (Alg. 1; Alg. 2 with constraints).

    Attributes:
        beta: Half-width of the confidence bands in posterior standard deviations. The default, 2,
            covers 95 % of a Gaussian at each point: tight enough to learn quickly, and for smooth
            black boxes rarely wrong. Larger values explore more and give a more cautious bound. Or
            a `Theory`, for the paper's own beta, with which its theorems hold; or `Declared()`, for
            bands that hold by declaration alone, without a Gaussian process.
        solver: Solves the auxiliary problem: `Certified` for a proved bound, `MultiStart` or `Grid`
            for an estimate. By default multi-start search, followed by as much of a proof as
            takes about a second.
        initial: Sobol points tried first when hyper-parameters are learned; by default 2 (n + 1)
            for n variables, at most 20 and at most a third of the trials. Or points of your own:
            an array with one row per point, or a DataFrame whose columns are the variables. There
            is no initial design if all hyper-parameters are given.
        exploit: Whether some trials exploit what is believed. Some go to believed-feasible points:
            the last two, and earlier ones when such a point is predicted to close half of the gap.
            And where hyper-parameters are learned, points are chosen with bands half as wide as
            those of the bound, which is then worked out every fourth trial. By default it does,
            but not with a `Theory`, whose theorems are about the algorithm's own points.
        confidence: The chance that a shown bound is right, for functions like those the kernels
            describe. It widens the bands of the bound, not those that points are chosen by. With a
            `Theory` or `Declared()` bands hold by their own constants.
    """

    beta: float | Theory | Declared = 2.0
    solver: Solver | None = None
    initial: Any = None
    exploit: bool | None = None
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        given = isinstance(self.beta, Theory | Declared)
        if not given and not (is_finite(self.beta) and self.beta > 0):  # type: ignore[operator]
            raise ModelError(
                f"Optimistic(beta={shortened(self.beta)}): beta must be a positive number, a "
                "gs.Theory() or gs.Declared()"
            )
        solvers = "gs.Certified(), gs.MultiStart() or gs.Grid()"
        check_solver("Optimistic", "solver", self.solver, solvers, optional=True)
        object.__setattr__(self, "initial", as_initial("Optimistic", self.initial))
        check_flag("Optimistic", "exploit", self.exploit, optional=True)
        check_confidence("Optimistic", self.confidence)
        if given and self.confidence != CONFIDENCE:
            raise ModelError(
                f"Optimistic(confidence={self.confidence:g}): a {type(self.beta).__name__} says "
                "itself with which chance its bands hold: leave confidence= out"
            )

    def check(self, problem: Problem) -> None:
        """Every problem but one over interventions will do; a rule asks for its constants."""
        if problem.causal is not None:
            raise ModelError(
                "Optimistic: this is a problem over interventions: use gs.MCBO() or gs.CBO()"
            )
        check_design(self.initial, problem)
        self._rule.check(problem.program)

    def suggest(self, situation: Situation) -> Suggestion:
        """The next trial: one step of the algorithm, and what the default adds to it."""
        if self._is_still_initial(situation):
            return self._initial(situation)
        knowledge = Knowledge(situation, self._rule)  # Eq. mean_cov, Def. hpb_int
        plan = self._solve(knowledge)  # x^t and its bound (Alg. 2 line 2; Lemma inst_r)
        for step in self._steps:
            if not plan.is_final:
                plan = step(plan, knowledge)
        if knowledge.contradiction:  # then bands prove nothing
            withheld = Bound(reason=knowledge.contradiction, withheld=True)
            return replace(plan.suggestion, bound=withheld, refutation=None)
        return plan.suggestion

    def bound(self, situation: Situation) -> Bound:
        """The optimum of the auxiliary problem after the history, and what is proved about it."""
        situation = replace(situation, pending=())  # only answers count
        if self._is_still_initial(situation):
            return Bound()
        knowledge = Knowledge(situation, self._rule)
        if knowledge.contradiction:
            return Bound(reason=knowledge.contradiction, withheld=True)
        if situation.widening > 1 and knowledge.untested:
            names = ", ".join(map(repr, knowledge.untested))
            reason = (
                f"no input of black box {names} was evaluated twice, so it may be noisy: pass "
                "noise=0 if it is not"
            )
            return Bound(reason=reason)
        if situation.widening > 1 and knowledge.complaint:
            return Bound(reason=knowledge.complaint)
        solution = solve_auxiliary(knowledge.confident, knowledge, self.solver)
        if not solution.feasible:
            refutation = doubted_refutation(knowledge, self.solver)
            if refutation is not None or is_refuted(solution):
                reason, declared = knowledge.complaint or _NO_VERDICT, knowledge.is_declared
                return Bound(reason=reason, is_declared=declared, refutation=refutation)
        reason = "" if solution.proof is None else solution.proof.reason
        return replace(bound_of(solution, knowledge), reason=knowledge.complaint or reason)

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The best point tried; None before the first trial."""
        return Knowledge(situation, self._rule).incumbent

    def learned(self, problem: Problem) -> list[str]:
        """Names of the black boxes whose hyper-parameters are learned."""
        return [box.name for box in learned_by(self._rule, problem.boxes)]

    def _solve(self, knowledge: Knowledge) -> Plan:
        """The plan to try the solution of the auxiliary problem."""
        search = None
        if self._exploits and knowledge.is_learned:
            plan = narrowed(knowledge, self.solver)
            if plan is not None:
                return plan
            search = MultiStart()  # the bound, and its proof, come from the audited bands
        plausible = knowledge.plausible
        solution = solve_auxiliary(plausible, knowledge, self.solver, search)
        bounding: Solution | None = solution
        if search is not None or not knowledge.is_declared:
            # The paper's own points come with a bound each; else every fourth one does.
            bounding = bounding_solution(knowledge, self.solver, always=not self._exploits)
        return Plan.of(TrialKind.OPTIMISTIC, knowledge, self.solver, plausible, solution, bounding)

    def _visit_states(self, plan: Plan, knowledge: Knowledge) -> Plan:
        """Evaluate at x^t and at the optimistic states s̄_i^t (Alg. 1 line 4), unless refuted.

        Black boxes of the first layer are evaluated at the same inputs along the chain.
        """
        situation, states = knowledge.situation, plan.states
        calls = enumerate(knowledge.program.calls)
        deep = [i for i, call in calls if call.box.separable and not call.first_layer]
        probes = tuple(Probe(i, states[i]) for i in deep if situation.evaluation == "separate")
        suggestion = replace(plan.suggestion, x=plan.x, probes=probes)
        proof = plan.solution.proof
        # Bands that are a guess, or that pending answers narrow, prove nothing about the problem.
        holds = knowledge.is_declared and not situation.pending
        if proof is not None and is_refuted(plan.solution) and holds:
            refutation = Refutation(
                situation.problem, situation.history, self.beta, proof.refuted_regions
            )
            suggestion = replace(suggestion, refutation=refutation)
        return replace(plan, suggestion=suggestion)

    @property
    def _steps(self) -> list[Step]:
        steps = (*WHERE_TO_GO, self._visit_states, *WHAT_TO_EVALUATE)
        return [step for step in steps if self._exploits or step not in EXPLOITING]

    def _is_still_initial(self, situation: Situation) -> bool:
        """Whether there is too little to learn hyper-parameters from, or to bound anything."""
        if not self._rule._is_bounded(situation.problem.program, situation.history):
            return True
        learned = self.learned(situation.problem)
        if costs_differ(situation.problem):
            return still_initial_by_box(situation, self.initial, learned)
        return still_initial(situation, self.initial, learned)

    def _initial(self, situation: Situation) -> Suggestion:
        if costs_differ(situation.problem):
            return cheapest_initial(situation, self.initial)
        return initial_suggestion(situation, self.initial)

    @property
    def _exploits(self) -> bool:
        return self._rule._exploits if self.exploit is None else self.exploit

    @property
    def _rule(self) -> BandRule:
        return rule_of(self.beta, self.confidence)


def bands_of(strategy: Strategy) -> BandRule | None:
    """Return the rule of `Optimistic` that gives its bands; None for other strategies."""
    return strategy._rule if isinstance(strategy, Optimistic) else None


def with_confidence(strategy: Strategy, confidence: float | None) -> Strategy:
    """Return the strategy with another confidence of its bounds; the same one for None.

    Raises:
        ModelError: It has no bounds.
    """
    if confidence is None:
        return strategy
    if not hasattr(strategy, "confidence"):
        raise ModelError(
            f"confidence={confidence:g}: gs.{type(strategy).__name__}() shows no bound that would "
            "hold with this chance: leave confidence= out, or use gs.Optimistic()"
        )
    return cast(Strategy, replace(cast(Any, strategy), confidence=float(confidence)))
