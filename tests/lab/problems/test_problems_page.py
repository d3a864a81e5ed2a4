"""docs/problems.md is true: its numbers and its graphs are those of the code."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from grisaille import problems
from grisaille.lab.problems import KnownProblem
from tests.lab.problems.known_problem_formulas import DRAWN, FIXED
from tests.lab.problems.test_known_problem_loop_optima import CASES

pytestmark = pytest.mark.slow


PAGE = Path(__file__).parents[3] / "docs/problems.md"
NAMES = [*FIXED, *DRAWN, *CASES]
HEADER = (
    "| function | problem | kind | variables | black boxes | constraints | optimum | attained at "
    "| source |\n|---|---|---|---|---|---|---|---|---|\n"
)


@lru_cache
def make(name: str) -> KnownProblem:
    return problems.catalogue()[name](0)


def row(name: str) -> str:
    """A line of the table, from the code."""
    known = make(name)
    boxes = [
        f"{box.name} ({box.outputs} outputs)" if box.outputs > 1 else box.name
        for box in sorted(known.problem.boxes, key=lambda box: box.name)
    ]
    verb = "min" if known.problem.sense == 1 else "max"
    drawn = name in DRAWN
    cells = [
        f"`{name}`",
        known.name,
        str(known.kind),
        str(known.problem.program.size),
        ", ".join(boxes),
        str(len(known.problem.constraint_names)),
        f"{verb}, drawn" if drawn else f"{verb} {known.optimum:.8g}",
        "drawn" if drawn else f"({', '.join(f'{entry:.8g}' for entry in known.x)})",
        known.source,
    ]
    return f"| {' | '.join(cells)} |"


def graph(name: str) -> str:
    """The graph of a problem; of the drawn linear program without its numbers."""
    drawing = make(name).problem.diagram().partition("\n\n")[0]
    if name == "lp_with_embedded_gp":
        objective = "minimize c1 @ x + c2 @ h   <- 1, 2"
        constraint = "subject to A1 @ x + A2 @ h + b <= 0   <- 1, 2"
        kept = drawing.splitlines()[:2]
        return "\n".join([*kept, f"3  ==>  {objective}", f"4  ==>  {constraint}"])
    return drawing


@pytest.mark.parametrize("name", NAMES)
def test_the_table_says_what_the_code_says(name):
    assert row(name) in PAGE.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_the_graph_on_the_page_is_the_graph_of_the_problem(name):
    section = PAGE.read_text(encoding="utf-8").partition(f"### `{name}`\n")[2]
    assert graph(name) in section.partition("\n#")[0]


def test_the_example_of_the_page_says_what_happens():
    known = problems.rosen_suzuki()
    page = PAGE.read_text(encoding="utf-8")
    assert "known.regret(-43.5)  # 0.5:" in page
    assert known.regret(-43.5) == 0.5
    assert "known.optimum, known.x  # -44.0, at (0, 1, 2, -1)" in page
    assert np.array_equal(known.x, [0, 1, 2, -1])
