"""The server: its answers to requests, and its start for a command or, in a thread, for a run.

It answers with a list of studies, pages and their parts, forms, exports and news.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import socket
import stat
import sys
import threading
import warnings
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import h11
import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from grisaille.errors import (
    GrisailleError,
    GrisailleWarning,
    ModelError,
    ProtocolError,
    StorageError,
    cut,
)
from grisaille.language.values import decoded
from grisaille.study.actions import FORMS, Form
from grisaille.study.study import Study
from grisaille.views.charts import plain
from grisaille.views.page.guard import Guard, Rules
from grisaille.views.page.learned_parts import Learned
from grisaille.views.page.rendering import assets, in_address, render, study_name, whole_number
from grisaille.views.page.studies import RunningStudies, Studies, StudyLog, read_all, refreshed
from grisaille.views.page.study_page import StudyPage
from grisaille.views.user_folder import user_folder

# --- forms ----------------------------------------------------------------------------------------
# Forms of a page: what people type is recorded as Python would record it.


@dataclass(frozen=True, slots=True)
class ServingConstants:
    """The constants of the answers of the page.

    Attributes:
        pause: Seconds between looks for news. A choice of patience.
        sign_of_life: Seconds after which a page hears that there is no news. A choice of patience.
        listeners: Pages that may listen. A choice.
        slow_answers: Slow answers that are worked out at the same time. A choice.
    """

    pause: float = 0.5
    sign_of_life: float = 15.0
    listeners: int = 200
    slow_answers: int = 8


SERVING = ServingConstants()


_CATCHING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of a form.

    Attributes:
        sentence: What was recorded, or why nothing was.
        remarks: What looks like a mistake, although it was recorded.
        is_refused: Whether nothing was recorded.
    """

    sentence: str
    remarks: tuple[str, ...] = ()
    is_refused: bool = False


def record(study: Study, action: str, form: Form) -> Recorded:
    """Record what a form says.

    Args:
        study: The study.
        action: What to do, a key of `FORMS`.
        form: What was typed.
    """
    # Only one thread at a time can catch warnings; asking takes long, and nobody must wait for it.
    if action == "ask":
        try:
            return Recorded(FORMS[action](study, form))
        except GrisailleError as error:
            return Recorded(str(error), is_refused=True)
    with _CATCHING, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GrisailleWarning)
        try:
            sentence = FORMS[action](study, form)
        except GrisailleError as error:
            return Recorded(str(error), is_refused=True)
    remarks = [str(w.message) for w in caught if issubclass(w.category, GrisailleWarning)]
    return Recorded(sentence, tuple(remarks))


# --- app ------------------------------------------------------------------------------------------
# The server's answers: a list of studies, the page of a study and its parts, exports, news.


Answer = Callable[[Request], Awaitable[Response]]


