"""The report of a comparison: its numbers by hand, and that pictures and pages are there."""

from __future__ import annotations

import csv
import io
import itertools
import re

import numpy as np
import pytest
from benchmarks.comparison.__main__ import main
from benchmarks.comparison.labels import spread, style_of
from benchmarks.comparison.measures import (
    Results,
    first_at_most,
    quantile,
    regret_curve,
    seconds_per_suggestion,
)
from benchmarks.comparison.plan import LeftOut
from benchmarks.comparison.profiles import (
    data_profile,
    performance_profile,
    savings,
    solution_times,
)
from benchmarks.comparison.report import tables_page, write_report
from benchmarks.comparison.storage import Folder
from benchmarks.comparison.tables import duels, final_table, number, runs_csv

import grisaille as gs
from tests.benchmarks.comparison.comparison_helpers import made_up

INF = np.inf


@pytest.fixture
def results():
    """Two problems, two seeds, three strategies; regrets after 2 initial points."""
    regrets = {
        ("wave", "Optimistic", 0): [9, 8, 4, 1, 0.5, 0.01],
        ("wave", "Optimistic", 1): [INF, 4, 2, 1, 0.02, 0.02],
        ("wave", "LogEI", 0): [9, 8, 8, 6, 3, 1],
        ("wave", "LogEI", 1): [INF, 4, 4, 4, 2, 1],
        ("wave", "CUQB", 0): [9, 8, 1, 1, 1, 1],
        ("hill", "Optimistic", 0): [5, 5, 5, 2, 2, 2],
        ("hill", "Optimistic", 1): [5, 5, 5, 3, 3, 3],
        ("hill", "LogEI", 0): [5, 5, 1, 1, 1, 1],
        ("hill", "LogEI", 1): [5, 5, 3, 3, 3, 3],
    }
    runs = [made_up(*key, [float(v) for v in values]) for key, values in regrets.items()]
    runs.append(made_up("wave", "CUQB", 1, [9.0] * 6, failed=True))
    return Results(tuple(runs))


# --- measures ------------------------------------------------------------------------------------
def test_a_curve_begins_after_the_initial_design_and_goes_on_after_an_early_end():
    run = made_up("wave", "LogEI", 0, [9.0, 8.0, 7.0, 6.0, 5.0])
    assert regret_curve(run).tolist() == [8, 7, 6, 5]
    early = made_up("wave", "LogEI", 0, [9.0, 8.0, 7.0])
    longer = {**early.settings, "evaluations": 3}
    stopped = type(early)(longer, "nested", 0.0, early.steps, "infeasible")
    assert regret_curve(stopped).tolist() == [8, 7, 7, 7]
    assert seconds_per_suggestion(run) == 0.5 * 4  # of the third, fourth and fifth


@pytest.mark.parametrize("size", [1, 2, 5, 10])
def test_quantiles_are_those_of_numpy_where_it_has_any(size):
    values = np.random.default_rng(size).random((size, 3))
    for share in (0.25, 0.5, 0.75):
        assert quantile(values, share) == pytest.approx(np.quantile(values, share, axis=0))


def test_a_quantile_is_infinite_where_a_neighbour_is():
    assert quantile(np.array([1.0, 2.0, INF]), 0.5) == 2
    assert quantile(np.array([1.0, INF]), 0.5) == INF
    assert quantile(np.array([INF, INF]), 0.5) == INF


def test_the_start_of_a_seed_without_a_feasible_point_is_the_median_of_the_others():
    values = {0: [4.0, 3.0], 1: [2.0, 1.0], 2: [INF, 1.0]}
    runs = [made_up("wave", "LogEI", s, v, initial=1) for s, v in values.items()]
    assert Results(tuple(runs)).starts("wave") == {0: 4.0, 1: 2.0, 2: 3.0}
    assert Results((runs[2],)).starts("wave") == {2: 1.0}


def test_runs_with_different_budgets_share_no_table():
    runs = (made_up("wave", "LogEI", 0, [1.0] * 5), made_up("wave", "LogEI", 1, [1.0] * 6))
    with pytest.raises(gs.ModelError, match=r"runs on wave have 2 \+ 3 and 2 \+ 4 evaluations"):
        Results(runs)


# --- profiles ------------------------------------------------------------------------------------
def test_times_are_the_first_evaluations_below_a_part_of_the_first_regret(results):
    times = solution_times(results, ["wave", "hill"], ["Optimistic", "LogEI"], 0.25)
    # Targets are 2 and 1 on wave, 1.25 on hill.
    assert times["Optimistic"].tolist() == [2, 2, INF, INF]
    assert times["LogEI"].tolist() == [4, 4, 1, INF]


def test_profiles_of_an_example_worked_out_by_hand():
    times = {"a": np.array([1.0, 4, INF, 2]), "b": np.array([2.0, 2, INF, INF])}
    evaluations = np.array([0.0, 1, 2, 4])
    assert data_profile(times["a"], evaluations).tolist() == [0, 0.25, 0.5, 0.75]
    assert data_profile(times["b"], evaluations).tolist() == [0, 0, 0.5, 0.5]
    shares = performance_profile(times, np.array([1.0, 2.0, 100.0]))
    assert shares["a"].tolist() == [0.5, 0.75, 0.75]
    assert shares["b"].tolist() == [0.25, 0.5, 0.5]


