"""MCBO: optimism about the mechanisms of a causal model, with interventions and process noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from grisaille.belief.failures import FailedInterventions
from grisaille.belief.incumbent import Incumbent, best_of_trials, find_incumbent
from grisaille.belief.knowledge import with_pending
from grisaille.belief.learning import Beliefs, believe
from grisaille.belief.plausible_set import PlausibleSet, constant_widths
from grisaille.checks import check_count, check_solver, is_finite
from grisaille.errors import ModelError, shortened
from grisaille.language.causal.model import CausalModel
from grisaille.language.problem import Problem
from grisaille.metrics import violations
from grisaille.records import Bound, History, Pending, Situation, Suggestion, TrialKind, allowances
from grisaille.reductions.interventions import Interventions, mechanism_history
from grisaille.search.multistart import MultiStart
from grisaille.search.search_problem import Solution, Solver
from grisaille.strategies.initial_design import sobol_point
from grisaille.strategies.optimistic import Optimistic

# Every point of such a search is a whole sample of disturbances, so it is a light one.
_SEARCH = MultiStart(starts=4, samples=192, iterations=20, again=False, polish=False)
# Of earlier trials of a set, the best are where a search starts as well.
_HINTS = 3


@dataclass(frozen=True, slots=True)
class MCBO:
    """Model-based causal Bayesian optimization: the set and values with the best promise.

    Each variable of the system has a Gaussian process for its mechanism, learned from observational
    data and from all runs of all trials. A trial goes to

        min over s, x_s, eta of E[objective], z_i = mu_i(s_i) + beta eta_i(s_i) sigma_i(s_i) + e_i,

    where eta_i in [-1, 1] are hallucinated controls, which may depend on the state when there is
    process noise e, and constraints hold for the same expected values (Sussex, Makarova and Krause
    2022, "Model-based causal Bayesian optimization"). There the controls are small networks; here
    eta_i is affine in the state, then clamped. The publication has no constraints and no hidden
    causes: both are extensions. A problem without interventions is solved the same way, and there
    without process noise it is `Optimistic` along the chain, without recommendations.

    Attributes:
        beta: Half-width of the bands in posterior standard deviations.
        solver: Solves the auxiliary problem of each set; a light `MultiStart` by default.
        initial: Different inputs that each learned mechanism is to be seen at before the method
            starts, observational data included; by default 2 (d + 1) for d causes, at most 10.
            Without interventions as in `Optimistic`.
    """

    beta: float = 2.0
    solver: Solver | None = None
    initial: int | None = None

    def __post_init__(self) -> None:
        if not (is_finite(self.beta) and self.beta > 0):
            raise ModelError(f"MCBO(beta={shortened(self.beta)}): beta must be a positive number")
        solvers = "gs.MultiStart() or gs.Grid()"
        check_solver("MCBO", "solver", self.solver, solvers, optional=True)
        check_count("MCBO", "initial", self.initial, optional=True)

    def check(self, problem: Problem) -> None:
        """Every problem will do, if each mechanism that matters can be observed somehow."""
        causal = problem.causal
        if causal is None:
            self._optimism(problem).check(problem)
            return
        for name in _needed(causal):
            if not len(causal.observations[name]) and not _telling(causal, name):
                raise ModelError(
                    f"MCBO: nothing tells the mechanism of {name!r}, because every intervention "
                    "set hides it: pass observations=, or an empty set for watching"
                )

    def suggest(self, situation: Situation) -> Suggestion:
        """What the mechanisms lack data of, else the intervention with the best promise."""
        causal = situation.problem.causal
        if causal is None:
            return self._optimism(situation.problem).suggest(_chained(situation))
        known = mechanism_history(causal, situation.history)
        lacking = self._lacking(causal, known)
        if lacking and len(situation.pending) < len(causal.sets):
            return _initial(situation, causal, lacking[0])
        beliefs = self._beliefs(causal, known)
        for trial in situation.pending:
            beliefs = self._with_pending(causal, beliefs, trial)
        link, solution = self._best_promise(situation, causal, beliefs)
        promise = solution.value if solution.feasible and not situation.pending else None
        values = solution.point[: link.problem.program.size]
        if _failures(link, situation).excess(values.unsqueeze(0)).item() > 0:
            link, solution = self._best_promise(situation, causal, beliefs, avoids_failures=True)
        x = solution.point[: link.problem.program.size].numpy()
        bound, pending = Bound(promise), len(situation.pending)
        return link.up(Suggestion(TrialKind.OPTIMISTIC, x, bound=bound, pending=pending))

    def bound(self, situation: Situation) -> Bound:
        """The best promise of any set after the history."""
        causal = situation.problem.causal
        if causal is None:
            return self._optimism(situation.problem).bound(_chained(situation))
        situation = replace(situation, pending=())
        known = mechanism_history(causal, situation.history)
        if self._lacking(causal, known):
            return Bound()
        _, solution = self._best_promise(situation, causal, self._beliefs(causal, known))
        reason = "averages over process noise are not bounded over boxes"
        return Bound(solution.value if solution.feasible else None, None, reason)

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The trial of least expected objective, as the mechanisms' posterior means have it."""
        causal = situation.problem.causal
        if causal is None:
            return self._optimism(situation.problem).incumbent(_chained(situation))
        if not len(situation.history):
            return None
        beliefs = self._beliefs(causal, mechanism_history(causal, situation.history))
        judged = self._judged(causal, beliefs, situation.history)
        # While mechanisms are unknown, what was observed must do.
        return judged or find_incumbent(situation.history, None)

    def learned(self, problem: Problem) -> list[str]:
        """Names of the mechanisms whose hyper-parameters are learned."""
        boxes = problem.boxes if problem.causal is None else problem.causal.model.boxes
        return [box.name for box in boxes if box.is_learned]

    def _optimism(self, problem: Problem) -> Optimistic:
        """The same method for problems without interventions."""
        solver = self.solver
        if solver is None and problem.program.process_noise:
            solver = _SEARCH
        return Optimistic(self.beta, solver, self.initial, exploit=False)

    def _lacking(self, causal: CausalModel, known: History) -> list[str]:
        """Mechanisms that matter and were seen at too few different inputs."""
        found = []
        for box in causal.model.boxes:
            if box.name not in _needed(causal) or not box.is_learned:
                continue
            inputs, _ = known.data(box.name, box.inputs, box.outputs)
            if box.inputs:
                wanted = self.initial or min(2 * (box.inputs + 1), 10)
                seen = len(np.unique(inputs, axis=0))
            else:
                wanted, seen = 2, len(inputs)
            if seen < wanted:
                found.append(box.name)
        return found

    def _beliefs(self, causal: CausalModel, known: History) -> Beliefs:
        """A surrogate for each mechanism that anything is known about."""
        seen = known.counts()
        names = [b.name for b in causal.model.boxes if b.name in seen or not b.inputs]
        return believe(causal.model.program, known, only=names)

    def _plausible(self, causal: CausalModel, beliefs: Beliefs, number: int) -> PlausibleSet:
        program = causal.intervened(number).program
        return PlausibleSet(program, beliefs, constant_widths(program, self.beta))

    def _with_pending(self, causal: CausalModel, beliefs: Beliefs, trial: Pending) -> Beliefs:
        number, values = causal.read(trial.suggestion.x)
        alone = Pending(replace(trial.suggestion, x=values, probes=()))
        return with_pending(causal.intervened(number).program, beliefs, [alone])

    def _best_promise(
        self,
        situation: Situation,
        causal: CausalModel,
        beliefs: Beliefs,
        avoids_failures: bool = False,
    ) -> tuple[Interventions, Solution]:
        """The set with the best solution of its auxiliary problem, and that.

        Args:
            situation: The situation.
            causal: What the problem over interventions is about.
            beliefs: A surrogate for each mechanism.
            avoids_failures: Whether to keep away from where the system failed.
        """
        solver = self.solver or _SEARCH
        found: list[tuple[Interventions, Solution]] = []
        for number in range(len(causal.sets)):
            link = Interventions(situation.problem, causal, number)
            plausible = self._plausible(causal, beliefs, number)
            hints = _hints(plausible, link.down(situation).history)
            problem = plausible.search_problem()
            if avoids_failures:
                problem = _failures(link, situation).avoided_in(problem)
            found.append((link, solver.solve(problem, hints, situation.trial_seed)))
        feasible = [f for f in found if f[1].feasible]
        if feasible:
            return min(feasible, key=lambda f: f[1].value)
        return min(found, key=lambda f: f[1].violation)

    def _judged(self, causal: CausalModel, beliefs: Beliefs, history: History) -> Incumbent | None:
        """The best trial of those whose mechanisms are known; None if those of none are."""
        count = len(history)
        read = [causal.read(t.x) for t in history]
        objectives = np.full(count, np.inf)
        worst, doubts = np.full(count, np.inf), np.full(count, np.inf)
        for number in sorted({n for n, _ in read}):
            if any(box.name not in beliefs for box in causal.intervened(number).boxes):
                continue
            plausible = self._plausible(causal, beliefs, number)
            rows = [i for i, (n, _) in enumerate(read) if n == number]
            design = torch.tensor(np.array([read[i][1] for i in rows]))
            with torch.no_grad():
                predicted, bodies, deviations = (p.numpy() for p in plausible.predict(design))
            objectives[rows] = predicted
            allowed = allowances(history)[rows]
            worst[rows] = violations(bodies, allowed).max(1, initial=0.0)
            doubts[rows] = violations(bodies + deviations, allowed).max(1, initial=0.0)
        if not np.isfinite(objectives + doubts).any():
            return None
        return best_of_trials(objectives, worst, doubts)


