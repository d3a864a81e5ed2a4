"""What a user's own strategy suggests is checked before it counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import grisaille as gs
from grisaille.records import NO_BOUND, Suggestion
from tests.study.study_helpers import parabola

pytestmark = pytest.mark.slow


@dataclass
class Own:
    """A strategy that suggests always the same."""

    suggestion: Any

    def check(self, problem: Any) -> None: ...

    def suggest(self, situation: Any) -> Any:
        return self.suggestion

    def bound(self, situation: Any) -> Any:
        return NO_BOUND

    def incumbent(self, situation: Any) -> Any:
        return None

    def learned(self, problem: Any) -> list[str]:
        return []


def at(x: Any, kind: Any = gs.TrialKind.ACQUIRED) -> Suggestion:
    return Suggestion(kind, x)


def probing(call: Any, inputs: Any) -> Suggestion:
    return replace(at(np.array([0.5])), probes=(gs.Probe(call, inputs),))


@pytest.mark.parametrize("point", [0.5, [0.5], np.array([0.5]), np.array(0.5), (np.float32(0.5),)])
def test_a_point_alone_is_a_suggestion(point):
    study = gs.Study(parabola(), strategy=Own(point))
    assert study.run(1, progress=False).history.trials[0].x.tolist() == [0.5]
    assert study.replay(1).x.tolist() == [0.5]


def test_what_a_strategy_of_ones_own_raises_is_told_with_its_place():
    class Broken(Own):
        def suggest(self, situation: Any) -> Any:
            return {}["missing"]

    study = gs.Study(parabola(), strategy=Broken(None))
    message = r"strategy Broken raised KeyError: 'missing' \(test_border.py, line \d+\)"
    with pytest.raises(
        gs.GrisailleError, match=f"{message} when it was asked for trial 1"
    ) as caught:
        study.run(2, progress=False)
    assert isinstance(caught.value.__cause__, KeyError)
    assert not study.state.trials


def test_a_strategy_of_ones_own_may_suggest_any_point_inside():
    result = parabola().solve(2, strategy=Own(at(np.array([3.0]))), progress=False)
    assert [t.x.tolist() for t in result.history] == [[3.0], [3.0]]


@pytest.mark.parametrize(
    ("suggestion", "message"),
    [
        (None, r"suggested None: its suggest\(\) must return a Suggestion, or a design point"),
        ("here", r"suggested 'here': its suggest\(\) must return a Suggestion"),
        ([0.5, 0.5], "it must be an array of 1 number"),
        (np.nan, "it must be an array of 1 number"),
        (replace(at(np.array([0.5])), bound=0.5), "bound=0.5: it must be a gs.Bound"),
        (replace(at(np.array([0.5])), probes=(3,)), "the probe 3: it must be a gs.Probe"),
        (probing(1, np.array([0.5])), "a probe of call 1, but the problem has calls 0 to 0"),
        (probing(0, np.array([0.5, 1.0])), "a probe of 'f' at .*: it must be an array of 1 number"),
        (at(np.array([0.0]), "mine"), "whose kind is a gs.TrialKind"),
        (at(np.array([0.0, 1.0])), "it must be an array of 1 number"),
        (at(np.array(0.5)), "it must be an array of 1 number"),
        (at(0.5), "it must be an array of 1 number"),
        (at(np.array([np.nan])), "it must be an array of 1 number"),
        (at(np.array([3.1])), "outside the bounds"),
    ],
)
def test_a_suggestion_that_cannot_be_tried_is_refused_with_a_sentence(suggestion, message):
    study = gs.Study(parabola(), strategy=Own(suggestion))
    with pytest.raises(gs.ModelError, match=f"strategy Own suggested.*{message}|{message}"):
        study.run(2, progress=False)
    assert not study.state.trials
    study.strategy.suggestion = at(np.array([1.0]))
    assert study.run(1, progress=False).nit == 1


def test_a_strategy_without_one_of_its_methods_is_refused_by_the_name_of_the_method():
    class Half(Own):
        incumbent = None

    with pytest.raises(gs.ModelError, match="It has no method 'incumbent': make its class"):
        parabola().solve(2, strategy=Half(at(np.array([1.0]))), progress=False)


def test_a_point_beside_the_steps_is_moved_to_the_nearest_ones_also_on_replay():
    x = gs.Variable("x", 2, lower=0, upper=1, step=[0.1, 0.25])
    problem = gs.Problem(minimize=gs.BlackBox(lambda x: x @ x, name="f", noise=0)(x))
    study = gs.Study(problem, strategy=Own(at(np.array([0.3123, 0.9]))))
    study.run(2, progress=False)
    assert [t.x.tolist() for t in study.history] == [[0.3, 1.0], [0.3, 1.0]]
    assert [o.inputs.tolist() for o in study.history.observations()] == [[0.3, 1.0]] * 2
    assert study.replay(2).x.tolist() == [0.3, 1.0]
