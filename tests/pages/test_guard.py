from __future__ import annotations

import pytest

from grisaille.pages.assets import asset_address
from grisaille.pages.guard import COOKIE, LARGEST_BODY, Rules, is_loopback
from tests.pages.pages_helpers import TOKEN, asked_study, client, form_word, made_study

ANSWER = {"form": form_word(), "id": "1-1", "y:0": "3.5", "y:1": "0.2"}


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("lab", False)],
)
def test_loopback_addresses_are_known(host: str, is_local: bool):
    assert is_loopback(host) is is_local


def test_on_this_machine_reading_needs_no_token():
    with client(made_study(), known=False) as browser:
        assert browser.get("/").status_code == 200


@pytest.mark.parametrize("path", ["/", "/studies/study", "/studies/study/export/trials.csv"])
def test_elsewhere_reading_needs_the_token(path: str):
    rules = Rules(TOKEN, host="0.0.0.0")
    with client(made_study(), rules=rules, known=False) as browser:
        assert browser.get(path).status_code == 403
        assert browser.get(f"{path}?token=wrong").status_code == 403
        entered = browser.get(f"{path}?token={TOKEN}")
        assert (entered.status_code, entered.headers["location"]) == (303, path)
        assert browser.get(path).status_code == 200


def test_the_cookie_does_not_tell_the_token_and_stays_on_this_site():
    with client(made_study(), known=False) as browser:
        cookie = browser.get(f"/?token={TOKEN}").headers["set-cookie"]
        assert TOKEN not in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie


def test_without_the_token_nothing_is_recorded():
    study = asked_study()
    with client(study, known=False) as browser:
        refused = browser.post("/studies/oven/tell", data=ANSWER)
    assert refused.status_code == 403
    assert "Answers need the token" in refused.text
    assert len(study.pending) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_forms_of_other_sites_are_refused(headers: dict[str, str]):
    study = asked_study()
    with client(study) as browser:
        refused = browser.post("/studies/oven/tell", data=ANSWER, headers=headers)
    assert refused.status_code == 403
    assert "another site" in refused.text
    assert len(study.pending) == 2


def test_a_form_without_the_pages_word_is_refused():
    study = asked_study()
    with client(study) as browser:
        refused = browser.post("/studies/oven/tell", data={**ANSWER, "form": "guess"})
    assert refused.status_code == 403
    assert len(study.pending) == 2


def test_the_token_in_a_header_is_enough_for_programs():
    study = asked_study()
    with client(study, known=False) as browser:
        told = {name: value for name, value in ANSWER.items() if name != "form"}
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert browser.post("/studies/oven/tell", data=told, headers=headers).status_code == 303
    assert len(study.pending) == 1


def test_a_name_that_points_to_this_machine_is_refused():
    with client(made_study()) as browser:
        assert browser.get("/", headers={"host": "evil.example"}).status_code == 421
        assert browser.get("/", headers={"host": "localhost:8642"}).status_code == 200


def test_read_only_refuses_answers_and_shows_no_forms():
    study, rules = asked_study(), Rules(TOKEN, read_only=True)
    with client(study, rules=rules) as browser:
        assert "<form method" not in browser.get("/studies/oven").text
        refused = browser.post("/studies/oven/tell", data=ANSWER)
    assert (refused.status_code, "read-only" in refused.text) == (403, True)
    assert len(study.pending) == 2


def test_what_is_too_large_is_refused_before_it_is_read():
    with client(asked_study()) as browser:
        headers = {"content-length": str(LARGEST_BODY + 1)}
        refused = browser.post("/studies/oven/tell", content=b"x", headers=headers)
    assert refused.status_code == 413


def test_every_answer_forbids_foreign_scripts_and_frames():
    with client(made_study()) as browser:
        for path in ("/", "/studies/study", asset_address("page.js"), "/studies/none"):
            headers = browser.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"


def test_after_the_token_the_browser_stays_on_this_site():
    with client(made_study(), known=False) as browser:
        answer = browser.get(f"//evil.example/?token={TOKEN}")
    assert not answer.headers["location"].startswith("//")


def test_other_methods_are_refused():
    with client(made_study()) as browser:
        assert browser.delete("/studies/study").status_code == 405


def test_a_cookie_of_another_token_is_worth_nothing():
    study = asked_study()
    with client(study, known=False) as browser:
        browser.cookies.set(COOKIE, Rules("another-token").derived("cookie"))
        assert browser.post("/studies/oven/tell", data=ANSWER).status_code == 403
