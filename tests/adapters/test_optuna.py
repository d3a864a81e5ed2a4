"""Studies in an Optuna storage."""

from __future__ import annotations

import datetime
import sys
import traceback

import numpy as np
import optuna
import pytest

import grisaille as gs
from grisaille.adapters.optuna import export_optuna
from tests.adapters.adapter_helpers import QUICK, tank, tank_study

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _quiet():
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(level)


@pytest.fixture
def url(tmp_path) -> str:
    return f"sqlite:///{tmp_path}/optuna.db"


@pytest.fixture(scope="module")
def study() -> gs.Study:
    return tank_study(6)


def test_optuna_finds_the_same_best_trial_values_and_constraints(study, url):
    assert export_optuna(study.state, "tank", url) == 6
    shown = optuna.load_study(study_name="tank", storage=url)
    assert shown.direction.name == "MAXIMIZE"
    assert len(shown.trials) == 6
    for ours, theirs in zip(study.history, shown.trials, strict=True):
        assert theirs.state.name == "COMPLETE"
        assert theirs.value == -ours.objective
        assert list(theirs.params.values()) == ours.x.tolist()
        assert theirs.system_attrs["constraints"] == ours.constraints.tolist()
        assert theirs.user_attrs["violation"] == ours.violation
        assert theirs.user_attrs["kind"] == str(ours.suggestion.kind)
    best = study.result()
    assert shown.best_value == best.fun  # Optuna's best is the best feasible one, as is ours
    assert list(shown.best_params.values()) == best.x.tolist()
    assert shown.user_attrs["constraints"] == study.problem.constraint_names


def test_optuna_counts_as_met_what_is_violated_by_rounding(url):
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.BlackBox(lambda x: 3 * x, name="box", noise=0)(x)
    study = gs.Study(gs.Problem(maximize=y, subject_to=[y <= 0.9]))
    for point in (0.25, 0.3 * (1 + 1e-13), 0.3 * (1 + 1e-5)):
        study.enqueue([point])
    best = study.run(3, progress=False)
    export_optuna(study.state, "rounding", url)
    shown = optuna.load_study(study_name="rounding", storage=url)
    assert shown.best_value == best.fun > 0.89
    assert [t.system_attrs["constraints"][0] > 0 for t in shown.trials] == [False, False, True]


def test_bounds_are_in_the_users_sense(study, url):
    export_optuna(study.state, "tank", url)
    shown = optuna.load_study(study_name="tank", storage=url).trials
    frame = study.result().to_dataframe()
    bounds = [trial.user_attrs.get("bound", np.nan) for trial in shown]
    np.testing.assert_array_equal(bounds, frame["bound"])
    assert [t.user_attrs["evaluations gain"] for t in shown] == frame["evaluations gain"].tolist()


def test_trials_have_the_times_they_were_made_at(study, url):
    state = study.state
    export_optuna(state, "tank", url)
    for trial in optuna.load_study(study_name="tank", storage=url).trials:
        entry = state.trials[trial.user_attrs["trial"]]
        assert trial.datetime_start == datetime.datetime.fromtimestamp(entry.started)
        assert trial.datetime_complete == datetime.datetime.fromtimestamp(entry.ended)
        assert trial.duration >= datetime.timedelta(0)


def test_exporting_again_adds_only_what_is_new(url):
    study = tank_study(2)
    (query,) = study.ask()
    assert export_optuna(study.state, "tank", url) == 2  # trial 3 is under way
    assert export_optuna(study.state, "tank", url) == 0
    study.release(query)
    study.run(4, progress=False)
    assert export_optuna(study.state, "tank", url) == 2
    shown = optuna.load_study(study_name="tank", storage=url)
    assert [trial.user_attrs["trial"] for trial in shown.trials] == [1, 2, 3, 4]


def test_a_broken_trial_fails_with_its_reason(url):
    study = gs.Study(tank(), strategy=QUICK, retries=0)
    (query,) = study.ask()
    study.fail(query, "the pump leaks")
    assert export_optuna(study.state, "tank", url) == 1
    (trial,) = optuna.load_study(study_name="tank", storage=url).trials
    assert trial.state.name == "FAIL"
    assert trial.user_attrs["reason"] == "1-1: the pump leaks"
    assert list(trial.params.values()) == study.failures[0].x.tolist()


