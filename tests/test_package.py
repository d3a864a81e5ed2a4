"""The version is the same wherever it is written."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import grisaille

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def first(pattern: str, file: str) -> str:
    """What the first group of `pattern` is, where it first occurs in `file`."""
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found is not None, f"{pattern} is not in {file}"
    return found.group(1)


def test_the_package_says_the_version_of_pyproject():
    assert grisaille.__version__ == PROJECT["version"]


def test_the_newest_released_entry_of_the_changelog_is_of_this_version():
    assert first(r"^## (\S+) \(\d", "CHANGELOG.md") == PROJECT["version"]


def test_the_citation_has_the_version_and_its_date_in_the_changelog():
    assert first(r"^version: (\S+)", "CITATION.cff") == PROJECT["version"]
    dated = first(r"^## \S+ \((\d{4}-\d\d-\d\d)\)", "CHANGELOG.md")
    assert first(r"^date-released: (\S+)", "CITATION.cff") == dated
