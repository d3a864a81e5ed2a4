"""The guard of the page: a secret word, and no other site's forms."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from grisaille.views.page.rendering import render, style_digest, whole_number

_WHERE_TOKENS_ARE = (
    "Open the address that the server printed, or type the token: the server names its file."
)

COOKIE = "grisaille"
"""Name of the cookie that says that this browser was given the token."""


@dataclass(frozen=True, slots=True)
class GuardConstants:
    """The limits of what a reader may send.

    Attributes:
        body: Bytes of the largest answer or table. A choice.
        sign_in: Bytes of the largest sign-in: a token of 1,000 characters, each written as %XX. A
            choice.
        word: Random bytes of the word of a form. A choice.
    """

    body: int = 20_000_000
    sign_in: int = 4096
    word: int = 24


GUARD = GuardConstants()


_READING = ("GET", "HEAD")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; "
    f"style-src 'self' '{style_digest()}'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer", the origin of our own forms is "null" unless a script sends them.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may do what.

    The token is asked for wherever the server listens: every user of a machine can connect to its
    127.0.0.1, and on a login node these are many people.

    Attributes:
        token: The secret word. Whoever has it may read and answer.
        host: The address that the server listens at.
        read_only: Whether nobody may answer.
        words: Words that let in one browser each, once.
    """

    token: str = field(repr=False)
    host: str = "127.0.0.1"
    read_only: bool = False
    words: set[str] = field(default_factory=set, repr=False)

    def invite(self) -> str:
        """Make a word that lets in one browser, once. It is worthless when it is found later."""
        word = secrets.token_urlsafe(GUARD.word)
        self.words.add(word)
        return word

    def admits(self, given: str) -> bool:
        """True if a browser gave the token, or a word that none gave before."""
        if _same(given, self.token):
            return True
        is_word = given in self.words
        self.words.discard(given)
        return is_word

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

        request = Request(scope, receive)
        answer = self._refusal(request)
        if answer is None and _is_sign_in(request):
            answer = await self._sign_in(request)
        await (answer or self._app)(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        """Why a request is refused, or how a browser is let in; None for the others."""
        rules = self._rules
        if rules.is_local and not _is_this_machine(request.headers.get("host", "")):
            return _refused("This server answers to localhost only.", 421)
        if request.method not in (*_READING, "POST"):
            return _refused("There is no such request.", 405)
        if request.method == "POST":
            return self._form_refusal(request)
        if request.url.path.startswith("/static/") or rules.is_program(request):
            return None
        given = request.query_params.get("token")
        if given is not None and request.method == "GET":
            return self._let_in(request, given)
        if _is_foreign(request.headers):  # its cookie may be missing, and it must not cause work
            if request.headers.get("sec-fetch-mode") == "navigate":
                return _door(request, "Another site leads here.", 200)
            return _refused("Another site asked for this, so it is not answered.", 403)
        if not rules.knows_token(request):
            return _door(request, "This page needs the token. " + _WHERE_TOKENS_ARE, 403, asks=True)
        return None

    def _form_refusal(self, request: Request) -> Response | None:
        """Why an answer is refused before its contents are read; None if it is not."""
        rules, is_sign_in = self._rules, _is_sign_in(request)
        if rules.read_only and not is_sign_in:
            return _refused("This page is read-only: the server was started with --read-only.", 403)
        if not (is_sign_in or rules.knows_token(request)):
            return _refused("Answers need the token. " + _WHERE_TOKENS_ARE, 403)
        if not rules.is_program(request) and _is_foreign(request.headers):
            return _refused("The form came from another site, so it is not recorded.", 403)
        length = whole_number(request.headers.get("content-length", ""))
        largest = GUARD.sign_in if is_sign_in else GUARD.body
        if length is None or length > largest:
            return _refused(f"What was sent is too large: at most {largest:,} bytes.", 413)
        return None

    async def _sign_in(self, request: Request) -> Response:
        """Let in a browser into which somebody typed the token."""
        try:
            typed = dict(parse_qsl((await request.body()).decode(errors="replace")))
        except ClientDisconnect:
            return _refused("The form is not complete.", 400)
        given, target = typed.get("token", ""), typed.get("target", "")
        return self._let_in(request, given.strip(), _on_this_site(target))

    def _let_in(self, request: Request, given: str, target: str = "") -> Response:
        """Lead to the target, by default the same address without the token, with a cookie."""
        if not target:
            kept = request.url.remove_query_params("token")
            target = _on_this_site(kept.path + (f"?{kept.query}" if kept.query else ""))
        is_foreign = _is_foreign(request.headers)
        if not self._rules.admits(given):
            if self._rules.knows_token(request) and not is_foreign:
                return RedirectResponse(target, 303)
            sentence = "The token is wrong, or the address was used before. " + _WHERE_TOKENS_ARE
            return _door(request, sentence, 403, target, asks=True)
        # A strict cookie is not sent along a redirect that began elsewhere, such as in a file.
        answer: Response = (
            HTMLResponse(render("door.html", sentence="", target=target, asks=False, goes_on=True))
            if is_foreign
            else RedirectResponse(target, 303)
        )
        cookie = self._rules.derived("cookie")
        answer.set_cookie(COOKIE, cookie, max_age=30 * 86400, httponly=True, samesite="strict")
        return answer


def _is_sign_in(request: Request) -> bool:
    return request.method == "POST" and request.url.path == "/"


def _on_this_site(target: str) -> str:
    """A path of this server: two slashes would begin the address of another one."""
    return "/" + target.lstrip("/\\")


def _door(
    request: Request, sentence: str, status: int, target: str = "", asks: bool = False
) -> Response:
    """A page that leads on with a click, or after the token was typed; a sentence for programs."""
    if "text/html" not in request.headers.get("accept", ""):
        return _refused(sentence, status)
    query = f"?{request.url.query}" if request.url.query else ""
    target = target or _on_this_site(request.url.path + query)
    page = render("door.html", sentence=sentence, target=target, asks=asks, goes_on=False)
    return HTMLResponse(page, status)


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
    """True if a page of another origin caused a request."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")
