"""Doubting bands that leave nothing to gain: widened by as little as leaves something."""

from __future__ import annotations

from collections.abc import Callable

from grisaille.confidence.plausible_set import PlausibleSet
from grisaille.solvers.search_problem import Solution

# How often bands may be doubled at most, and in how many steps the least widening is looked for.
_DOUBLINGS = 3.0
_BISECTIONS = 3


def doubted(
    plausible: PlausibleSet,
    solve: Callable[[PlausibleSet], Solution],
    gains: Callable[[Solution], bool],
    quick: bool,
) -> tuple[PlausibleSet, Solution]:
    """Wider bands, and what they promise.

    What the least doubt promises is the most plausible, so if the widest bands leave something to
    gain, narrower ones are tried.

    Args:
        plausible: The bands.
        solve: The auxiliary problem.
        gains: Whether a solution leaves something to gain.
        quick: Whether to double once, whatever it gives.
    """
    least, most = 0.0, 1.0 if quick else _DOUBLINGS
    wider = plausible.scaled(2**most)
    solution = solve(wider)
    if quick or not gains(solution):
        return wider, solution
    for _ in range(_BISECTIONS):
        middle = (least + most) / 2
        narrower = plausible.scaled(2**middle)
        found = solve(narrower)
        if gains(found):
            most, wider, solution = middle, narrower, found
        else:
            least = middle
    return wider, solution
