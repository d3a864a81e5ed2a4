"""`dashboard` and `report`."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from grisaille.views.cli import main
from grisaille.views.page.serving import Server, token_place
from tests.views.cli.cli_helpers import solved

pytestmark = pytest.mark.slow


def test_a_report_is_written_from_the_remembered_file(
    model: Callable[..., str], place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    solved(model(), place)
    capsys.readouterr()
    out = tmp_path / "toy.html"
    assert main(["report", "toy", "--storage", place, "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"Written: {out}\n"
    text = out.read_text(encoding="utf-8")
    assert "The recommended point is feasible" in text
    assert "Black box f" in text


def test_a_report_without_the_file_shows_what_is_recorded(
    model: Callable[..., str], place: str, tmp_path: Path
):
    file = model()
    solved(file, place)
    Path(file).unlink()
    out = tmp_path / "toy.html"
    assert main(["report", "toy", "--storage", place, "-o", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "which is not on this machine" in text
    assert "Convergence" in text


@pytest.mark.parametrize("file", ["missing.py", ""])
def test_a_report_from_a_file_that_was_named_needs_this_file(
    model: Callable[..., str], place: str, tmp_path: Path, file: str
):
    solved(model(), place)
    out = tmp_path / "toy.html"
    assert main(["report", "toy", "--storage", place, "-o", str(out), f"--file={file}"]) == 2
    assert not out.exists()


def test_a_report_of_an_unknown_study_names_the_known_ones(
    model: Callable[..., str], place: str, capsys: pytest.CaptureFixture[str]
):
    solved(model(), place)
    assert main(["report", "tyo", "--storage", place]) == 2
    assert "did you mean 'toy'?" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_says_where(
    model: Callable[..., str], place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    solved(model(), place)
    assert main(["report", "toy", "--storage", place, "-o", str(tmp_path / "no" / "x.html")]) == 2
    assert "the report cannot be written to" in capsys.readouterr().err


@pytest.fixture
def not_served(monkeypatch: pytest.MonkeyPatch) -> list[Server]:
    """Servers that are started, without serving anything."""
    started: list[Server] = []

    def run(server: Server) -> None:
        started.append(server)
        server._socket.close()

    monkeypatch.setattr(Server, "run", run)
    return started


def test_the_address_lets_in_one_browser_and_the_token_is_in_a_file(
    model: Callable[..., str],
    place: str,
    not_served: list[Server],
    capsys: pytest.CaptureFixture[str],
):
    solved(model(), place)
    capsys.readouterr()
    for more in ([], ["--read-only"]):
        assert main(["dashboard", "--storage", place, "--no-browser", *more]) == 0
        server, printed = not_served.pop(), capsys.readouterr().out
        (word,) = server.rules.words
        assert f"{server.address}/?token={word}\n" in printed
        assert server.rules.token not in printed
        assert f"which is in {token_place()}." in printed
        assert token_place().read_text().strip() == server.rules.token


OWN = "a-word-of-our-own-for-this-page"


@pytest.mark.parametrize("in_file", [True, False])
def test_a_token_of_ones_own_comes_from_a_file_or_the_environment(
    place: str,
    not_served: list[Server],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    in_file: bool,
):
    arguments = ["dashboard", "--storage", place, "--no-browser"]
    if in_file:
        file = tmp_path / "token"
        file.write_text(f"{OWN}\n")
        file.chmod(0o600)
        arguments += ["--token-file", str(file)]
    else:
        monkeypatch.setenv("GRISAILLE_DASHBOARD_TOKEN", OWN)
    assert main(arguments) == 0
    assert not_served[0].rules.token == OWN


@pytest.mark.parametrize(
    ("text", "mode", "complaint"),
    [
        ("short", 0o600, "has 5 characters: make one of at least 24"),
        ("", 0o600, "has 0 characters"),
        ("ein Wörtchen, das niemand raten kann", 0o600, "letters and digits"),
        (OWN, 0o640, "others can read the token"),
        (None, 0, "the token cannot be read from"),
    ],
)
def test_a_token_that_is_not_safe_is_refused(
    place: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str | None,
    mode: int,
    complaint: str,
):
    file = tmp_path / "token"
    if text is not None:
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)
    assert main(["dashboard", "--storage", place, "--no-browser", "--token-file", str(file)]) == 2
    assert complaint in capsys.readouterr().err


def test_a_token_among_the_arguments_is_refused(place: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["dashboard", "--storage", place, "--token", OWN])
    error = capsys.readouterr().err
    assert "other users see the arguments of a command" in error
    assert OWN not in error


def test_a_page_for_others_warns_that_nothing_is_encrypted(
    place: str, not_served: list[Server], capsys: pytest.CaptureFixture[str]
):
    arguments = ["dashboard", "--storage", place, "--no-browser", "--host", "0.0.0.0"]
    assert main(arguments) == 0
    assert "not encrypted" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(place: str, capsys: pytest.CaptureFixture[str]):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["dashboard", "--storage", place, "--no-browser", "--port", port]) == 2
    assert f"port {port}" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "http"])
def test_a_port_is_a_number(port: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["dashboard", "--port", port])
    assert "--port" in capsys.readouterr().err


def test_a_storage_that_cannot_be_read_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is not a database" * 100)
    assert main(["dashboard", "--storage", f"sqlite:///{broken}", "--no-browser"]) == 3
    assert "broken.db" in capsys.readouterr().err
