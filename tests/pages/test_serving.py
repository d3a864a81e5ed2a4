from __future__ import annotations

import socket
import stat
import urllib.request
from pathlib import Path

import pytest

import grisaille as gs
from grisaille.pages.serving import address_of, free_socket, show_running, stored_token
from tests.pages.pages_helpers import reactor_problem
from tests.study.study_helpers import QUICK


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a past."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_a_taken_port_is_passed_over_unless_it_was_asked_for():
    with free_socket("127.0.0.1", None) as first:
        taken = first.getsockname()[1]
        with free_socket("127.0.0.1", None) as second:
            assert second.getsockname()[1] != taken
        with pytest.raises(gs.ModelError, match=f"port {taken}: .*pass another --port"):
            free_socket("127.0.0.1", taken)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(gs.ModelError, match=r"cannot be served at 203\.0\.113\.7"):
        free_socket("203.0.113.7", None)


def test_an_address_is_written_as_browsers_want_it():
    with free_socket("127.0.0.1", None) as found:
        assert address_of(found) == f"http://127.0.0.1:{found.getsockname()[1]}"
    if socket.has_ipv6:
        try:
            with free_socket("::1", None) as found:
                assert address_of(found).startswith("http://[::1]:")
        except gs.ModelError:
            pytest.skip("this machine has no address ::1")


def test_the_token_stays_the_same_and_only_its_user_can_read_it(own_folder: Path):
    token = stored_token()
    assert len(token) >= 24
    assert stored_token() == token
    place = own_folder / "grisaille" / "dashboard_token"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_a_token_that_was_cut_is_made_anew(own_folder: Path):
    (own_folder / "grisaille").mkdir()
    (own_folder / "grisaille" / "dashboard_token").write_text("short")
    token = stored_token()
    assert token != "short"
    assert stored_token() == token


def test_without_a_folder_to_write_to_there_is_a_token_all_the_same(
    monkeypatch: pytest.MonkeyPatch, own_folder: Path
):
    (own_folder / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own_folder / "file"))
    assert len(stored_token()) >= 24


def test_a_run_with_a_page_prints_its_address_and_serves_it(capsys: pytest.CaptureFixture[str]):
    study = gs.Study(reactor_problem(), strategy=QUICK, seed=0)
    study.run(3, progress=False, dashboard=True)
    printed = capsys.readouterr().err
    address = printed.split()[-1]
    assert printed.startswith("The study is shown at http://127.0.0.1:")
    with urllib.request.urlopen(address.split("?")[0]) as answer:
        assert "3 trials are complete" in answer.read().decode()
    assert show_running(study) == address
    other = gs.Study(reactor_problem(), strategy=QUICK, seed=1)
    assert show_running(other) != address


def test_a_page_is_asked_for_with_true_or_false():
    study = gs.Study(reactor_problem(), strategy=QUICK)
    with pytest.raises(gs.ModelError, match="dashboard='yes'"):
        study.run(3, dashboard="yes")
