"""A study that version 0.1 stored opens, replays, exports and goes on."""

from __future__ import annotations

import json
import shutil

import pytest

import grisaille as gs
from grisaille.records import TrialKind
from tests.study.stored.make_study import HERE, open_study, written

pytestmark = pytest.mark.slow


DERIVED = json.loads((HERE / "study_0_1.json").read_text())


@pytest.fixture
def storage(tmp_path):
    """A copy of the stored study."""
    shutil.copy(HERE / "study_0_1.db", tmp_path / "study.db")
    return f"sqlite:///{tmp_path}/study.db"


def test_what_is_recorded_is_read_as_before(storage):
    with open_study(storage) as study:
        assert [trial.objective for trial in study.history] == DERIVED["objectives"]
        assert study.cost == DERIVED["cost"]
        assert [query.id for query in study.pending] == DERIVED["pending"]
        assert [[f.box, f.reason, f.trial] for f in study.failures] == DERIVED["failures"]


@pytest.mark.filterwarnings("ignore:replay")
def test_every_decision_can_be_derived_again(storage):
    # Version 0.1 chose its later points with other bands; initial points are the same forever.
    with open_study(storage) as study:
        recorded = study.state.trials
        assert sorted(recorded) == list(range(1, 13))
        for number, trial in recorded.items():
            found = study.replay(number)
            if trial.suggestion.kind is TrialKind.INITIAL:
                assert found.x.tolist() == trial.suggestion.x.tolist()
            again = study.replay(number)
            assert found.kind is again.kind
            assert found.x.tolist() == again.x.tolist()


def test_that_a_decision_comes_out_otherwise_is_said_without_blaming_a_machine(storage):
    with open_study(storage) as study:
        assert study.state.trials[12].made_on is None
        with pytest.warns(gs.GrisailleWarning, match="does not say on which machine"):
            study.replay(12)


def test_the_result_is_the_same_and_so_is_its_table(storage):
    with open_study(storage) as study:
        result = study.result()
    assert result.fun == DERIVED["fun"]
    assert result.x.tolist() == DERIVED["x"]
    assert result.lower_bound == result.fun  # maximized: the best value found
    assert result.upper_bound >= result.fun  # worked out anew, with the bands of this version
    assert result.to_dataframe().to_csv() == DERIVED["table"]


def test_exports_are_the_same_to_the_byte(storage):
    now = written(storage)
    assert {key: now[key] for key in ("csv", "json")} == {k: DERIVED[k] for k in ("csv", "json")}
    # What `show` prints may say more, but nothing else.
    shown, before = json.loads(now["show"]), json.loads(DERIVED["show"])
    assert shown["trials"] | before["trials"] == shown["trials"]
    assert {**shown, **before, "trials": shown["trials"]} == shown


def test_the_study_goes_on(storage):
    with open_study(storage) as study:
        before = len(study.state.trials)
        (query,) = study.pending
        with pytest.warns(gs.GrisailleWarning, match="deviations below what was expected"):
            study.tell(query, [0.1, 0.0])
        result = study.run(before + 1, progress=False)
        assert result.nit > len(DERIVED["objectives"])
        assert len(study.state.trials) == before + 1
        assert study.pending == []
