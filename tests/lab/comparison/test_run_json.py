"""A run as a JSON file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import grisaille as gs
from grisaille.lab.comparison.plan import Job
from grisaille.lab.comparison.run import RunJson, Step, make_run
from tests.lab.comparison.comparison_helpers import (
    COMMAND,
    compared,
    folder_of,
    limited,
    made_up,
    optimistic,
    plan_of,
)


def test_what_is_stored_is_what_is_loaded(tmp_path):
    plan = plan_of({"limited": limited}, {"optimistic": optimistic}, 1, 1)
    (settings,) = plan.settings.values()
    made = make_run(settings, compared(limited), optimistic)
    folder_of(tmp_path).add(made.job, made)
    (file,) = tmp_path.glob("runs/*/*/*.json")
    assert file == tmp_path / "runs/limited/optimistic/0.json"
    data = json.loads(file.read_text())
    assert data["command"] == COMMAND
    assert data["settings"]["versions"]["grisaille"]
    (loaded,) = folder_of(tmp_path).load().values()
    assert loaded == made
    assert [step.x[0] for step in loaded.steps] == [step["x"][0] for step in data["steps"]]


def test_infinite_regrets_are_stored(tmp_path):
    made = made_up("slope", "steps", 0, [np.inf, np.inf, 1.0])
    folder_of(tmp_path).add(made.job, made)
    assert folder_of(tmp_path).load() == {made.job: made}


def test_a_run_of_version_0_1_0_is_read():
    step = {"number": 1, "kind": "random", "x": [0.5], "objective": 0.5, "violation": 0.0}
    step |= {"regret": "inf", "constrained_regret": 0.5, "suggesting": 0.1, "evaluating": 0.2}
    data = {
        "command": "grisaille compare --seeds 1 --evaluations 1",
        "settings": {"problem": "slope", "strategy": "steps", "seed": 3, "initial": 0},
        "structure": "nested",
        "optimum": 0.0,
        "steps": [step],
        "ended": "max_trials",
        "message": "",
        "seconds": 1.5,
    }
    ((job, run),) = RunJson("").decode(Path("3.json"), json.dumps(data)).items()
    assert job == Job("slope", "steps", 3)
    assert run.steps == (Step(1, "random", (0.5,), 0.5, 0.0, np.inf, 0.5, 0.1, 0.2),)


def test_a_damaged_run_is_named(tmp_path):
    file = tmp_path / "runs" / "slope" / "Optimistic" / "0.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"settings": ')
    with pytest.raises(gs.ModelError, match=r"0.json' holds no run that can be read"):
        folder_of(tmp_path).load()
