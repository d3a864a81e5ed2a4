"""The setting of the paper: nothing is fitted, and bands hold with probability 1 - delta.

beta_{i,t} = B_i + sigma_i sqrt(2 (gamma_{i,t-1} + 1 + ln(m / delta))), lambda = 1 + 2 / T (Def.
hpb_int, Lemma conf_int).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from grisaille.array_types import Array
from grisaille.belief.declared_intervals import declared_intervals
from grisaille.belief.learning import believe, given_kernel, input_domain
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.processes.kernels import check_kernel, grows, own_kernels
from grisaille.belief.processes.posterior import LEAST_NOISE
from grisaille.belief.rules import BandRule
from grisaille.checks import check_choice, is_count, is_finite, is_number
from grisaille.errors import ModelError, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.program import Program
from grisaille.language.unknowns import unknowns_in_loops
from grisaille.records import History
from grisaille.theory.information_gain import (
    information_gain,
    largest_variance,
    maximum_information_gain,
)


@dataclass(frozen=True, slots=True)
class Round:
    """Consecutive trials with one lambda, and their share of the risk.

    Attributes:
        horizon: T.
        regularization: lambda.
        delta: The probability that a band fails in this round.
    """

    horizon: int
    regularization: float
    delta: float


@dataclass(frozen=True, slots=True)
class Theory(BandRule):
    """Beta and lambda of the theorems: `Optimistic(beta=Theory(delta=0.1, horizon=50))`.

    Every black box needs a kernel with hyper-parameters and k(s, s) <= 1, its noise (a sub-Gaussian
    constant) and its norm bound B_i. Then all bands contain their functions everywhere and at all
    steps with probability 1 - delta (Lemma hpb), and the theorems hold.

    Attributes:
        delta: The probability that any of the bounds is wrong.
        horizon: T, the number of trials. None for the doubling trick: rounds of T = 1, 2, 4, ...
            trials. All observations are kept between rounds, and round r gets the share
            delta / (r (r + 1)) of the risk.
        gain: "maximum" for the paper's gamma, an upper bound of the maximum information gain over
            the accepted inputs; "observed" for the gain of the observed points, which is smaller
            and for which the same proof works. Without noise it does not matter.
        regularization: lambda in place of 1 + 2 / T. Only without noise, where any positive lambda
            is valid: then beta is B_i, the bands are certain, and a small lambda makes them narrow.
    """

    delta: float = 0.1
    horizon: int | None = None
    gain: Literal["maximum", "observed"] = "maximum"
    regularization: float | None = None

    def __post_init__(self) -> None:
        if not (is_number(self.delta) and 0 < self.delta < 1):
            raise ModelError(
                f"Theory(delta={shortened(self.delta)}): a probability between 0 and 1"
            )
        if self.horizon is not None and not is_count(self.horizon):
            raise ModelError(
                f"Theory(horizon={shortened(self.horizon)}): a number of trials of at least 1, "
                "or None for the doubling trick"
            )
        check_choice("Theory", "gain", self.gain, ("maximum", "observed"))
        given = self.regularization
        if given is not None and not (is_finite(given) and given >= LEAST_NOISE):
            raise ModelError(
                f"Theory(regularization={shortened(given)}): at least {LEAST_NOISE:g}, which "
                "rounding needs, or None"
            )

    @property
    def _exploits(self) -> bool:
        """False: the theorems are about the algorithm's own trials."""
        return False

    def check(self, program: Program) -> None:
        """Check that the black boxes declare every constant that the theorems need.

        Raises:
            ModelError: Names all that are missing.
        """
        missing = [text for box in program.boxes for text in self._missing(program, box)]
        missing += [
            f"unknown {unknown.name!r} has no contraction, and the theorems hold for a loop only "
            "if a part q below 1 of a change comes back around it: pass "
            f"gs.Unknown({unknown.name!r}, ..., contraction=q), or use a number as beta"
            for unknown in unknowns_in_loops(program)
            if unknown.contraction is None
        ]
        if missing:
            raise ModelError("theory mode needs more than was declared: " + "; ".join(missing))

    def _missing(self, program: Program, box: BlackBox) -> list[str]:
        who = f"black box {box.name!r}"
        missing = []
        if box.process_noise:
            missing.append(
                f"{who} has process noise, which the theorems do not cover: use gs.MCBO(), or a "
                "number as beta"
            )
        if box.model is not None or box.kernel is None or box.kernel.lengthscale is None:
            missing.append(
                f"{who} has no kernel with hyper-parameters, and nothing may be fitted: pass "
                "kernel=gs.SquaredExponential(lengthscale=..., variance=...)"
            )
        if box.noise is None:
            missing.append(f"{who} has no noise: pass noise=0, or its standard deviation")
        if box.norm_bound is None:
            missing.append(f"{who} has no norm_bound, B_i (Assumption bounded_norm)")
        if self.regularization is not None and not box.is_exact:
            missing.append(
                f"{who} has noise, for which lambda is 1 + 2 / T: leave out regularization="
            )
        if missing:
            return missing
        check_kernel(box.kernel, box.name, box.inputs)
        lower, upper = input_domain(program, box)
        needs_domain = self.gain == "maximum" and not box.is_exact
        if own := own_kernels(box.kernel):
            return [
                f"{who} has a kernel of your own, {shortened(own[0])}, whose largest k(s, s) and "
                "information gain are not known: use sums of gs.Matern(), gs.SquaredExponential() "
                "and gs.Linear(), or a number as beta"
            ]
        linear = grows(box.kernel)
        if (needs_domain or linear) and np.isnan(lower + upper).any():
            return [
                f"the range of the inputs of {who} does not follow from declarations: pass "
                "input_lower= and input_upper="
                + ("" if linear else ", or choose gs.Theory(gain='observed')")
            ]
        far = np.maximum(np.abs(lower), np.abs(upper)) if linear else np.zeros(box.inputs)
        most = largest_variance(given_kernel(box), far)
        if most > 1 + 1e-12:
            return [
                f"the kernel of {who} reaches k(s, s) = {most:g}, more than 1 (Assumption "
                f"regular_kernel): divide its variance by {most:g} and multiply norm_bound by "
                f"{math.sqrt(most):g}, which describes the same functions"
            ]
        return []

    def round(self, trials: int) -> Round:
        """The round that the trial after `trials` trials belongs to."""
        if self.horizon is not None:
            horizon, delta = int(self.horizon), float(self.delta)
        else:
            number = int(trials + 1).bit_length()
            horizon, delta = 1 << (number - 1), self.delta / (number * (number + 1))
        return Round(horizon, self.regularization or 1 + 2 / horizon, delta)

    def plausible_set(self, program: Program, history: History) -> PlausibleSet:
        """The plausible set after a history, with this lambda and beta_{i,t}."""
        self.check(program)
        current = self.round(len(history))
        beliefs = believe(program, history, current.regularization)
        widths = {}
        for box in program.boxes:
            inputs, _ = history.data(box.name, box.inputs, box.outputs)
            widths[box.name] = torch.tensor(self._current_beta(program, box, inputs, current))
        return PlausibleSet(program, beliefs, widths, declared_intervals(program, history))

    def beta(
        self,
        program: Program,
        box: BlackBox,
        observations: int,
        current: Round,
        given: Array | None = None,
    ) -> Array:
        """beta_{i,t} of each output, (k,), with the maximum information gain.

        Args:
            program: The program of the problem.
            box: The black box.
            observations: The number of its answers.
            current: The round.
            given: Inputs of further answers, (n, d), which may lie outside the domain.
        """
        gain, many = 0.0, 0 if given is None else len(given)
        if not box.is_exact:
            kernel, scale = given_kernel(box), current.regularization
            domain = input_domain(program, box)
            gain = maximum_information_gain(kernel, *domain, observations + many, scale)
            if given is not None and many:  # two sets of points gain no more than their sum
                rest = maximum_information_gain(kernel, *domain, observations, scale)
                gain = max(gain, information_gain(kernel, given, scale) + rest)
        return self._beta_of_gain(program, box, gain, observations + many, current)

    def _current_beta(
        self, program: Program, box: BlackBox, inputs: Array, current: Round
    ) -> Array:
        if box.is_exact:
            return self._beta_of_gain(program, box, 0.0, len(inputs), current)
        seen = information_gain(given_kernel(box), inputs, current.regularization)
        beta = self._beta_of_gain(program, box, seen, len(inputs), current)
        if self.gain == "maximum":
            # Noise may move the chain out of a declared range, and the observed gain above gamma.
            return np.maximum(beta, self.beta(program, box, len(inputs), current))
        return beta

    def _beta_of_gain(
        self, program: Program, box: BlackBox, gain: float, observations: int, current: Round
    ) -> Array:
        assert box.norm_bound is not None
        assert box.noise is not None
        functions = sum(b.outputs for b in program.boxes)
        # The term in the proof is observations / T. The paper, with one observation per step, uses
        # its largest value, 1. A black box that answers more than once per trial exceeds it.
        excess = max(1.0, observations / current.horizon)
        root = math.sqrt(2 * (gain + excess + math.log(functions / current.delta)))
        return np.asarray(box.norm_bound + box.noise * root)


def refuse_steps(program: Program) -> None:
    """Raise ModelError if variables have steps: bounds on regret are about other points then."""
    stepped = [variable.name for variable in program.variables if variable.step is not None]
    if stepped:
        raise ModelError(
            "bounds on regret are about points that solve the auxiliary problem, and variable "
            f"{stepped[0]!r} has step=, which moves them: leave step= out; result.lower_bound and "
            "result.upper_bound hold all the same"
        )
