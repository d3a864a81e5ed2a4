"""Pages as people use them: in a browser, with a server that shows stored studies."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import grisaille as gs
from grisaille.views.page.rendering import in_address
from tests.views.page.browser_studies import make_studies, opened
from tests.views.page.page_helpers import HOSTILE, TOKEN
from tests.views.page.server_process import ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


PARTS = ("influence-part", "explore-part", "log-part")
NUMBER = itertools.count(1)


def command(storage: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "tests.views.page.browser_studies", storage, "{port}", *options]


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> str:
    address = f"sqlite:///{tmp_path_factory.mktemp('pages')}/studies.db"
    make_studies(address)
    return address


@pytest.fixture(scope="module")
def site(storage: str) -> Iterator[ServerProcess]:
    server = ServerProcess(command(storage))
    server.start()
    yield server
    server.close()


@pytest.fixture
def known(page: Page, site: ServerProcess) -> Page:
    """A page of a browser that was given the token."""
    page.set_default_timeout(60_000)
    page.goto(f"{site.address}/?token={TOKEN}")
    return page


@pytest.fixture
def oven(storage: str) -> Iterator[gs.Study]:
    """A study of its own for one test, with two questions open."""
    with opened(storage, f"oven-{next(NUMBER)}") as study:
        study.ask(2, trials=10)
        yield study


def show(page: Page, site: ServerProcess, name: str, query: str = "") -> None:
    """Open the page of a study, and wait until it listens."""
    page.goto(f"{site.address}/studies/{in_address(name)}{query}")


def show_all(page: Page) -> None:
    """Go through the page, so that every part of it is loaded."""
    for part in PARTS:
        page.locator(f"#{part}").scroll_into_view_if_needed()
        waiting = page.locator(f"#{part} > p", has_text=re.compile("^(Working it out|Loading)"))
        waiting.wait_for(state="detached")
    if page.locator("#contour").count():
        page.locator("#contour svg").wait_for()


def answered(study: gs.Study) -> int:
    return sum(str(query.state) == "told" for query in study.state.queries.values())


def question(page: Page, name: str):
    return page.get_by_role("article", name=f"Question {name}")


# --- looking ---------------------------------------------------------------------------------


def test_the_list_leads_to_a_study_and_back(known: Page, site: ServerProcess):
    known.get_by_role("link", name="plant", exact=True).click()
    assert known.get_by_role("heading", level=1).inner_text() == "plant"
    assert "The best value so far is" in known.locator("#status").inner_text()
    known.locator("#plot canvas").wait_for()
    known.get_by_role("link", name="Grisaille").click()
    assert known.url == f"{site.address}/"


def test_trials_of_another_process_appear_without_reloading(
    known: Page, site: ServerProcess, storage: str
):
    with opened(storage, "plant-live") as study:
        study.run(1, progress=False)
        show(known, site, "plant-live")
        known.evaluate("window.stayed = true")
        known.locator("#status dd", has_text=re.compile("^1$")).wait_for()
        study.run(3, progress=False)
        known.locator("#status dd", has_text=re.compile("^3$")).wait_for()
    known.locator('#plot[aria-label$="over 3 trials"]').wait_for()
    assert known.evaluate("window.stayed")


def test_a_study_with_failures_says_what_failed(known: Page, site: ServerProcess):
    show(known, site, "failing")
    assert "failed" in known.locator("#status").inner_text()
    known.locator("#graph-part a").click()
    known.get_by_text("the furnace is too hot").first.wait_for()


def test_an_infeasible_study_names_the_constraint_to_blame(known: Page, site: ServerProcess):
    show(known, site, "infeasible")
    known.get_by_role("button", name="Which constraints are to blame?").click()
    known.locator("#blame li", has_text="impossible").wait_for()
    assert "easy" not in known.locator("#blame").inner_text()


def test_a_thousand_trials_are_drawn_with_few_shapes(known: Page, site: ServerProcess):
    show(known, site, "many")
    known.locator("#status dd", has_text=re.compile("^1000$")).wait_for()
    known.locator('#plot[aria-label$="over 1000 trials"]').wait_for()
    assert known.locator("#constraints-part svg *").count() < 60


def test_names_that_are_markup_are_shown_as_text(known: Page, site: ServerProcess):
    known.get_by_role("link", name=HOSTILE, exact=True).click()
    assert known.get_by_role("heading", level=1).inner_text() == HOSTILE
    show_all(known)
    known.locator("#graph-part a").click()
    known.locator("#box-title").wait_for()
    assert known.locator("#box-title").inner_text() == HOSTILE
    assert known.locator("script:not([src])").count() == 0


def test_the_past_is_shown_without_forms_and_now_is_one_click_away(
    known: Page, site: ServerProcess, storage: str
):
    show(known, site, "plant")
    show_all(known)
    with opened(storage, "plant") as study:
        at = next(e.number for e in study.events() if e.kind == "completed")
    known.locator("#slider").evaluate(
        "(s, at) => { s.value = at; s.dispatchEvent(new Event('change', {bubbles: true})); }", at
    )
    known.locator(".past").wait_for()
    assert known.locator("#status dd").nth(3).inner_text() == "1"
    assert known.locator("form[method=post]").count() == 0
    known.get_by_role("link", name="Back to now").click()
    known.locator("#status dd", has_text=re.compile("^6$")).wait_for()
    assert known.locator("form[method=post]").count() > 0


def test_the_plot_shows_the_gap_and_the_cost(known: Page, site: ServerProcess):
    show(known, site, "plant")
    known.locator("#plot canvas").wait_for()
    known.locator("#over").select_option("cost")
    known.locator("#scale").select_option("gap")
    known.locator("#plot .u-legend", has_text="gap").wait_for()
    assert "cost" in known.locator("#plot .u-legend").inner_text()


def test_the_report_is_one_file_that_asks_for_nothing(known: Page, site: ServerProcess):
    known.wait_for_load_state("networkidle")
    asked: list[str] = []
    known.on("request", lambda request: asked.append(request.url))
    address = f"{site.address}/studies/plant/export/report.html"
    known.goto(address)
    assert known.get_by_role("heading", name="Black box reactor").count() == 1
    assert asked == [address]


# --- answering -------------------------------------------------------------------------------


def test_an_answer_is_typed_and_recorded(known: Page, site: ServerProcess, oven: gs.Study):
    show(known, site, oven.name)
    card = question(known, "1-1")
    card.get_by_label("hardness").fill("3,5")
    card.get_by_label("colour").fill("0.2")
    card.get_by_role("button", name="Record", exact=True).click()
    known.get_by_text("trial 1 is complete").wait_for()
    card.wait_for(state="detached")
    assert oven.history.trials[0].chain.tolist() == [3.5, 0.2]


def test_a_typing_error_is_named_and_what_was_typed_stays(
    known: Page, site: ServerProcess, oven: gs.Study
):
    show(known, site, oven.name)
    card = question(known, "1-1")
    card.get_by_label("hardness").fill("3.5")
    card.get_by_label("colour").fill("0.2O")
    card.get_by_role("button", name="Record", exact=True).click()
    alert = known.get_by_role("alert")
    alert.wait_for()
    assert "colour: '0.2O' is not a number" in alert.inner_text()
    assert card.get_by_label("hardness").input_value() == "3.5"
    assert card.get_by_label("colour").input_value() == "0.2O"
    assert answered(oven) == 0
    card.get_by_label("colour").fill("0.20")
    card.get_by_role("button", name="Record", exact=True).click()
    known.get_by_text("trial 1 is complete").wait_for()
    assert answered(oven) == 1


def test_a_wrong_answer_is_corrected_afterwards(known: Page, site: ServerProcess, oven: gs.Study):
    oven.tell("1-1", [35.0, 0.2])
    show(known, site, oven.name)
    known.get_by_text("Answers so far, and corrections").click()
    row = known.locator("#answers-part tbody tr")
    row.get_by_text("Change it").first.click()
    assert row.get_by_label("hardness").input_value() == "35"
    row.get_by_label("hardness").fill("3.5")
    row.get_by_role("button", name="Correct").click()
    known.get_by_text("The answer to 1-1 is corrected").wait_for()
    assert oven.history.trials[0].chain.tolist() == [3.5, 0.2]
    known.locator("#answers-part td", has_text="hardness 3.5").first.wait_for()


def test_a_question_without_an_answer_is_asked_again(
    known: Page, site: ServerProcess, oven: gs.Study
):
    show(known, site, oven.name)
    card = question(known, "1-1")
    card.get_by_text("There is no answer, or").click()
    card.get_by_label("What happened").fill("the oven was cold")
    card.get_by_role("button", name="Record the failure").click()
    known.get_by_text("Question 1-1 has no answer: it will be asked again.").wait_for()
    card.get_by_text("The last attempt failed: the oven was cold").wait_for()


def test_the_next_question_is_asked_for(known: Page, site: ServerProcess, oven: gs.Study):
    show(known, site, oven.name)
    known.get_by_role("button", name="Ask for the next questions").click()
    known.get_by_text("1 question to answer: 3-1.").wait_for()
    question(known, "3-1").wait_for()


def test_a_table_is_pasted_and_a_file_is_uploaded(
    known: Page, site: ServerProcess, oven: gs.Study, tmp_path: Path
):
    show(known, site, oven.name)
    known.get_by_text("Add results from elsewhere").click()
    known.get_by_label("A table").fill("x;hardness;colour\n0.1;2;0.5\n")
    known.get_by_role("button", name="Add", exact=True).click()
    known.get_by_text("1 answer of oven is recorded.").wait_for()
    file = tmp_path / "last year.csv"
    file.write_text("x,hardness,colour\n0.2,2,0.5\n0.3,3,0.4\n", encoding="utf-8-sig")
    known.get_by_text("Add results from elsewhere").click()
    known.get_by_label("or a CSV file").set_input_files(file)
    known.get_by_role("button", name="Add", exact=True).click()
    known.get_by_text("2 answers of oven are recorded.").wait_for()
    assert oven.history.counts() == {"oven": 3}


def test_news_do_not_sweep_away_what_is_being_typed(
    known: Page, site: ServerProcess, oven: gs.Study
):
    show(known, site, oven.name)
    question(known, "2-1").get_by_label("hardness").fill("4.5")
    oven.tell("1-1", [3.0, 0.2])
    known.locator("#status dd", has_text=re.compile("^1$")).wait_for()
    assert question(known, "2-1").get_by_label("hardness").input_value() == "4.5"


def test_an_answer_to_one_question_leaves_what_was_typed_for_another(
    known: Page, site: ServerProcess, oven: gs.Study
):
    show(known, site, oven.name)
    question(known, "2-1").get_by_label("hardness").fill("4.5")
    question(known, "2-1").get_by_text("There is no answer, or").click()
    question(known, "2-1").get_by_label("What happened").fill("cold")
    card = question(known, "1-1")
    card.get_by_label("hardness").fill("3.5")
    card.get_by_label("colour").fill("0.2")
    card.get_by_label("colour").press("Enter")
    card.wait_for(state="detached")
    assert question(known, "2-1").get_by_label("hardness").input_value() == "4.5"
    assert question(known, "2-1").get_by_label("What happened").is_visible()
    assert question(known, "2-1").get_by_label("What happened").input_value() == "cold"


# --- who may ---------------------------------------------------------------------------------


def test_without_the_token_nothing_is_shown_until_it_is_typed(
    page: Page, page_watch, site: ServerProcess, oven: gs.Study
):
    page_watch.expect("status of 403")
    show(page, site, oven.name)
    assert "This page needs the token." in page.locator("main").inner_text()
    status = page.evaluate(
        "(a) => fetch(a, {method: 'POST', body: 'id=1-1'}).then((r) => r.status)",
        f"/studies/{oven.name}/tell",
    )
    assert status == 403
    assert answered(oven) == 0
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Open").click()
    page.wait_for_url(f"**/studies/{oven.name}")
    question(page, "1-1").get_by_text("There is no answer, or").click()
    question(page, "1-1").get_by_role("button", name="Skip: this cannot be made").click()
    page.get_by_text("Question 1-1 is skipped: it is not asked again").wait_for()


def test_a_file_lets_in_a_browser_and_a_link_of_another_site_takes_one_click(
    page: Page, page_watch, site: ServerProcess, oven: gs.Study, tmp_path: Path
):
    address = f"{site.address}/studies/{oven.name}"
    file = tmp_path / "door.html"
    file.write_text(f'<meta http-equiv="refresh" content="0; url={address}?token={TOKEN}">')
    page.goto(file.as_uri())
    page.wait_for_url(address)
    question(page, "1-1").wait_for()
    elsewhere = site.address.replace("127.0.0.1", "localhost")
    page_watch.expect("asked another server")
    page.route(
        f"{elsewhere}/links",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f"<a href='{address}'>look</a>",
        ),
    )
    page.goto(f"{elsewhere}/links")
    page.get_by_text("look").click()
    page.get_by_text("Open the page").click()
    question(page, "1-1").wait_for()


def test_a_read_only_server_shows_no_forms(
    served: Callable[..., ServerProcess], page: Page, storage: str, oven: gs.Study
):
    server = served(command(storage, "--read-only"))
    page.goto(f"{server.address}/?token={TOKEN}")
    show(page, server, oven.name)
    assert page.locator("form[method=post]").count() == 0
    assert "The page is read-only." in page.locator("#queue-part").inner_text()


def test_a_form_of_another_site_is_refused(
    known: Page, page_watch, site: ServerProcess, oven: gs.Study
):
    # The same server by another name is another site.
    elsewhere = site.address.replace("127.0.0.1", "localhost")
    page_watch.expect("asked another server|status of 403|form-action")
    known.route(
        f"{elsewhere}/evil",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f"<form method=post action='{site.address}/studies/{oven.name}/tell'>"
            "<input name=id value=1-1><input name='y:0' value=1><input name='y:1' value=1>"
            "<button>win a prize</button></form>",
        ),
    )
    known.goto(f"{elsewhere}/evil")
    known.get_by_role("button").click()
    known.wait_for_url(f"{site.address}/**")
    assert known.locator("body").inner_text().startswith("Answers need the token")
    assert answered(oven) == 0


# --- trouble ---------------------------------------------------------------------------------


def test_a_killed_server_is_missed_and_news_arrive_when_it_is_back(
    page: Page, page_watch, storage: str, served: Callable[..., ServerProcess], oven: gs.Study
):
    server = served(command(storage))
    page.goto(f"{server.address}/?token={TOKEN}")
    show(page, server, oven.name)
    question(page, "2-1").get_by_label("hardness").fill("4.5")
    banner = page.get_by_text("The server is away.")
    page_watch.expect("net::ERR_|htmx:")
    server.kill()
    banner.wait_for()
    oven.tell("1-1", [3.0, 0.2])
    server.start()
    banner.wait_for(state="hidden")
    page.locator("#status dd", has_text=re.compile("^1$")).wait_for()
    assert question(page, "2-1").get_by_label("hardness").input_value() == "4.5"


# --- everybody -------------------------------------------------------------------------------


def test_a_keyboard_is_enough_to_look_into_a_black_box(known: Page, site: ServerProcess):
    show(known, site, "plant")
    known.locator("#graph-part", has_text="inside bands").wait_for()
    for _ in range(30):
        known.keyboard.press("Tab")
        if known.evaluate("document.activeElement.matches('#graph-part a')"):
            break
    known.keyboard.press("Enter")
    known.locator("#box-title:focus").wait_for()


def test_a_keyboard_is_enough_to_answer(known: Page, site: ServerProcess, oven: gs.Study):
    show(known, site, oven.name)
    question(known, "1-1").get_by_label("hardness").focus()
    known.keyboard.type("3.5")
    known.keyboard.press("Tab")
    known.keyboard.type("0.2")
    known.keyboard.press("Enter")
    known.get_by_text("trial 1 is complete").wait_for()
    assert answered(oven) == 1


@pytest.mark.parametrize("name", ["plant", HOSTILE, "many"])
def test_a_phone_never_scrolls_sideways(known: Page, site: ServerProcess, name: str):
    known.set_viewport_size({"width": 375, "height": 700})
    wide = "document.scrollingElement.scrollWidth <= innerWidth"
    assert known.evaluate(wide)
    show(known, site, name)
    known.locator("#plot canvas").wait_for()
    if name != "many":  # learning from a thousand answers takes long
        show_all(known)
    assert known.evaluate(wide)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_on_a_page_shuts_somebody_out(known: Page, site: ServerProcess, axe, scheme: str):
    known.emulate_media(color_scheme=scheme)
    assert axe(known) == []
    show(known, site, "plant")
    show_all(known)
    known.locator("#graph-part a").first.click()
    known.locator("#box-title").wait_for()
    known.get_by_text("Answers so far, and corrections").click()
    known.locator("#answers-part table").wait_for()
    assert axe(known) == []


def test_a_report_and_a_page_with_questions_shut_nobody_out(
    known: Page, site: ServerProcess, axe, oven: gs.Study
):
    show(known, site, oven.name)
    for summary in known.locator("#queue-part summary").all():
        summary.click()
    assert axe(known) == []
    known.goto(f"{site.address}/studies/plant/export/report.html")
    assert axe(known) == []


def test_the_dark_scheme_is_dark(known: Page, site: ServerProcess):
    known.emulate_media(color_scheme="dark")
    show(known, site, "plant")
    colour = known.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", colour))) < 64
