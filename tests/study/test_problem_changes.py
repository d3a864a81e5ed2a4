"""What a changed problem asks at old points."""

from __future__ import annotations

from pathlib import Path

import grisaille as gs


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
