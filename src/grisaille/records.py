"""Plain records of questions and answers: the memory of a study.

A situation carries the widening that a doubt asks for, so that strategies that wrap others pass it
on unchanged. It carries `gap_tol` because a trial that tests for noise belongs to the strategy: if
a run put it in place of another one, the decision could not be replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import counted
from grisaille.language.problem import Problem
from grisaille.markup import joined, small, table
from grisaille.metrics import merits, violations
from grisaille.search.search_problem import RefutedRegion

TESTED = 5
"""How many answers of a learned black box must have been predicted before its bands are believed.
"""

REFUTED = 20.0
"""By how much answers may ask to widen bands until these count as refuted: then there is no bound.

Of 520 studies of `benchmarks.never_seen`, 5 are beyond it; of 200 of `benchmarks.verdicts`, none.
"""

# How many trials of a history a notebook shows.
_MOST_ROWS = 12

Evaluation = Literal["separate", "chained"]
"""Whether black boxes may be evaluated on their own, or along the real chain only."""


class TrialKind(StrEnum):
    """Why a point was tried.

    INITIAL: to learn hyper-parameters; OPTIMISTIC: it solves the auxiliary problem (Alg. 2 line
    2); NARROWED: the same with narrower bands, to exploit what is learned; DOUBTING: with wider
    bands, because learned ones leave next to nothing to gain;
    RECOMMENDED: it is believed feasible and good; ACQUIRED: it is best by the acquisition function
    of a rival strategy; RANDOM: chance, or a sequence that fills space; OBSERVING: nothing is set,
    a system is watched as it is; OWN: the user wanted it tried; DATA: it was tried elsewhere, and
    its answers were added to the study.
    """

    INITIAL = "initial"
    OPTIMISTIC = "optimistic"
    NARROWED = "narrowed"
    DOUBTING = "doubting"
    RECOMMENDED = "recommended"
    ACQUIRED = "acquired"
    RANDOM = "random"
    OBSERVING = "observing"
    OWN = "own"
    DATA = "data"

    @property
    def is_chosen(self) -> bool:
        """Whether a strategy chose the point by what it had learned."""
        return self not in (TrialKind.INITIAL, TrialKind.OWN, TrialKind.DATA)


@dataclass(frozen=True, slots=True)
class Probe:
    """A black-box call to make besides the chain.

    Attributes:
        call: Which call of the program it belongs to.
        inputs: Flat inputs s̄_i of the black box.
    """

    call: int
    inputs: Array


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound on the minimized optimum f(x*), while the bands hold (Lemma inst_r).

    Attributes:
        estimated: The optimum z̄_m^t of the auxiliary problem, as a search found it. None when no
            plausible feasible point was found, or the strategy knows no bound.
        proved: A lower bound on that optimum, from a global search. None when there is none.
        reason: Why nothing closer is known, if that can be said.
        withheld: Whether the answers contradict what is believed of a black box, so that no bound
            holds, and none of an earlier trial either.
        is_declared: Whether the bands hold by declared constants, so that what is proved about
            them is proved about the problem.
        refutation: Proof that no plausible point is feasible, for bands that passed their audit
            and are then doubled; None if there is none.
    """

    estimated: float | None = None
    proved: float | None = None
    reason: str = ""
    withheld: bool = False
    is_declared: bool = False
    refutation: Refutation | None = None


NO_BOUND = Bound()


