"""Changed code is noticed."""

from __future__ import annotations

import functools

import numpy as np

import grisaille as gs
from grisaille.lab.comparison.comparison import SameStart
from grisaille.lab.comparison.plan import code_digest, problem_digest


class First(gs.Strategy):
    def __init__(self, option: object = None) -> None:
        self.option = option

    def suggest(self, situation: gs.Situation) -> object:
        return situation.lower


class Second(First):
    def suggest(self, situation: gs.Situation) -> object:
        return situation.upper


def one(knowledge: gs.Knowledge) -> object: ...


def other(knowledge: gs.Knowledge, width: float = 1.0) -> object: ...


def test_own_code_has_a_digest_and_the_librarys_own_has_none():
    assert code_digest(SameStart(gs.Optimistic(), 3)) == ""
    different = [
        First(),
        Second(),
        First(Second()),
        SameStart(gs.Acquisition(one), 3),
        gs.Acquisition(functools.partial(other, width=2.0)),
    ]
    assert len({code_digest(strategy) for strategy in different}) == len(different)
    assert code_digest(First(1)) == code_digest(First(2))  # options are compared by themselves


def test_a_problem_with_other_black_boxes_is_another_problem():
    def problem(function):
        x = gs.Variable("x", lower=0, upper=1)
        return gs.Problem(minimize=gs.BlackBox(function, name="f", noise=0)(x))

    def square(x):
        return x**2

    def cube(x):
        return x**3

    assert problem_digest(problem(square)) == problem_digest(problem(square))
    assert problem_digest(problem(square)) != problem_digest(problem(cube))
    assert problem_digest(problem(np.sin)) == problem_digest(problem(np.cos))  # not our own code
