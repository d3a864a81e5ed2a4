from __future__ import annotations

import socket
import stat
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import pytest

import grisaille as gs
from grisaille.views.page import serving
from grisaille.views.page.guard import Rules
from grisaille.views.page.serving import Server, address_of, free_socket, show_running, stored_token
from grisaille.views.page.studies import RunningStudies
from tests.study.study_helpers import QUICK
from tests.views.page.page_helpers import TOKEN, made_study, reactor_problem

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize("host", ["", " ", "\udc80", "x" * 300])
def test_a_host_that_is_none_is_refused_and_an_empty_one_is_not_every_address(host: str):
    with pytest.raises(gs.ModelError, match=r"--host is empty|cannot be served at"):
        free_socket(host, None)


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


@pytest.mark.parametrize(
    ("text", "mode"), [("short", 0o600), ("a-word-that-others-can-read", 0o644)]
)
def test_a_token_that_is_not_safe_is_made_anew(own_folder: Path, text: str, mode: int):
    place = own_folder / "grisaille" / "dashboard_token"
    place.parent.mkdir()
    place.write_text(text)
    place.chmod(mode)
    token = stored_token()
    assert token != text
    assert stored_token() == token
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_a_browser_is_let_in_by_a_file_and_its_arguments_hold_no_secret(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    server = Server(RunningStudies(), Rules(TOKEN), free_socket("127.0.0.1", None))
    server.open_browser()
    (place,) = (own_folder / "grisaille").iterdir()
    assert opened == [place.as_uri()]
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    (word,) = server.rules.words
    assert f"url={server.address}/?token={word}" in place.read_text()
    assert TOKEN not in place.read_text()
    monkeypatch.setattr(server._server, "run", lambda sockets: None)
    server.run()
    assert not place.exists()
    server._socket.close()


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
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(address) as answer:
        assert "3 trials are complete" in answer.read().decode()
    page = address.split("?")[0]
    assert show_running(study).split("?")[0] == page
    other = gs.Study(reactor_problem(), strategy=QUICK, seed=1)
    assert show_running(other).split("?")[0] != page


@pytest.fixture
def served() -> Iterator[tuple[str, int]]:
    """A server of a study, in a thread."""
    studies = RunningStudies()
    studies.add(made_study())
    server = Server(studies, Rules(TOKEN), free_socket("127.0.0.1", None))
    server.start()
    host, port = server.address.removeprefix("http://").split(":")
    yield host, int(port)
    server._server.should_exit = True


HALVES = {
    "nothing": b"",
    "headers": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "body": b"POST /studies/study/tell HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Authorization: Bearer " + TOKEN.encode() + b"\r\nContent-Length: 9\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\nid",
}


WHOLE = b"GET /static/none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def _until_closed(connection: socket.socket) -> bytes:
    """What a server sends until it closes the connection."""
    received = b""
    with suppress(ConnectionResetError):  # it had not read everything
        while part := connection.recv(4096):
            received += part
    return received


@pytest.mark.parametrize("before", [b"", WHOLE])
@pytest.mark.parametrize("half", HALVES)
def test_a_request_that_does_not_arrive_is_closed(
    served: tuple[str, int], before: bytes, half: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serving, "SERVER", replace(serving.SERVER, slowest_request=0.2))
    with socket.create_connection(served, timeout=30) as connection:
        connection.sendall(before + HALVES[half])
        assert (b"404 Not Found" in _until_closed(connection)) == bool(before)


def test_half_requests_are_closed_so_that_there_is_room_for_whole_ones(served: tuple[str, int]):
    with ExitStack() as stack:
        halves = []
        for _ in range(serving.SERVER.half_requests + 5):
            halves.append(stack.enter_context(socket.create_connection(served, timeout=30)))
            halves[-1].sendall(HALVES["headers"])
        address = f"http://{served[0]}:{served[1]}/studies/study/convergence.json"
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {TOKEN}"})
        for _ in range(3):
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.status == 200
        assert [_until_closed(half) for half in halves[:5]] == [b""] * 5
        halves[-1].sendall(b"Connection: close\r\n\r\n")
        assert halves[-1].recv(9) == b"HTTP/1.1 "


def test_a_connection_serves_many_requests(served: tuple[str, int]):
    connection = HTTPConnection(*served, timeout=30)
    for _ in range(3):
        connection.request("GET", "/", headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()


def test_a_page_is_asked_for_with_true_or_false():
    study = gs.Study(reactor_problem(), strategy=QUICK)
    with pytest.raises(gs.ModelError, match="dashboard='yes'"):
        study.run(3, dashboard="yes")
