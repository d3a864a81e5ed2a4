"""A real kernel: pictures without magic, tables of everything, a live view, a button that stops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SET_UP = """
import time
import grisaille as gs

def bowl(x):
    return (x - 0.3) ** 2

x = gs.Variable("x", lower=0, upper=1)
problem = gs.Problem(minimize=gs.BlackBox(bowl, noise=0)(x), subject_to={"roof": x <= 0.9})
strategy = gs.RandomSearch()
"""
RUN = "result = problem.solve(6, strategy=strategy, progress={})"
SLOW = """
def slow(x):
    time.sleep(0.05)
    return x

endless = gs.Problem(minimize=gs.BlackBox(slow, noise=0)(x))
result = endless.solve(2000, strategy=strategy)
print(result.status, result.nit, result.message)
"""


def in_a_kernel(folder: Path, job: dict[str, Any]) -> Any:
    """What a kernel of this Python makes of a job; its files are temporary."""
    names = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
    folders = {name: str(folder / name.lower()) for name in names}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("in_a_kernel.py"))],
        input=json.dumps(job),
        env={**os.environ, **folders, "OMP_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_notebook_shows_pictures_tables_and_a_live_view_without_any_magic(
    tmp_path: Path,
):
    plain = "import sys; sys.modules['ipywidgets'] = None  # as if it were not installed"
    _, live, shown, *tables, _, picture, _, again, _, without = in_a_kernel(
        tmp_path,
        {
            "cells": [
                SET_UP,
                RUN.format(True),
                RUN.format(None),
                "problem",
                "x + 1",
                "result",
                "result.history",
                "gs.Study(problem)",
                "problem.solve(1, strategy=strategy, progress=False).problem.constraints[0]",
                "_ = result.plot()",
                "result.plot()",
                "%matplotlib inline",
                "result.plot()",
                plain,
                RUN.format(True),
            ]
        },
    )
    for outputs in (live, shown, without):
        assert not [out for out in outputs if out["output_type"] in ("stream", "error")]
        content = outputs[-1]["data"]
        assert "best feasible" in content["text/html"]
        assert "    6 " in content["text/plain"]
        # Nothing that a saved notebook could not show is left behind.
        assert not any("widget" in kind for out in outputs for kind in out["data"])
    for outputs in tables:
        (output,) = outputs
        assert output["data"]["text/html"].startswith("<")
        assert output["data"]["text/plain"]
    for outputs in (picture, again):
        (output,) = outputs
        assert output["data"]["image/png"]


def test_a_click_on_stop_ends_the_run_while_its_cell_runs(tmp_path: Path):
    printed = in_a_kernel(tmp_path, {"code": SET_UP + SLOW})
    status, trials, said = printed.split(" ", 2)
    assert status == "interrupted"
    assert 0 < int(trials) < 2000
    assert said.startswith("stopped with the button; everything evaluated is in the result")
