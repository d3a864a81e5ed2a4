"""A decision says on which machine it was made; a replay tells other machines from decisions."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import grisaille as gs
from grisaille.study import identity, writer
from tests.other_processor import kernels, other_core_type
from tests.study.study_helpers import QUICK, nested, parabola

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[2]
RUN = """
import json, sys, warnings
import grisaille as gs
from tests.study.study_helpers import QUICK, nested

with gs.Study(nested(), strategy=QUICK, name="s", storage=sys.argv[1]) as study:
    result = study.run(int(sys.argv[2]), progress=False)
    said = {}
    for number in study.state.trials:
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            study.replay(number)
        said[number] = [str(remark.message) for remark in remarks]
    kernels = [trial.made_on["kernels"] for trial in study.state.trials.values()]
    fun = result.fun
print(json.dumps({"said": said, "kernels": kernels, "fun": fun, "status": str(result.status)}))
"""


class Drift(gs.Strategy):
    """A strategy whose code can change between a decision and its replay."""

    by = 0.0

    def suggest(self, situation: gs.Situation) -> np.ndarray:
        return situation.generator.uniform(0, 0.5, 1) + Drift.by

    def __repr__(self) -> str:
        return "Drift()"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> gs.Study:
    monkeypatch.setattr(Drift, "by", 0.0)
    return gs.Study(parabola(), strategy=Drift())


def test_each_decision_says_its_processor_and_its_versions(study):
    study.run(2, progress=False)
    for trial in study.state.trials.values():
        assert trial.made_on == identity.this_machine()
    assert f"numpy {np.__version__}" in trial.made_on["versions"]
    assert "ATen" in trial.made_on["kernels"]
    assert platform.node() not in str(trial.made_on).split()


def test_another_decision_on_this_machine_is_called_that(study):
    study.run(2, progress=False)
    Drift.by = 0.25
    with pytest.warns(gs.GrisailleWarning, match=r"up to 0.25 away.* this is another decision"):
        study.replay(2)


def test_a_decision_of_another_machine_is_called_that(study, monkeypatch):
    other = {**identity.this_machine(), "processor": "Abacus"}
    with monkeypatch.context() as patch:
        patch.setattr(writer, "this_machine", lambda: other)
        study.run(2, progress=False)
    assert study.replay(2).x.tolist() == study.history.trials[1].x.tolist()  # not a word
    Drift.by = 0.25
    with pytest.warns(gs.GrisailleWarning, match="another machine.*processor 'Abacus', here"):
        study.replay(2)


@pytest.fixture(scope="module")
def other() -> str:
    """A type of processor whose code runs here, too, and rounds in another way."""
    return other_core_type() or pytest.skip("this linear algebra has code for one type only")


def run_under(told: dict[str, str], storage: str, trials: int) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", RUN, storage, str(trials)],
        env={**os.environ, **told, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_other_type_of_processor_that_ci_runs_is_not_this_one(other):
    assert kernels(other) != kernels()
    assert kernels(other) not in identity.this_machine()["kernels"]


def test_a_study_moves_between_two_types_of_processor_and_goes_on(tmp_path, other):
    storage = f"sqlite:///{tmp_path}/study.db"
    first = run_under({}, storage, 5)
    second = run_under({"OPENBLAS_CORETYPE": other}, storage, 9)
    assert second["kernels"][:5] == first["kernels"]
    assert len(set(second["kernels"])) == 2
    assert not any(first["said"].values())
    # Decisions of the other type may come out otherwise here, and then it is named.
    for number, said in second["said"].items():
        assert not said or (int(number) <= 5 and "another machine" in said[0])
    assert second["fun"] <= first["fun"]
    assert second["status"] == "max_trials"
    # Back again: what is recorded is the same fact.
    with gs.Study(nested(), strategy=QUICK, name="s", storage=storage) as study:
        assert study.result().fun == second["fun"]
