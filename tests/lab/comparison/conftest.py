"""Made-up runs, and a record of those that are made, which several tests share."""

from __future__ import annotations

import numpy as np
import pytest

from grisaille.lab.comparison import comparison
from grisaille.lab.comparison.run import Results, make_run
from tests.lab.comparison.comparison_helpers import made_up

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
    return Results(tuple(runs), "Optimistic", "LogEI")


@pytest.fixture
def made(monkeypatch):
    """The jobs that were made in this process."""
    jobs = []

    def noted(settings, maker, factory):
        run = make_run(settings, maker, factory)
        jobs.append(run.job)
        return run

    monkeypatch.setattr(comparison, "make_run", noted)
    return jobs
