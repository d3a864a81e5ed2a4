"""Points of a problem with linear equalities, and of the same problem without them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import grisaille as gs
from grisaille.reductions.linear_equalities import points_to_try

ROUNDING = 1e-14

x = gs.Variable("x", 4, lower=0, upper=[1, 0.5, 0.4, 0.3])
y = gs.Variable("y", lower=-1, upper=2)


def blend() -> gs.Problem:
    return gs.Problem(
        minimize=np.sum(x**2) + y,
        subject_to={"sum": np.sum(x) == 1, "ratio": x[0] - 2 * x[1] == 0.1 * y, "y": y**2 <= 3},
    )


def test_the_entries_that_remain_give_back_the_whole_point():
    problem = blend()
    elimination = problem.elimination
    system = elimination.system
    generator = np.random.default_rng(0)
    for _ in range(200):
        point = generator.uniform(
            elimination.problem.program.lower, elimination.problem.program.upper
        )
        full = elimination.expand(point)
        assert np.abs(system.equal @ full - system.values).max() < ROUNDING
        assert (full >= problem.program.lower).all()
        assert (full <= problem.program.upper).all()
        if (elimination.added.matrix @ point + elimination.added.constants <= 0).all():
            np.testing.assert_allclose(elimination.reduce(full), point, atol=1e-12)


def test_what_leaves_its_bounds_by_rounding_is_moved_by_rounding():
    f = gs.Variable("f", 3, lower=0, upper=1)
    elimination = gs.Problem(minimize=f[0], subject_to=[np.sum(f) == 1]).elimination
    full = elimination.expand(np.array([0.7, 0.3 + 3e-8]))
    assert full[2] == 0.0
    assert abs(full.sum() - 1) < 1e-15
    np.testing.assert_allclose(full, [0.7, 0.3, 0], atol=3e-8)


def test_integers_and_steps_stay_what_they_are():
    u = gs.Integer("u", 5, lower=0, upper=2)
    s = gs.Variable("s", 3, lower=0, upper=1, step=0.05)
    problem = gs.Problem(minimize=u[0] + s[0], subject_to=[np.sum(u) == 4, np.sum(s) == 1])
    elimination, space = problem.elimination, problem.elimination.problem.program.space
    assert len(elimination.solved) == 2
    generator = np.random.default_rng(1)
    for _ in range(100):
        drawn = generator.uniform(space.lower, space.upper)
        full = elimination.expand(space.on_steps(drawn))
        assert full[:5].sum() == 4
        assert abs(full[5:].sum() - 1) < 1e-12
        np.testing.assert_array_equal(full, problem.program.space.on_steps(full))
        assert ((full >= problem.program.lower) & (full <= problem.program.upper)).all()


def test_an_equality_that_fixes_an_entry_leaves_the_others():
    elimination = gs.Problem(minimize=y + x[0], subject_to=[x[0] == 0.25, y >= 0]).elimination
    assert [v.name for v in elimination.problem.variables] == ["y", "x[1]", "x[2]", "x[3]"]
    np.testing.assert_array_equal(
        elimination.expand(np.array([1.0, 0.1, 0.2, 0.3])), [1, 0.25, 0.1, 0.2, 0.3]
    )


@pytest.mark.parametrize(
    "problem",
    [
        gs.Problem(minimize=y, subject_to=[x[0] <= 0.5]),
        gs.Problem(minimize=y, subject_to=[x[0] * y == 0.1]),
        gs.Problem(minimize=y, subject_to=[y == 1]),  # nothing would be left to choose
        gs.Problem(
            minimize=gs.Variable("d", lower=1, upper=9, log=True), subject_to=[y**3 == 1 + y]
        ),
    ],
)
def test_other_problems_are_searched_as_they_are(problem):
    assert problem.elimination is None
    assert problem.searched is problem


def test_what_is_left_is_not_eliminated_once_more():
    reduced = blend().searched
    assert reduced.elimination is None
    assert reduced.origin.original.searched is reduced


def test_own_points_that_break_an_equality_are_refused_by_name_and_amount():
    message = (
        "enqueue: a point breaks sum: sum(x) == 1, whose sides differ by 0.2 there (allowed: "
        "0.0001): every point that is tried meets it, so pass points that do"
    )
    with pytest.raises(gs.ModelError, match=re.escape(message)):
        points_to_try(blend(), [0.4, 0.2, 0.1, 0.1, 0.0], "enqueue", np.asarray)


def test_own_points_within_the_tolerance_are_moved_onto_the_equalities():
    problem = blend()
    given = np.array([0.46666, 0.23333, 0.2, 0.1, 0.0])
    (point,) = points_to_try(problem, given, "x0", np.asarray)
    system = problem.elimination.system
    assert np.abs(system.equal @ point - system.values).max() < ROUNDING
    np.testing.assert_allclose(point, given, atol=5e-5)


def test_whether_a_point_meets_the_equalities_is_a_matter_of_their_tolerance():
    loose = gs.Problem(minimize=x[0], subject_to=[np.sum(x) == 1], feasibility_tol=0.05)
    near = np.array([0.4, 0.2, 0.2, 0.24])
    assert loose.elimination.is_met(near)
    assert not gs.Problem(minimize=x[0], subject_to=[np.sum(x) == 1]).elimination.is_met(near)


def test_steps_that_leave_no_point_say_so():
    s = gs.Variable("s", 2, lower=0, upper=1, step=0.3)
    z = gs.Variable("z", lower=0, upper=0.05)
    problem = gs.Problem(minimize=z, subject_to=[np.sum(s) + z == 1])
    with pytest.raises(gs.ModelError, match=r"no point on the steps .* sum\(s\) \+ z == 1"):
        problem.elimination.expand(np.array([0.3, 0.3]))
