"""What a comparison gives: tables and figures, wherever they are wanted."""

from __future__ import annotations

import pytest

import grisaille as gs
from grisaille.lab.comparison.comparison import Comparison


@pytest.fixture
def comparison(results, tmp_path) -> Comparison:
    names = ("Optimistic", "LogEI", "CUQB")
    return Comparison(results, names, (), len(results.runs), tmp_path / "compare")


def test_the_table_has_medians_feasibility_and_times(comparison):
    # Two digits of median regrets, worked out by hand from the made-up runs.
    lines = comparison.table().splitlines()
    wave = lines[lines.index("### wave (nested), 2 seeds, 2 initial points and 4 more") :]
    assert wave[4] == "| **Optimistic** | 2 | 0.015 | 0.015 | 0.013 to 0.018 | 100% | 3.5 | 1 |"
    assert wave[5] == "| LogEI | 2 | 1 | 1 | 1 to 1 | 100% | not reached | 1 |"
    assert wave[6].startswith("| CUQB | 1, 1 failed | 1 | 1 |")


@pytest.mark.slow
def test_everything_is_saved_to_the_folder_of_the_runs_or_to_another(comparison, tmp_path):
    files = comparison.save()
    assert {file.parent for file in files} == {tmp_path / "compare"}
    assert {file.name for file in files} >= {"runs.csv", "table.md", "regret.png", "profiles.png"}
    assert "Evaluations saved against LogEI" in (tmp_path / "compare/table.md").read_text()
    other = comparison.save(tmp_path / "other" / "place")
    assert all(file.exists() for file in other)
    homeless = Comparison(comparison.results, comparison.strategies, (), 1)
    with pytest.raises(gs.ModelError, match=r"no folder, so name one: save\('comparison'\)"):
        homeless.save()


def test_a_figure_is_saved_where_it_is_wanted(comparison, tmp_path):
    assert comparison.plot(tmp_path / "regret.pdf").stat().st_size > 500
    with pytest.raises(gs.ModelError, match=r"plot\(path=3\): pass the name of a file"):
        comparison.plot(3)
    with pytest.raises(gs.ModelError, match="nowhere"):
        comparison.plot(tmp_path / "no" / "nowhere.png")
    with pytest.raises(gs.ModelError, match=r"regret\.doc"):
        comparison.plot(tmp_path / "regret.doc")
