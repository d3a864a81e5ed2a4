"""Studies as generators of points."""

from __future__ import annotations

import inspect
import math
import sys
from typing import Any

import gest_api
import numpy as np
import pytest

import grisaille as gs
from grisaille.adapters.gest import Generator
from grisaille.study.state import TrialState
from tests.adapters.adapter_helpers import QUICK, answered, tank

pytestmark = pytest.mark.slow


def tank_generator(**options: Any) -> Generator:
    options = {"strategy": QUICK, "seed": 1, "evaluation": "chained", **options}
    return Generator(gs.Study(tank(), **options))


def states(generator: Generator) -> list[TrialState]:
    return [trial.state for trial in generator.study.state.trials.values()]


def test_suggesting_and_ingesting_is_running_the_study():
    generator = tank_generator()
    for _ in range(5):
        points = generator.suggest(1)
        generator.ingest([answered(generator.study.problem, p) for p in points])
    ran = gs.Study(tank(), strategy=QUICK, seed=1, evaluation="chained")
    while len(ran.history) < 5:  # as many trials as one asks for: none is known to be the last
        (query,) = ran.ask()
        box = ran.box(query.box)
        ran.tell(query, box(*query.arguments))
    assert len(generator.study.history) == 5
    for ours, theirs in zip(generator.study.history, ran.history, strict=True):
        assert ours.x.tolist() == theirs.x.tolist()
        assert ours.objective == theirs.objective
        assert ours.chain.tolist() == theirs.chain.tolist()


def test_points_have_a_scalar_per_entry_inside_the_bounds_and_an_id():
    points = tank_generator().suggest(3)
    assert [set(point) for point in points] == [{"flow[0]", "flow[1]", "_id"}] * 3
    assert len({point["_id"] for point in points}) == 3
    for point in points:
        assert all(isinstance(v, float) and 0 <= v <= 2 for k, v in point.items() if k != "_id")


def test_points_that_are_suggested_together_are_spread_out():
    # Without exploit=False a trial may go to the point believed best, beside a pending one.
    strategy = gs.Optimistic(initial=4, exploit=False, solver=QUICK.solver)
    generator = tank_generator(strategy=strategy)
    points = generator.suggest(4)
    generator.ingest([answered(generator.study.problem, p) for p in points])
    points = generator.suggest(4)  # beyond the initial design
    x = np.array([[point["flow[0]"], point["flow[1]"]] for point in points])
    apart = np.linalg.norm(x[:, None] - x[None], axis=-1)[np.triu_indices(4, 1)]
    assert apart.min() > 0.1
    assert states(generator)[4:] == [TrialState.PENDING] * 4


def test_without_a_number_one_point_is_suggested():
    generator = tank_generator()
    assert len(generator.suggest()) == 1
    assert generator.suggest(0) == []
    with pytest.raises(gs.ModelError, match=r"suggest\(-1\)"):
        generator.suggest(-1)


def test_results_may_come_in_any_order_and_from_a_table():
    generator = tank_generator()
    points = generator.suggest(3)
    results = [answered(generator.study.problem, p) for p in points]
    results[0] = {k: np.array([v]) if k != "_id" else np.int64(v) for k, v in results[0].items()}
    results[1]["_id"] = float(results[1]["_id"])
    generator.ingest([results[2], results[0]])
    assert states(generator) == ["complete", "pending", "complete"]
    generator.ingest([{**results[1], "took": 3.0, "machine": "a7"}])
    assert states(generator) == ["complete"] * 3


def test_the_time_of_a_point_is_what_passed_until_its_result():
    generator = tank_generator()
    (point,) = generator.suggest(1)
    generator.ingest([answered(generator.study.problem, point)])
    (trial,) = generator.study.history.trials
    entry = generator.study.state.trials[1]
    assert 0 <= trial.seconds[1] <= entry.ended - entry.started


