"""A test lies where its module lies."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "grisaille"

# Rooms of tests and the code they mirror; tests of lemmas are named after the paper's labels.
ROOMS = sorted(
    folder
    for folder in (ROOT / "tests").rglob("*")
    if folder.is_dir() and list(folder.glob("test_*.py"))
)


def mirrored(folder: Path) -> Path:
    """The folder whose modules the tests in `folder` are about."""
    below = folder.relative_to(ROOT / "tests")
    return ROOT / below if below.parts[0] == "benchmarks" else SOURCE / below


@pytest.mark.parametrize("folder", ROOMS, ids=lambda f: str(f.relative_to(ROOT)))
def test_every_room_of_tests_mirrors_a_room_of_the_source(folder: Path):
    assert mirrored(folder).is_dir()


@pytest.mark.parametrize(
    "folder",
    [f for f in ROOMS if f.name != "theory"],
    ids=lambda f: str(f.relative_to(ROOT)),
)
def test_every_test_is_named_after_a_module_beside_it_or_after_its_room(folder: Path):
    source = mirrored(folder)
    modules = [p.stem.strip("_") for p in source.iterdir()]
    names = [*modules, source.name, source.name.rstrip("s"), source.name.removesuffix("ies") + "y"]
    for test in folder.glob("test_*.py"):
        about = test.stem.removeprefix("test_")
        assert any(about == name or about.startswith(f"{name}_") for name in names), (
            f"{test.relative_to(ROOT)} is named after no module in {source.relative_to(ROOT)}"
        )
