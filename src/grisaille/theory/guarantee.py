"""Promises of the theorems about a problem: bounds on regret, violations and infeasibility."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from grisaille.array_types import Array
from grisaille.belief.learning import given_kernel, input_domain
from grisaille.belief.predictions import check_answered
from grisaille.belief.processes.kernels import grows
from grisaille.belief.rules import BandRule, plausible_set
from grisaille.checks import check_amount, check_choice, is_count
from grisaille.errors import ModelError, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.records import History, Observation, TrialKind
from grisaille.theory.amplification import (
    Form,
    KnownSlopes,
    Lipschitz,
    Source,
    closed_amplification,
    known_slopes,
    lipschitz,
    loops_of,
)
from grisaille.theory.beta import Round, Theory, refuse_steps
from grisaille.theory.information_gain import largest_variance, maximum_information_gain

# --- guarantee ------------------------------------------------------------------------------------

# More trials than anyone will make.
_MOST_TRIALS = 1 << 40


class Guarantee:
    """The bounds of the theorems, before any evaluation.

    They hold with probability 1 - delta if every auxiliary problem is solved globally and under all
    assumptions of the paper. `print` shows the constants and where they come from.

    Attributes:
        problem: The problem.
        theory: delta and horizon.
        form: Which constants A_i; see the notes at `amplification`.
        evaluation: "separate" as in the paper, or "chained", which the theorems allow only for
            problems of one layer.
        given: Answers that are known besides those of the trials. They make beta larger; that they
            make deviations smaller is not used.
        lipschitz: Lipschitz constants of each black box.
        known: Slopes of the known parts.
        amplification: A_i, (1 + K, M): for the objective and each constraint, and for each output
            of each black-box call. With loops, for decisions with their loops closed.
        loops: The loops of the problem as a contraction; None if it has no unknowns.
        loop_offsets: What the tolerances of the loops' equations add to the bound of each trial,
            (1 + K,).
    """

    def __init__(
        self,
        problem: Problem,
        theory: Theory,
        *,
        form: Form = "tight",
        evaluation: Literal["separate", "chained"] = "separate",
        given: Sequence[Observation] = (),
    ) -> None:
        if not isinstance(problem, Problem) or not isinstance(theory, Theory):
            raise ModelError(
                f"Guarantee of {type(problem).__name__} and {type(theory).__name__}: pass a "
                "gs.Problem and a gs.Theory()"
            )
        check_choice("Guarantee", "evaluation", evaluation, ("separate", "chained"))
        if not isinstance(given, list | tuple) or not all(
            isinstance(seen, Observation) for seen in given
        ):
            raise ModelError(
                f"Guarantee(given={shortened(given)}): pass a list of observations, such as "
                "study.history.loose"
            )
        program = problem.program
        if not program.boxes:
            raise ModelError("the problem has no black box, so there is nothing to guarantee")
        self.loops = loops_of(problem)
        theory.check(program)
        refuse_steps(program)
        if self.loops is not None and evaluation == "chained":
            raise ModelError(
                "evaluation='chained' goes around the loop of this problem as often as it needs, "
                "so how many answers a trial has is not known beforehand: use "
                "evaluation='separate', or the realized bounds of a finished study"
            )
        for call in program.calls:
            if not call.first_layer and not (evaluation == "separate" and call.box.separable):
                raise ModelError(
                    f"the theorems need black box {call.box.name!r} evaluated at its optimistic "
                    "state (Assumption eval_model), which evaluation='chained', separable=False, "
                    "and a black box without a function rule out: only the realized bounds of a "
                    "finished study hold there; pass separable=True if it can be evaluated alone"
                )
        for box in program.boxes:
            if np.isnan(np.concatenate(input_domain(program, box))).any():
                raise ModelError(
                    f"bounds on regret need the range of the inputs of black box {box.name!r} "
                    "(Assumption var_inter): pass input_lower= and input_upper="
                )
        self.problem = problem
        self.theory = theory
        self.form: Form = form
        self.evaluation = evaluation
        self.given = tuple(given)
        self.lipschitz = {b.name: lipschitz(program, b, None, History()) for b in program.boxes}
        self.known = known_slopes(program, History())
        self.amplification, self.loop_offsets = closed_amplification(
            problem, self.loops, self.lipschitz, self.known, form
        )

    def regret(self, trials: int) -> float:
        """Bound on the cumulative positive regret, and so on R_T (Theorems R_bound, RV_bound).

        sum_i 2 A_i beta_{i,T} sqrt((T + 2) gamma_{i,T}); with the doubling trick, the sum of that
        over the rounds. The "tight" form has a slightly smaller factor than 4 (T + 2).
        """
        return float(self._bounds(trials)[0])

    def violations(self, trials: int) -> Array:
        """Bound on the cumulative violation of each constraint, (K,) (Theorem RV_bound)."""
        return self._bounds(trials)[1:]

    def best_iterate(self, trials: int) -> float:
        """At least one of `trials` points has at most this positive regret plus sum of violations.

        The sum of all bounds over T (Theorems best_ite_conv and converge_constrained_opt).
        """
        return (self.regret(trials) + float(self.violations(trials).sum())) / int(trials)

    def infeasible_by(self, margin: float, constraint: int = 0) -> int | None:
        """T-bar: within so many trials an infeasible problem is found infeasible.

        The least number of trials T whose bound on the violation of a constraint is below T margin
        (Theorem declare_inf, with its constant written out), up to steps between the rounds of the
        doubling trick.

        Args:
            margin: epsilon, the least value that the constraint's body can take.
            constraint: Which scalar constraint cannot be met.

        Returns:
            T-bar; None if no such number exists, because the horizon is too short or the bound on
            the information gain too coarse for so small a margin.
        """
        check_amount("infeasible_by", "margin", margin, above_zero=True)
        if not is_count(constraint, 0) or constraint >= len(self.amplification) - 1:
            raise ModelError(
                f"infeasible_by(constraint={shortened(constraint)}): the problem has "
                f"{len(self.amplification) - 1} scalar constraints, counted from 0"
            )

        def declared(trials: int) -> bool:
            return bool(self.violations(trials)[constraint] < trials * margin)

        high = 1
        while not declared(high):
            if high >= _MOST_TRIALS:
                return None
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if declared(middle) else (middle, high)
        return high

    def _bounds(self, trials: int) -> Array:
        """Bounds for the objective and each constraint, (1 + K,)."""
        return np.asarray(
            self.amplification @ self._deviations(trials) + int(trials) * self.loop_offsets
        )

    def _deviations(self, trials: int) -> Array:
        """Bound on sum_t beta_{i,t} sigma_{i,t-1}(s̄_i^t) of each black-box output, (M,)."""
        if not is_count(trials):
            raise ModelError(
                f"a bound for {shortened(trials)} trials: pass a whole number of at least 1"
            )
        trials, theory = int(trials), self.theory
        sums = np.zeros(self.problem.program.box_outputs)
        start = 0
        while start < trials:
            current = theory.round(start)
            end = trials if theory.horizon is not None else min(trials, start + current.horizon)
            for call in self.problem.program.calls:
                sums[call.columns] += self._round_deviations(call.box, current, start, end)
            start = end
        return sums

    def _round_deviations(self, box: BlackBox, current: Round, start: int, end: int) -> Array:
        """The same for one round: Lemma bound_cumu_sd, times the largest beta."""
        program = self.problem.program
        domain = input_domain(program, box)
        scale = current.regularization
        gain = maximum_information_gain(given_kernel(box), *domain, end - start, scale)
        given, _ = History(loose=self.given).data(box.name, box.inputs, box.outputs)
        beta = self.theory.beta(
            program, box, self._answers_per_trial(box) * (end - 1), current, given
        )
        far = np.max(np.abs(domain), axis=0) if grows(box.kernel) else np.zeros(box.inputs)
        most = largest_variance(given_kernel(box), far)
        # sigma^2 <= C log(1 + sigma^2 / lambda): the paper takes 2 lambda, right for lambda >= 1.
        factor = most / math.log1p(most / scale)
        if self.form != "tight" and scale >= 1:
            factor = 2 * scale
        return beta * math.sqrt((end - start) * factor * 2 * gain)

    def _answers_per_trial(self, box: BlackBox) -> int:
        """The largest number of answers of a black box in one trial, in the chain and beside it."""
        calls = [c for c in self.problem.program.calls if c.box is box]
        return sum(1 if c.first_layer else 2 for c in calls)

    def __repr__(self) -> str:
        def text(values: Array | None) -> str:
            return np.array2string(np.asarray(values), precision=4, separator=", ")

        lines = [f"guarantee with probability {1 - self.theory.delta:g}, A_i {self.form}"]
        for call in self.problem.program.calls:
            box, constants = call.box, self.lipschitz[call.box.name]
            factors = " | ".join(text(row) for row in self.amplification[:, call.columns])
            lines += [
                f"{box.name}",
                f"  B {text(box.norm_bound)}, noise {text(box.noise)}",
                f"  Lipschitz constants {text(constants.constants)} ({constants.source})",
                f"  A for objective | constraints: {factors}",
            ]
        if self.loops is not None:
            q = self.loops.contraction
            lines.append(f"loops: q {q:g}, so that what is missed counts {1 / (1 - q):.4g} times")
        lines.append(f"slopes of known parts: {self.known.source}")
        if self.known.source is Source.ESTIMATED:
            lines.append("  they come from samples, so the bounds are estimates too")
        return "\n".join(lines)


# --- realized bounds ------------------------------------------------------------------------------
# Bounds for a finished study, from the posterior deviations at its points.


def discrepancy_bounds(problem: Problem, history: History, beta: BandRule, form: Form) -> Array:
    """sum_i A_i beta_{i,t} sigma_{i,t-1}(s̄_i^t) of each trial (Lemma discrepancy_bound).

    While the bands hold, the objective and each constraint of a trial are at most this far from
    their optimistic values. So its regret and its violations are not larger, unless no plausible
    feasible point was found for it. With loops, this holds for its decisions with their loops
    closed.

    Args:
        problem: The problem.
        history: Its trials.
        beta: The rule of the strategy.
        form: Which A_i.

    Returns:
        (T, 1 + K), for the objective and each constraint; NaN for trials that the algorithm of the
        paper did not choose.

    Raises:
        ModelError: Variables have steps, so that trials are beside what was optimistic; or an
            unknown declares no contraction.
    """
    program = problem.program
    refuse_steps(program)
    loops = loops_of(problem)
    constants, known = constants_of(problem, history, beta)
    factors, offsets = closed_amplification(problem, loops, constants, known, form)
    bounds = np.full((len(history), len(factors)), np.nan)
    for t, trial in enumerate(history):
        optimum = trial.suggestion.optimum
        if trial.suggestion.kind is TrialKind.OPTIMISTIC and optimum is not None:
            before = plausible_set(program, history.before(trial), beta)
            bounds[t] = factors @ before.reaches(*optimum) + offsets
    return bounds


def constants_of(
    problem: Problem, history: History, beta: BandRule
) -> tuple[dict[str, Lipschitz], KnownSlopes]:
    """Lipschitz constants of each black box, and slopes of the known parts, after a study."""
    program = problem.program
    check_answered([box for box in problem.boxes if box.is_learned], history)
    beliefs = plausible_set(program, history, beta).beliefs
    constants = {b.name: lipschitz(program, b, beliefs[b.name], history) for b in program.boxes}
    return constants, known_slopes(program, history)