@pytest.mark.parametrize("value", [np.ma.masked, True, 1j, "2.5", np.timedelta64(1, "s")])
def test_a_value_that_is_no_real_number_is_refused(value):
    generator = tank_generator()
    (point,) = generator.suggest(1)
    result = answered(generator.study.problem, point)
    with pytest.raises(gs.ModelError, match=r"'gain' is .* in a result: it must be one number"):
        generator.ingest([{**result, "gain": value}])
    assert states(generator) == ["pending"]


def test_a_value_that_is_missing_is_a_failure_and_the_point_is_suggested_again():
    generator = tank_generator(retries=1)
    (point,) = generator.suggest(1)
    result = answered(generator.study.problem, point)
    generator.ingest([{**result, "gain": math.nan}])
    assert states(generator) == ["pending"]
    assert generator.suggest(1) == [point]
    del result["gain"]
    generator.ingest([result])
    assert states(generator) == ["broken"]
    (failure,) = generator.study.failures
    assert failure.box == "gain"
    assert failure.reason == "the result of point 1 has no value: 'gain' is not there"
    assert len(generator.study.history.loose) == 1  # what mix answered is kept
    assert generator.suggest(1)[0]["_id"] == 2


def test_a_failure_in_the_beginning_leaves_the_rest_unanswered():
    generator = tank_generator(retries=0)
    (point,) = generator.suggest(1)
    generator.ingest([{**point, "heat": None, "acid": 0.1, "gain": 2.0}])
    assert states(generator) == ["broken"]
    assert generator.study.failures[0].box == "mix"
    assert generator.study.history.loose == ()


def test_a_key_that_is_a_slip_is_told_from_a_failure():
    generator = tank_generator()
    (point,) = generator.suggest(1)
    with pytest.raises(gs.ModelError, match="has 'gains' but no 'gain': rename it"):
        generator.ingest([{**point, "heat": 1.0, "acid": 0.1, "gains": 2.0}])
    with pytest.raises(gs.ModelError, match="'gain' is 'high' in a result"):
        generator.ingest([{**point, "heat": 1.0, "acid": 0.1, "gain": "high"}])
    assert states(generator) == ["pending"]


def test_an_unknown_id_is_a_value_error_and_nothing_is_recorded():
    generator = tank_generator()
    points = generator.suggest(2)
    results = [answered(generator.study.problem, p) for p in points]
    for wrong in (7, "point", 1.5):
        with pytest.raises(ValueError, match="suggested no point with '_id'"):
            generator.ingest([results[0], {**results[1], "_id": wrong}])
    assert states(generator) == ["pending", "pending"]
    generator.ingest(results)
    with pytest.raises(gs.ModelError, match="point 1 has its results already"):
        generator.ingest(results[:1])


def test_answers_at_another_point_than_the_suggested_one_are_refused():
    generator = tank_generator()
    (point,) = generator.suggest(1)
    result = answered(generator.study.problem, point)
    with pytest.raises(gs.ModelError, match=r"point 1 was suggested with flow\[0\] = "):
        generator.ingest([{**result, "flow[0]": point["flow[0]"] + 0.01}])
    generator.ingest([{**result, "flow[0]": float(np.float32(point["flow[0]"]))}])
    assert states(generator) == ["complete"]


def test_an_answer_outside_its_declared_range_is_refused():
    study = gs.Study(tank(upper=3), strategy=QUICK, evaluation="chained")
    generator = Generator(study)
    (point,) = generator.suggest(1)
    result = {**answered(study.problem, point), "gain": 3.5}
    with pytest.raises(gs.AssumptionError, match="'gain'"):
        generator.ingest([result])
    with pytest.raises(gs.AssumptionError, match="'gain'"):
        generator.ingest([{**result, "_id": None}])
    assert states(generator) == ["pending"]
    assert study.history.loose == ()


