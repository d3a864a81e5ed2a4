"""A site with one good page and some bad ones, to try the harness on."""

from __future__ import annotations

import os

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route

# As strict as the one of the live page: no script but the server's own files.
POLICY = "default-src 'self'; img-src 'self' data: http://127.0.0.1:9"
PAGE = """<!doctype html>
<html lang="en">
<head><title>Tiny</title><link rel="icon" href="data:,">{head}</head>
<body><main><h1>Tiny</h1>{body}</main></body>
</html>"""
PICTURE = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="


def html(body: str, head: str = "") -> HTMLResponse:
    text = PAGE.format(body=body, head=head)
    return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})


def script(name: str) -> str:
    return f'<script src="/{name}.js"></script>'


def good(_: Request) -> HTMLResponse:
    return html(f"<p>Process <b id='process'>{os.getpid()}</b></p>")


def nameless_picture(_: Request) -> HTMLResponse:
    return html(f'<img src="{PICTURE}">')


def console_error(_: Request) -> HTMLResponse:
    return html("", script("console_error"))


def exception(_: Request) -> HTMLResponse:
    return html("", script("exception"))


def foreign_picture(_: Request) -> HTMLResponse:
    # Nobody listens on port 9: the request is seen, and refused.
    return html('<img alt="nothing" src="http://127.0.0.1:9/picture.png">')


def code(request: Request) -> PlainTextResponse:
    texts = {"console_error": "console.error('sour milk')", "exception": "throw Error('bad egg')"}
    return PlainTextResponse(texts[request.path_params["name"]], media_type="text/javascript")


app = Starlette(
    routes=[
        Route("/", good),
        Route("/nameless_picture", nameless_picture),
        Route("/console_error", console_error),
        Route("/exception", exception),
        Route("/foreign_picture", foreign_picture),
        Route("/{name}.js", code),
    ]
)
