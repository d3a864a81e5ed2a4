from __future__ import annotations

import pytest

from grisaille.views.page.guard import COOKIE, GUARD, Rules, is_loopback
from grisaille.views.page.rendering import asset_address
from grisaille.views.page.serving import Pages
from tests.views.page.page_helpers import TOKEN, asked_study, client, form_word, made_study

pytestmark = pytest.mark.slow


ANSWER = {"form": form_word(), "id": "1-1", "y:0": "3.5", "y:1": "0.2"}


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("lab", False)],
)
def test_loopback_addresses_are_known(host: str, is_local: bool):
    assert is_loopback(host) is is_local


BROWSER = {"accept": "text/html,*/*;q=0.8"}
ELSEWHERE = {**BROWSER, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("path", ["/", "/studies/study", "/studies/study/export/trials.csv"])
def test_reading_needs_the_token_wherever_the_server_listens(path: str, host: str):
    with client(made_study(), rules=Rules(TOKEN, host=host), known=False) as browser:
        refused = browser.get(path)
        assert (refused.status_code, "needs the token" in refused.text) == (403, True)
        assert browser.get(f"{path}?token=wrong").status_code == 403
        entered = browser.get(f"{path}?token={TOKEN}")
        assert (entered.status_code, entered.headers["location"]) == (303, path)
        assert browser.get(path).status_code == 200


def test_a_word_lets_in_one_browser_once():
    rules = Rules(TOKEN)
    word = rules.invite()
    with client(made_study(), rules=rules, known=False) as browser:
        assert browser.head(f"/?token={word}").status_code == 403  # nobody looked yet
        assert browser.get(f"/?token={word}").status_code == 303
        assert browser.get("/").status_code == 200
        again = browser.get(f"/studies/study?token={word}")  # the same address, chosen again
        assert (again.status_code, again.headers["location"]) == (303, "/studies/study")
    with client(made_study(), rules=rules, known=False) as other:
        refused = other.get(f"/?token={word}", headers=BROWSER)
    assert refused.status_code == 403
    assert "the address was used before" in refused.text


def test_a_file_that_leads_here_lets_in_a_browser_that_sends_no_cookies_from_elsewhere():
    rules = Rules(TOKEN)
    with client(made_study(), rules=rules, known=False) as browser:
        entered = browser.get(f"/studies/study?token={rules.invite()}", headers=ELSEWHERE)
        assert entered.status_code == 200
        assert '<meta http-equiv="refresh" content="0; url=/studies/study">' in entered.text
        assert browser.get("/studies/study").status_code == 200


def test_who_has_no_word_types_the_token():
    with client(made_study(), known=False) as browser:
        asked = browser.get("/studies/study?at=3", headers=BROWSER).text
        assert 'name="target" value="/studies/study?at=3"' in asked
        form = {"token": "wrong", "target": "/studies/study?at=3"}
        assert browser.post("/", data=form, headers=BROWSER).status_code == 403
        assert browser.get("/").status_code == 403
        entered = browser.post("/", data={**form, "token": f" {TOKEN} "})
        assert (entered.status_code, entered.headers["location"]) == (303, "/studies/study?at=3")
        assert browser.get("/").status_code == 200


@pytest.mark.parametrize(
    "target", ["//evil.example", "/\\evil.example", "https://evil.example", ""]
)
def test_after_the_token_was_typed_the_browser_stays_on_this_site(target: str):
    with client(made_study(), known=False) as browser:
        form = {"token": TOKEN, "target": target}
        found = browser.post("/", data=form).headers["location"]
        assert found[0] == "/"
        assert found[1:2] not in ("/", "\\")


def test_nothing_but_a_short_form_of_this_site_is_read_before_the_token_is_known():
    with client(made_study(), known=False) as browser:
        form = {"token": TOKEN}
        large = browser.post("/", data={"token": "x" * 10_000})
        foreign = browser.post("/", data=form, headers={"sec-fetch-site": "cross-site"})
        broken = browser.post("/", content=b"--", headers={"content-type": "multipart/form-data"})
        assert (large.status_code, foreign.status_code, broken.status_code) == (413, 403, 403)
        assert browser.get("/").status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_cannot_make_the_page_work(site: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Pages, "_page", lambda *_: pytest.fail("the page worked"))
    paths = ("/", "/studies/study", "/studies/study/parts/influence?learn=yes")
    with client(made_study()) as browser:
        for path in paths:
            picture = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors", "accept": "image/*"}
            assert browser.get(path, headers=picture).status_code == 403
            led = browser.get(path, headers={**ELSEWHERE, "sec-fetch-site": site})
            assert led.status_code == 200
            assert f'<a href="{path}">Open the page</a>' in led.text
            assert "refresh" not in led.text


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
        headers = {"content-length": str(GUARD.body + 1)}
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
