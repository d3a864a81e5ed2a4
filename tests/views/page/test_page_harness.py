"""The harness sees what is wrong with a page, and leaves a good one alone."""

from __future__ import annotations

import sys

import pytest

from tests.views.page.page_watch import watched_page
from tests.views.page.server_process import ServerProcess

pytestmark = pytest.mark.slow


TINY_SITE = [
    *(sys.executable, "-m", "uvicorn", "tests.views.page.tiny_site:app"),
    *("--port", "{port}", "--log-level", "warning"),
]


@pytest.fixture(scope="module")
def site():
    server = ServerProcess(TINY_SITE)
    server.start()
    yield server
    server.close()


def test_a_good_page_has_no_complaints(site, page, axe):
    page.goto(site.address)
    assert page.title() == "Tiny"
    assert axe(page) == []


def test_axe_reports_a_picture_without_a_description(site, page, axe):
    page.goto(f"{site.address}/nameless_picture")
    (violation,) = axe(page)
    assert violation.rule == "image-alt"
    assert violation.impact == "critical"
    assert violation.elements[0].startswith("<img")


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("console_error", "the console shows an error: sour milk"),
        ("exception", "a script raised: .*bad egg"),
        ("foreign_picture", "the page asked another server: http://127.0.0.1:9/picture.png"),
    ],
)
def test_a_bad_page_fails_its_test_at_the_end(site, browser, path, complaint):
    with pytest.raises(AssertionError, match=complaint), watched_page(browser) as (page, _):
        page.goto(f"{site.address}/{path}")


def test_an_error_that_is_expected_does_not_fail_the_test(site, page, page_watch):
    page_watch.expect("sour milk")
    page.goto(f"{site.address}/console_error")
    assert page_watch.complaints() == []


def test_a_killed_server_is_gone_and_a_restarted_one_answers_at_the_same_address(
    served, page, page_watch
):
    server = served(TINY_SITE)
    page.goto(server.address)
    first = page.text_content("#process")
    server.kill()
    assert not server.running
    page_watch.expect("ERR_CONNECTION_REFUSED")
    with pytest.raises(Exception, match="ERR_CONNECTION_REFUSED"):
        page.goto(server.address)
    server.restart()
    page.goto(server.address)
    assert page.text_content("#process") != first


def test_a_command_that_ends_is_reported_with_what_it_printed(served):
    with pytest.raises(RuntimeError, match="ended and served nothing:\nno such study"):
        served([sys.executable, "-c", "print('no such study')"])
