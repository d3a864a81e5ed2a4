from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import grisaille as gs
from grisaille.study.stored_studies import read_study
from grisaille.views.report import stored_report, write_text
from tests.study.study_helpers import QUICK
from tests.views.inspection.inspection_helpers import two_boxes
from tests.views.page.page_helpers import HOSTILE, made_study, reactor_problem

pytestmark = pytest.mark.slow


class Tags(HTMLParser):
    """Which elements a page has, and what they load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.loaded += [
            v or "" for n, v in attrs if n in ("src", "href") and not (v or "").startswith("#")
        ]


def test_a_report_is_one_file_that_loads_nothing(tmp_path: Path):
    two_boxes().report(tmp_path / "study.html", name="Two boxes")
    tags = Tags((tmp_path / "study.html").read_text(encoding="utf-8"))
    assert "script" not in tags.names
    assert tags.loaded == []


def test_a_report_shows_the_answer_in_words_and_every_black_box(tmp_path: Path):
    result = made_study().result()
    result.report(tmp_path / "study.html")
    text = (tmp_path / "study.html").read_text(encoding="utf-8")
    assert f"The recommended point is feasible and has the value {result.fun:.8g}" in text
    assert "Black box reactor" in text
    assert "Black box column" in text
    assert "What matters" in text
    assert re.search(r"torch</th><td>\d", text)


def test_a_title_is_escaped(tmp_path: Path):
    two_boxes().report(tmp_path / "study.html", name=HOSTILE)
    assert "<script" not in (tmp_path / "study.html").read_text(encoding="utf-8")


def test_a_report_without_a_trial_says_so(tmp_path: Path):
    gs.Study(reactor_problem()).result().report(tmp_path / "study.html")
    text = (tmp_path / "study.html").read_text(encoding="utf-8")
    assert "No trial is complete, so there is no answer yet." in text


def test_a_stored_study_has_a_report_although_its_problem_is_not_there(tmp_path: Path):
    storage = f"sqlite:///{tmp_path}/study.db"
    with gs.Study(
        reactor_problem(), name="plant", storage=storage, strategy=QUICK, seed=0
    ) as study:
        study.run(5, progress=False)

    def no_problem() -> gs.Study:
        raise gs.ModelError("its file is not here")

    text = stored_report(read_study(storage, "plant"), no_problem)
    assert "its file is not here" in text
    assert "Convergence" in text
    assert "grisaille report plant" in text


@pytest.mark.parametrize("path", ["", None, 3])
def test_a_path_that_is_none_is_refused(path: object):
    with pytest.raises(gs.ModelError, match="pass the path of a file"):
        two_boxes().report(path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(gs.ModelError, match="cannot be written to"):
        write_text(tmp_path / "none" / "study.html", "text")


@pytest.mark.parametrize("name", ["", 3, "a\nb"])
def test_a_title_that_is_no_text_is_refused(name: object, tmp_path: Path):
    with pytest.raises(gs.ModelError, match="a report"):
        two_boxes().report(tmp_path / "study.html", name=name)
