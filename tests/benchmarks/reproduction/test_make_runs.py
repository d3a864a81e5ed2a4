"""The experiment resumes, and never mixes runs of different settings."""

from __future__ import annotations

import json

import pytest
from benchmarks.reproduction.experiment import Setting
from benchmarks.reproduction.make_runs import reproduce
from benchmarks.reproduction.report import MEASURES

import grisaille as gs
from tests.benchmarks.reproduction.reproduction_helpers import filled

pytestmark = pytest.mark.slow


def test_runs_made_in_another_way_are_not_mixed(tmp_path):
    filled(tmp_path, 1)
    file = tmp_path / "settings.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "beta": 9.0}))
    with pytest.raises(gs.ModelError, match=r"beta was 9\.0 and is 1\.5 now.*another --output"):
        reproduce(tmp_path, 1, [Setting.EXACT], 1)


def test_complete_runs_are_not_made_again(tmp_path, capsys):
    filled(tmp_path, 2)
    files = reproduce(tmp_path, 2, [Setting.EXACT], 1)
    assert [f.name for f in files] == ["table.md", *(f"{m.name}.png" for m in MEASURES)]
    assert all(f.stat().st_size for f in files)
    assert capsys.readouterr().out == ""
