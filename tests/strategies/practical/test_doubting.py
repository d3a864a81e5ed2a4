"""Learned bands that leave nothing to gain are widened by as little as leaves something."""

from __future__ import annotations

import pytest
import torch

import grisaille as gs
from grisaille.belief.knowledge import Knowledge
from grisaille.records import TrialKind
from grisaille.search.search_problem import Solution
from grisaille.strategies.practical.doubting import least_widening, widen_bands
from tests.strategies.practical.practical_helpers import closed_gap, opening


class Bands:
    """Bands whose promise is as good as they are wide."""

    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    def scaled(self, factor: float) -> Bands:
        return Bands(factor * self.width)


def doubt(enough: float, quick: bool = False) -> tuple[float, int]:
    """Width of the doubted bands when it takes a width for something to gain; and solves."""
    tried = []

    def solve(bands):
        tried.append(bands.width)
        return Solution(torch.zeros(1), -bands.width, 0.0, True, 1)

    wider, solution = least_widening(Bands(), solve, lambda _, found: -found.value >= enough, quick)
    assert solution.value == -wider.width
    return wider.width, len(tried)


@pytest.mark.parametrize("enough", [1.2, 1.5, 1.9, 2.0, 2.5, 3.0, 3.9, 4.0, 7.0])
def test_bands_are_doubted_by_little_more_than_leaves_something_to_gain(enough):
    width, solves = doubt(enough)
    assert enough <= width <= enough * 2**0.375 * (1 + 1e-12)
    assert solves == 4


def test_doubt_ends_at_eight_times_the_bands_and_when_quick_at_twice():
    assert doubt(100.0) == (8.0, 1)
    assert doubt(1.1, quick=True) == (2.0, 1)


def test_a_gap_that_stalls_is_doubted_with_wider_bands():
    knowledge = Knowledge(closed_gap())
    plan = opening(knowledge)
    wider = widen_bands(plan, knowledge)
    assert wider.suggestion.kind is TrialKind.DOUBTING
    assert wider.plausible.beta["f"].item() > plan.plausible.beta["f"].item()
    assert wider.promise < plan.promise


def test_given_kernels_are_never_doubted():
    kernel = gs.SquaredExponential(lengthscale=1.0, variance=1.0)
    knowledge = Knowledge(closed_gap(kernel=kernel))
    plan = opening(knowledge)
    assert widen_bands(plan, knowledge) is plan