def _hints(plausible: PlausibleSet, history: History) -> Tensor:
    """The best of the trials of a set, with controls in the middle."""
    size = plausible.program.size
    controls = len(plausible.lower) - size
    if not len(history) or not size:
        return plausible.lower.new_zeros(0, len(plausible.lower))
    design = torch.tensor(np.array([trial.x for trial in history]))
    with torch.no_grad():
        order = plausible.predict(design)[0].argsort()[:_HINTS]
    return torch.cat([design[order], design.new_zeros(len(order), controls)], 1)


def _failures(link: Interventions, situation: Situation) -> FailedInterventions:
    """Where the system failed under a set."""
    return FailedInterventions(link.problem.program, link.down(situation).history)


def _chained(situation: Situation) -> Situation:
    return replace(situation, evaluation="chained")


def _needed(causal: CausalModel) -> set[str]:
    """The mechanisms that some set leaves in the model."""
    numbers = range(len(causal.sets))
    return {box.name for number in numbers for box in causal.intervened(number).boxes}


def _telling(causal: CausalModel, name: str) -> list[int]:
    """The sets whose trials tell something about a mechanism."""
    return [number for number in range(len(causal.sets)) if causal.tells(number, name)]


def _initial(situation: Situation, causal: CausalModel, lacking: str) -> Suggestion:
    """The next point of a scrambled Sobol sequence, under a set that tells what is lacking."""
    telling = _telling(causal, lacking) or list(range(len(causal.sets)))
    number = telling[situation.started % len(telling)]
    point = sobol_point(situation)
    x = causal.design(number, causal.under(number, point))
    return Suggestion(TrialKind.INITIAL, x, pending=len(situation.pending))
