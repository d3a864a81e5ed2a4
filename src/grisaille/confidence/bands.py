"""The confidence band of one call: l and u of Def. hpb_int."""

from __future__ import annotations

import torch
from torch import Tensor

from grisaille.confidence.beliefs import accepted, returned, value_bound
from grisaille.errors import AssumptionError
from grisaille.language.black_box import BlackBox
from grisaille.language.program import BoxCall, Program
from grisaille.surrogates.posterior import Surrogate


def confidence_band(
    surrogate: Surrogate, beta: Tensor, call: BoxCall, states: Tensor
) -> tuple[Tensor, Tensor]:
    """L and u of a call's outputs at states (batch, inputs), (batch, k) each."""
    mean, reach = mean_and_reach(surrogate, beta, call, states)
    return clip_band(call.box, mean - reach, mean + reach)


def mean_and_reach(
    surrogate: Surrogate, beta: Tensor, call: BoxCall, states: Tensor
) -> tuple[Tensor, Tensor]:
    """Mu and beta sigma of a call's outputs, (batch, k) each."""
    mean, deviation = surrogate.predict(accepted(call.box, states))
    return mean, beta * deviation


def clip_band(box: BlackBox, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """Narrow a band, (batch, k) twice, to the norm bound and the declared output range.

    l = max(mu - beta sigma, -B), u = min(mu + beta sigma, B) (Def. hpb_int).

    Raises:
        AssumptionError: The whole band lies outside the norm bound.
    """
    if box.norm_bound is not None:
        bound = torch.tensor(value_bound(box))
        outside = (lower > bound * (1 + 1e-9)) | (upper < -bound * (1 + 1e-9))
        if outside.any():
            limit = float(bound[outside.any(0)][0])
            raise AssumptionError(
                f"the data put black box {box.name!r} outside ±{limit:g}, which its norm bound "
                "allows: raise norm_bound (Assumption bounded_norm) or leave it out"
            )
        lower, upper = lower.clamp(-bound, bound), upper.clamp(-bound, bound)
    # A band wholly outside a declared range is a poor fit, not a contradiction: both ends come to
    # rest on the range.
    return returned(box, lower), returned(box, upper)


def predicted(surrogate: Surrogate, call: BoxCall, states: Tensor) -> Tensor:
    """Posterior mean of a call's outputs at states, moved into its declared range."""
    mean, _ = surrogate.predict(accepted(call.box, states))
    return clip_band(call.box, mean, mean)[0]


def constant_widths(program: Program, beta: float) -> dict[str, Tensor]:
    """One beta for every output of every box."""
    return {b.name: torch.full((b.outputs,), beta, dtype=torch.float64) for b in program.boxes}
