"""Rules of beta: how wide the confidence bands are, and what holds of them.

`BandRule` is a protocol of this room, so that certificates can rebuild bands without importing
`theory/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor

from grisaille.belief.declared_intervals import (
    DeclaredInterval,
    answers_are_exact,
    declared_intervals,
)
from grisaille.belief.learning import Beliefs, believe
from grisaille.belief.plausible_set import PlausibleSet, constant_widths
from grisaille.checks import has_method
from grisaille.errors import ModelError
from grisaille.language.black_box import BlackBox
from grisaille.language.program import Program
from grisaille.records import History

CONFIDENCE = 0.95
"""The chance that a bound holds, unless users ask for another one."""


class BandRule(Protocol):
    """Gives the bands after a history.

    `Theory` and `Declared` are public, and what the library asks of them besides is not: these
    questions begin with an underscore. By default their answers hold for declared constants.
    """

    __slots__ = ()

    @property
    def _width(self) -> float | None:
        """Half-width in posterior standard deviations, around what is learned; audits test it.

        None if the bands hold by declared constants: what they prove is proved.
        """
        return None

    @property
    def _confidence(self) -> float:
        """The chance that all bands of a bound hold at once, where they have a half-width."""
        return CONFIDENCE

    @property
    def _exploits(self) -> bool:
        """True if some trials exploit what is believed, unless users ask otherwise."""
        return True

    @property
    def _has_regret_bounds(self) -> bool:
        """True if lemmas bound the regret of trials by the deviations of Gaussian processes."""
        return True

    def _is_bounded(self, program: Program, history: History) -> bool:
        """Return True if all bands are finite, so that there is something to search."""
        return True

    def _with_evaluations(self, at_once: int) -> BandRule:
        """Return the rule for several evaluations at once."""
        del at_once
        return self

    def check(self, program: Program) -> None:
        """Check that the black boxes declare every constant that is needed.

        Raises:
            ModelError: Names all that are missing.
        """
        return

    def plausible_set(self, program: Program, history: History) -> PlausibleSet:
        """Return the plausible set after a history."""
        ...

    def __hash__(self) -> int:
        return object.__hash__(self)


Beta = float | BandRule
"""Half-width of the bands in posterior standard deviations, or the rule that gives it."""


@dataclass(frozen=True, slots=True)
class Constant(BandRule):
    """Bands of one half-width, around what is learned: a number as beta.

    Attributes:
        beta: The half-width in posterior standard deviations.
        at_once: How many evaluations are made at once: hyper-parameters are learned once for all.
        confidence: The chance that all bands of a bound hold at once.
    """

    beta: float
    at_once: int = 1
    confidence: float = CONFIDENCE

    @property
    def _width(self) -> float:
        """The half-width."""
        return self.beta

    @property
    def _confidence(self) -> float:
        """The chance that all bands of a bound hold at once."""
        return self.confidence

    def _with_evaluations(self, at_once: int) -> Constant:
        """Return the rule for several evaluations at once."""
        return replace(self, at_once=at_once)

    def plausible_set(self, program: Program, history: History) -> PlausibleSet:
        """Return the plausible set after a history."""
        beliefs = believe(program, history, at_once=self.at_once)
        widths = constant_widths(program, self.beta)
        return PlausibleSet(program, beliefs, widths, declared_intervals(program, history))

    def __str__(self) -> str:
        return f"{self.beta:g} deviations"


def rule_of(beta: Beta, confidence: float = CONFIDENCE) -> BandRule:
    """Return the rule that a beta is: a number is a `Constant`, whose bounds hold with a chance."""
    if has_method(beta, "plausible_set"):
        return cast(BandRule, beta)
    return Constant(cast(float, beta), confidence=confidence)


def learned_by(rule: BandRule, boxes: Iterable[BlackBox]) -> list[BlackBox]:
    """Return the black boxes whose hyper-parameters are learned for a rule."""
    return [box for box in boxes if box.is_learned and rule._width is not None]


def plausible_set(program: Program, history: History, beta: Beta) -> PlausibleSet:
    """Return the plausible set after a history, for a number or a rule."""
    return rule_of(beta).plausible_set(program, history)


@dataclass(frozen=True, slots=True)
class Declared(BandRule):
    """Bands from declarations and exact answers alone: `Optimistic(beta=Declared())`.

    Every black box needs one of these:

    - `lipschitz=` and `noise=0`: its interval is what the answers leave (`declared_intervals`);
    - `lower=` and `upper=`: its interval is this range, and `monotone=` with `noise=0` cuts it;
    - `norm_bound=`, a kernel with hyper-parameters and `noise=0`: its band is mu ± B sigma, which
      contains the function for every lambda, because its answers have no noise.

    Whatever else is declared cuts these bands too. While the declarations are true, the bands are
    certain: a certified bound, or a certificate of infeasibility, is a proof.
    """

    @property
    def _has_regret_bounds(self) -> bool:
        """False: the gap is a bound on the regret."""
        return False

    def check(self, program: Program) -> None:
        """Check that every black box declares enough.

        Raises:
            ModelError: Names all that do not.
        """
        missing = [box.name for box in program.boxes if not _has_declared_band(box)]
        if missing:
            raise ModelError(
                "gs.Declared() needs bands that hold by declaration, and these black boxes have "
                f"none: {', '.join(map(repr, missing))}. Pass noise=0 and lipschitz=, or noise=0 "
                "and norm_bound= with a given kernel, or lower= and upper= (and monotone=)"
            )

    def _is_bounded(self, program: Program, history: History) -> bool:
        return self.is_bounded(program, history)

    def is_bounded(self, program: Program, history: History) -> bool:
        """Whether all bands are finite: a Lipschitz constant needs an answer to start from."""
        answered = history.counts()
        return all(
            box.name in answered or _has_range(box) or box.norm_bound is not None
            for box in program.boxes
        )

    def plausible_set(self, program: Program, history: History) -> PlausibleSet:
        """The plausible set after a history, if all bands are finite."""
        self.check(program)
        known = [b for b in program.boxes if b.norm_bound is not None and answers_are_exact(b)]
        beliefs: Beliefs = believe(program, history, only={box.name for box in known})
        beta: dict[str, Tensor] = {box.name: torch.tensor(box.norm_bound) for box in known}
        intervals = declared_intervals(program, history)
        for box in program.boxes:
            if box.name not in beliefs:
                intervals.setdefault(box.name, DeclaredInterval.of(box, history))
                beliefs[box.name] = intervals[box.name]
                beta[box.name] = torch.ones(box.outputs, dtype=torch.float64)
        return PlausibleSet(program, beliefs, beta, intervals)


def bands_are_declared(program: Program) -> bool:
    """Whether every black box of a program has a band that holds by declaration (`Declared`)."""
    return all(_has_declared_band(box) for box in program.boxes)


def _has_declared_band(box: BlackBox) -> bool:
    if box.process_noise:
        return False
    starts_from_answers = box.lipschitz is not None or box.norm_bound is not None
    return _has_range(box) or (starts_from_answers and answers_are_exact(box))


def _has_range(box: BlackBox) -> bool:
    """Whether both ends of the range of every output are declared."""
    ends = (box.lower, box.upper)
    return all(end is not None and bool(np.isfinite(end).all()) for end in ends)
