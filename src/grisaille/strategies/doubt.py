"""Doubting bands that leave nothing to gain: widened by as little as leaves something."""

from __future__ import annotations

from collections.abc import Callable

from grisaille.confidence.plausible import PlausibleSet
from grisaille.solvers.box import Solution

# How often bands may be doubled, and in how many steps the last doubling is then taken back.
_DOUBLINGS = 3
_STEPS_BACK = 2


def doubted(
    plausible: PlausibleSet,
    solve: Callable[[PlausibleSet], Solution],
    gains: Callable[[Solution], bool],
    quick: bool,
) -> tuple[PlausibleSet, Solution]:
    """Wider bands, and what they promise.

    Bands are doubled until there is something to gain, and then narrowed as far as there still is:
    what the least doubt promises is the most plausible.

    Args:
        plausible: The bands.
        solve: The auxiliary problem.
        gains: Whether a solution leaves something to gain.
        quick: Whether to double once, whatever it gives.
    """
    factor = 2.0
    wider = plausible.widened(factor)
    solution = solve(wider)
    if quick:
        return wider, solution
    while not gains(solution) and factor < 2**_DOUBLINGS:
        factor *= 2
        wider = plausible.widened(factor)
        solution = solve(wider)
    if gains(solution):
        for step in range(1, _STEPS_BACK + 1):
            less = factor / 2 ** (0.5**step)
            narrower = plausible.widened(less)
            found = solve(narrower)
            if gains(found):
                factor, wider, solution = less, narrower, found
    return wider, solution