def test_what_the_initial_design_solves_counts_as_one_evaluation_in_a_ratio():
    times = {"a": np.array([0.0]), "b": np.array([2.0])}
    shares = performance_profile(times, np.array([1.0, 2.0]))
    assert shares["a"].tolist() == [1, 1]
    assert shares["b"].tolist() == [0, 1]


def test_savings_compare_median_curves_at_what_the_yardstick_comes_to(results):
    found = {saving.problem: saving for saving in savings(results, "Optimistic", "LogEI")}
    wave, hill = found["wave"], found["hill"]
    # LogEI ends at 1 in the median, after 4; Optimistic's median (6, 3, 1, ...) is there after 2.
    assert (wave.target, wave.yardstick, wave.default) == (1, 4, 2)
    assert (wave.ratio, wave.ratio_in_all) == (2, 6 / 4)
    # LogEI ends at 2, after 1; Optimistic ends at 2.5.
    assert (hill.target, hill.yardstick, hill.default) == (2, 1, INF)
    assert (hill.ratio, hill.ratio_in_all) == (0, 0)


def test_a_yardstick_without_a_feasible_point_gives_no_ratio():
    runs = (
        made_up("wave", "Optimistic", 0, [1.0] * 4),
        made_up("wave", "LogEI", 0, [INF] * 4),
    )
    (saving,) = savings(Results(runs), "Optimistic", "LogEI")
    assert np.isnan(saving.ratio)


# --- tables --------------------------------------------------------------------------------------
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
    (duel,) = duels(Results(runs), "LogEI")
    assert (duel.verdict, duel.wins, duel.losses) == ("tied", 0, 0)


def test_numbers_are_short():
    shown = [number(v) for v in (0.0, 0.01234, 12.3, 1e-5, 12345.0, INF, np.nan)]
    assert shown == ["0", "0.012", "12", "1.0e-05", "1.2e+04", "none feasible", "n/a"]


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


# --- figures -------------------------------------------------------------------------------------
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


def test_labels_keep_their_distance_and_move_no_further_than_they_must():
    assert spread([0.1, 0.5], 0.1) == pytest.approx([0.1, 0.5])
    assert spread([0.4, 0.4], 0.1) == pytest.approx([0.35, 0.45])
    assert spread([1.0, 1.0], 0.1) == pytest.approx([0.9, 1.0])
    places = spread(sorted(np.random.default_rng(0).random(8)), 0.06)
    assert all(b - a > 0.06 - 1e-9 for a, b in itertools.pairwise(places))


def test_strategies_look_different():
    order = ["Optimistic", *(f"rival {i}" for i in range(10))]
    assert len({style_of(name, order) for name in order}) == len(order)


def test_the_first_position_at_or_below_a_target():
    assert first_at_most(np.array([3.0, 2.0, 1.0]), 2.0) == 1
    assert first_at_most(np.array([3.0]), 2.0) == INF
    assert first_at_most(np.array([INF]), INF) == INF


# --- the command ---------------------------------------------------------------------------------
def test_the_command_lists_problems_and_strategies(capsys):
    assert main(["--list", "--problems", "drop_wave", "--strategies", "EICF,LogEI"]) == 0
    out = capsys.readouterr().out
    assert "problems:   drop_wave" in out
    assert "strategies: EICF, LogEI" in out
    assert "EICF on drop_wave: EICF is for one layer" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--problems", "drop_weve"], "no problem 'drop_weve'.*did you mean 'drop_wave'"),
        (["--strategies", "logei"], "no strategy 'logei'.*did you mean 'LogEI'"),
        (["--strategies", "zzz"], "no strategy 'zzz': there are 'Optimistic'"),
        (["--problems", ","], "no problem is named: there are"),
        (["--report"], "no such runs in .*leave --report out"),
    ],
)
def test_mistakes_in_the_call_are_told(arguments, message, tmp_path, capsys):
    call = ["--folder", str(tmp_path), "--problems", "drop_wave", *arguments]
    assert main(call) == 2
    assert re.search(message, capsys.readouterr().err)


def test_a_report_is_made_from_what_is_there_and_failures_are_told(results, tmp_path, capsys):
    for run in results.runs:
        settings = {**run.settings, "problem": "drop_wave"}
        if run.job.problem == "wave":
            moved = type(run)(
                settings, "nested", 0.0, run.steps, run.ended, run.message, run.seconds
            )
            Folder(tmp_path).add(moved, "grisaille compare")
    code = main(["--report", "--folder", str(tmp_path), "--problems", "drop_wave"])
    shown = capsys.readouterr()
    assert code == 3
    assert "failed: CUQB on drop_wave, seed 1: ArithmeticError: out of luck" in shown.err
    assert "Written: " in shown.out
    assert "### drop_wave (nested)" in (tmp_path / "table.md").read_text()
