"""What tests of the command line share."""

from __future__ import annotations

from grisaille.views.cli import main


def solved(model: str, place: str, name: str = "toy", trials: int = 3, *more: str) -> int:
    """Solve a file's problem as a study; gives the exit code."""
    where = ["--study", name, "--storage", place]
    return main(["solve", model, *where, "--trials", str(trials), "--quiet", *more])
