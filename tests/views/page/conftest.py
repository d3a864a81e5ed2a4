"""A browser, watched pages, servers and axe-core, for tests of pages as people see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from tests.views.page.axe import SOURCE, Violation, grave_violations
from tests.views.page.chromium import chromium, why_not
from tests.views.page.page_watch import PageWatch, watched_page
from tests.views.page.server_process import ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


# Not for the session: its event loop would be in the way of tests in other folders.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, for all tests of this folder that ask for it."""
    if reason := why_not():
        pytest.skip(f"{reason}: pages cannot be looked at")
    with chromium() as started:
        yield started


@pytest.fixture
def watched(browser: Browser) -> Iterator[tuple[Page, PageWatch]]:
    """A new page and its watch."""
    with watched_page(browser) as found:
        yield found


@pytest.fixture
def page(watched: tuple[Page, PageWatch]) -> Page:
    """A new page; errors of its scripts and requests to other servers fail the test at its end."""
    return watched[0]


@pytest.fixture
def page_watch(watched: tuple[Page, PageWatch]) -> PageWatch:
    """The watch of `page`, for tests that expect an error."""
    return watched[1]


@pytest.fixture
def served() -> Iterator[Callable[[Sequence[str]], ServerProcess]]:
    """Starts a command that serves pages on "{port}", and ends it with the test."""
    servers: list[ServerProcess] = []

    def start(command: Sequence[str], path: str = "/") -> ServerProcess:
        server = ServerProcess(command, path)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def axe() -> Callable[[Page], list[Violation]]:
    """Finds the serious and critical violations of accessibility on a page."""
    if not SOURCE.exists():
        pytest.skip("axe-core is not installed (make browser): accessibility cannot be checked")
    return grave_violations