def test_optunas_own_sampler_learns_from_our_trials_and_keeps_its_own(url):
    study = tank_study(12, strategy=gs.Optimistic(initial=13))
    export_optuna(study.state, "tank", url)

    def objective(trial: optuna.Trial) -> float:
        flow = [trial.suggest_float(f"flow[{i}]", 0, 2) for i in range(2)]
        for place, body in enumerate((flow[0] * flow[1] - 0.4, 0.1 - flow[0])):
            trial.set_constraint(str(place), body)
        return 3 - (flow[0] + 0.5 * flow[1] - 1) ** 2

    def sampler() -> optuna.samplers.BaseSampler:
        return optuna.samplers.TPESampler(seed=0, n_startup_trials=12)

    shown = optuna.load_study(study_name="tank", storage=url, sampler=sampler())
    before = shown.best_value
    shown.optimize(objective, n_trials=4)
    assert len(shown.trials) == 16
    assert shown.best_value >= before
    blank = optuna.create_study(sampler=sampler())
    blank.optimize(objective, n_trials=1)
    assert shown.trials[12].params != blank.trials[0].params  # no longer at random
    study.run(13, progress=False)
    assert export_optuna(study.state, "tank", url) == 1
    assert len(optuna.load_study(study_name="tank", storage=url).trials) == 17


def test_an_optuna_study_that_is_not_ours_is_left_alone(url):
    optuna.create_study(study_name="tank", storage=url)
    study = tank_study(1)
    with pytest.raises(gs.ProtocolError, match="not exported from Grisaille: export under another"):
        export_optuna(study.state, "tank", url)
    assert optuna.load_study(study_name="tank", storage=url).user_attrs == {}


def test_an_optuna_study_that_shows_another_study_is_left_alone(url):
    export_optuna(tank_study(2).state, "tank", url)
    other = tank_study(2, seed=2)
    with pytest.raises(gs.ProtocolError, match="shows another trial 1"):
        export_optuna(other.state, "tank", url)


def test_the_value_nan_fails_in_optuna(url):
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.BlackBox(lambda x: -1.0, name="f", noise=0)(x)
    study = gs.Study(gs.Problem(minimize=np.sqrt(y)), strategy=QUICK)
    (query,) = study.ask()
    study.tell(query, -1.0)
    assert export_optuna(study.state, "root", url) == 1
    assert optuna.load_study(study_name="root", storage=url).trials[0].state.name == "FAIL"


def test_what_optuna_cannot_open_is_said_without_the_password(tmp_path):
    state = tank_study(1).state
    with pytest.raises(gs.StorageError, match=r"Optuna cannot open .*sqlite:///optuna\.db"):
        export_optuna(state, "tank", "nowhere")
    for url in ("strange://me:secret@host/base", "sqlite://me:secret/base", "me:secret@host/base"):
        with pytest.raises(gs.StorageError) as caught:
            export_optuna(state, "tank", url)
        assert "secret" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(gs.StorageError, match="Optuna cannot open sqlite"):
        export_optuna(state, "tank", f"sqlite:///{tmp_path}/no/such/folder.db")
    with pytest.raises(gs.ModelError, match="pass a text"):
        export_optuna(state, "", "sqlite:///optuna.db")


def test_without_optuna_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(gs.ModelError, match=r"pip install 'grisaille\[optuna\]'"):
        export_optuna(tank_study(1).state, "tank", "sqlite:///optuna.db")


def test_steps_and_logarithms_are_optunas_own(url):
    t = gs.Variable("t", lower=0, upper=1, step=0.3)
    k = gs.Variable("k", lower=1e-3, upper=1e3, log=True)
    both = gs.Variable("both", lower=1, upper=10, step=0.5, log=True)
    f = gs.BlackBox(lambda t, k, b: t + np.log(k) + b, name="f", noise=0)
    study = gs.Study(gs.Problem(minimize=f(t, k, both)), strategy=gs.SobolSearch())
    study.run(5, progress=False)
    export_optuna(study.state, "steps", url)
    shown = optuna.load_study(study_name="steps", storage=url)
    assert [list(s.params.values()) for s in shown.trials] == [t.x.tolist() for t in study.history]
    make = optuna.distributions.FloatDistribution
    assert shown.trials[0].distributions == {
        "t": make(0, 0.9, step=0.3),
        "k": make(1e-3, 1e3, log=True),
        "both": make(1, 10, log=True),  # Optuna knows no steps of a logarithm
    }
    asked = shown.ask(shown.trials[0].distributions)
    assert asked.params["t"] in [pytest.approx(v) for v in (0.0, 0.3, 0.6, 0.9)]


def test_choices_are_categories_and_integers_are_ints(url):
    catalyst = gs.Choice("catalyst", ["A", "B"])
    stages = gs.Integer("stages", lower=1, upper=3)
    box = gs.BlackBox(lambda c, n: n + (c == "A"), name="h", noise=0)
    study = gs.Study(gs.Problem(minimize=box(catalyst, stages)), strategy=gs.RandomSearch())
    study.enqueue(catalyst="B", stages=2)
    study.run(trials=1, progress=False)
    assert export_optuna(study.state, "discrete", url) == 1
    (trial,) = optuna.load_study(study_name="discrete", storage=url).trials
    assert trial.params == {"catalyst": "B", "stages": 2}
    assert trial.distributions == {
        "catalyst": optuna.distributions.CategoricalDistribution(("A", "B")),
        "stages": optuna.distributions.IntDistribution(1, 3),
    }
