"""Bands that hold by declaration: no hyper-parameter is learned, and nothing is left to chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from grisaille.belief.declared_intervals import (
    DeclaredInterval,
    answers_are_exact,
    declared_intervals,
)
from grisaille.belief.learning import Beliefs, believe
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.errors import ModelError
from grisaille.language.black_box import BlackBox
from grisaille.language.program import Program
from grisaille.records import History


@dataclass(frozen=True, slots=True)
class Declared:
    """Bands from declarations and exact answers alone: `Optimistic(beta=Declared())`.

    Every black box needs one of these:

    - `lipschitz=` and `noise=0`: its interval is what the answers leave (`declared_intervals`);
    - `lower=` and `upper=`: its interval is this range, and `monotone=` with `noise=0` cuts it;
    - `norm_bound=`, a kernel with hyper-parameters and `noise=0`: its band is mu ± B sigma, which
      contains the function for every lambda, because its answers have no noise.

    Whatever else is declared cuts these bands too. While the declarations are true, the bands are
    certain: a certified bound, or a certificate of infeasibility, is a proof.
    """

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
