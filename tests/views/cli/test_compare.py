"""The command `compare`."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import grisaille as gs
from grisaille.views.cli.compare import KNOWN_PROBLEMS, STRATEGIES
from grisaille.views.cli.main import main

pytestmark = pytest.mark.slow


PROBLEM = """
import grisaille as gs
x = gs.Variable("x", lower=0, upper=1)
problem = gs.Problem(minimize=gs.BlackBox(lambda x: (x - 0.3) ** 2, name="f", noise=0)(x))

class Mine(gs.Strategy):
    def suggest(self, situation):
        return situation.generator.uniform(situation.lower, situation.upper)

strategy = Mine()
"""


def test_every_strategy_of_the_library_can_be_compared_by_its_name():
    classes = {n for n in gs.__all__ if isinstance(getattr(gs, n), type)}
    strategies = {n for n in classes if hasattr(getattr(gs, n), "suggest")}
    # These are to be derived from, wrap another strategy, or ask another tool.
    assert strategies - {"Strategy", "Acquisition", "Generator"} == set(STRATEGIES)


def test_the_list_is_what_the_library_has(capsys):
    assert main(["compare", "--list"]) == 0
    out = capsys.readouterr().out
    assert out == f"problems:   {', '.join(KNOWN_PROBLEMS)}\nstrategies: {', '.join(STRATEGIES)}\n"
    assert list(KNOWN_PROBLEMS) == list(gs.problems.catalogue())
    for name in STRATEGIES:
        assert hasattr(getattr(gs, name)(), "suggest")


def test_list_and_help_load_no_pytorch():
    code = (
        "import sys\n"
        "from grisaille.views.cli.main import main\n"
        "main(['compare', '--list'])\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
        "main(['compare', '--help'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "a Python file that defines" in done.stdout


def test_a_file_is_compared_with_its_own_strategy(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plant.py").write_text(PROBLEM)
    call = ["compare", "plant.py", "drop_wave", "--strategies", "SobolSearch"]
    call += ["--seeds", "2", "--trials", "4"]
    assert main(call) == 0
    shown = capsys.readouterr().out
    assert "8 of 8 runs" in shown
    assert "### plant (one layer), 2 seeds, 1 initial point and 3 more" in shown
    assert "| **Mine** | 2 |" in shown
    assert "Written: compare/runs.csv" in shown
    assert (tmp_path / "compare/regret_plant.png").exists()
    assert main([*call, "--quiet"]) == 0  # nothing is made again
    assert "runs" not in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a Python file or a known problem; --list shows these"),
        (["drop_weve"], "no problem 'drop_weve'.*did you mean 'drop_wave'.*or pass a Python file"),
        (["drop_wave", "--strategies", "logei"], "no strategy 'logei'.*did you mean 'LogEI'"),
        (
            ["drop_wave", "--strategies", ","],
            "--strategies names no strategy: there are Optimistic",
        ),
        (["drop_wave", "drop_wave"], "two problems are called 'drop_wave'"),
        (["missing.py"], "there is no file 'missing.py'"),
        (["drop_wave", "--trials", "1"], "trials=1"),
    ],
)
def test_mistakes_in_the_call_are_told(arguments, message, capsys):
    assert main(["compare", *arguments]) == 2
    error = capsys.readouterr().err
    assert re.search(message, error), error