class Pages:
    """Answers requests about studies.

    Args:
        studies: What is shown.
        rules: Who may do what.
    """

    def __init__(self, studies: Studies, rules: Rules) -> None:
        self._studies = studies
        self._rules = rules
        self._learned = Learned()
        self._slow = CapacityLimiter(SERVING.slow_answers)
        self.listeners = 0

    def app(self) -> Guard:
        """The application, guarded by its rules."""
        routes = [
            Route("/", self._list),
            Route("/studies/{study}", self._study),
            Route("/studies/{study}/parts/{part}", self._apart(self._part)),
            Route("/studies/{study}/box/{box:path}", self._apart(self._box)),
            Route("/studies/{study}/convergence.json", self._convergence),
            Route("/studies/{study}/export/{file}", self._apart(self._export)),
            Route("/studies/{study}/news", self._news),
            Route("/studies/{study}/{action}", self._form, methods=["POST"]),
            Route("/static/{digest}/{file}", _asset),
        ]
        handlers: dict[Any, Any] = {
            GrisailleError: _sorry,
            HTTPException: _sorry,
            ClientDisconnect: _nobody_there,
            Exception: _accident,
        }
        return Guard(Starlette(routes=routes, exception_handlers=handlers), self._rules)

    def _apart(self, answer: Callable[[Request], Response]) -> Answer:
        """Answer in threads of their own: learning takes long, and other pages must not wait."""

        async def wait(request: Request) -> Response:
            return await to_thread.run_sync(answer, request, limiter=self._slow)

        return wait

    def _list(self, request: Request) -> Response:
        rows = []
        for name in self._studies.names():
            address = f"/studies/{in_address(name)}"
            try:
                page = self._page(request, name)
                rows.append({"name": name, "address": address, "page": page, "trouble": ""})
            except GrisailleError as error:  # it is damaged, or was deleted just now
                rows.append({"name": name, "address": "", "page": None, "trouble": str(error)})
        return HTMLResponse(render("studies.html", rows=rows, where=self._studies.where))

    def _study(self, request: Request) -> Response:
        page = self._page(request)
        return HTMLResponse(render("study.html", page=page, recorded=None))

    def _part(self, request: Request) -> Response:
        page, part = self._page(request), request.path_params["part"]
        if part not in StudyPage.PARTS:
            raise HTTPException(404, f"there is no part {part!r}")
        return HTMLResponse(render(f"parts/{part}.html", page=page, options=request.query_params))

    def _box(self, request: Request) -> Response:
        page = self._page(request)
        box = page.box(request.path_params["box"], request.query_params.get("output"))
        if "hx-request" in request.headers:
            return HTMLResponse(render("parts/box.html", page=page, box=box))
        return HTMLResponse(render("box.html", page=page, box=box))

    def _convergence(self, request: Request) -> Response:
        wanted = request.query_params
        page, scale = self._page(request), wanted.get("scale", "value")
        chart = page.convergence(wanted.get("over", "trial"), scale)
        return JSONResponse(None if chart is None else plain(chart))

    def _export(self, request: Request) -> Response:
        page, file = self._page(request), request.path_params["file"]
        made = page.export(file)
        if made is None:
            raise HTTPException(404, f"there is no export {file!r}")
        text, kind = made
        name = quote(f"{page.name}-{file}", safe="")
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
        if file == "report.html":  # it has its styles inside
            policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
            headers = {"Content-Security-Policy": policy}
        return Response(text, media_type=kind, headers=headers)

    async def _news(self, request: Request) -> Response:
        position = partial(self._position, request.path_params["study"])
        await run_in_threadpool(position)
        known = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        # From here on nothing waits until `_Listening` has counted: a burst would pass the limit.
        if self.listeners >= SERVING.listeners:
            raise HTTPException(503, "too many pages are open: close some, and reload")
        return _Listening(self, news(request, position, whole_number(known) or 0))

    def _position(self, in_path: str) -> int:
        """The number of the last event of a study."""
        return self._log(in_path).position

    async def _form(self, request: Request) -> Response:
        action = request.path_params["action"]
        if action not in FORMS:
            raise HTTPException(404, f"there is no form {action!r}")
        form = await _typed(request)
        if not (self._rules.is_program(request) or form.get("form") == self._rules.derived("form")):
            raise HTTPException(403, "the form is of an older page: reload it and send again")
        return await run_in_threadpool(self._record, request, action, form)

    def _record(self, request: Request, action: str, form: Form) -> Response:
        name = study_name(request.path_params["study"])
        self._log(request.path_params["study"])
        try:
            outcome = record(self._studies.study(name), action, form)
        except GrisailleError as error:  # its problem is not known here
            outcome = Recorded(str(error), is_refused=True)
            if isinstance(error, ProtocolError):
                self._studies.forget(name)
        except Exception:  # what it holds may be half of a change
            self._studies.forget(name)
            raise
        page = self._page(request)
        if "hx-request" in request.headers:  # a sentence is an answer, and no error of the browser
            changed = action in ("correct", "retract") and not outcome.is_refused
            text = render("parts/recorded.html", page=page, recorded=outcome, with_answers=changed)
            return HTMLResponse(text)
        status = 422 if outcome.is_refused else 200
        if outcome.is_refused or outcome.remarks:
            return HTMLResponse(render("study.html", page=page, recorded=outcome), status)
        return RedirectResponse(f"/studies/{in_address(name)}#queue", 303)

    def _page(self, request: Request, name: str | None = None) -> StudyPage:
        """The page of a study, as it is now or was after an event."""
        log = self._log(in_address(name) if name is not None else request.path_params["study"])
        return StudyPage(
            log,
            whole_number(request.query_params.get("at", "")),
            self._studies,
            self._learned,
            form=self._rules.derived("form") if self._rules.may_answer(request) else "",
            read_only=self._rules.read_only,
        )

    def _log(self, in_path: str) -> StudyLog:
        return refreshed(self._studies, study_name(in_path))


