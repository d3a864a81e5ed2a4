"""Studies of a black box with many outputs: stored, asked, told, looked at."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.adapters.export import export_observations_csv
from grisaille.belief.learning import believe
from grisaille.belief.processes.shared import SharedPosterior
from grisaille.records import TrialKind
from tests.study.study_helpers import answer, decisions

pytestmark = pytest.mark.slow


HOURS = np.linspace(0.1, 10, 120)
QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256, iterations=20), initial=5)


def concentration(rate, decay):
    return rate / (rate - decay) * (np.exp(-decay * HOURS) - np.exp(-rate * HOURS))


def calibration(**options) -> gs.Problem:
    rate = gs.Variable("rate", lower=0.6, upper=3)
    decay = gs.Variable("decay", lower=0.05, upper=0.5)
    options = {"outputs": len(HOURS), "noise": 0, "shared_kernel": True, **options}
    simulator = gs.BlackBox(concentration, name="simulator", **options)
    misfit = np.sum((simulator(rate, decay) - concentration(1.3, 0.25)) ** 2)
    return gs.Problem(minimize=misfit)


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> gs.Study:
    path = tmp_path_factory.mktemp("curves") / "study.db"
    made = gs.Study(calibration(), name="c", storage=f"sqlite:///{path}", strategy=QUICK, seed=0)
    made.run(trials=14, progress=False)
    return made


def test_a_dozen_runs_calibrate_two_parameters(study):
    assert study.result().fun < 1e-6
    text = str(study.result())
    assert len(text.splitlines()) < 12
    assert max(map(len, text.splitlines())) < 300


def test_a_stored_study_is_read_again_and_its_decisions_derived_again(study):
    again = gs.Study(calibration(), name="c", storage=study.storage, strategy=QUICK)
    assert decisions(again) == decisions(study)
    assert again.result().fun == study.result().fun
    assert again.replay(8).x.tolist() == study.history.trials[7].x.tolist()


def test_what_was_learned_is_told_in_a_few_lines(study):
    model = study.model("simulator")
    lines = repr(model).splitlines()
    assert len(lines) == 6
    assert "hyper-parameters learned, shared by all outputs" in lines[0]
    assert lines[3] == (
        "outputs      simulator[0], simulator[1], simulator[2], ..., simulator[119] (120)"
    )
    assert lines[5].startswith("all outputs  vary by ")
    assert "move together in" in lines[5]
    assert model.lengthscales.shape == (120, 2)
    found = model.predict([[1.3, 0.25]])
    mean = found[[f"simulator[{i}] mean" for i in range(120)]].to_numpy()[0]
    assert mean == pytest.approx(concentration(1.3, 0.25), abs=1e-3)


def test_leaving_one_out_is_what_is_predicted_without_it(study):
    inputs, outputs = study.history.data("simulator", 2, 120)
    program = study.problem.program
    whole = believe(program, study.history)["simulator"]
    rest = SharedPosterior(
        whole.kernel, whole.hyperparameters, torch.tensor(inputs[1:]), torch.tensor(outputs[1:])
    )
    mean, deviation = rest.predict(torch.tensor(inputs[:1]))
    table = study.model("simulator").leave_one_out()
    own = table[[f"simulator[{i}] mean" for i in range(120)]].to_numpy()[0]
    assert own == pytest.approx(mean[0].numpy(), rel=1e-3, abs=1e-4)
    spread = table[[f"simulator[{i}] deviation" for i in range(120)]].to_numpy()[0]
    assert spread == pytest.approx(deviation[0].numpy(), rel=1e-2)


def test_predictions_have_an_interval_of_the_objective_and_of_the_curve(study):
    found = study.predict([[1.0, 0.2]])
    true = float(((concentration(1.0, 0.2) - concentration(1.3, 0.25)) ** 2).sum())
    row = found.iloc[0]
    assert row["objective lower"] <= true <= row["objective upper"]


def test_curves_are_asked_told_failed_and_kept_in_sheets():
    problem = calibration()
    study = gs.Study(problem, strategy=QUICK, seed=1)
    inputs = np.random.default_rng(0).uniform([0.6, 0.05], [3, 0.5], (8, 2))
    study.observe("simulator", inputs, np.array([concentration(*row) for row in inputs]))
    first, second, third = study.ask(3)
    study.tell(first.id, answer(problem, first))
    study.fail(second.id, "no convergence")
    with pytest.raises(gs.EvaluationError, match="declared with outputs=120"):
        study.tell(third.id, np.zeros(119))
    study.tell(third.id, answer(problem, third))
    table = study.answers()
    assert len(table) == 10
    assert f"simulator[{len(HOURS) - 1}]" in table
    assert len(export_observations_csv(study.state).splitlines()) == 11
    sheet = study.ask_sheet(1)
    row = concentration(*map(float, sheet.loc[sheet.index[0], ["rate", "decay"]]))
    sheet.loc[sheet.index[0], [f"simulator[{i}]" for i in range(120)]] = row
    study.tell_sheet(sheet)
    assert len(study.answers()) == 11


@pytest.mark.parametrize("strategy", [gs.EIFN(), gs.EICF(), gs.CUQB(), gs.CONFIG(), gs.LogEI()])
def test_every_rival_suggests_for_a_curve(strategy):
    study = gs.Study(calibration(), strategy=strategy, seed=0)
    inputs = np.random.default_rng(0).uniform([0.6, 0.05], [3, 0.5], (8, 2))
    study.observe("simulator", inputs, np.array([concentration(*row) for row in inputs]))
    study.ask(1)
    (pending,) = study.situation.pending
    assert pending.suggestion.kind in (TrialKind.ACQUIRED, TrialKind.OPTIMISTIC, TrialKind.NARROWED)


def test_outputs_of_a_shared_kernel_can_have_names():
    problem = calibration(outputs=[f"t{i}" for i in range(120)])
    study = gs.Study(problem, strategy=QUICK, seed=0)
    result = study.run(trials=8, progress=False)
    assert "t0, t1, t2, ..., t119 (120)" in repr(result.model("simulator"))
