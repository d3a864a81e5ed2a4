"""Pictures of the live page and of a report, for the documentation.

    python -m benchmarks.screenshots

A study of the README's reactor is run and shown by a server of this process. Chromium takes
`dashboard.png`, `dashboard_phone.png` and `report.png`, which are stored in `docs/images/`. It
needs Chromium (`make browser`) and Playwright.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from PIL import Image
from tests.views.page.chromium import chromium, why_not

import grisaille as gs
from grisaille.views.page.guard import Rules
from grisaille.views.page.serving import Server, free_socket
from grisaille.views.page.studies import RunningStudies

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = Path(__file__).parents[1] / "docs" / "images"
LARGEST = 150_000
Scheme = Literal["light", "dark"]
TOKEN = "a token for the pictures only"


def main() -> None:
    """Take the pictures, and say how large they are."""
    if reason := why_not():
        sys.exit(f"{reason}.")
    study = reactor_study()
    studies = RunningStudies()
    studies.add(study)
    server = Server(studies, Rules(TOKEN), free_socket("127.0.0.1", 0))
    server.start()
    with chromium() as browser:
        address = f"{server.address}/studies/{study.name}"
        with opened(browser, server, 1200, "light") as page:
            page.goto(address)
            page.locator("#graph-part", has_text="inside bands").wait_for()
            take(page, "dashboard", 1200)
            page.goto(f"{address}/export/report.html")
            take(page, "report", 1200)
        with opened(browser, server, 375, "dark") as page:
            page.goto(address)
            page.locator("#plot canvas").wait_for()
            take(page, "dashboard_phone", 1250)


def reactor_study() -> gs.Study:
    """The README's first example with names and units, and one question that is open."""
    feed = gs.Variable("feed", lower=0.5, upper=3.0, unit="kg/s")
    heat = gs.Variable("heat", lower=20, upper=90, unit="degC")

    def reactor(feed: float, heat: float) -> tuple[float, float]:
        rate, side = 0.3 * np.exp(0.04 * (heat - 20)), 0.01 * np.exp(0.05 * (heat - 20))
        return 1 - np.exp(-rate / feed), side / feed

    box = gs.BlackBox(reactor, name="reactor", outputs=["conversion", "impurity"], noise=0)
    y = box(feed, heat)
    profit = gs.named("profit", 100 * feed * y["conversion"] - 8 * feed - 0.3 * (heat - 20))
    limits = {"purity": y["impurity"] <= 0.05}
    study = gs.Study(gs.Problem(maximize=profit, subject_to=limits), seed=0)
    study.name = "reactor"
    study.run(20, progress=False)
    study.ask(1)
    return study


@contextmanager
def opened(browser: Browser, server: Server, width: int, scheme: Scheme) -> Iterator[Page]:
    """A page of a browser that was given the token."""
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    try:
        page = context.new_page()
        page.goto(server.invitation())
        yield page
    finally:
        context.close()


def take(page: Page, name: str, height: int) -> None:
    """Store the upper part of a page, with few colours so that the file stays small."""
    page.set_viewport_size({"width": page.viewport_size["width"], "height": height})
    page.wait_for_timeout(500)  # the plot is drawn again after a change of size
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(256)
    path = IMAGES / f"{name}.png"
    picture.save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}: {size / 1000:.0f} kB")
    if size > LARGEST:
        sys.exit(f"{path.name} is larger than {LARGEST / 1000:.0f} kB.")


if __name__ == "__main__":
    main()
