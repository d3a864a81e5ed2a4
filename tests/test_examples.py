"""Every example runs, every public name appears in one, and the README tells the truth."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import grisaille as gs
from tests.script_server import ScriptServer

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(file: Path, folder: Path, scripts: ScriptServer) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    done = scripts.run([sys.executable, str(file)], cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_example_runs(file: Path, tmp_path: Path, scripts: ScriptServer):
    out = run(file, tmp_path, scripts)
    assert out.strip()
    if file.stem == "first":
        assert (tmp_path / "convergence.png").exists()
        printed, shown = report_of(out), report_of(readme_blocks("text")[0])
        assert printed.keys() == shown.keys()
        for row in CLAIMED:
            assert numbers(printed[row]) == pytest.approx(numbers(shown[row]), rel=2e-3, abs=0.05)


# What a row says in words or in its last digits can hang on the type of the processor.
CLAIMED = ("maximum", "optimum", "x", "evaluations")


def report_of(text: str) -> dict[str, str]:
    """The rows of a printed result by their first word, the progress lines above it left out."""
    rows = text[text.index("status") :].strip().splitlines()
    return dict(row.split(maxsplit=1) for row in rows)


def numbers(row: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", row)]


def readme_blocks(language: str) -> list[str]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", readme, flags=re.DOTALL)


def test_the_readme_shows_the_first_example_as_it_is():
    assert readme_blocks("python")[0] == (ROOT / "examples/first.py").read_text(encoding="utf-8")


def test_a_misspelled_name_is_answered_with_the_right_one_and_problems_are_at_hand():
    code = "import grisaille as gs; print(gs.problems.drop_wave().name); gs.EIFn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "Drop-Wave\n"
    assert "did you mean 'EIFN'?" in done.stderr
    assert "problems" in dir(gs)


@pytest.mark.parametrize("name", gs.__all__)
def test_every_public_name_has_a_docstring_and_an_example(name: str):
    thing = getattr(gs, name)
    documentation = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    assert documentation
    assert not documentation.startswith(f"{name}("), "dataclasses write such a line themselves"
    assert any(name in names_used(file) for file in EXAMPLES)


def names_used(file: Path) -> set[str]:
    """The names `gs.NAME` in the code of a file, not in its comments."""
    return {
        node.attr
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "gs"
    }


def test_every_numpy_function_is_in_the_language_page():
    from grisaille.language import expression

    page = (ROOT / "docs/language.md").read_text(encoding="utf-8")
    functions = {
        *expression._ATOM_OF_UFUNC,
        *expression._RECORD_UFUNC,
        *expression._RECORD_FUNCTION,
    }
    names = {function.__name__ for function in functions}
    operators = {"less", "greater", "equal", "not_equal", "less_equal", "greater_equal", "positive"}
    missing = {name for name in names - operators if not re.search(rf"\b{name}\b", page)}
    assert not missing
