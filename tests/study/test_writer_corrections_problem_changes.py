"""What becomes of the trials of a study whose problem was changed."""

from __future__ import annotations

from pathlib import Path

import pytest

import grisaille as gs

pytestmark = pytest.mark.slow


CHANCE = gs.RandomSearch()


def plant(
    upper: float = 1.0, limit: float | None = None, purity: float | None = None
) -> gs.Problem:
    """One black box; if wanted, a limit on it, and a second one in a constraint."""
    x = gs.Variable("x", lower=0, upper=upper)
    f = gs.BlackBox(lambda x: (x - 0.5) ** 2, name="f", noise=0)
    constraints = [] if limit is None else [f(x) >= limit]
    if purity is not None:
        g = gs.BlackBox(lambda x: 1 - x, name="g", noise=0)
        constraints.append(g(x) >= purity)
    return gs.Problem(minimize=f(x), subject_to=constraints)


@pytest.fixture
def options(tmp_path):
    options = {"name": "s", "storage": f"sqlite:///{tmp_path}/s.db", "strategy": CHANCE}
    with gs.Study(plant(), **options) as study:
        study.run(12, progress=False)
    return options


def changed(options, **change) -> gs.Study:
    return gs.Study(plant(**change), **options, allow_changes=True)


def test_a_new_black_box_is_asked_at_old_points_those_that_matter_first(options):
    with gs.Study(plant(), **options) as study:
        old = {t.number: t for t in study.history}
    best = min(old.values(), key=lambda t: t.objective)
    with changed(options, purity=0.2) as study:
        assert "12 trials without an answer of 'g': it is asked at 4 of these" in study.changes
        queries = study.ask(4)
        assert {q.box for q in queries} == {"g"}
        assert queries[0].trial == best.number
        assert {tuple(q.inputs) for q in queries} <= {tuple(t.x) for t in old.values()}
        for query in queries:
            trial = study.tell(query, 1 - query.inputs[0])
            assert trial.objective == old[trial.number].objective
        assert len(study.history) == 4
        assert len(study.answers("f")) == 12
        assert study.ask()[0].trial == 13


def test_the_other_points_still_teach_what_was_known_of_them(options):
    with changed(options, purity=0.2) as study:
        result = study.run(16, progress=False)
        assert result.evaluations == {"f": 16, "g": 8}


def test_tighter_bounds_leave_out_trials_and_keep_their_answers(options):
    with changed(options, upper=0.6) as study:
        outside = 12 - len(study.history)
        assert 0 < outside < 12
        assert f"{outside} trials outside the bounds now" in study.changes
        assert len(study.answers()) == 12
        assert all(t.x[0] <= 0.6 for t in study.history)


def test_wider_bounds_keep_every_trial(options):
    with changed(options, upper=2.0) as study:
        assert len(study.history) == 12
        assert "bounds of earlier trials no longer count" in study.changes


def test_it_is_said_what_became_of_the_best_value(options):
    with changed(options, limit=0.05) as study:
        before = min((t.x[0] - 0.5) ** 2 for t in study.history)
        now = min(t.objective for t in study.history if t.violation == 0)
        assert f"best feasible value before: {before:.8g}" in study.changes
        assert f"now: {now:.8g}" in study.changes


def test_a_removed_constraint_needs_no_new_answer(options):
    changed(options, limit=0.05).close()
    with changed(options) as study:
        assert len(study.history) == 12
        assert not study.pending


def test_nothing_is_said_where_nothing_changed(options):
    with gs.Study(plant(), **options) as study:
        assert study.changes == ""


def test_a_pending_trial_goes_on_with_the_changed_problem(options):
    with gs.Study(plant(), **options) as study:
        (query,) = study.ask()
    with changed(options, purity=0.2) as study:
        assert study.tell(query.id, (query.inputs[0] - 0.5) ** 2) is None
        names = [q.box for q in study.ask(5) if q.trial == query.trial]
        assert names == ["g"]


def test_a_second_change_keeps_what_the_first_one_asked_for(options):
    with changed(options, purity=0.2) as study:
        study.run(12, progress=False)
    with changed(options, purity=0.4) as study:
        assert len(study.history) == 4
        assert len(study.answers("g")) == 4


def test_a_new_black_box_is_asked_once_at_a_point_that_was_tried_often(tmp_path: Path):
    x = gs.Variable("x", lower=0, upper=1)
    value = gs.BlackBox(None, name="value", noise=0.1)(x)
    limit = gs.BlackBox(None, name="limit", noise=0.1)(x)
    where = {"name": "s", "storage": f"sqlite:///{tmp_path}/s.db", "strategy": gs.RandomSearch()}
    with gs.Study(gs.Problem(minimize=value), **where) as study:
        points = [0.5, 0.5, 0.5, 0.1, 0.95, 0.101]
        study.enqueue([[point] for point in points])
        for query in study.ask(len(points)):
            study.tell(query, abs(query.inputs[0] - 0.5) + 0.01 * query.trial)
    changed = gs.Problem(minimize=value, subject_to=[limit <= 1])
    with gs.Study(changed, **where, allow_changes=True) as study:
        asked = [q.inputs[0] for q in study.ask(6, trials=6)]
    assert asked == [0.5, 0.95, 0.1]  # the best one, the farthest one, and the best one of the rest
