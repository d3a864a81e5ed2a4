"""The server's answers: a list of studies, pages and their parts, forms, exports, news."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

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

from grisaille.errors import (
    GrisailleError,
    GrisailleWarning,
    ModelError,
    ProtocolError,
    StorageError,
)
from grisaille.study.actions import FORMS, Form
from grisaille.study.study import Study
from grisaille.study.written import decoded
from grisaille.views.charts import plain
from grisaille.views.page.guard import Guard, Rules
from grisaille.views.page.learned_parts import Learned
from grisaille.views.page.rendering import assets, in_address, render, study_name, whole_number
from grisaille.views.page.studies import Studies, StudyLog, refreshed
from grisaille.views.page.study_page import StudyPage

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
