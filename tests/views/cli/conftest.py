"""A problem in a file, and a place for studies."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from grisaille.study.state import StudyState

PROBLEM = """
    import os, time
    import grisaille as gs

    x = gs.Variable("x", lower=-1, upper=2)

    def simulate(x):
        {work}
        return (x - 0.5) ** 2

    f = gs.BlackBox(simulate, name="f", noise=0)
    problem = gs.Problem({goal}, subject_to=[{limited} >= {least}])
    strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))
"""


@pytest.fixture
def model(tmp_path: Path) -> Callable[..., str]:
    """Writes a file that defines a problem; gives its path."""

    def write(
        name: str = "model.py",
        work: str = "pass",
        goal: str = "minimize=f(x)",
        least: float = -1,
        limited: str = "x",
    ) -> str:
        text = textwrap.dedent(PROBLEM).format(work=work, goal=goal, least=least, limited=limited)
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Address of a storage that is not there yet."""
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture
def state(place: str) -> Callable[[str], StudyState | None]:
    """Reads what is recorded of a study, by its name; None if nothing is."""
    from grisaille.study.log.database import Database

    def read(name: str) -> StudyState | None:
        database = Database(place)
        log = database.open(name)
        found = None if log is None else StudyState(log.read(0))
        database.close()
        return found

    return read
