"""What people tell a study: points of their own, what was really done."""

from __future__ import annotations

import warnings

import numpy as np
import pandas
import pytest

import grisaille as gs
from tests.study.study_helpers import QUICK, answer, nested, parabola

pytestmark = pytest.mark.slow


CHANCE = gs.RandomSearch()


def kinds(study: gs.Study) -> list[str]:
    return [str(entry.suggestion.kind) for entry in study.state.trials.values()]


# --- own points ----------------------------------------------------------------------------
def test_own_points_are_tried_first_and_in_order():
    study = gs.Study(parabola(), strategy=CHANCE)
    assert study.enqueue(x=0.25) == [1]
    assert study.enqueue([[2.0], [-1.0]]) == [2, 3]
    result = study.run(5, progress=False)
    assert [t.x.tolist() for t in result.history][:3] == [[0.25], [2.0], [-1.0]]
    assert kinds(study) == ["own"] * 3 + ["random"] * 2


def test_own_points_count_as_trials_of_a_run_and_the_rest_waits():
    study = gs.Study(parabola(), strategy=CHANCE)
    study.enqueue([[v] for v in np.linspace(-2, 3, 6)])
    assert study.run(4, progress=False).nit == 4
    assert len(study.ask(9, trials=5)) == 1
    study.release(study.pending[0])
    assert study.run(6, progress=False).nit == 6
    assert kinds(study) == ["own"] * 6


def test_solve_tries_x0_first_and_it_can_be_the_answer():
    result = parabola().solve(3, x0=[1.0], strategy=CHANCE, progress=False)
    assert result.history.trials[0].x.tolist() == [1.0]
    assert (result.x, result.fun) == ([1.0], 0.5)


def test_x0_is_checked_before_anything_is_evaluated():
    def never(x):
        raise AssertionError

    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(never, name="f")(x))
    with pytest.raises(gs.ModelError, match=r"x0: x = 7 is not in \[0, 1\]"):
        problem.solve(3, x0=7.0)


@pytest.mark.parametrize("given", [((), {}), (([1.0],), {"x": 1.0})])
def test_enqueue_needs_points_or_values(given):
    arguments, values = given
    with pytest.raises(gs.ModelError, match="pass points, or one point as values"):
        gs.Study(parabola(), strategy=CHANCE).enqueue(*arguments, **values)


def test_no_strategy_decided_an_own_point_so_it_is_not_replayed():
    study = gs.Study(parabola(), strategy=CHANCE)
    study.enqueue(x=0.0)
    study.run(2, progress=False)
    with pytest.raises(gs.ModelError, match=r"no strategy decided trial 1, it is one of your own"):
        study.replay(1)
    assert study.replay(2).x.tolist() == study.history.trials[1].x.tolist()


def test_own_points_stay_in_a_stored_study(tmp_path):
    options = {"name": "s", "storage": f"sqlite:///{tmp_path}/s.db", "strategy": CHANCE}
    with gs.Study(parabola(), **options) as study:
        study.enqueue(x=0.5)
    with gs.Study(parabola(), **options) as study:
        (query,) = study.ask()
        assert query.arguments == (0.5,)


# --- what was really done --------------------------------------------------------------------
def test_a_trial_is_where_it_was_really_made():
    study = gs.Study(parabola(), strategy=CHANCE)
    (query,) = study.ask()
    done = round(float(query.inputs[0]), 1)
    assert done != query.inputs[0]
    trial = study.tell(query, (done - 1) ** 2, inputs=done)
    assert trial.x.tolist() == [done]
    assert trial.objective == (done - 1) ** 2 + 0.5
    assert trial.observations[0].inputs.tolist() == [done]
    entry = study.state.trials[1]
    assert entry.asked_x.tolist() == query.inputs.tolist()
    assert study.replay(1).x.tolist() == query.inputs.tolist()


def test_inputs_that_differ_are_told_by_name():
    flow, heat = gs.Variable("flow", lower=0, upper=1), gs.Variable("heat", lower=0, upper=9)
    study = gs.Study(
        gs.Problem(minimize=gs.BlackBox(None, name="rig")(flow, heat)), strategy=CHANCE
    )
    (query,) = study.ask()
    trial = study.tell(query, 1.0, inputs={"heat": 4.5})
    assert trial.x.tolist() == [query.inputs[0], 4.5]


