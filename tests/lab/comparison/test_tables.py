"""The tables of a comparison, worked out by hand."""

from __future__ import annotations

import csv
import io

import numpy as np

from grisaille.lab.comparison.run import Results
from grisaille.lab.comparison.tables import duels, final_table, number, runs_csv
from tests.lab.comparison.comparison_helpers import made_up

INF = np.inf


def test_every_run_has_its_line(results):
    rows = list(csv.DictReader(io.StringIO(runs_csv(results))))
    assert len(rows) == len(results.runs)
    by_job = {(r["problem"], r["strategy"], int(r["seed"])): r for r in rows}
    row = by_job["wave", "Optimistic", 1]
    assert (float(row["regret_initial"]), float(row["regret_final"])) == (4, 0.02)
    assert float(row["evaluations_to_one_percent"]) == 3  # 0.02 <= 0.01 * 4
    assert by_job["wave", "CUQB", 1]["message"] == "ArithmeticError: out of luck"
    assert by_job["wave", "CUQB", 1]["regret_final"] == ""


def test_marks_are_those_within_the_budget():
    runs = (made_up("wave", "LogEI", 0, [float(v) for v in range(30, 6, -1)]),)
    (row,) = csv.DictReader(io.StringIO(runs_csv(Results(runs))))
    assert (float(row["regret_10"]), float(row["regret_20"])) == (19, 9)
    assert "regret_30" not in row


def test_the_final_table_has_medians_and_quartiles(results):
    lines = final_table(results, "wave", ["Optimistic", "LogEI", "CUQB"]).splitlines()[2:]
    expected = "| **Optimistic** | 2 | 0.015 | 0.013 to 0.018 | 0.02 | 0.015 | 2 of 2 |"
    assert lines[0].startswith(expected)
    assert lines[1].startswith("| LogEI | 2 | 1 | 1 to 1 | 1 | 1 | 0 of 2 |")
    assert lines[2].startswith("| CUQB | 1, 1 failed | 1 | 1 to 1 | 1 | 1 | 0 of 1 |")


def test_a_duel_is_fought_on_the_seeds_that_both_have(results):
    hill, wave = duels(results, "LogEI")
    assert (hill.problem, hill.ours, hill.theirs, hill.verdict) == ("hill", 2.5, 2, "worse")
    assert (hill.wins, hill.losses, hill.chance) == (0, 1, 1.0)
    assert (wave.wins, wave.losses, wave.chance) == (2, 0, 0.5)
    assert wave.verdict == "better"
    (single,) = duels(results, "CUQB")
    assert (single.seeds, single.ours) == (1, 0.01)


def test_regrets_below_what_is_known_of_the_optimum_are_a_tie():
    runs = (made_up("wave", "Optimistic", 0, [1e-9] * 4), made_up("wave", "LogEI", 0, [1e-7] * 4))
    (duel,) = duels(Results(runs, "Optimistic"), "LogEI")
    assert (duel.verdict, duel.wins, duel.losses) == ("tied", 0, 0)


def test_numbers_are_short():
    shown = [number(v) for v in (0.0, 0.01234, 12.3, 1e-5, 12345.0, INF, np.nan)]
    assert shown == ["0", "0.012", "12", "1.0e-05", "1.2e+04", "none feasible", "n/a"]
