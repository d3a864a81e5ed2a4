"""Whether inputs and answers keep to the ranges that black boxes were declared with."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import AssumptionError
from grisaille.language.black_box import BlackBox
from grisaille.language.black_box_answer import check_size, is_too_large
from grisaille.records import History

# Known parts may miss the end of a range of inputs by rounding.
_ROUNDING = 1e-9
# How far noise that is to be learned may move an answer out of a declared range, in widths.
_NOISE = 0.1


def refusal(box: BlackBox, inputs: Array) -> str:
    """Why a black box does not accept inputs, in a sentence; empty if it does.

    Bands are those of accepted inputs. So a bound is true only if the optimum is sought among the
    points whose chain reaches no other ones.
    """
    low = np.broadcast_to(-np.inf if box.input_lower is None else box.input_lower, inputs.shape)
    high = np.broadcast_to(np.inf if box.input_upper is None else box.input_upper, inputs.shape)
    rounding = _ROUNDING * (1 + np.abs(inputs))
    outside = np.flatnonzero((inputs < low - rounding) | (inputs > high + rounding))
    if not len(outside):
        return ""
    first = outside[0]
    return (
        f"the chain reaches black box {box.name!r} at {box.describe(inputs)}, outside the range "
        f"[{low[first]:g}, {high[first]:g}] of inputs that it accepts: it is not evaluated there; "
        "if it can be, widen input_lower= or input_upper="
    )


def check_range(box: BlackBox, inputs: Array, outputs: Array, history: History) -> None:
    """Raise AssumptionError if an answer is outside the declared range of its black box.

    Every answer passes here before it is recorded. Raise EvaluationError if it is too large to be
    learned from.

    With noise, an observation may be outside the range of the function itself. With noise to be
    learned, it may be outside by 10 % of the range or, if one end is not declared, of the spread of
    the earlier answers.
    """
    if is_too_large(outputs):
        check_size(outputs, f"black box {box.name!r} at {box.describe(inputs)}")
    if box.noise is not None and not box.is_exact:
        return
    low = np.full(box.outputs, -np.inf if box.lower is None else box.lower)
    high = np.full(box.outputs, np.inf if box.upper is None else box.upper)
    if (outputs >= low).all() and (outputs <= high).all():
        return  # without a look at the other answers, of which there may be many
    allowed = np.zeros(box.outputs)
    if box.noise is None:
        _, seen = history.data(box.name, box.inputs, box.outputs)
        # Fewer than two answers have no spread that could be contradicted.
        spread = np.ptp(seen, 0) if len(seen) > 1 else np.full(box.outputs, np.inf)
        allowed = _NOISE * np.where(np.isfinite(high - low), high - low, spread)
    if (outputs < low - allowed).any() or (outputs > high + allowed).any():
        far = "" if box.is_exact else ", by more than noise is likely to"
        raise AssumptionError(
            f"black box {box.name!r} at {box.describe(inputs)} returned {outputs.tolist()}, "
            f"outside the range [{np.min(low):g}, {np.max(high):g}] it was declared "
            f"with{far}: widen lower= or upper=, or leave them out"
            + ("" if box.is_exact else "; or pass its standard deviation as noise=")
        )