class _Listening(StreamingResponse):
    """News for one browser, which counts as one that listens from the first moment to the last."""

    def __init__(self, pages: Pages, texts: AsyncIterator[str]) -> None:
        headers = {"X-Accel-Buffering": "no"}
        super().__init__(texts, media_type="text/event-stream", headers=headers)
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the news until the browser leaves."""
        self._pages.listeners += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._pages.listeners -= 1


async def news(request: Request, position_now: Callable[[], int], after: int) -> AsyncIterator[str]:
    """Events for a browser: the number of the last event, whenever there is another one.

    Args:
        request: The request of the browser.
        position_now: Gives the number of the last event.
        after: The last event that the browser knows.
    """
    yield "retry: 1000\n\n"
    silent = 0.0
    while not await request.is_disconnected():
        try:
            position = await run_in_threadpool(position_now)
        except StorageError:  # it may be back in a moment
            position = after
        except ModelError:  # it was deleted: the page asks again, and is told so
            position = 0
        if position != after:  # it is less if the study was deleted and made again
            after, silent = position, 0.0
            yield f"id: {position}\ndata: {position}\n\n"
        elif silent >= SERVING.sign_of_life:
            silent = 0.0
            yield ": nothing new\n\n"
        await asyncio.sleep(SERVING.pause)
        silent += SERVING.pause


async def _typed(request: Request) -> Form:
    """What was typed into a form; a file that was chosen is its table."""
    async with request.form(max_fields=3000, max_part_size=20_000_000) as fields:
        form = {}
        for name, value in fields.items():
            if isinstance(value, UploadFile):
                if value.filename:
                    form["table"] = decoded(await value.read())
            elif name not in form:
                form[name] = value
        return form


async def _asset(request: Request) -> Response:
    """A style sheet, a script or an icon."""
    found = assets().get(request.path_params["file"])
    if found is None or found.address != request.url.path:
        raise HTTPException(404, "there is no such file: reload the page")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(found.content, media_type=found.kind, headers=headers)


def _sorry(request: Request, error: Exception) -> Response:
    """A page that says what is wrong."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    text = error.detail if isinstance(error, HTTPException) else str(error)
    if isinstance(error, StorageError):
        status = 503
    if "hx-request" not in request.headers:
        return HTMLResponse(render("trouble.html", text=text), status)
    # A part of a page that says why it has nothing to show is an answer.
    shown = isinstance(error, GrisailleError) and not isinstance(error, StorageError)
    if shown:
        return HTMLResponse(render("parts/nothing.html", text=text))
    return HTMLResponse(render("parts/trouble.html", text=text), status)


def _accident(request: Request, error: Exception) -> Response:
    """A page for what nobody expected. The server prints the traceback itself."""
    return _sorry(
        request,
        HTTPException(
            500,
            f"the server met a {type(error).__name__} that it did not expect, and prints where; "
            "reload the page, and look in its log whether what you sent was recorded",
        ),
    )


def _nobody_there(request: Request, error: Exception) -> Response:
    """An answer for a browser that left before it had sent everything."""
    return Response(status_code=400)


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
