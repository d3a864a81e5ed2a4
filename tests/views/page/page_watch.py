"""What a page must not do: print errors, raise exceptions, or ask other servers for anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request

# Schemes of what a page holds itself.
OWN_SCHEMES = {"about", "blob", "data"}


class PageWatch:
    """Collects what is wrong with a page, from its first request on.

    The server of the first request is the page's own; every other one is foreign.
    """

    def __init__(self, page: Page) -> None:
        self._own: str | None = None
        self._complaints: list[str] = []
        self._expected: list[str] = []
        page.on("console", self._see_message)
        page.on("pageerror", self._see_error)
        page.on("request", self._see_request)

    def expect(self, pattern: str) -> None:
        """Say that complaints with this regular expression are what the test is about."""
        self._expected.append(pattern)

    def complaints(self) -> list[str]:
        """Everything that was wrong so far and was not expected, as sentences."""
        return [
            complaint
            for complaint in self._complaints
            if not any(re.search(pattern, complaint) for pattern in self._expected)
        ]

    def _see_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            where = message.location.get("url", "")
            self._complaints.append(f"the console shows an error: {message.text} ({where})")

    def _see_error(self, error: Error) -> None:
        self._complaints.append(f"a script raised: {error}")

    def _see_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in OWN_SCHEMES:
            return
        origin = f"{parts.scheme}://{parts.netloc}"
        if self._own is None:
            self._own = origin
        elif origin != self._own:
            self._complaints.append(f"the page asked another server: {request.url}")


@contextmanager
def watched_page(browser: Browser) -> Iterator[tuple[Page, PageWatch]]:
    """A new page with nothing stored. At the end, everything that was wrong with it is raised."""
    context = browser.new_context()
    try:
        page = context.new_page()
        watch = PageWatch(page)
        yield page, watch
        # Events of the last moment come with the next answer of the browser.
        if not page.is_closed():
            page.wait_for_timeout(50)
    finally:
        context.close()
    found = watch.complaints()
    assert not found, "\n".join(found)
