"""A result to report."""

from __future__ import annotations

import pytest

import grisaille as gs
from grisaille import problems

QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


@pytest.fixture(scope="module")
def result() -> gs.Result:
    return problems.bazaraa().problem.solve(7, strategy=QUICK, progress=False)
