"""How soon a page shows a study of 1,000 trials: ours beside optuna-dashboard.

    python -m benchmarks.first_paint [--trials N] [--repetitions N] [--only NAME]

The study comes from random search, which makes a large one quickly, and is exported to Optuna: both
servers show the same trials, each from its own SQLite file. One browser visits both in turns, each
time with an empty cache. Times count from the navigation and are taken by the page's own clock: to
the first contentful paint, and to the end of the first animation frame that has the convergence
plot. One visit of each is made before and stored by itself, because a server may have something to
load then.

A first contentful paint need not show the study: that of optuna-dashboard says "NOW LOADING", and
ours has the study's numbers and a picture of its convergence. The plots are what can be compared.

It needs Chromium (`make browser`), Playwright and optuna-dashboard. Part of the numbers is the
machine's and the load on it; the ratio is what counts. `--only grisaille` and `--only
optuna-dashboard` measure one of them, and store nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tests.views.page.chromium import chromium, why_not
from tests.views.page.server_process import ServerProcess

import grisaille as gs
from benchmarks.results_folder import write_result
from benchmarks.studies_setup import nested
from grisaille.adapters.optuna import export_optuna
from grisaille.views.page.serving import stored_token

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STUDY = "painted"
OURS, THEIRS = "grisaille", "optuna-dashboard"
SECONDS_TO_SHOW = 60.0

# Where our page shows a study. The first paint has a picture of its convergence; the canvas, with
# values under the pointer, comes after it as Plotly does on the other page.
OUR_PAGE = f"/studies/{STUDY}"
OUR_PLOT = "#plot canvas"

# Optuna numbers its studies from 1. A trace is in the graph as soon as Plotly has drawn it.
THEIR_PAGE = "/dashboard/studies/1"
THEIR_PLOT = "#plot-history .trace"

# Looks once per animation frame, from before the page's own scripts on. What one frame finds is
# painted when the next one begins.
WATCH = """
const look = () => {
    if (document.querySelector(SELECTOR)) {
        requestAnimationFrame(() => { window.plotShownAt = performance.now(); });
    } else {
        requestAnimationFrame(look);
    }
};
requestAnimationFrame(look);
"""
READ = """() => [
    performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
    window.plotShownAt ?? null,
]"""


@dataclass(frozen=True)
class Visit:
    """Milliseconds from the navigation to what was seen."""

    first_paint: float
    plot: float


@dataclass(frozen=True)
class Site:
    """A page that shows the study, and how to know its convergence plot."""

    name: str
    command: Sequence[str]
    page: str
    plot: str


def main() -> None:
    """Measure both, print medians and ratios, and store them."""
    options = parse()
    if reason := why_not():
        sys.exit(f"{reason}.")
    with tempfile.TemporaryDirectory() as folder:
        store_study(Path(folder), options.trials)
        sites = [site for site in both_sites(Path(folder)) if options.only in (None, site.name)]
        with chromium() as browser:
            first, visits = visit_in_turns(browser, sites, options.repetitions)
            browser_version = browser.version
    summary = summarize(visits)
    for line in lines(summary):
        print(line)
    if options.only is None:
        content = {
            "browser": f"Chromium {browser_version}",
            "other_versions": {name: version(name) for name in ("optuna", THEIRS, "playwright")},
            "trials": options.trials,
            **summary,
            "first_visits": {name: asdict(visit) for name, visit in first.items()},
            "visits": {name: [asdict(visit) for visit in made] for name, made in visits.items()},
        }
        write_result("first_paint", content)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--only", choices=[OURS, THEIRS], default=None)
    return parser.parse_args()


def store_study(folder: Path, trials: int) -> None:
    """Write the same trials to a study of ours and to one of Optuna."""
    storage = f"sqlite:///{folder}/study.db"
    with gs.Study(nested(), storage=storage, name=STUDY, strategy=gs.RandomSearch()) as study:
        study.run(trials, progress=False)
        export_optuna(study.state, STUDY, f"sqlite:///{folder}/optuna.db")


def both_sites(folder: Path) -> list[Site]:
    programs = Path(sys.executable).parent
    ours = [str(programs / "grisaille"), "dashboard", "--storage", f"sqlite:///{folder}/study.db"]
    theirs = [str(programs / "optuna-dashboard"), f"sqlite:///{folder}/optuna.db"]
    return [
        Site(OURS, [*ours, "--port", "{port}", "--no-browser"], OUR_PAGE, OUR_PLOT),
        Site(THEIRS, [*theirs, "--port", "{port}"], THEIR_PAGE, THEIR_PLOT),
    ]


def visit_in_turns(
    browser: Browser, sites: Sequence[Site], repetitions: int
) -> tuple[dict[str, Visit], dict[str, list[Visit]]]:
    """The first visit of each site, and those that count, one site after the other."""
    with ExitStack() as running:
        addresses = {site.name: running.enter_context(serving(site)) for site in sites}
        first = {site.name: visit(browser, site, addresses[site.name]) for site in sites}
        made: dict[str, list[Visit]] = {site.name: [] for site in sites}
        for _ in range(repetitions):
            for site in sites:
                made[site.name].append(visit(browser, site, addresses[site.name]))
    return first, made


@contextmanager
def serving(site: Site) -> Iterator[str]:
    """The address of the site's server while it runs."""
    server = ServerProcess(site.command)
    try:
        server.start()
        yield server.address
    finally:
        server.close()


def visit(browser: Browser, site: Site, address: str) -> Visit:
    """Open the page with an empty cache, and wait until its plot is there."""
    token = {"Authorization": f"Bearer {stored_token()}"}
    context = browser.new_context(viewport={"width": 1280, "height": 900}, extra_http_headers=token)
    try:
        page = context.new_page()
        page.add_init_script(WATCH.replace("SELECTOR", repr(site.plot)))
        page.goto(address + site.page, wait_until="commit")
        return seen(page, site)
    finally:
        context.close()


def seen(page: Page, site: Site) -> Visit:
    end = time.monotonic() + SECONDS_TO_SHOW
    while time.monotonic() < end:
        # The page notes both times itself: asking seldom does not make them later.
        first_paint, plot = page.evaluate(READ)
        if first_paint is not None and plot is not None:
            return Visit(first_paint, plot)
        time.sleep(0.1)
    sys.exit(
        f"{site.name}: {site.page} showed no {site.plot} within {SECONDS_TO_SHOW:g} seconds "
        f"(first contentful paint: {first_paint})."
    )


def summarize(visits: dict[str, list[Visit]]) -> dict[str, dict[str, dict[str, float]]]:
    """Medians of each site, and where there are two, ours divided by theirs."""
    medians = {
        name: {
            "first_paint": statistics.median(visit.first_paint for visit in made),
            "plot": statistics.median(visit.plot for visit in made),
        }
        for name, made in visits.items()
    }
    if len(medians) < 2:
        return {"median_milliseconds": medians}
    ratio = {what: medians[OURS][what] / medians[THEIRS][what] for what in medians[OURS]}
    return {"median_milliseconds": medians, "ratio": {f"{OURS} / {THEIRS}": ratio}}


def lines(summary: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    """The summary, for people."""
    return [
        f"{name}: first contentful paint {row['first_paint']:.4g}{unit}, "
        f"convergence plot {row['plot']:.4g}{unit}"
        for what, unit in (("median_milliseconds", " ms"), ("ratio", ""))
        for name, row in summary.get(what, {}).items()
    ]


if __name__ == "__main__":
    main()
