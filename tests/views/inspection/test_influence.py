from __future__ import annotations

import numpy as np

import grisaille as gs
from grisaille.views.inspection.influence import box_influence, gap_shares, variable_influence
from tests.views.inspection.inspection_helpers import inspection_of, two_boxes, with_choice


def test_the_variable_and_the_black_box_that_matter_have_the_larger_effect():
    inspection = inspection_of(two_boxes())
    x, n = variable_influence(inspection)
    assert x.effect > 100 * n.effect
    large, small = box_influence(inspection)
    assert large.effect > 100 * small.effect


def test_the_effect_of_a_black_box_is_the_spread_of_its_answers_times_the_slope():
    result = two_boxes()
    _, answers = result.history.data("large", 1, 1)
    large, _ = box_influence(inspection_of(result))
    assert np.isclose(large.effect, 10 * answers.std())


def test_the_gap_is_the_share_of_the_black_box_whose_band_is_open():
    x = gs.Variable("x", lower=0, upper=10)
    flat = gs.BlackBox(lambda x: 0.0 * x, name="flat", noise=0, kernel=gs.SquaredExponential(2, 1))
    wild = gs.BlackBox(
        lambda x: np.sin(5 * x), name="wild", noise=0, kernel=gs.SquaredExponential(0.3, 1)
    )
    problem = gs.Problem(minimize=0.01 * flat(x) + wild(x))
    result = problem.solve(trials=5, seed=0, progress=False)
    shares = gap_shares(inspection_of(result))
    assert shares["wild"] > 0.9
    assert shares["flat"] < 0.1


def test_shares_are_parts_of_the_gap():
    shares = gap_shares(inspection_of(two_boxes()))
    assert all(0 <= share <= 1 for share in shares.values())


def test_a_strategy_without_a_bound_has_no_shares():
    result = with_choice().problem.solve(
        trials=6, seed=0, strategy=gs.RandomSearch(), progress=False
    )
    assert gap_shares(inspection_of(result)) == {}
    assert [row.share for row in box_influence(inspection_of(result))] == [None]


def test_gains_are_in_the_users_sense_and_never_negative():
    rows = variable_influence(inspection_of(with_choice()))
    assert all(row.gain >= 0 and np.isfinite(row.gain) for row in rows)
