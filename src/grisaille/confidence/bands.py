"""The confidence band of one call: l and u of Def. hpb_int."""

from __future__ import annotations

import torch
from torch import Tensor

from grisaille.confidence.beliefs import accepted, returned, value_bound
from grisaille.confidence.declared_intervals import DeclaredInterval
from grisaille.errors import AssumptionError
from grisaille.language.black_box import BlackBox
from grisaille.language.program import BoxCall, Program
from grisaille.surrogates.posterior import Surrogate


def confidence_band(
    surrogate: Surrogate,
    beta: Tensor,
    call: BoxCall,
    states: Tensor,
    interval: DeclaredInterval | None = None,
) -> tuple[Tensor, Tensor]:
    """L and u of a call's outputs at states (batch, inputs), (batch, k) each."""
    mean, reach = mean_and_reach(surrogate, beta, call, states)
    return clip_band(call.box, accepted(call.box, states), mean - reach, mean + reach, interval)


def mean_and_reach(
    surrogate: Surrogate, beta: Tensor, call: BoxCall, states: Tensor
) -> tuple[Tensor, Tensor]:
    """Mu and beta sigma of a call's outputs, (batch, k) each."""
    mean, deviation = surrogate.predict(accepted(call.box, states))
    return mean, beta * deviation


def clip_band(
    box: BlackBox,
    states: Tensor,
    lower: Tensor,
    upper: Tensor,
    interval: DeclaredInterval | None = None,
) -> tuple[Tensor, Tensor]:
    """Narrow a band to the norm bound, the declared output range and the declared interval.

    l = max(mu - beta sigma, -B), u = min(mu + beta sigma, B) (Def. hpb_int), where B sqrt(k(s, s))
    takes the place of B for kernels that are not 1 everywhere.

    Args:
        box: The black box.
        states: (batch, d), where the band is.
        lower: (batch, k).
        upper: (batch, k).
        interval: What declarations and answers leave to its outputs, if they cut the band.

    Raises:
        AssumptionError: The whole band lies outside the norm bound.
    """
    if box.norm_bound is not None:
        bound = value_bound(box, states)
        outside = (lower > bound * (1 + 1e-9)) | (upper < -bound * (1 + 1e-9))
        if outside.any():
            limit = float(bound[outside][0])
            raise AssumptionError(
                f"the data put black box {box.name!r} outside ±{limit:g}, which its norm bound "
                "allows: raise norm_bound (Assumption bounded_norm) or leave it out"
            )
        lower, upper = lower.clamp(-bound, bound), upper.clamp(-bound, bound)
    # A band wholly outside a declared range or interval is a poor fit, not a contradiction: the
    # declaration wins, and both ends come to rest on it.
    lower, upper = returned(box, lower), returned(box, upper)
    if interval is None:
        return lower, upper
    least, most = interval.ends(states)
    return lower.clamp(least, most), upper.clamp(least, most)


def predicted(
    surrogate: Surrogate, call: BoxCall, states: Tensor, interval: DeclaredInterval | None = None
) -> Tensor:
    """Posterior mean of a call's outputs at states, moved into what was declared."""
    states = accepted(call.box, states)
    mean, _ = surrogate.predict(states)
    return clip_band(call.box, states, mean, mean, interval)[0]


def constant_widths(program: Program, beta: float) -> dict[str, Tensor]:
    """One beta for every output of every box."""
    return {b.name: torch.full((b.outputs,), beta, dtype=torch.float64) for b in program.boxes}
