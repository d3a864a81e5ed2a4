"""Requests that no page makes: each gets an answer of its own, and none is an accident."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from grisaille.study.study import Study
from grisaille.views.page import serving
from grisaille.views.page.guard import Rules
from grisaille.views.page.rendering import whole_number
from grisaille.views.page.serving import news
from grisaille.views.page.studies import RunningStudies
from grisaille.views.page.study_page import StudyPage
from tests.views.page.page_helpers import (
    TOKEN,
    asked_study,
    awaited,
    client,
    form_word,
    made_study,
    reactor_study,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("text", ["²", "٣", "-1", "1.5", "", "9" * 5000, "1e9", " 1", "0x1"])
def test_what_is_no_number_of_an_event_is_none(text: str):
    assert whole_number(text) is None


@pytest.mark.parametrize("at", ["²", "٣", "-1", "9" * 5000, "99999999", "0", "nan", "%00"])
def test_a_moment_that_never_was_is_now(at: str):
    with client(made_study()) as browser:
        answer = browser.get(f"/studies/study?at={at}")
    assert answer.status_code == 200
    assert 'class="past"' not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/studies/..%2f..%2fetc%2fpasswd",
        "/studies/~2E~2E~2F",
        "/studies/~00",
        "/studies/~ED~A0~80",
        "/studies/" + "x" * 20000,
        "/studies/%F0%9F%92%A9",
        "/studies/study/box/" + "y" * 20000,
        "/studies/study/box/..%2f..%2f",
        "/studies/study/parts/..%2fbase",
        "/studies/study/export/..%2fapp.py",
    ],
)
def test_a_path_that_leads_nowhere_is_answered_with_a_short_page(path: str):
    with client(made_study()) as browser:
        answer = browser.get(path)
    assert answer.status_code == 404
    assert len(answer.text) < 20000


def test_a_path_with_markup_is_shown_as_text():
    with client(made_study()) as browser:
        for path in ("/studies/<script>x", "/studies/study/parts/<script>x", "/<script>x"):
            answer = browser.get(path)
            assert answer.status_code == 404
            assert "<script>x" not in answer.text


@pytest.mark.parametrize("length", ["²", "-5", "9" * 5000, "many"])
def test_a_length_that_is_no_number_is_refused(length: str):
    with client(asked_study()) as browser:
        headers = {"content-length": length.encode("latin-1")}
        refused = browser.post("/studies/oven/tell", content=b"x", headers=headers)
    assert refused.status_code == 413


def test_a_wrong_token_in_a_header_does_not_open_the_way_for_forms_of_other_sites():
    study = asked_study()
    form = {"id": "1-1", "y:0": "3.5", "y:1": "0.2"}
    with client(study) as browser:
        for headers in (
            {"authorization": "x", "origin": "http://evil.example"},
            {"authorization": "x"},
        ):
            refused = browser.post("/studies/oven/tell", data=form, headers=headers)
            assert refused.status_code == 403
    assert len(study.pending) == 2


@pytest.mark.parametrize("many", ["²", "9" * 5000])
def test_a_strange_number_of_questions_is_refused_in_a_sentence(many: str):
    with client(asked_study()) as browser:
        refused = browser.post("/studies/oven/ask", data={"form": form_word(), "n": many})
    assert refused.status_code == 422
    assert "ask for 1 to 50" in refused.text


def test_a_form_with_too_many_fields_is_refused():
    study = asked_study()
    with client(study) as browser:
        form = {f"y:{k}": "1" for k in range(4000)}
        headers = {"content-type": "multipart/form-data; boundary=b"}
        many = "".join(
            f'--b\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n1\r\n' for name in form
        )
        refused = browser.post("/studies/oven/tell", content=f"{many}--b--", headers=headers)
        broken = browser.post("/studies/oven/tell", content=b"--c\r\n", headers=headers)
    assert refused.status_code == 400
    assert broken.status_code in (400, 403)
    assert len(study.pending) == 2


def test_cookies_and_headers_that_are_not_text_are_worth_nothing():
    with client(made_study(), known=False) as browser:
        for headers in ({"cookie": b"grisaille=\xff\xfe"}, {"authorization": b"Bearer \xff"}):
            assert browser.get("/studies/study", headers=headers).status_code == 403
        assert browser.get("/?token=%ff%fe").status_code == 403
        assert TOKEN not in browser.get("/studies/study").text


def test_more_pages_than_are_allowed_cannot_listen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(serving, "SERVING", replace(serving.SERVING, listeners=0))
    with client(made_study()) as browser:
        refused = browser.get("/studies/study/news")
    assert refused.status_code == 503
    assert "too many pages are open" in refused.text


def test_a_burst_of_pages_cannot_pass_the_limit_and_those_that_leave_make_room(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(serving, "SERVING", replace(serving.SERVING, listeners=2))
    pages = _served(made_study())

    async def bursts() -> list[list[int]]:
        return [await _statuses(pages, "GET", "/studies/study/news", 5) for _ in range(2)]

    for statuses in awaited(bursts()):
        assert sorted(statuses) == [200, 200, 503, 503, 503]


def test_a_browser_that_leaves_in_the_middle_of_a_form_is_no_accident():
    pages = _served(asked_study())
    assert awaited(_statuses(pages, "POST", "/studies/oven/tell", 1)) == [400]


@pytest.mark.parametrize("is_script", [False, True])
def test_an_accident_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch, is_script: bool):
    def broken(study: Study, form: object) -> str:
        raise KeyError("sour milk")

    monkeypatch.setitem(serving.FORMS, "tell", broken)
    monkeypatch.setattr(StudyPage, "constraints", lambda page: 1 / 0)
    headers = {"hx-request": "true"} if is_script else {}
    with client(asked_study(), shows_accidents=True) as browser:
        told = browser.post("/studies/oven/tell", data={"form": form_word()}, headers=headers)
        part = browser.get("/studies/oven/parts/constraints", headers=headers)
    assert (told.status_code, part.status_code) == (500, 500)
    assert "the server met a KeyError that it did not expect" in told.text
    assert "a ZeroDivisionError that it did not expect" in part.text
    assert "sour milk" not in told.text


def _served(study: Study) -> Callable[..., Awaitable[None]]:
    studies = RunningStudies()
    studies.add(study)
    return serving.Pages(studies, Rules(TOKEN)).app()


async def _statuses(
    pages: Callable[..., Awaitable[None]], method: str, path: str, many: int
) -> list[int]:
    """What so many requests at once are answered with, if each browser leaves when all have it."""
    statuses: list[int] = []
    answered = asyncio.Event()
    headers = {
        "host": "127.0.0.1",
        "authorization": f"Bearer {TOKEN}",
        "content-length": "100",
        "content-type": "application/x-www-form-urlencoded",
    }
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }

    async def receive() -> dict[str, Any]:
        if method == "GET":
            await answered.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            if len(statuses) == many:
                answered.set()

    await asyncio.gather(*(pages({**scope}, receive, send) for _ in range(many)))
    return statuses


def test_a_browser_that_knows_a_later_event_hears_that_the_study_was_made_again():
    study = reactor_study(1)

    class Browser:
        async def is_disconnected(self) -> bool:
            return False

    async def first_two() -> list[str]:
        texts = news(Browser(), lambda: len(study.events()), 10_000)
        return [await anext(texts), await anext(texts)]

    assert awaited(first_two())[1].endswith(f"data: {len(study.events())}\n\n")
