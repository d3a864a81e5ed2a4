"""Files lie where a reader looks for them, and stay small in what they ask of others."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "grisaille"

MOST_IMPORTS = 18
"""How many files of the library one file may import."""

MOST_NUMBERS = 200
"""How many numbers may be constants of a module, outside of the records in docs/method.md."""

# Both lists may only shrink.
FILES_WITH_MORE_IMPORTS = {
    "language/problem.py",
    "study/result.py",
    "study/run.py",
    "study/session.py",
    "study/study.py",
    "views/inspection/learned_model.py",
}
FILES_WITH_LONG_FUNCTIONS = 5


def mirrored(folder: Path) -> Path:
    """The folder whose modules the tests in `folder` are about."""
    below = folder.relative_to(ROOT / "tests")
    return ROOT / below if below.parts[0] == "benchmarks" else SOURCE / below


def test_each_test_mirrors_a_module_or_its_room():
    # Tests of lemmas are named after the labels of the paper.
    lost = []
    for test in (ROOT / "tests").glob("*/**/test_*.py"):
        source, about = mirrored(test.parent), test.stem.removeprefix("test_")
        room = source.name
        modules = [p.stem.strip("_") for p in source.iterdir()] if source.is_dir() else []
        names = [*modules, room, room.removesuffix("s"), room.removesuffix("ies") + "y"]
        if room not in {"theory", "frozen"} and not any(
            about == name or about.startswith(f"{name}_") for name in names
        ):
            lost.append(str(test.relative_to(ROOT)))
    assert lost == []


def test_few_files_import_many_others():
    many = set()
    for file in SOURCE.rglob("*.py"):
        imported = {
            node.module
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grisaille")
        }
        if len(imported) > MOST_IMPORTS:
            many.add(str(file.relative_to(SOURCE)))
    assert many == FILES_WITH_MORE_IMPORTS


def test_the_list_of_long_functions_does_not_grow():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    ignored = settings["tool"]["ruff"]["lint"]["per-file-ignores"]
    longer = [file for file, rules in ignored.items() if {"C901", "PLR0915"} & {*rules}]
    assert len(longer) == FILES_WITH_LONG_FUNCTIONS
    assert settings["tool"]["ruff"]["lint"]["mccabe"]["max-complexity"] == 12
    assert settings["tool"]["ruff"]["lint"]["pylint"]["max-statements"] == 60


def test_few_numbers_are_constants_of_their_own():
    found = 0
    for file in SOURCE.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            for part in value.elts if isinstance(value, ast.Tuple) else [value]:
                found += _is_number(part)
    assert found <= MOST_NUMBERS


def _is_number(value: ast.expr | None) -> bool:
    """Return True for a number, or for an operation on numbers alone."""
    allowed = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    parts = [] if value is None else list(ast.walk(value))
    numbers = [part.value for part in parts if isinstance(part, ast.Constant)]
    return (
        bool(numbers)
        and all(isinstance(part, allowed) for part in parts)
        and all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers)
    )
