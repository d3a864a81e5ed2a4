"""Causal Bayesian optimization: improvement over interventions, with a prior from watching."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.design_problem import between
from grisaille.belief.failures import FailedInterventions
from grisaille.belief.incumbent import Incumbent
from grisaille.belief.knowledge import WIDTH
from grisaille.checks import check_count, check_solver
from grisaille.errors import ModelError
from grisaille.language.causal.model import CausalModel, distinct_sets
from grisaille.language.problem import Problem
from grisaille.metrics import violations
from grisaille.records import Bound, Situation, Suggestion, TrialKind
from grisaille.reductions.interventions import Interventions
from grisaille.search.multistart import MultiStart
from grisaille.search.search_problem import SearchProblem, Solver
from grisaille.strategies.causal.effects import CausalKnowledge, Effects, watches

# --- observe or intervene -------------------------------------------------------------------------
# The choice to watch a system as it is, or to intervene in it.
#
# The rule of "Causal Bayesian optimization" (Aglietti, Lu, Paleyes and Gonzalez 2020).

# A convex hull of n points has up to n^(d/2) facets. With more variables, a box takes its place.
_MOST_HULL_VARIABLES = 6


def coverage(rows: Array, lower: Array, upper: Array) -> float:
    """Volume of the convex hull of what was watched, relative to the interventions' domain.

    Vol(C(D)) / Vol(D(X)), at most 1; 0 when the rows lie in a plane.

    Args:
        rows: (N, d), the variables that can be set, as watched.
        lower: (d,), the domain's lower end.
        upper: (d,), its upper end.
    """
    scaled = (rows - lower) / (upper - lower)
    count, d = scaled.shape
    if count <= d or not d:
        return 0.0
    if d == 1 or d > _MOST_HULL_VARIABLES:
        return float(min(1.0, np.ptp(scaled, 0).prod()))
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(min(1.0, ConvexHull(scaled).volume))
    except QhullError:
        return 0.0


def chance_of_watching(covered: float, rows: int, most_rows: int) -> float:
    """The probability of watching: epsilon = coverage * N_max / N, and 0 from N_max rows on.

    When few rows cover much of the domain, more of them will tell the effects of interventions;
    when they cover little, only interventions will. The publication prints N / N_max; its program
    divides by that, so that watching becomes rarer with every row, and so does this.

    Args:
        covered: What `coverage` says.
        rows: N, how many rows were watched.
        most_rows: N_max, how many are wanted at most.
    """
    if rows >= most_rows:
        return 0.0
    if not rows:
        return 1.0
    return min(1.0, covered * most_rows / rows)


# --- log improvement ------------------------------------------------------------------------------
# Expected improvement and feasibility of normal variables, as logarithms.

# Below these arguments the closed form of h loses its digits, and its scaled one too.
_DIRECT = -1.0
_SCALED = -1e4


def log_improvement(mean: Tensor, deviation: Tensor, best: float) -> Tensor:
    """Log E[max(best - f, 0)] for f ~ N(mean, deviation^2), of any shape.

    log deviation + log h(u), h(u) = phi(u) + u Phi(u), u = (best - mean) / deviation. For u < -1,
    h(u) = phi(u) (1 - |u| R(|u|)), with R the ratio (1 - Phi) / phi; and h(u) -> phi(u) / u^2.
    """
    floor = torch.finfo(mean.dtype).tiny
    deviation = deviation.clamp_min(math.sqrt(floor))
    u = (best - mean) / deviation
    # Each branch sees arguments that suit it, so that no gradient of an unused one is infinite.
    near = u.clamp_min(_DIRECT)
    direct = (_density(near).exp() + near * torch.special.ndtr(near)).log()
    middle = -u.clamp(_SCALED, _DIRECT)
    ratio = math.sqrt(math.pi / 2) * torch.special.erfcx(middle / math.sqrt(2))
    scaled = torch.log1p(-(middle * ratio).clamp_max(1 - 1e-12)) + _density(middle)
    far = -u.clamp_max(_SCALED)
    limit = _density(far) - 2 * far.log()
    return deviation.log() + torch.where(
        u > _DIRECT, direct, torch.where(u > _SCALED, scaled, limit)
    )


def log_worth(deviation: Tensor, noise: float) -> Tensor:
    """Log (1 - noise / sqrt(deviation^2 + noise^2)): how much of an answer is news, of any shape.

    The factor of augmented expected improvement (Huang, Allen, Notz and Zeng 2006); without noise
    it is 1.

    Args:
        deviation: Of what is asked for.
        noise: Standard deviation of the answer's noise.
    """
    floor = torch.finfo(deviation.dtype).tiny
    deviation = deviation.clamp_min(math.sqrt(floor))
    whole = (deviation.square() + noise**2).sqrt()
    return 2 * deviation.log() - whole.log() - (whole + noise).log()  # the same, without cancelling


def log_feasibility(means: Tensor, deviations: Tensor) -> Tensor:
    """Sum over k of log P(g_k <= 0) for g_k ~ N(mean, deviation^2), (batch, K) to (batch,)."""
    floor = torch.finfo(means.dtype).tiny
    logarithm: Tensor = torch.special.log_ndtr(-means / deviations.clamp_min(math.sqrt(floor)))
    return logarithm.sum(-1)


def _density(u: Tensor) -> Tensor:
    """Logarithm of the standard normal density."""
    return -0.5 * u.square() - 0.5 * math.log(2 * math.pi)


# --- cbo ------------------------------------------------------------------------------------------

# A set has few variables, and every point of a search costs many runs of the learned system.
_SEARCH = MultiStart(starts=4, samples=128, iterations=15, again=False, polish=False)
# Points per set that are tried first when nothing was watched.
_BLIND_POINTS = 2
# Bodies of constraints that a search keeps exactly may be positive by this much.
_ROUNDING = 1e-6
# Rows that are watched on top of the given ones at most: those of the published program.
_MORE_ROWS = 50


@dataclass(frozen=True, slots=True)
class CBO:
    """Causal Bayesian optimization (Aglietti, Lu, Paleyes and Gonzalez 2020).

    For each set s of interventions, f_s(x) = E[Y | do(X_s = x)] is a Gaussian process with mean
    m(x) = Ê[Y | do(X_s = x)] and covariance v exp(-|(x - x') / l|^2 / 2) + s(x) s(x'),
    s(x)^2 = V̂[Y | do(X_s = x)], where Ê and V̂ are of the system as learned from watching alone:
    observational data, and trials that set nothing. Set and values maximize the expected
    improvement per cost, E[max(best - f_s(x), 0)] / |s|, over the best posterior mean at a trial,
    of whatever set; |s| counts the numbers that are set. Where trials are noisy, which the
    publication does not consider, it is also multiplied by how much of an answer would be news,
    1 - tau / sqrt(sigma_s(x)^2 + tau^2), tau the deviation of that noise: augmented expected
    improvement (Huang, Allen, Notz and Zeng 2006). The noise of a trial is known from the spread of
    its runs, and learned when it is a single run.

    If there is a set that sets nothing, a trial watches with probability
    Vol(hull of what was watched) / Vol(domain) * N_max / N, N the number of rows watched.

    Sets that equal a smaller one, because what else they set is no longer read, are not tried.

    Attributes:
        initial: Sobol points per set that are tried first; by default none if there is something to
            learn the mechanisms from, else 2.
        most_observations: N_max, the number of rows from which nothing is watched any more; by
            default 50 more than were given.
        solver: Searches each set; by default `MultiStart` with little effort.
    """

    initial: int | None = None
    most_observations: int | None = None
    solver: Solver | None = None

    def __post_init__(self) -> None:
        for name in ("initial", "most_observations"):
            check_count(type(self).__name__, name, getattr(self, name), 0, optional=True)
        solvers = "gs.MultiStart() or gs.Grid()"
        check_solver(type(self).__name__, "solver", self.solver, solvers, optional=True)

    def check(self, problem: Problem) -> None:
        """Problems over interventions, without constraints."""
        _checked(type(self).__name__, problem)
        if problem.constraints:
            raise ModelError(
                f"CBO knows no constraints, and this problem has {problem.constraints[0]!r}: use "
                "gs.ConstrainedCBO() or gs.MCBO()"
            )

    def suggest(self, situation: Situation) -> Suggestion:
        """The next point of the initial design, a look at the system, or the best intervention."""
        causal = _checked(type(self).__name__, situation.problem)
        knowledge = CausalKnowledge(causal, situation.history)
        busy = len(situation.pending)
        watching = [n for n in range(len(causal.sets)) if watches(causal, n)]
        if watching and self._watches(situation, knowledge):
            x = causal.design(watching[0], np.zeros(0))
            return Suggestion(TrialKind.OBSERVING, x, pending=busy)
        sets = distinct_sets(causal)
        if not sets:
            return Suggestion(TrialKind.OBSERVING, causal.design(0, np.zeros(0)), pending=busy)
        first = self._initial(situation, knowledge, sets)
        if first is not None:
            return Suggestion(TrialKind.INITIAL, first, pending=busy)
        return self._acquired(situation, knowledge, sets)

    def bound(self, situation: Situation) -> Bound:
        """None: an expectation bounds nothing."""
        return Bound(reason=f"{type(self).__name__} gives none, and gs.MCBO() does")

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The trial that is best in the posterior mean; None before the first one."""
        causal = _checked(type(self).__name__, situation.problem)
        return _best(CausalKnowledge(causal, situation.history))

    def learned(self, problem: Problem) -> list[str]:
        """The mechanisms, and the effects of interventions."""
        causal = _checked(type(self).__name__, problem)
        return [*causal.nodes, "the effects of interventions"]

    def _watches(self, situation: Situation, knowledge: CausalKnowledge) -> bool:
        """Whether the coin says to watch; N counts what is being watched as well."""
        causal = knowledge.causal
        if any(watches(causal, number) for number in knowledge.failed):
            return False
        given = len(causal.observations[causal.nodes[0]])
        watched = sum(watches(causal, causal.read(p.suggestion.x)[0]) for p in situation.pending)
        rows, lower, upper = knowledge.watched_rows()
        count = len(rows) + causal.runs * watched
        most = given + _MORE_ROWS if self.most_observations is None else self.most_observations
        chance = chance_of_watching(coverage(rows, lower, upper), count, most)
        return bool(np.random.default_rng(situation.trial_seed).uniform() < chance)

    def _initial(
        self, situation: Situation, knowledge: CausalKnowledge, sets: list[int]
    ) -> Array | None:
        """The next point of the set that has fewest, or None when all have enough."""
        causal = knowledge.causal
        wanted = self.initial
        if wanted is None:
            wanted = 0 if knowledge.informed else _BLIND_POINTS
        tried = [causal.read(p.suggestion.x)[0] for p in situation.pending]
        tried += knowledge.outcomes.sets
        # A failure is followed by another point, not by the same one.
        counts = {number: (tried + knowledge.failed).count(number) for number in sets}
        number = min(sets, key=lambda s: counts[s])
        # There must be something to improve on: a trial, or the system as it is.
        if counts[number] >= wanted and (tried or knowledge.untouched() is not None):
            return None
        program = causal.intervened(number).program
        engine = torch.quasirandom.SobolEngine(
            program.size, scramble=True, seed=situation.design_seed
        )
        unit: Array = engine.draw(counts[number] + 1, dtype=torch.float64)[-1].numpy()
        return causal.design(number, program.lower + (program.upper - program.lower) * unit)

    def _acquired(
        self, situation: Situation, knowledge: CausalKnowledge, sets: list[int]
    ) -> Suggestion:
        """The intervention of greatest expected improvement per cost."""
        links = [Interventions(situation.problem, knowledge.causal, number) for number in sets]
        seen = [link.down(situation) for link in links]
        expected = [_expected(s, knowledge.effects(n)) for s, n in zip(seen, sets, strict=True)]
        hopes = [_reference(knowledge), *(hope for _, hope in expected)]
        best = min((hope for hope in hopes if hope is not None), default=None)
        trials = zip(situation.history, knowledge.useless, strict=True)
        useless = {trial.number for trial, is_useless in trials if is_useless}
        solver = _SEARCH if self.solver is None else self.solver
        offers: list[tuple[float, float, Suggestion]] = []
        for link, inside, (effects, _) in zip(links, seen, expected, strict=True):
            failed = FailedInterventions(effects.program, inside.history, useless)
            problem = failed.avoided_in(_search_problem(effects, best))
            hints = knowledge.best_tried(link.number)
            solution = solver.solve(problem, hints, situation.trial_seed)
            gain = -solution.value if solution.feasible else -math.inf
            x, pending = np.array(solution.point.numpy()), len(situation.pending)
            found = link.up(Suggestion(TrialKind.ACQUIRED, x, pending=pending))
            offers.append((gain, -solution.violation, found))
        return max(offers, key=lambda offer: offer[:2])[2]


@dataclass(frozen=True, slots=True)
class ConstrainedCBO(CBO):
    """Constrained causal Bayesian optimization (Aglietti, Malek, Ktena and Chiappa 2023).

    As `CBO`, with constraints on expected values of variables of the system: each body g_k has a
    Gaussian process with a causal prior of its own for each set. Set and values maximize
    E[max(best - f_s(x), 0)] prod_k P(g_ks(x) <= 0) / |s|, best being the least posterior mean at a
    trial whose constraints hold with two posterior deviations to spare, since they are seen with
    noise; and prod_k P(g_ks(x) <= 0) / |s| while there is none. Constraints that read no mechanism
    under a set are kept exactly. These are the publication's single-task surrogates with causal
    prior; its multi-task ones are not here.

    Attributes:
        initial: As in `CBO`.
        most_observations: As in `CBO`.
        solver: As in `CBO`.
    """

    def check(self, problem: Problem) -> None:
        """Problems over interventions; without constraints it is `CBO`."""
        _checked(type(self).__name__, problem)


def _checked(who: str, problem: Problem) -> CausalModel:
    """What a problem over interventions is about.

    Raises:
        ModelError: The problem has no interventions.
    """
    if problem.causal is None:
        raise ModelError(
            f"{who} chooses interventions, and this problem has none: make one with "
            "gs.causal_problem(...), or use gs.Optimistic()"
        )
    return problem.causal


def _best(knowledge: CausalKnowledge) -> Incumbent | None:
    """The feasible trial of least posterior mean, else the one nearest to being feasible."""
    found = knowledge.outcomes
    if not len(found.sets):
        return None
    means, deviations = np.empty_like(found.means), np.empty_like(found.means)
    for number in set(found.sets):
        here = [i for i, s in enumerate(found.sets) if s == number]
        effects = knowledge.effects(number)
        with torch.no_grad():
            predicted = effects.predict(torch.tensor(np.array([found.values[i] for i in here])))
        means[here], deviations[here] = (p.numpy() for p in predicted)
    worst = violations(means[:, 1:]).max(1, initial=0.0)
    doubts = violations(means[:, 1:] + WIDTH * deviations[:, 1:]).max(1, initial=0.0)
    # A point without a value is of no use.
    doubts = np.where(np.isfinite(found.means).all(1), doubts, np.inf)
    feasible = doubts <= 0
    merit = np.where(feasible, means[:, 0], np.inf) if feasible.any() else doubts
    best = int(merit.argmin())
    return Incumbent(best, float(means[best, 0]), float(worst[best]), bool(feasible[best]))


def _reference(knowledge: CausalKnowledge) -> float | None:
    """The value to improve on: of the best trial, or of doing nothing; None if there is none."""
    incumbent = _best(knowledge)
    if incumbent is not None and not knowledge.useless.all():
        return incumbent.objective if incumbent.feasible else None
    untouched = knowledge.untouched()
    if untouched is None or (untouched[1:] > 0).any():
        return None
    return float(untouched[0])


def _expected(situation: Situation, effects: Effects) -> tuple[Effects, float | None]:
    """What is believed if pending trials had come out as expected, and the best of them.

    Args:
        situation: The situation under a set.
        effects: What is believed of the set.

    Returns:
        The belief, and the least posterior mean at those trials of the set whose constraints are
        expected to hold; None if there is none.
    """
    if not situation.pending:
        return effects, None
    values = torch.tensor(np.array([p.suggestion.x for p in situation.pending]))
    effects = effects.with_expected(values)
    with torch.no_grad():
        means = effects.predict(values)[0].numpy()
    hopes = means[(means[:, 1:] <= _ROUNDING).all(1), 0]
    return effects, float(hopes.min()) if len(hopes) else None


def _search_problem(effects: Effects, best: float | None) -> SearchProblem:
    """Maximize the logarithm of the expected improvement, feasible, per number that is set."""
    program = effects.program
    cost = math.log(program.size)
    known = torch.tensor([process is None for process in effects.processes[1:]], dtype=torch.bool)

    def evaluate(values: Tensor) -> tuple[Tensor, Tensor]:
        mean, deviation = effects.predict(values)
        bodies, doubts = mean[:, 1:], deviation[:, 1:]
        gain = log_feasibility(bodies[:, ~known], doubts[:, ~known])
        if best is not None:
            gain = gain + log_improvement(mean[:, 0], deviation[:, 0], best)
            gain = gain + log_worth(deviation[:, 0], effects.noise)
        return cost - gain, bodies[:, known]

    lower, upper = torch.tensor(program.lower), torch.tensor(program.upper)
    return between(program, lower, upper, evaluate)
