from __future__ import annotations

import argparse
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.study.stored_studies import delete_study
from grisaille.views.cli import dashboard, open_studies
from grisaille.views.page import studies as module
from grisaille.views.page.studies import StoredStudies, read_all, refreshed
from tests.views.page.page_helpers import reactor_problem

pytestmark = pytest.mark.slow


@pytest.fixture
def storage(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path}/studies.db"
    with gs.Study(reactor_problem(), storage=address, name="plant"):
        pass
    return address


def test_a_page_does_not_wait_while_a_problem_is_opened(storage: str):
    opening, may_go_on = threading.Event(), threading.Event()

    def slow(name: str) -> gs.Study:
        opening.set()
        may_go_on.wait(30)
        raise ModelError("not known")

    shown = StoredStudies(storage, slow)

    def open_it() -> None:
        with suppress(ModelError):
            shown.study("plant")

    thread = threading.Thread(target=open_it)
    thread.start()
    try:
        assert opening.wait(30)
        found = []
        reader = threading.Thread(target=lambda: found.append(shown.log("plant")), daemon=True)
        reader.start()
        reader.join(30)
        assert found
    finally:
        may_go_on.set()
        thread.join()


def test_a_study_that_cannot_be_opened_is_tried_again_later_and_not_at_once(
    storage: str, monkeypatch: pytest.MonkeyPatch
):
    tried: list[str] = []

    def fail(name: str) -> gs.Study:
        tried.append(name)
        raise ModelError("pass its file with --file")

    shown = StoredStudies(storage, fail)
    for _ in range(3):
        with pytest.raises(ModelError, match="pass its file"):
            shown.study("plant")
    assert tried == ["plant"]
    monkeypatch.setattr(module, "KEPT", replace(module.KEPT, retry=0.0))
    with pytest.raises(ModelError):
        shown.study("plant")
    assert tried == ["plant", "plant"]


def test_all_logs_are_read_before_anybody_asks(storage: str):
    shown = StoredStudies(storage, lambda name: pytest.fail(name))
    read_all(shown)
    log = shown.log("plant")
    assert log is not None
    assert log.event(1) is not None


def test_a_study_whose_file_is_not_known_is_said_before_its_log_is_read(
    storage: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(open_studies, "remembered", lambda storage, name: None)
    monkeypatch.setattr(dashboard, "open_study", lambda options: pytest.fail("it was read"))
    options = argparse.Namespace(storage=storage, file=None)
    with pytest.raises(ModelError, match="'plant' is not known on this machine: start the page"):
        dashboard._opened(options, "plant")


def test_a_study_that_was_deleted_is_not_shown_and_one_made_again_is_shown_from_its_start(
    storage: str,
):
    shown = StoredStudies(storage, lambda name: pytest.fail(name))
    with gs.Study(reactor_problem(), storage=storage, name="plant") as study:
        study.enqueue([{"flow": 1.0, "heat": 30.0}])
        study.ask()
    before = refreshed(shown, "plant").position
    delete_study(storage, "plant")
    with pytest.raises(ModelError, match=r"there is no study 'plant' in .*: it has none"):
        refreshed(shown, "plant")
    assert shown.log("plant") is None
    with gs.Study(reactor_problem(), storage=storage, name="plant"):
        pass
    again = refreshed(shown, "plant")
    assert again.position == 1 < before
    delete_study(storage, "plant")
    with gs.Study(reactor_problem(), storage=storage, name="plant") as study:
        study.ask()
        latest = study.events()
    # SQLite gives the next study the number of the one that was deleted.
    now = refreshed(shown, "plant")
    assert now.position == len(latest)
    assert now.event(1) == latest[0]
    shown.close()
