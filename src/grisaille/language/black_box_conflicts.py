"""Options of a black box that contradict each other."""

from __future__ import annotations

from typing import Any

from grisaille.array_types import Array
from grisaille.errors import shortened


def option_conflict(
    levels: Array | None,
    noise: Any,
    kernel: Any,
    norm_bound: Any,
    model: Any,
    process_noise: bool,
) -> str:
    """What is wrong with a combination of options, and what to do; empty if nothing is.

    Args:
        levels: The noise of each output, (k,); None to learn it.
        noise: The options of `BlackBox`, as they were given.
        kernel: Likewise.
        norm_bound: Likewise.
        model: Likewise.
        process_noise: Likewise.
    """
    is_given = getattr(kernel, "lengthscale", None) is not None
    if is_given and noise is None:
        return (
            "has a kernel with hyper-parameters, so nothing is learned, but no noise: pass "
            "noise=0, or its standard deviation"
        )
    if norm_bound is not None and not is_given:
        return (
            f"has norm_bound={shortened(norm_bound)}, which is about the space of a given "
            "kernel: pass kernel=gs.Matern(lengthscale=..., variance=...), or declare lower= "
            "and upper= instead"
        )
    if process_noise and levels is not None and not levels.all():
        return (
            f"has process_noise=True and noise={shortened(noise)}: give the standard "
            "deviation of its disturbances, None to learn it, or leave process_noise out"
        )
    if process_noise and model is not None and noise is None:
        return (
            "has process_noise=True and model=, which does not tell its disturbances: pass "
            "their standard deviation as noise="
        )
    return ""


_NOT_TOGETHER = {
    "model": "your own model has kernels of its own",
    "norm_bound": "theorems ask for the best of all plausible outputs, and the search of a black "
    "box with a shared kernel moves them along common patterns only",
    "process_noise": "disturbances of many outputs would have to be averaged together",
    "lipschitz": "declared slopes cut the band of each output on its own",
    "monotone": "declared directions cut the band of each output on its own",
}


def conflict_with_shared_kernel(**given: Any) -> str:
    """Why an option and shared_kernel=True contradict each other; empty if none does.

    Args:
        given: The options of `BlackBox` that do, as they were given.
    """
    for name, value in given.items():
        if value is not None and value is not False:
            return (
                f"has shared_kernel=True and {name}={shortened(value)}: {_NOT_TOGETHER[name]}; "
                "leave one of the two out"
            )
    return ""
