"""collapse: the problem as ordinary Bayesian optimization sees it."""

import numpy as np
import pytest

import grisaille as gs
from grisaille.records import Suggestion, TrialKind
from grisaille.study.writer import evaluated


def grey_box(**options):
    x = gs.Variable("x", 2, lower=-1, upper=1)
    t = gs.Variable("t", lower=0, upper=1)
    h = gs.BlackBox(lambda x: [x[0] + x[1], x[0] * x[1]], name="h", outputs=2, **options)
    g = gs.BlackBox(lambda y: y**2, name="g", **options)
    y = h(x)
    return gs.Problem(
        maximize=g(y[0]) - t,
        subject_to=[y <= 0.5, x[0] + t <= 1, y[1] >= t - 1],
    )


def test_every_output_that_reads_a_black_box_becomes_an_output_of_one():
    problem = grey_box(noise=0)
    collapsed = gs.collapse(problem)
    (box,) = collapsed.boxes
    assert box.outputs == 4  # the objective, two entries of y, and the last constraint
    assert [v.name for v in collapsed.variables] == [v.name for v in problem.variables]
    assert collapsed.sense == problem.sense
    assert len(collapsed.constraint_names) == len(problem.constraint_names)
    assert collapsed.constraints[1].body is not None
    assert not gs.Problem(minimize=collapsed.constraints[1].body).boxes  # x[0] + t stays known


@pytest.mark.parametrize("point", [(-0.5, 0.25, 0.75), (1.0, 1.0, 0.0)])
def test_it_has_the_same_values_everywhere(point):
    problem = grey_box(noise=0)
    assert [v.name for v in problem.variables] == ["x", "t"]
    suggestion = Suggestion(TrialKind.OPTIMISTIC, np.array(point))
    grey, black = (evaluated(p, suggestion, 1) for p in (problem, gs.collapse(problem)))
    assert grey.objective == pytest.approx(black.objective)
    assert grey.constraints == pytest.approx(black.constraints)


def test_the_grey_box_is_left_as_it_was():
    problem = grey_box(noise=0)
    before = repr(problem)
    gs.collapse(problem)
    assert repr(problem) == before
    assert [b.name for b in problem.boxes] == ["h", "g"]


def test_noise_is_zero_only_if_it_is_zero_inside():
    assert gs.collapse(grey_box(noise=0)).boxes[0].noise.tolist() == [0] * 4
    assert gs.collapse(grey_box(noise=0.1)).boxes[0].noise is None
    assert gs.collapse(grey_box()).boxes[0].noise is None
    assert gs.collapse(grey_box(noise=0.1), noise=0.3).boxes[0].noise.tolist() == [0.3] * 4


def test_one_unknown_output_is_a_scalar():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    h = gs.BlackBox(lambda x: x[0], name="h", noise=0)
    collapsed = gs.collapse(
        gs.Problem(minimize=h(x) + x[1]), kernel=gs.Matern(2.5, 1.0, 1.0), norm_bound=2.0
    )
    assert collapsed.boxes[0].outputs == 1
    assert collapsed.boxes[0].norm_bound.tolist() == [2.0]
    assert collapsed.solve(6, progress=False).success


def test_a_white_problem_has_nothing_to_collapse():
    x = gs.Variable("x", lower=-1, upper=1)
    with pytest.raises(gs.ModelError, match="no black box: there is nothing to collapse"):
        gs.collapse(gs.Problem(minimize=x**2))
    with pytest.raises(gs.ModelError, match=r"collapse\(3\): pass a gs\.Problem"):
        gs.collapse(3)