@pytest.mark.parametrize("given", [[1.0, 2.0], "warm", {"y": 1.0}, {"x": np.nan}, [np.inf]])
def test_inputs_that_do_not_fit_are_refused_and_nothing_is_recorded(given):
    study = gs.Study(parabola(), strategy=CHANCE)
    (query,) = study.ask()
    with pytest.raises(gs.ModelError, match=r"^inputs=.*(black box 'f' |x is nan)"):
        study.tell(query, 1.0, inputs=given)
    assert [q.id for q in study.pending] == [query.id]


def test_a_chain_goes_on_from_where_it_was_really_made():
    problem = nested(noise=0)
    study = gs.Study(problem, strategy=CHANCE, evaluation="chained")
    (query,) = study.ask()
    done = np.round(query.inputs, 1)
    study.tell(query, problem.boxes[0].fn(done), inputs=done)
    (second,) = study.ask()
    assert second.inputs.tolist() == problem.boxes[0].fn(done).tolist()
    trial = study.tell(second, answer(problem, second))
    assert trial.x.tolist() == done.tolist()


def test_inputs_far_from_the_chain_teach_but_their_trial_has_no_objective():
    problem = nested(noise=0)
    study = gs.Study(problem, strategy=CHANCE)
    (first,) = study.ask()
    study.tell(first, answer(problem, first))
    (second,) = study.ask()
    far = second.inputs + 5.0
    assert study.tell(second, 3.0, inputs=far) is None
    assert "too far from the" in study.state.trials[1].reason
    assert [o.inputs.tolist() for o in study.history.loose if o.box == "second"] == [far.tolist()]


def test_what_was_done_outside_the_bounds_teaches_only():
    study = gs.Study(parabola(), strategy=CHANCE)
    (query,) = study.ask()
    assert study.tell(query, 9.0, inputs=4.0) is None
    assert "x = 4, outside the bounds [-2, 3]" in study.state.trials[1].reason
    assert len(study.history.loose) == 1


def test_two_boxes_that_were_evaluated_at_different_points_have_no_common_objective():
    x = gs.Variable("x", lower=0, upper=1)
    first, second = gs.BlackBox(None, name="first"), gs.BlackBox(None, name="second")
    study = gs.Study(gs.Problem(minimize=first(x) + second(x)), strategy=CHANCE)
    one, two = study.ask(2)
    study.tell(one, 1.0, inputs=0.9 if one.inputs[0] < 0.5 else 0.1)
    # The other one follows, because it is not evaluated yet.
    assert study.pending[0].inputs.tolist() == study.history.loose[0].inputs.tolist()
    assert study.tell(two, 2.0) is not None
    one, two = study.ask(2)
    study.tell(one, 1.0)
    assert study.tell(two, 2.0, inputs=0.9 if two.inputs[0] < 0.5 else 0.1) is None
    assert "were evaluated at different points" in study.state.trials[2].reason


# --- answers ---------------------------------------------------------------------------------
def test_answers_lists_every_answer_with_the_id_to_correct_it_by():
    problem = nested(noise=0)
    study = gs.Study(problem, strategy=QUICK)
    study.run(2, progress=False)
    study.observe("second", [[5.0, 5.0]], [1.0])
    table = study.answers()
    assert len(table) == len(list(study.history.observations()))
    assert table["id"].is_unique
    assert set(table["source"]) <= {"chain", "probe", "elsewhere"}
    second = study.answers("second")
    assert set(second["box"]) == {"second"}
    assert second.iloc[-1]["second"] == 1.0


def test_answers_of_an_empty_study_are_an_empty_table():
    table = gs.Study(parabola()).answers()
    assert isinstance(table, pandas.DataFrame)
    assert table.empty


def test_an_answer_of_nobody_else_is_told_without_a_warning():
    study = gs.Study(parabola(), strategy=CHANCE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(9):
            (query,) = study.ask()
            study.tell(query, answer(study.problem, query))