@dataclass(frozen=True, slots=True)
class Refutation:
    """Proof that no plausible point is feasible.

    Attributes:
        problem: What it is about: the problem, or what a strategy made of it.
        history: What the bands were learned from.
        beta: Half-width of the bands: a number, or the rule that gave it (such as a `Theory`).
        regions: Regions that fill the search space, each without a feasible point.
    """

    problem: Problem
    history: History
    beta: Any
    regions: tuple[RefutedRegion, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a strategy wants tried next.

    Attributes:
        kind: Why.
        x: The design point x^t, flat, in the order of the problem's variables.
        probes: Black-box calls to make besides the chain at x: the optimistic states s̄_i^t (Alg.
            1 line 4) of the boxes that the chain reaches elsewhere.
        bound: What the decision says about the optimum.
        refutation: Proof that no plausible point is feasible, so that, while the bands hold, the
            problem has no feasible point: then x is not worth a trial. None otherwise.
        optimum: The solution (x, z̄) of the auxiliary problem, z̄ the outputs of all calls: where
            the next search may start. None when no auxiliary problem was solved.
        pending: How many trials were pending when this was decided.
        chain: Whether to evaluate the chain at x. False when only the probes are worth their cost.
    """

    kind: TrialKind
    x: Array
    probes: tuple[Probe, ...] = ()
    bound: Bound = NO_BOUND
    optimum: tuple[Array, Array] | None = None
    refutation: Refutation | None = None
    pending: int = 0
    chain: bool = True

    @property
    def has_bound(self) -> bool:
        """Whether it was decided in a way that bounds the optimum, if anything does."""
        return not self.pending and self.bound.estimated is not None


@dataclass(frozen=True, slots=True)
class Observation:
    """One answer of one black box, flat.

    Attributes:
        box: Its name.
        inputs: What it was called with.
        outputs: What it answered.
        recorded: Number of the study's event that recorded it; 0 outside a study.
    """

    box: str
    inputs: Array
    outputs: Array
    recorded: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A black box that gave no answer, in spite of all attempts.

    Attributes:
        box: Its name.
        inputs: What it was called with, flat.
        reason: What happened, in a sentence.
        trial: Number of the trial it belongs to.
        x: Design point of that trial, flat.
    """

    box: str
    inputs: Array
    reason: str
    trial: int
    x: Array


@dataclass(frozen=True, slots=True)
class Pending:
    """A trial that was suggested and is not complete.

    Attributes:
        suggestion: What was asked.
        answers: Outputs of those calls of its chain that are answered, by call.
        probes: Those of its probes that are not.
    """

    suggestion: Suggestion
    answers: Mapping[int, Array] = field(default_factory=dict)
    probes: tuple[Probe, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """One step of a study: a suggestion and everything it taught.

    Attributes:
        number: Counts from 1.
        suggestion: What was asked.
        objective: The objective at x as observed, minimized.
        constraints: The constraint bodies at x as observed, met when <= 0.
        chain: Outputs of all calls along the real chain at x.
        observations: Every black-box answer, in the order made.
        seconds: Time spent on suggesting and on evaluating.
        known: Number of the last event that the study knew when it was suggested.
        allowed: How far each constraint body may be above 0 and the constraint still counts as
            met, (K,); None where that makes no difference.
        lenient: The same where a loop is not closed as well as searches aim at, and closed all the
            same; None where that makes no difference.
    """

    number: int
    suggestion: Suggestion
    objective: float
    constraints: Array
    chain: Array
    observations: tuple[Observation, ...]
    seconds: tuple[float, float] = (0.0, 0.0)
    known: int = 0
    allowed: Array | None = None
    lenient: Array | None = None

    @property
    def x(self) -> Array:
        """The design point, flat."""
        return self.suggestion.x

    @property
    def violation(self) -> float:
        """Largest violation of a constraint as observed; 0 when all are met."""
        return float(self.violations.max(initial=0.0))

    @property
    def violations(self) -> Array:
        """Violation of each constraint as observed, (K,); 0 where it counts as met."""
        if self.lenient is None:
            return self.missed
        return violations(self.constraints, self.lenient)

    @property
    def missed(self) -> Array:
        """By how much searches must still come closer to each constraint, (K,).

        As `violations`, but 0 only where a loop is closed as well as searches aim at: so no point
        is better for missing its loop.
        """
        return violations(self.constraints, 0.0 if self.allowed is None else self.allowed)

    @property
    def openness(self) -> float:
        """The part of what is allowed by which its loops are open; 0 if they are closed."""
        if self.lenient is None:
            return 0.0
        open_rows = (self.missed > 0) & (self.violations <= 0)
        return float((self.constraints[open_rows] / self.lenient[open_rows]).max(initial=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Everything observed so far. Two histories are equal if they are the same object.

    Attributes:
        trials: The complete trials.
        loose: Answers that belong to no complete trial: of one that is pending or broke off, or
            made elsewhere.
        failures: Where black boxes gave no answer.
    """

    trials: tuple[Trial, ...] = ()
    loose: tuple[Observation, ...] = ()
    failures: tuple[Failure, ...] = ()

    def __len__(self) -> int:
        return len(self.trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def before(self, trial: Trial) -> History:
        """What was observed when a trial was suggested, if no other trial was pending then."""
        earlier = tuple(other for other in self.trials if other.number < trial.number)
        loose = tuple(seen for seen in self.loose if seen.recorded <= trial.known)
        return History(earlier, loose)

    def observations(self) -> Iterator[Observation]:
        """All answers of all black boxes, those of complete trials first."""
        for trial in self.trials:
            yield from trial.observations
        yield from self.loose

    def data(self, box: str, inputs: int, outputs: int) -> tuple[Array, Array]:
        """All answers of one black box as arrays (n, inputs) and (n, outputs)."""
        seen = [o for o in self.observations() if o.box == box]
        return (
            np.array([o.inputs for o in seen], dtype=float).reshape(len(seen), inputs),
            np.array([o.outputs for o in seen], dtype=float).reshape(-1, outputs),
        )

    def predicted(self, box: str) -> list[Trial]:
        """Return the trials that answered a black box after a prediction: those a model chose.

        A user's own points count once there was enough to learn from.
        """
        found, learned = [], False
        for trial in self.trials:
            kind = trial.suggestion.kind
            counts = kind.is_chosen or (kind is TrialKind.OWN and learned)
            learned = learned or kind.is_chosen
            if counts and any(o.box == box for o in trial.observations):
                found.append(trial)
        return found

    def best(self) -> Trial | None:
        """Return the trial with the best feasible value as observed; None if none was feasible."""
        objectives = np.array([t.objective for t in self.trials], dtype=float)
        met = np.array([t.violation == 0 for t in self.trials], dtype=bool)
        feasible = met & np.isfinite(objectives)
        values = merits(objectives, [t.openness for t in self.trials])
        return (
            self.trials[int(np.where(feasible, values, np.inf).argmin())]
            if feasible.any()
            else None
        )

    def constraint_sizes(self) -> Array:
        """How large each constraint is and varies over the trials, (K,)."""
        # A margin may be infinite (y <= inf); it says nothing about the spread.
        constraints = np.nan_to_num(np.array([t.constraints for t in self.trials]), neginf=0.0)
        return np.asarray(constraints.std(0) + np.abs(constraints).mean(0))

    def counts(self) -> dict[str, int]:
        """How often each black box was evaluated."""
        counts: dict[str, int] = {}
        for observation in self.observations():
            counts[observation.box] = counts.get(observation.box, 0) + 1
        return counts

    def _repr_html_(self) -> str:
        headers = ("trial", "kind", "objective, minimized", "violation", "bound")
        rows = [
            (
                trial.number,
                str(trial.suggestion.kind),
                f"{trial.objective:.6g}",
                f"{trial.violation:.3g}",
                "-"
                if trial.suggestion.bound.estimated is None
                else f"{trial.suggestion.bound.estimated:.6g}",
            )
            for trial in self.trials[-_MOST_ROWS:]
        ]
        counts = ", ".join(f"{box} {count}" for box, count in self.counts().items()) or "none"
        said = f"{counted(len(self), 'trial')}; answers: {counts}"
        if len(self) > _MOST_ROWS:
            said += f"; the last {_MOST_ROWS} trials:"
        return joined([small(said), table(headers, rows, numbers=(0, 2, 3, 4)) if rows else ""])


def allowances(history: History) -> Array:
    """Return `Trial.allowed` of all trials, (trials, K); 0 where it makes no difference."""
    return np.array(
        [np.zeros_like(t.constraints) if t.allowed is None else t.allowed for t in history]
    )


@dataclass(frozen=True, slots=True)
class Untested:
    """Learned bands that too few answers have tested to stop a study or to certify a bound.

    Attributes:
        box: The black box with the fewest predicted answers.
        predicted: How many of its answers were predicted.
    """

    box: str
    predicted: int

    def __str__(self) -> str:
        return f"untested ({self.predicted} of {TESTED} answers predicted)"

    @property
    def brief(self) -> str:
        """The same for a column of a table, without blanks."""
        return f"untested:{self.predicted}/{TESTED}"


def untested(learned: Iterable[str], history: History) -> Untested | None:
    """Return the learned black box whose bands were tested least; None if all were tested.

    This decides for every view whether a bound may be called certified, and whether a closed gap
    may stop a study. Bands that are declared, or whose hyper-parameters are given, rest on what the
    user knows and not on the answers: leave their black boxes out.

    Args:
        learned: Names of the black boxes whose bands are learned from answers.
        history: The answers.
    """
    counts = {
        box: sum(o.box == box for trial in history.predicted(box) for o in trial.observations)
        for box in learned
    }
    box = min(counts, key=lambda name: counts[name], default=None)
    return Untested(box, counts[box]) if box is not None and counts[box] < TESTED else None


def first_tested(learned: Iterable[str], history: History) -> float:
    """Return the number of the first trial after which learned bands are tested; inf if none is.

    Args:
        learned: As in `untested`.
        history: The answers.
    """
    since = [0.0]
    for box in learned:
        seen = [t.number for t in history.predicted(box) for o in t.observations if o.box == box]
        since.append(float(seen[TESTED - 1]) if len(seen) >= TESTED else np.inf)
    return max(since)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision may depend on.

    Attributes:
        problem: The problem.
        history: Everything observed so far.
        seed: The study's seed.
        evaluation: "separate" when black boxes may be evaluated on their own at an invented state.
        remaining: Trials left, this one included; None when the budget is open.
        pending: The pending trials.
        incomplete: How many trials ended without an objective: they broke off, or were partial.
        budget: Cost left for evaluations; None when it is open.
        gap_tol: The run stops when best value and bound are so close; None if it does not.
        widening: By how much the bands behind a bound are widened, to doubt what they say.
        is_answer: Whether trials are judged as an answer: a loop that misses less than plants do
            counts as closed. Searches aim closer.
    """

    problem: Problem
    history: History
    seed: int
    evaluation: Evaluation = "separate"
    remaining: int | None = None
    pending: tuple[Pending, ...] = ()
    incomplete: int = 0
    budget: float | None = None
    gap_tol: float | None = None
    widening: float = 1.0
    is_answer: bool = False

    @property
    def lower(self) -> Array:
        """Lower bounds of the design point, flat, in the order of the problem's variables."""
        return self.problem.program.lower

    @property
    def upper(self) -> Array:
        """Upper bounds of the design point, likewise."""
        return self.problem.program.upper

    @property
    def started(self) -> int:
        """How many trials were suggested before this one."""
        return len(self.history) + len(self.pending) + self.incomplete

    @property
    def at_once(self) -> int:
        """How many evaluations are pending, this trial's first one included."""
        calls = len(self.problem.program.calls)
        return 1 + sum(
            len(p.probes) + (calls - len(p.answers) if p.suggestion.chain else 0)
            for p in self.pending
        )

    @property
    def design_seed(self) -> int:
        """The seed of sequences that run through all trials; PyTorch takes no more than 63 bits."""
        if self.seed < 2**63:
            return self.seed
        return int(np.random.SeedSequence(self.seed).generate_state(1)[0])

    @property
    def trial_seed(self) -> int:
        """Where randomness of this trial comes from: (seed, trial number), nothing else."""
        return int(np.random.SeedSequence([self.seed, self.started]).generate_state(1)[0])

    @property
    def generator(self) -> np.random.Generator:
        """A new generator of this trial's random numbers: each time it begins anew."""
        return np.random.default_rng(self.trial_seed)


def taken_designs(situation: Situation) -> list[Array]:
    """Return the design points whose answers are known, or will be: tried, failed or pending."""
    size = situation.problem.program.size
    tried = [trial.x for trial in situation.history]
    tried += [failure.x for failure in situation.history.failures if len(failure.x) == size]
    return tried + [p.suggestion.x for p in situation.pending if p.suggestion.chain]