def test_results_without_an_id_add_observations_along_their_chain():
    generator = tank_generator()
    result = answered(generator.study.problem, {"flow[0]": 0.5, "flow[1]": 0.5})
    with pytest.warns(gs.GrisailleWarning, match="row 1 is row 2/1 again"):
        generator.ingest([result, {**result, "_id": math.nan, "gain": math.nan}])
    trial, again = generator.study.history  # their whole chains are answered
    assert again.objective == trial.objective
    assert trial.suggestion.kind is gs.TrialKind.DATA
    mix, gain = trial.observations
    assert (mix.box, mix.inputs.tolist()) == ("mix", [0.5, 0.5])
    assert (gain.box, gain.inputs.tolist()) == ("gain", [0.75])
    assert gain.outputs.tolist() == [3 - 0.25**2]
    assert not generator.study.history.loose
    with pytest.raises(gs.ModelError, match=r"has no value of 'flow\[1\]'"):
        generator.ingest([{"flow[0]": 0.5, "heat": 1.0, "acid": 0.1, "gain": 2.0}])
    with pytest.raises(gs.ModelError, match="has no value of 'gain'"):
        generator.ingest([{"flow[0]": 0.5, "flow[1]": 0.5, "heat": 1.0, "acid": 0.1}])


def test_a_box_that_is_called_twice_counts_its_calls():
    x = gs.Variable("x", lower=0, upper=1)
    h = gs.BlackBox(None, name="h", outputs=2, noise=0)
    g = gs.BlackBox(None, name="g", outputs=["x", "y"], noise=0)
    once, twice = h(x), h(x + 1)
    problem = gs.Problem(minimize=once[0] + twice[1] + g(x)[1])
    generator = Generator(gs.Study(problem, strategy=QUICK, evaluation="chained"))
    assert generator.observables == ["h#1[0]", "h#1[1]", "h#2[0]", "h#2[1]", "g.x", "y"]
    (point,) = generator.suggest(1)
    told = dict.fromkeys(generator.observables, 0.0)
    generator.ingest([{**point, **told, "h#1[0]": 1.0, "h#2[1]": 10.0, "y": 100.0}])
    assert generator.study.history.trials[0].objective == 111.0


def test_calls_with_equal_inputs_share_an_answer():
    x = gs.Variable("x", lower=-1, upper=1)
    h = gs.BlackBox(None, name="h", noise=0)
    problem = gs.Problem(minimize=h(x) + h(np.abs(x)) + h(h(np.abs(x))))
    generator = Generator(gs.Study(problem, strategy=QUICK, evaluation="chained"))
    assert generator.observables == ["h#1", "h#2", "h#3"]
    points = generator.suggest(4)
    generator.ingest([{**p, "h#1": p["x"], "h#2": abs(p["x"]), "h#3": abs(p["x"])} for p in points])
    assert states(generator) == ["complete"] * 4
    for point, trial in zip(points, generator.study.history, strict=True):
        assert trial.objective == point["x"] + 2 * abs(point["x"])


def test_names_that_cannot_be_told_apart_are_refused():
    x = gs.Variable("h", lower=0, upper=1)
    y = gs.BlackBox(None, name="h", noise=0)(x)
    study = gs.Study(gs.Problem(minimize=y), strategy=QUICK, evaluation="chained")
    with pytest.raises(gs.ModelError, match="'h' would be an answer of black box 'h' and"):
        Generator(study)


def test_a_study_with_separate_evaluation_is_refused():
    with pytest.raises(gs.ModelError, match=r"make it with gs\.Study\(\.\.\., evaluation="):
        tank_generator(evaluation="separate")
    with pytest.raises(gs.ModelError, match=r"pass a gs\.Study"):
        Generator(tank())  # type: ignore[arg-type]


def test_a_generator_on_a_stored_study_goes_on_with_what_was_given_back(tmp_path):
    place = {"name": "tank", "storage": f"sqlite:///{tmp_path}/study.db"}
    generator = tank_generator(**place)
    points = generator.suggest(2)
    generator.ingest([answered(generator.study.problem, points[0])])
    generator.finalize()
    generator.study.close()
    again = tank_generator(**place)
    assert again.suggest(1) == points[1:]
    again.ingest([answered(again.study.problem, points[1])])
    assert states(again) == ["complete", "complete"]
    again.finalize()
    again.study.close()


