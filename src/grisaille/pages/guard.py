"""Who may read and who may answer: a secret word, and no other site's forms."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from grisaille.pages.addresses import whole_number
from grisaille.pages.assets import style_digest

COOKIE = "grisaille"
"""Name of the cookie that says that this browser was given the token."""

LARGEST_BODY = 20_000_000
"""The largest answer or table that is accepted, in bytes."""

_READING = ("GET", "HEAD")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; "
    f"style-src 'self' '{style_digest()}'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may do what.

    Attributes:
        token: The secret word. Whoever has it may read and answer.
        host: The address that the server listens at. If it is not of this machine alone, reading
            needs the token, too.
        read_only: Whether nobody may answer.
    """

    token: str
    host: str = "127.0.0.1"
    read_only: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    def derived(self, purpose: str) -> str:
        """A word that only this server can make, and that does not tell the token."""
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    def knows_token(self, request: Request) -> bool:
        """Whether a request comes with the token: in a cookie, or in its header."""
        cookie = request.cookies.get(COOKIE, "")
        return self.is_program(request) or _same(cookie, self.derived("cookie"))

    def is_program(self, request: Request) -> bool:
        """Whether a request has the token in its header, which no form of another site can."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return _same(given, self.token)

    def may_answer(self, request: Request) -> bool:
        """Whether forms are shown, and accepted."""
        return not self.read_only and self.knows_token(request)


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """Refuses what the rules do not allow, before anything else looks at a request.

    Args:
        app: What answers the requests that are allowed.
        rules: The rules.
    """

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [(k, v) for k, v in message["headers"] if k.lower() != b"server"]
                own = [(k.lower().encode(), v.encode()) for k, v in _HEADERS.items()]
                there = {name for name, _ in kept}
                message["headers"] = [*kept, *(h for h in own if h[0] not in there)]
            await send(message)

        request = Request(scope)
        answer = self._refusal(request)
        await (answer or self._app)(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        """Why a request is refused; None if it is not."""
        rules = self._rules
        if rules.is_local and not _is_this_machine(request.headers.get("host", "")):
            return _refused("This server answers to localhost only.", 421)
        if request.method not in (*_READING, "POST"):
            return _refused("There is no such request.", 405)
        given = request.query_params.get("token")
        if given is not None and request.method in _READING:
            if not _same(given, rules.token):
                return _refused(
                    "The token is wrong: open the address that the server printed.", 403
                )
            return self._with_cookie(request)
        public = request.url.path.startswith("/static/")
        if not (rules.is_local or public or rules.knows_token(request)):
            return _refused("Open the address with the token that the server printed.", 403)
        return None if request.method in _READING else self._form_refusal(request)

    def _form_refusal(self, request: Request) -> Response | None:
        """Why an answer is refused before its contents are read; None if it is not."""
        rules = self._rules
        if rules.read_only:
            return _refused("This page is read-only: the server was started with --read-only.", 403)
        if not rules.knows_token(request):
            return _refused(
                "Answers need the token: open the address that the server printed.", 403
            )
        if not rules.is_program(request) and _is_foreign(request.headers):
            return _refused("The form came from another site, so it is not recorded.", 403)
        length = whole_number(request.headers.get("content-length", ""))
        if length is None or length > LARGEST_BODY:
            most = f"{LARGEST_BODY // 1_000_000} MB"
            return _refused(f"What was sent is too large: at most {most} are accepted.", 413)
        return None

    def _with_cookie(self, request: Request) -> Response:
        """The same address without the token, which is remembered in a cookie."""
        kept = request.url.remove_query_params("token")
        target = kept.path + (f"?{kept.query}" if kept.query else "")
        # Two slashes would be the address of another site.
        answer = RedirectResponse("/" + target.lstrip("/"), 303)
        cookie = self._rules.derived("cookie")
        answer.set_cookie(COOKIE, cookie, max_age=30 * 86400, httponly=True, samesite="strict")
        return answer


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _refused(sentence: str, status: int) -> Response:
    return PlainTextResponse(sentence + "\n", status)


def _is_this_machine(host: str) -> bool:
    """Whether a Host header names this machine: other names may be made to point here."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)


def _is_foreign(headers: Headers) -> bool:
    """Whether a form was sent from a page of another origin."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")
