"""The text that a study stores of its strategy stays what it was when an option is renamed."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import grisaille as gs
from grisaille.study.identity import settings_of


def described(strategy) -> str:
    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(lambda s: s, name="f")(x))
    return settings_of(problem, strategy, "study", {}, 0, None)["strategy"]


SEARCH = "search=MultiStart(starts=8, samples=512, iterations=40)"


@pytest.mark.parametrize(
    ("solver", "text"),
    [
        (gs.Certified(), f"Optimistic(solver=Certified({SEARCH}))"),
        (gs.Certified(regions=5000), f"Optimistic(solver=Certified(boxes=5000, {SEARCH}))"),
        (gs.MultiStart(starts=3), "Optimistic(solver=MultiStart(starts=3))"),
    ],
)
def test_a_renamed_option_is_stored_under_its_former_name(solver, text):
    assert described(gs.Optimistic(solver=solver)) == text


def test_what_is_at_its_default_is_not_stored():
    assert described(gs.Optimistic()) == "Optimistic()"


class Plain(gs.Strategy):
    def __init__(self, options: object) -> None:
        self.options = options
        self._cache = object()


@dataclass(frozen=True)
class Own(gs.Strategy):
    options: object = None


def mine(knowledge: gs.Knowledge) -> object: ...


def wide(knowledge: gs.Knowledge, width: float) -> object: ...


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        (Plain(gs.Optimistic()), "Plain(options=Optimistic())"),
        (Plain(Plain(3)), "Plain(options=Plain(options=3))"),
        (Own(), "Own()"),
        (Own(Plain(mine)), "Own(options=Plain(options=<function mine>))"),
        (Own(np.array([1.0, 2.0])), "Own(options=array([1., 2.]))"),
        (gs.Acquisition(mine), "Acquisition(function=<function mine>)"),
        (gs.Acquisition(lambda k: k, initial=3), "<function <lambda>>, initial=3)"),
        (
            gs.Acquisition(functools.partial(wide, width=0.1)),
            "Acquisition(function=functools.partial(<function wide>, width=0.1))",
        ),
    ],
)
def test_a_strategy_of_ones_own_is_described_without_addresses(strategy, text):
    assert described(strategy).endswith(text)
    assert " at 0x" not in described(strategy)