def test_a_problem_without_a_feasible_point_suggests_nothing_more():
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(None, name="f", noise=0, lower=-1, upper=1)
    problem = gs.Problem(minimize=x, subject_to=[f(x) >= 2])
    strategy = gs.Optimistic(beta=gs.Declared(), solver=gs.Certified())
    generator = Generator(gs.Study(problem, strategy=strategy, evaluation="chained"))
    assert generator.suggest() == []
    with pytest.raises(ValueError, match="no feasible point"):
        generator.suggest(2)


def test_a_known_part_without_a_value_anywhere_ends_in_an_error():
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(None, name="f", noise=0)
    problem = gs.Problem(minimize=f(np.sqrt(x - 2)))
    generator = Generator(gs.Study(problem, strategy=QUICK, evaluation="chained"))
    with pytest.raises(gs.EvaluationError, match="10 suggestions in a row broke off"):
        generator.suggest(2)


def test_a_generator_is_one_of_gest_api_with_its_signatures():
    generator = tank_generator()
    assert isinstance(generator, gest_api.Generator)
    assert generator.returns_id is True
    for name in gest_api.Generator.__abstractmethods__ | {"ingest", "finalize"}:
        assert callable(getattr(generator, name))
    for name in ("suggest", "ingest", "finalize", "_validate_vocs"):
        ours, theirs = (
            list(inspect.signature(getattr(kind, name)).parameters)
            for kind in (Generator, gest_api.Generator)
        )
        assert ours == theirs


def test_the_vocs_names_variables_and_observables():
    generator = tank_generator()
    vocs = generator.vocs
    assert vocs.variable_names == ["flow[0]", "flow[1]"]
    assert vocs.bounds == [[0, 2], [0, 2]]
    assert vocs.observable_names == generator.observables == ["heat", "acid", "gain"]
    generator._validate_vocs(vocs)
    vocs.variables = {"flow[0]": [0, 2]}
    with pytest.raises(ValueError, match=r"use generator\.vocs"):
        generator._validate_vocs(vocs)


def test_without_gest_api_only_the_vocs_is_missing(monkeypatch):
    for module in ("gest_api", "gest_api.vocs"):
        monkeypatch.setitem(sys.modules, module, None)
    generator = tank_generator()
    assert len(generator.suggest(1)) == 1
    with pytest.raises(gs.ModelError, match="pip install gest-api"):
        _ = generator.vocs


def discrete_generator() -> Generator:
    catalyst = gs.Choice("catalyst", ["A", "B"])
    stages = gs.Integer("stages", lower=1, upper=3)
    box = gs.BlackBox(None, name="h", noise=0)
    problem = gs.Problem(minimize=box(catalyst, stages))
    return Generator(gs.Study(problem, strategy=gs.RandomSearch(), evaluation="chained"))


def test_points_hold_labels_and_whole_numbers_and_a_vocs_has_discrete_variables():
    generator = discrete_generator()
    (point,) = generator.suggest(1)
    assert point["catalyst"] in ("A", "B")
    assert isinstance(point["stages"], int)
    variables = generator.vocs.variables
    assert variables["catalyst"].values == {"A", "B"}
    assert variables["stages"].values == {1, 2, 3}
    generator.ingest([{**point, "h": 1.0}, {"catalyst": "B", "stages": 2, "h": 0.5}])
    assert [trial.x.tolist() for trial in generator.study.history][-1] == [1, 2]


def test_a_result_with_another_label_than_suggested_is_refused():
    generator = discrete_generator()
    (point,) = generator.suggest(1)
    other = "A" if point["catalyst"] == "B" else "B"
    with pytest.raises(gs.ModelError, match=f"suggested with catalyst = '{point['catalyst']}'"):
        generator.ingest([{**point, "catalyst": other, "h": 1.0}])
    with pytest.raises(gs.ModelError, match="has no label 'Z'"):
        generator.ingest([{**point, "catalyst": "Z", "h": 1.0}])
