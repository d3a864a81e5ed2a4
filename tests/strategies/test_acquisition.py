"""A user's own acquisition function: searched, constrained, and refused with a sentence."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.records import Situation
from tests.strategies.strategy_helpers import after, composite, constrained, grid


def distance_from(corner: float):
    """An acquisition whose maximum is known: the least distance from a point."""
    return lambda _: lambda x: -(x - corner).square().sum(1)


def test_the_point_of_the_greatest_value_is_tried():
    suggestion = gs.Acquisition(distance_from(0.3)).suggest(after(composite(), 4))
    assert suggestion.kind is gs.TrialKind.ACQUIRED
    assert suggestion.x == pytest.approx([0.3, 0.3], abs=1e-5)


def test_expected_improvement_written_by_hand_chooses_what_the_librarys_own_chooses():
    def improvement(knowledge: gs.Knowledge):
        def value(x: torch.Tensor) -> torch.Tensor:
            objective, _ = knowledge.draw(x, 64)
            return (knowledge.best - objective).clamp_min(0).mean(0)

        return value

    situation = after(composite(), 6)
    own = improvement(gs.Knowledge(situation))
    given = gs.EIFN(samples=64).acquisition(gs.Knowledge(situation))
    points = torch.tensor(grid(composite()))
    assert own(points).tolist() == pytest.approx(given.values(points).tolist())
    x = torch.tensor(gs.Acquisition(improvement).suggest(situation).x).unsqueeze(0)
    theirs = torch.tensor(gs.EIFN(samples=64).suggest(situation).x).unsqueeze(0)
    assert float(own(x)) >= 0.99 * float(own(theirs))


def test_constraints_hold_as_predicted_and_exactly_where_they_are_known():
    situation = after(constrained(), 6)
    knowledge = gs.Knowledge(situation)
    suggestion = gs.Acquisition(distance_from(1.0)).suggest(situation)  # (1, 1) breaks x0 + x1
    _, predicted = knowledge.predict(torch.tensor(suggestion.x).unsqueeze(0))
    assert (predicted <= 1e-6).all()
    assert suggestion.x.sum() == pytest.approx(0.5, abs=1e-5)


def test_constraints_that_the_function_returns_take_the_place_of_the_predicted_ones():
    def own(_: gs.Knowledge):
        return lambda x: (-(x - 1.0).square().sum(1), x[:, :1] + 0.5)

    suggestion = gs.Acquisition(own).suggest(after(constrained(), 6))
    assert suggestion.x == pytest.approx([-0.5, 1.0], abs=1e-5)  # x0 + x1 <= 0.5 is kept as well


def test_while_nothing_feasible_is_known_the_function_is_not_called():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    g = gs.BlackBox(lambda x: x[0] + x[1], name="g", noise=0, kernel=gs.Matern(2.5, 1.0, 1.0))
    problem = gs.Problem(minimize=x[0], subject_to=[g(x) >= 1.99])
    situation = after(problem, 4)
    assert gs.Knowledge(situation).best is None
    suggestion = gs.Acquisition(lambda _: 1 / 0).suggest(situation)
    assert suggestion.x.sum() > 1.5


def test_an_acquisition_without_gradients_is_searched_as_well():
    def own(_: gs.Knowledge):
        return lambda x: np.round(-np.abs(x.detach().numpy() - 0.25).sum(1), 2)

    x = gs.Acquisition(own).suggest(after(composite(), 4)).x
    assert np.abs(x - 0.25).sum() < 0.05


def test_the_first_point_is_one_of_the_initial_design_even_if_nothing_is_learned():
    situation = Situation(composite(), gs.History(), 3)
    first = gs.Acquisition(distance_from(0.0)).suggest(situation)
    assert first.kind is gs.TrialKind.INITIAL
    assert first.x.tolist() == gs.EIFN().suggest(situation).x.tolist()


def raises(x: object) -> object:
    raise ZeroDivisionError("no division")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda _: None, "'<lambda>' returned None .* must return a function of design points"),
        (lambda k: k.nothing, r"raised AttributeError: .*nothing.* \(test_acquisition.py, line"),
        (lambda _: raises, r"raised ZeroDivisionError: no division \(test_acquisition.py, line"),
        (lambda _: lambda x: "much", "gave 'much' for 201 design points: it must give a tensor"),
        (lambda _: lambda x: x, r"gave an array of shape \(201, 2\) for 201 design points"),
        (lambda _: lambda x: x.sum(), r"gave an array of shape \(\) for"),
        (lambda _: lambda x: (x[:, 0], x[:, 0]), r"gave an array of shape \(201,\) for"),
        (lambda _: lambda x: x[:, 0] * torch.nan, "has no finite value at any of"),
    ],
)
def test_a_function_that_is_no_acquisition_is_refused_with_a_sentence(function, message):
    problem = composite()
    with pytest.raises(gs.GrisailleError, match=message):
        gs.Acquisition(function).suggest(after(problem, 4))


def test_problems_with_interventions_are_refused_by_the_name_of_the_function():
    def mine(_: gs.Knowledge): ...

    with pytest.raises(gs.ModelError, match="acquisition 'mine' knows no interventions"):
        gs.Acquisition(mine).check(gs.problems.toy_graph(0).problem)


@pytest.mark.parametrize(
    ("strategy", "who"),
    [
        (gs.Acquisition(distance_from), "acquisition 'distance_from'"),
        (gs.EIFN(), "EIFN"),
        (gs.EICF(), "EICF"),
        (gs.CUQB(), "CUQB"),
    ],
)
def test_process_noise_is_refused_with_the_name_of_its_black_box(strategy, who):
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(None, name="oven", noise=0.1, process_noise=True)
    expected = f"{who} does not average over process noise, which black box 'oven' has: use gs.MCBO"
    with pytest.raises(gs.ModelError, match=expected):
        strategy.check(gs.Problem(minimize=box(x)))
