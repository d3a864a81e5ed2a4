"""Ask, tell, fail, observe: the same on every storage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas
import pytest

import grisaille as gs
from grisaille import problems
from grisaille.study.writer import ChainAnswers
from tests.study.study_helpers import QUICK, answer, decisions, nested, parabola

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unbroken() -> gs.Study:
    study = gs.Study(nested(), strategy=QUICK)
    study.run(8, progress=False)
    return study


def test_asking_and_telling_by_hand_makes_the_decisions_of_run(storage, unbroken):
    by_hand = gs.Study(nested(), strategy=QUICK, storage=storage, name="by hand")
    while queries := by_hand.ask(trials=8):
        (query,) = queries
        by_hand.tell(query, answer(by_hand.problem, query), seconds=0)
    assert decisions(by_hand) == decisions(unbroken)
    assert by_hand.result().fun == unbroken.result().fun
    assert by_hand.result().nit == 8
    by_hand.close()


def test_a_study_opened_again_goes_on_with_the_decisions_of_an_unbroken_one(storage, unbroken):
    if storage == "memory":
        pytest.skip("memory does not outlive the study")
    for _ in range(30):
        study = gs.Study(nested(), strategy=QUICK, storage=storage, name="s")
        queries = study.ask(trials=8)
        if queries:
            study.tell(queries[0], answer(study.problem, queries[0]), seconds=0)
        study.close()
        if not queries:
            break
    assert not queries
    study = gs.Study(nested(), strategy=QUICK, storage=storage, name="s")
    assert decisions(study) == decisions(unbroken)
    study.close()


def test_every_decision_can_be_derived_again(storage):
    study = gs.Study(nested(), strategy=QUICK, storage=storage, name="s")
    waiting: list[gs.Query] = []
    for step in range(14):  # answers come late and out of order
        waiting += study.ask(2, trials=12)
        query = waiting.pop(0 if step % 3 else -1)
        study.tell(query, answer(study.problem, query))
    for entry in study.state.trials.values():
        again = study.replay(entry.number)
        assert np.array_equal(again.x, entry.suggestion.x)
        assert again.bound.estimated == entry.suggestion.bound.estimated
        assert [p.inputs.tolist() for p in again.probes] == [
            p.inputs.tolist() for p in entry.suggestion.probes
        ]
    study.close()


def test_a_deeper_box_is_asked_once_its_inputs_are_known():
    study = gs.Study(nested(), strategy=QUICK)
    (first,) = study.ask()
    assert (first.id, first.box) == ("1-1", "first")
    outputs = study.problem.boxes[0].fn(*first.arguments)
    assert study.tell(first, outputs) is None
    (second,) = study.ask()
    assert (second.id, second.box) == ("1-2", "second")
    assert np.array_equal(second.inputs, outputs)
    trial = study.tell(second, 0.25)
    assert trial is not None
    assert (trial.number, trial.objective) == (1, 0.25)


def test_a_partial_answer_is_kept_and_learned_from():
    study = gs.Study(nested(), strategy=QUICK)
    (query,) = study.ask()
    study.tell(query, [0.1, 0.2])
    assert [o.box for o in study.history.loose] == ["first"]
    assert len(study.history) == 0
    (pending,) = study.situation.pending
    assert pending.answers[0].tolist() == [0.1, 0.2]


def test_a_batch_is_spread_out_and_differs_from_asking_one_by_one():
    known = problems.drop_wave()
    study = gs.Study(known.problem, seed=1)
    study.run(12, progress=False)
    alone = study.situation
    one = study.strategy.suggest(alone).x
    batch = study.ask(8)  # a chain's first call and a probe each
    numbers = sorted({q.trial for q in batch})
    points = np.array([study.state.trials[n].suggestion.x for n in numbers])
    assert len(points) >= 4
    assert np.array_equal(points[0], one)  # nothing is pending yet
    scale = known.problem.program.upper - known.problem.program.lower
    apart = np.linalg.norm((points[:, None] - points[None]) / scale, axis=2) + np.eye(len(points))
    assert np.median(apart) > 0.03
    assert apart.min() > 1e-4
    # Who knows nothing of what is under way suggests the same point again.
    blind = replace(study.situation, pending=(), incomplete=alone.incomplete)
    assert np.array_equal(study.strategy.suggest(blind).x, one)


def test_pending_queries_narrow_the_band_and_leave_the_mean():
    import torch

    from grisaille.belief.knowledge import Knowledge

    study = gs.Study(nested(), strategy=QUICK)
    study.run(8, progress=False)
    study.ask(3)
    situation = study.situation
    assert situation.pending
    knowledge = Knowledge(situation)
    before, after = knowledge.answered, knowledge.plausible
    for call in study.problem.program.calls:
        states = torch.rand(50, call.box.inputs, dtype=torch.float64) * 2 - 1
        mean, deviation = before.beliefs[call.box.name].predict(states)
        same, smaller = after.beliefs[call.box.name].predict(states)
        assert torch.allclose(mean, same, atol=1e-6)
        assert (smaller <= deviation + 1e-7).all()
        assert (smaller < 0.999 * deviation).any()


def test_what_hallucinated_bands_promise_is_not_published():
    study = gs.Study(parabola(), strategy=QUICK)
    study.run(8, progress=False)
    study.ask(3)
    entries = list(study.state.trials.values())[8:]
    assert [e.suggestion.pending for e in entries] == [0, 1, 2]
    assert entries[0].suggestion.bound.estimated is not None
    assert [e.suggestion.bound.estimated for e in entries[1:]] == [None, None]


def test_an_answer_told_twice_is_refused_with_a_sentence(storage):
    study = gs.Study(parabola(), strategy=QUICK, storage=storage, name="s")
    (query,) = study.ask()
    study.tell(query, 1.5)
    with pytest.raises(gs.ProtocolError, match=r"query 1-1 has an answer already, \[1.5\]"):
        study.tell(query.id, 2.5)
    assert [o.outputs.tolist() for o in study.history.observations()] == [[1.5]]
    study.close()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "query 1-1: black box 'f' at .* finite"),
        ([1.0, 2.0], "returned 2 numbers"),
        ("much", "must return 1 number"),
        (None, "must return 1 number"),
    ],
)
def test_a_bad_answer_is_refused_and_the_query_stays_open(value, message):
    study = gs.Study(parabola(), strategy=QUICK)
    (query,) = study.ask()
    with pytest.raises(gs.EvaluationError, match=message):
        study.tell(query, value)
    assert [q.id for q in study.pending] == ["1-1"]
    assert study.tell(query, 1.0) is not None


def test_an_answer_outside_the_declared_range_is_refused_and_can_be_corrected():
    study = gs.Study(parabola(lower=0), strategy=QUICK)
    (query,) = study.ask()
    with pytest.raises(gs.AssumptionError, match="outside the range"):
        study.tell(query, -1.0)
    assert study.tell(query, 1.0) is not None


def test_an_unknown_query_is_refused_with_what_ids_look_like():
    study = gs.Study(parabola(), strategy=QUICK)
    with pytest.raises(gs.ProtocolError, match=r"no query '7-1'.*look like '12-1'"):
        study.tell("7-1", 1.0)
    with pytest.raises(gs.ModelError, match="is no query"):
        study.tell(3, 1.0)


def test_a_failed_evaluation_is_asked_again_as_often_as_was_said_and_then_given_up(storage):
    study = gs.Study(parabola(), strategy=QUICK, retries=2, storage=storage, name="s")
    (query,) = study.ask()
    assert study.fail(query, "the pump stood still")
    (again,) = study.ask()
    assert (again.id, again.inputs.tolist()) == (query.id, query.inputs.tolist())
    assert study.fail(again, "the pump stood still")
    (again,) = study.ask()
    assert not study.fail(again, "the pump broke")
    (failure,) = study.failures
    assert failure.reason == "the pump broke"
    assert failure.inputs.tolist() == query.inputs.tolist()
    with pytest.raises(gs.ProtocolError, match=r"failed for good \(the pump broke\)"):
        study.tell(query, 1.0)
    (other,) = study.ask()
    assert other.trial == 2
    assert other.inputs.tolist() != query.inputs.tolist()
    study.close()


def test_a_released_query_is_handed_out_again():
    study = gs.Study(parabola(), strategy=QUICK)
    (query,) = study.ask()
    study.release(query)
    assert study.pending == []
    (again,) = study.ask()
    assert again.id == query.id


def test_a_lease_that_ran_out_hands_the_query_to_the_next(storage):
    study = gs.Study(parabola(), strategy=QUICK, storage=storage, name="s")
    (query,) = study.ask(lease=1e-6)
    (again,) = study.ask()
    assert (again.id, again.inputs.tolist()) == (query.id, query.inputs.tolist())
    study.tell(again, 1.0)
    with pytest.raises(gs.ProtocolError, match="has an answer already"):
        study.tell(query, 2.0)
    study.close()


def test_two_studies_of_one_storage_never_get_the_same_query(storage):
    if storage == "memory":
        pytest.skip("memory is not shared")
    studies = [
        gs.Study(parabola(), strategy=QUICK, storage=storage, name="shared") for _ in range(3)
    ]
    queries = [study.ask()[0] for study in studies * 2]
    assert len({q.id for q in queries}) == 6
    assert len({q.inputs.tolist()[0] for q in queries}) == 6
    for study in studies:
        study.close()


def test_observations_from_elsewhere_are_learned_from_and_shorten_the_initial_design():
    study = gs.Study(parabola(), strategy=QUICK)
    grid = np.linspace(-2, 3, 9)
    assert study.observe("f", grid, (grid - 1) ** 2) == 9
    (query,) = study.ask()
    entry = study.state.trials[query.trial]
    assert entry.suggestion.kind == gs.TrialKind.NARROWED
    assert abs(query.inputs[0] - 1) < 0.3


@pytest.mark.parametrize("named", [True, False])
def test_a_data_frame_can_be_observed(named):
    study = gs.Study(nested(), strategy=QUICK)
    frame = pandas.DataFrame({"y[0]": [0.1, 0.2], "y[1]": [0.3, 0.4], "second": [1.0, 2.0]})
    given = frame[["second", "y[1]", "y[0]"]] if named else pandas.DataFrame(frame.to_numpy())
    assert study.observe("second", given) == 2
    seen = list(study.history.observations())
    assert seen[1].inputs.tolist() == [0.2, 0.4]
    assert seen[1].outputs.tolist() == [2.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("g", [1.0], [1.0]), "no black box 'g': it has 'f'"),
        (("f", [1.0, 2.0], [1.0]), "2 rows of inputs, but 1 rows of outputs"),
        (("f", [[1.0, 2.0]], [1.0]), r"shape \(1, 2\)"),
        (("f", [1.0], [float("inf")]), "row 0 of the outputs"),
        (("f", ["a"], [1.0]), "not all numbers"),
        (("f", [1.0]), "got no outputs"),
    ],
)
def test_bad_observations_get_a_sentence(arguments, message):
    study = gs.Study(parabola(), strategy=QUICK)
    with pytest.raises(gs.ModelError, match=message):
        study.observe(*arguments)
    assert not study.history.loose


def test_asking_stops_when_the_trials_are_used_up():
    study = gs.Study(parabola(), strategy=QUICK)
    assert len(study.ask(5, trials=3)) == 3
    assert study.ask(1, trials=3) == []


def test_asking_stops_when_the_problem_is_proved_to_be_infeasible():
    x = gs.Variable("x", lower=-2, upper=3)
    y = gs.BlackBox(lambda x: (x - 1) ** 2, name="f", noise=0, lipschitz=6)(x)
    problem = gs.Problem(minimize=x, subject_to=[y <= -1.5, x <= 2.5])
    study = gs.Study(problem, strategy=gs.Optimistic(beta=gs.Declared()))
    for _ in range(30):
        queries = study.ask()
        if not queries:
            break
        study.tell(queries[0], answer(study.problem, queries[0]))
    assert queries == []
    assert study.run(40, progress=False).status == gs.Status.INFEASIBLE


def test_a_run_resumed_with_more_trials_keeps_the_first_ones(storage):
    study = gs.Study(parabola(), strategy=QUICK, storage=storage, name="s")
    study.run(4, progress=False)
    first = decisions(study)
    result = study.run(7, progress=False)
    assert decisions(study)[:4] == first
    assert result.nit == 7
    assert study.run(7, progress=False).nit == 7
    study.close()


def test_another_problem_is_refused_with_the_difference_and_allowed_on_request(storage):
    if storage == "memory":
        pytest.skip("memory holds one study")

    def problem(price: float, upper: float = 1.0) -> gs.Problem:
        x = gs.Variable("x", lower=-1, upper=upper)
        box = gs.BlackBox(lambda x: x**2, name="f", noise=0)
        return gs.Problem(minimize=price * box(x) - x)

    first = gs.Study(problem(2.0), strategy=QUICK, storage=storage, name="plant")
    first.run(6, progress=False)
    objectives = [t.objective for t in first.history]
    points = [t.x[0] for t in first.history]
    first.close()
    with pytest.raises(gs.ProtocolError, match=r"study 'plant' was made with something else"):
        gs.Study(problem(3.0), strategy=QUICK, storage=storage, name="plant")
    with pytest.raises(gs.ProtocolError, match=r"variable x: upper 1.0 -> 0.5"):
        gs.Study(problem(2.0, 0.5), strategy=QUICK, storage=storage, name="plant")
    changed = gs.Study(
        problem(3.0), strategy=QUICK, storage=storage, name="plant", allow_changes=True
    )
    assert [t.objective for t in changed.history] == pytest.approx(
        [3 * x**2 - x for x in points], abs=1e-12
    )
    assert objectives == pytest.approx([2 * x**2 - x for x in points], abs=1e-12)
    assert changed.run(8, progress=False).nit == 8
    changed.close()
    narrow = gs.Study(
        problem(3.0, 0.3), strategy=QUICK, storage=storage, name="plant", allow_changes=True
    )
    inside = [x for x in points if x <= 0.3]
    assert [t.x[0] for t in narrow.history][: len(inside)] == inside
    assert len(list(narrow.history.observations())) == 8  # no answer is lost
    narrow.close()


def test_another_seed_or_strategy_is_refused_and_none_means_the_stored_one(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"
    gs.Study(parabola(), strategy=QUICK, storage=storage, name="s", seed=7).close()
    study = gs.Study(parabola(), strategy=QUICK, storage=storage, name="s")
    assert study.seed == 7
    study.close()
    with pytest.raises(gs.ProtocolError, match="seed: 7 -> 8"):
        gs.Study(parabola(), strategy=QUICK, storage=storage, name="s", seed=8)
    with pytest.raises(
        gs.ProtocolError, match=r"strategy: Optimistic\(solver=MultiStart.* -> Optimistic\(beta=3.0"
    ):
        gs.Study(parabola(), strategy=gs.Optimistic(beta=3.0), storage=storage, name="s")


def test_a_black_box_of_another_shape_is_refused_even_on_request(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"
    gs.Study(parabola(), storage=storage, name="s").close()
    x = gs.Variable("x", lower=-2, upper=3)
    wide = gs.BlackBox(lambda x: [x, x], name="f", outputs=2, noise=0)
    problem = gs.Problem(minimize=np.sum(wide(x)))
    with pytest.raises(gs.ProtocolError, match="other inputs or outputs"):
        gs.Study(problem, storage=storage, name="s", allow_changes=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, "name=''"),
        ({"storage": 3}, "storage=3"),
        ({"strategy": "optimistic"}, "strategy object"),
        ({"seed": -1}, "seed"),
        ({"evaluation": "serial"}, "'separate' or 'chained'"),
        ({"retries": -1}, "retries=-1"),
    ],
)
def test_bad_arguments_of_a_study_get_a_sentence(options, message):
    with pytest.raises(gs.ModelError, match=message):
        gs.Study(parabola(), **options)


def test_a_problem_without_black_boxes_has_nothing_to_ask():
    x = gs.Variable("x", lower=0, upper=1)
    with pytest.raises(gs.ModelError, match="no black box"):
        gs.Study(gs.Problem(minimize=x))


def test_the_cost_of_all_evaluations_is_counted_and_never_exceeded():
    x = gs.Variable("x", lower=0, upper=1)
    cheap = gs.BlackBox(lambda x: x, name="cheap", noise=0, cost=1)
    dear = gs.BlackBox(lambda y: (y - 0.3) ** 2, name="dear", noise=0, cost=5)
    study = gs.Study(gs.Problem(minimize=dear(cheap(x))), strategy=QUICK)
    result = study.run(max_cost=40, progress=False)
    assert result.status == gs.Status.MAX_COST
    assert study.cost == result.evaluations["cheap"] + 5 * result.evaluations["dear"]
    assert 40 - 6 < study.cost <= 40


def test_equal_inputs_within_a_trial_are_asked_once():
    x = gs.Variable("x", 2, lower=0.5, upper=0.5 + 1e-12)
    f = gs.BlackBox(lambda v: v**2, name="f", noise=0, kernel=gs.SquaredExponential(1.0, 1.0))
    problem = gs.Problem(minimize=f(np.minimum(x[0], 0.5)) + f(np.minimum(x[1], 0.5)))
    study = gs.Study(problem, strategy=QUICK)
    (query,) = study.ask()
    trial = study.tell(query, 0.25)
    assert trial is not None
    assert trial.objective == 0.5
    assert len(trial.observations) == 1


def test_a_known_part_without_a_value_breaks_the_trial_off_and_the_study_goes_on():
    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(lambda x: x, name="f", noise=0)
    g = gs.BlackBox(lambda y: y**2, name="g", noise=0, input_lower=0)
    problem = gs.Problem(minimize=g(np.sqrt(f(x))) + x)
    result = problem.solve(12, strategy=QUICK, progress=False)
    assert result.success
    assert result.nit < 12
    assert result.evaluations["f"] == 12 > result.evaluations["g"] - 12


def test_bounds_on_regret_are_refused_for_trials_decided_at_once():
    x = gs.Variable("x", lower=-1, upper=1)
    box = gs.BlackBox(
        lambda x: 0.3 * x,
        name="f",
        noise=0,
        kernel=gs.SquaredExponential(1.0, 1.0),
        norm_bound=1.0,
    )
    strategy = gs.Optimistic(beta=gs.Theory(), solver=gs.MultiStart(4, 128, 20))
    study = gs.Study(gs.Problem(minimize=box(x)), strategy=strategy)
    for query in study.ask(3):
        study.tell(query, answer(study.problem, query))
    with pytest.raises(gs.ModelError, match=r"trials \[2, 3\] were decided while others"):
        study.result().regret_bound()


def test_the_bound_of_a_short_study_is_known_before_its_end():
    study = gs.Study(parabola(), strategy=QUICK)
    while queries := study.ask(trials=6):
        study.tell(queries[0], answer(study.problem, queries[0]))
    assert np.isfinite(study.result().gap)
    with pytest.raises(AttributeError, match=r"Result has no bound: write result\.lower_bound"):
        study.result().bound  # noqa: B018


def test_a_study_offers_what_is_recorded_and_what_would_be_decided_from():
    study = gs.Study(parabola(), strategy=QUICK)
    assert study.incumbent() is None
    study.run(3, progress=False)
    assert [event.kind for event in study.events()][:2] == ["created", "suggested"]
    assert list(study.state.trials) == [1, 2, 3]
    assert study.situation.history == study.history
    best = min(range(3), key=lambda place: study.history.trials[place].objective)
    assert study.incumbent().position == best


def test_settings_are_recorded_once():
    study = gs.Study(parabola(), strategy=QUICK)
    study.record_settings(trials=7)
    study.record_settings(trials=7)
    assert study.state.settings["trials"] == 7
    assert [event.kind for event in study.events()] == ["created", "changed"]


def test_a_whole_trial_is_asked_told_once_and_given_back():
    study = gs.Study(nested(), strategy=QUICK, evaluation="chained")
    trial = study.ask_trial()
    study.release_trials([trial.number])
    assert study.pending == []
    assert study.ask_trial().number == trial.number
    told = ChainAnswers(trial.number, {0: np.array([0.5, 0.1]), 1: np.array([0.35])}, {})
    study.tell_trials([told])
    assert [t.objective for t in study.history] == [0.35]
    with pytest.raises(gs.ProtocolError, match="trial 1 has its answers already: it is complete"):
        study.tell_trials([told])


@pytest.mark.filterwarnings("ignore:Query string argument")  # SQLite has no password
def test_a_study_is_printed_without_the_password_of_its_storage(tmp_path):
    address = f"sqlite:///{tmp_path}/lab:s3cret@study.db"
    with gs.Study(parabola(), strategy=QUICK, name="s", storage=address) as study:
        assert repr(study) == f"Study('s', 0 trials, in sqlite:///{tmp_path}/lab:***@study.db)"
        assert study.storage == address  # to open it again
    with pytest.raises(gs.ModelError, match=r"Study\(storage=.*\): pass a text") as caught:
        gs.Study(parabola(), storage=b"postgresql://lab:s3cret@host/x")
    assert "s3cret" not in str(caught.value)


@pytest.fixture
def place(tmp_path) -> str:
    """The address of a new SQLite file."""
    return f"sqlite:///{tmp_path / 'studies.db'}"


# --- what NumPy counts and measures --------------------------------------------------------------
@pytest.mark.parametrize(
    "limits",
    [
        {"trials": np.int64(3)},
        {"trials": 3, "gap_tol": np.float32(0.1)},
        {"trials": 3, "gap_tol": np.int64(0)},
        {"max_cost": np.float32(3)},
    ],
)
def test_limits_may_be_numbers_of_numpy(limits):
    study = gs.Study(parabola(), strategy=gs.SobolSearch())
    assert study.run(**limits, progress=np.False_).nit == 3


def test_questions_and_leases_may_be_numbers_of_numpy():
    study = gs.Study(parabola(), strategy=gs.SobolSearch())
    assert len(study.ask(np.int64(2), trials=np.int64(3), lease=np.float32(10))) == 2


def test_a_flag_of_numpy_that_is_false_silences_the_table(capsys):
    parabola().solve(2, strategy=gs.SobolSearch(), progress=np.False_)
    assert capsys.readouterr().out == ""


def test_seeds_leases_and_reasons_of_any_size_are_recorded_and_read_again(place):
    seed = 2**100 + 1
    study = gs.Study(parabola(), name="big", storage=place, strategy=gs.SobolSearch(), seed=seed)
    (query,) = study.ask(lease=1e12)
    study.fail(query, "no file \udcff")
    study.close()
    again = gs.Study(parabola(), name="big", storage=place, strategy=gs.SobolSearch())
    assert again.seed == seed
    assert r"no file \udcff" in again.state.queries[query.id].reason
    again.close()


def test_equal_options_of_numpy_and_python_are_the_same_strategy(place):
    numpys = gs.Optimistic(beta=np.float64(3), initial=np.int64(4))
    gs.Study(parabola(), name="same", storage=place, strategy=numpys).close()
    gs.Study(
        parabola(), name="same", storage=place, strategy=gs.Optimistic(beta=3.0, initial=4)
    ).close()


# --- a problem that changes ----------------------------------------------------------------------
def two_boxes(both: bool) -> gs.Problem:
    x = gs.Variable("x", lower=0, upper=1)
    first, second = (gs.BlackBox(None, name=name, noise=0) for name in "ab")
    return gs.Problem(minimize=first(x) + second(x) if both else first(x))


def test_an_answer_to_an_open_trial_is_taken_after_a_black_box_was_removed(place):
    options = {"name": "less", "storage": place, "strategy": gs.SobolSearch()}
    with gs.Study(two_boxes(True), **options) as study:
        study.ask(2)
    with gs.Study(two_boxes(False), **options, allow_changes=True) as study:
        study.tell("1-1", 1.0)
        assert study.history.counts() == {"a": 1}


def test_an_answer_is_kept_when_another_process_changes_the_problem_meanwhile(place):
    def problem(shift: float, function) -> gs.Problem:
        x = gs.Variable("x", lower=-2, upper=3)
        return gs.Problem(minimize=gs.BlackBox(function, name="f", noise=0)(x) + shift)

    options = {"name": "moved", "storage": place, "strategy": gs.SobolSearch()}
    calls = []

    def f(x: float) -> float:
        calls.append(x)
        if len(calls) == 2:
            gs.Study(problem(2.0, None), **options, allow_changes=True).close()
        return x**2

    with (
        gs.Study(problem(1.0, f), **options) as study,
        pytest.raises(gs.ProtocolError, match="was changed by another process"),
    ):
        study.run(3, progress=False)
    with gs.Study(problem(2.0, None), **options) as study:
        assert study.history.counts() == {"f": 2}
