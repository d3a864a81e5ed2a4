"""Chromium, started by Playwright, without anything that it would do on its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FLAGS = [
    "--no-sandbox",  # its sandbox refuses to run as root, as containers do
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def why_not() -> str | None:
    """A sentence that says why no browser can be started; None where one can."""
    if find_spec("playwright") is None:
        return "Playwright is not installed (pip install playwright)"
    if shutil.which("chromium") is None:
        return "Chromium is not installed (make browser)"
    return None


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser.

    While it runs, Playwright's event loop counts as running in this thread: `asyncio.run` raises.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
