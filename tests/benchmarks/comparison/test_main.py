"""The command of the comparison."""

from __future__ import annotations

import re

import pytest
from benchmarks.comparison.__main__ import main

from tests.lab.comparison.comparison_helpers import folder_of

pytestmark = pytest.mark.slow


def test_the_command_lists_problems_and_strategies(capsys):
    assert main(["--list", "--problems", "drop_wave", "--strategies", "EICF,LogEI"]) == 0
    out = capsys.readouterr().out
    assert "problems:   drop_wave" in out
    assert "strategies: EICF, LogEI" in out
    assert "EICF on drop_wave: EICF is for one layer" in out


def test_the_command_compares_on_either_half_of_the_collection(capsys):
    call = ["--list", "--collection", "development", "--problems", "Branin", "--strategies", "EIFN"]
    assert main(call) == 0
    assert "problems:   Branin" in capsys.readouterr().out
    # Regret says nothing about a problem without a feasible point.
    assert main([*call, "--problems", "Two discs"]) == 2
    assert "no problem 'Two discs'" in capsys.readouterr().err


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
            folder_of(tmp_path).add(moved.job, moved)
    code = main(["--report", "--folder", str(tmp_path), "--problems", "drop_wave"])
    shown = capsys.readouterr()
    assert code == 3
    assert "failed: CUQB on drop_wave, seed 1: ArithmeticError: out of luck" in shown.err
    assert "Written: " in shown.out
    assert "### drop_wave (nested)" in (tmp_path / "table.md").read_text()
