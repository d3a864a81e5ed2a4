"""Starting a server: for a command, until it is stopped, or for a run, in a thread."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import socket
import stat
import sys
import threading
import webbrowser
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from grisaille.errors import ModelError, cut
from grisaille.study.study import Study
from grisaille.views.page.app import Pages
from grisaille.views.page.guard import Rules
from grisaille.views.page.rendering import in_address
from grisaille.views.page.studies import RunningStudies, Studies, read_all
from grisaille.views.user_folder import user_folder


@dataclass(frozen=True, slots=True)
class ServerConstants:
    """The constants of the server of the page.

    Attributes:
        port: Its port by default; the next free one if that is taken. A choice.
        more_ports: Ports to try after the first. A choice.
        backlog: Connections that may wait to be accepted. A choice.
        slowest_request: Seconds that a request may take to arrive. Measured: the largest table, 20
            MB, needs 53 s at 3 Mbit/s.
        half_requests: Requests that may arrive at once; a browser opens 6 connections at most.
            Measured: with 1,024 open files and 1,100 half requests, pages came in 0.16 s; without
            this limit, none of three came in 20 s.
        shortest_token: Characters of the shortest token, and random bytes of a new one. A choice.
    """

    port: int = 8642
    more_ports: int = 20
    backlog: int = 128
    slowest_request: float = 60.0
    half_requests: int = 100
    shortest_token: int = 24


SERVER = ServerConstants()


def free_socket(host: str, port: int | None) -> socket.socket:
    """A socket that listens: at a port, or at the first free one from the usual port on.

    Raises:
        ModelError: The port is taken, or the address is empty or not of this machine.
    """
    if not host.strip():  # it would mean every address of this machine
        raise ModelError("--host is empty: pass 127.0.0.1 for this machine only, 0.0.0.0 for all")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = (
        [port] if port is not None else [*range(SERVER.port, SERVER.port + SERVER.more_ports), 0]
    )
    problem = ""
    for candidate in ports:
        found = socket.socket(family)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, candidate))
            found.listen(SERVER.backlog)
        except (OSError, OverflowError, TypeError, ValueError) as error:  # a name of any text
            found.close()
            problem = str(error)
            continue
        return found
    where = cut(host) if port is None else f"{cut(host)}, port {port}"
    raise ModelError(
        f"the page cannot be served at {where}: {problem}; pass another --port or --host"
    )


def address_of(found: socket.socket) -> str:
    """The address of a server, as a browser wants it."""
    host, port = found.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server:
    """A server of pages at a socket.

    Args:
        studies: What is shown.
        rules: Who may do what.
        found: Where it listens.
    """

    def __init__(self, studies: Studies, rules: Rules, found: socket.socket) -> None:
        self.address = address_of(found)
        self.rules = rules
        self._studies = studies
        self._socket = found
        self._doorway: Path | None = None
        self._server = uvicorn.Server(
            uvicorn.Config(
                Pages(studies, rules).app(),
                log_level="warning",
                access_log=False,
                http=_Punctual,
                ws="none",
                backlog=SERVER.backlog,
                lifespan="off",
                # A browser that waits for news would never let the server end.
                timeout_graceful_shutdown=1,
            )
        )

    def invitation(self, path: str = "/") -> str:
        """An address that lets in one browser, once."""
        return f"{self.address}{path}?token={self.rules.invite()}"

    def open_browser(self) -> None:
        """Open a browser, and let it in.

        Other users see the arguments of a browser in the list of processes. So it gets the address
        from a file that only this user can read.
        """
        with suppress(OSError, RuntimeError):
            place = user_folder() / f"dashboard-{self._socket.getsockname()[1]}.html"
            address = self.invitation()
            _write_private(
                place,
                f'<meta http-equiv="refresh" content="0; url={address}"><title>Grisaille</title>\n'
                f'<a href="{address}">Open the page</a>\n',
            )
            self._doorway = place
            webbrowser.open(place.as_uri())

    def run(self) -> None:
        """Serve until interrupted."""
        threading.Thread(target=read_all, args=[self._studies], daemon=True).start()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            if self._doorway is not None:
                self._doorway.unlink(missing_ok=True)

    def start(self) -> None:
        """Serve in a thread, as long as this process lives."""
        thread = threading.Thread(target=self.run, name="grisaille dashboard", daemon=True)
        thread.start()


class _Punctual(H11Protocol):
    """A connection that is closed when its request does not arrive in time, or too many do so."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close the oldest half request if there are too many."""
        super().connection_made(transport)
        self._watch()
        half = [
            (other._deadline.when(), id(other), other)
            for other in self.connections
            if isinstance(other, _Punctual) and other._deadline is not None
        ]
        if len(half) > SERVER.half_requests:
            min(half)[-1]._give_up()

    def data_received(self, data: bytes) -> None:
        """Note whether a request is complete."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Expect the next request, which may be partly here already."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        super().connection_lost(exc)
        self._stop_waiting()

    def _watch(self) -> None:
        """Start the time of a request that is expected; stop that of one that is complete."""
        expected = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if not expected or self.transport.is_closing():
            self._stop_waiting()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SERVER.slowest_request, self._give_up)

    def _give_up(self) -> None:
        self._stop_waiting()
        self.transport.close()

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None


def token_place() -> Path:
    """The file with the token of this user; raises RuntimeError if the user has no home."""
    return user_folder() / "dashboard_token"


def stored_token() -> str:
    """The token of this user, made when it is first needed.

    It stays the same, so that an open page goes on when a server was killed and started again.
    """
    try:
        with suppress(ModelError):  # others could read it, or it was cut
            return read_token(token_place())
        token = secrets.token_urlsafe(SERVER.shortest_token)
        _write_private(token_place(), f"{token}\n")
    except (OSError, RuntimeError):  # then it lasts as long as this server
        return secrets.token_urlsafe(SERVER.shortest_token)
    return token


def read_token(place: Path) -> str:
    """The token in a file that only its user can read.

    Raises:
        ModelError: The file cannot be read, others can read it, or its token can be guessed.
    """
    try:
        loose = os.name == "posix" and stat.S_IMODE(place.stat().st_mode) & 0o077
        text = place.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ModelError(f"the token cannot be read from {cut(str(place))!r}: {why}") from error
    if loose:
        raise ModelError(
            f"others can read the token in {cut(str(place))!r}: write a new one, and allow only "
            f"yourself to read it with chmod 600 {shlex.quote(str(place))}"
        )
    return checked_token(text.strip(), repr(cut(str(place))))


def checked_token(token: str, where: str) -> str:
    """A token that cannot be guessed, and that a header can carry.

    Raises:
        ModelError: It is too short, or has other characters.
    """
    if len(token) < SERVER.shortest_token or not (token.isascii() and token.isprintable()):
        raise ModelError(
            f"the token in {where} has {len(token)} characters: make one of at least "
            f"{SERVER.shortest_token} letters and digits that nobody can guess, for example with "
            'python -c "import secrets; print(secrets.token_urlsafe(24))"'
        )
    return token


def _write_private(place: Path, text: str) -> None:
    """Write a file that only this user can read."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.unlink(missing_ok=True)  # it would keep its permissions
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)


@cache
def _running() -> tuple[RunningStudies, Server]:
    """The one server of this process, over all studies that were run with a page."""
    studies = RunningStudies()
    server = Server(studies, Rules(stored_token()), free_socket("127.0.0.1", None))
    server.start()
    return studies, server


def show_running(study: Study) -> str:
    """Serve the page of a study of this process; returns its address, and prints it."""
    studies, server = _running()
    name = studies.add(study)
    address = server.invitation(f"/studies/{in_address(name)}")
    print(f"The study is shown at {address}", file=sys.stderr, flush=True)
    return address
