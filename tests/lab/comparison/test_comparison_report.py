"""What a comparison writes: its page of tables and its figures."""

from __future__ import annotations

import numpy as np

from grisaille.lab.comparison.comparison import tables_page, write_report
from grisaille.lab.comparison.plan import LeftOut
from grisaille.lab.comparison.run import Results
from tests.lab.comparison.comparison_helpers import made_up

INF = np.inf


def test_the_page_says_what_was_left_out_what_failed_and_who_started_elsewhere(results):
    left_out = [LeftOut("wave", "EICF", "EICF is for one layer"), LeftOut("other", "EICF", "no")]
    page = tables_page(results, ["Optimistic", "LogEI"], left_out)
    assert "| EICF | wave | EICF is for one layer |" in page
    assert "| EICF | other |" not in page
    assert "- CUQB on wave, seed 1: ArithmeticError: out of luck" in page
    assert "all strategies started from the same points" in page
    moved = made_up("wave", "EIFN", 3, [1.0] * 6)
    other = made_up("wave", "LogEI", 3, [1.0] * 6)
    steps = (other.steps[1], *other.steps[1:])
    changed = type(other)(other.settings, "nested", 0.0, steps, "max_trials")
    page = tables_page(Results((moved, changed)), [], [])
    assert "Strategies did not all start from the same points on wave." in page


def test_every_figure_is_drawn(results, tmp_path):
    files = write_report(tmp_path, results, ["Optimistic", "LogEI", "CUQB"], [])
    assert [f.name for f in files] == [
        *("runs.csv", "table.md", "regret.png", "profiles.png"),
        *("regret_hill.png", "regret_wave.png"),
    ]
    assert all(f.stat().st_size > 500 for f in files)


def test_figures_bear_that_nothing_feasible_was_found(tmp_path):
    runs = (made_up("wave", "Optimistic", 0, [INF] * 5), made_up("wave", "LogEI", 0, [INF] * 5))
    write_report(tmp_path, Results(runs), [], [])
    assert (tmp_path / "regret_wave.png").exists()
