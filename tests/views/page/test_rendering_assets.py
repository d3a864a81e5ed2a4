from __future__ import annotations

import base64
import hashlib
import re

import pytest

from grisaille.views.page.rendering import asset_address, assets, style_digest
from tests.views.page.page_helpers import client, made_study

pytestmark = pytest.mark.slow


def test_every_file_of_a_page_is_there_and_may_be_kept():
    with client(made_study()) as browser:
        text = browser.get("/studies/study").text
        addresses = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
        assert len(addresses) == 4
        for address in addresses:
            answer = browser.get(address)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
        assert browser.get("/studies/study").headers["cache-control"] == "no-store"


def test_a_file_has_another_address_if_its_content_is_another_one():
    digest = hashlib.sha256(assets()["page.js"].content).hexdigest()
    assert asset_address("page.js").split("/")[2] == digest[:16]
    with client(made_study()) as browser:
        assert browser.get("/static/0123456789abcdef/page.js").status_code == 404


def test_the_policy_allows_the_styles_that_a_page_has_inside_and_no_others():
    with client(made_study()) as browser:
        answer = browser.get("/")
    (inside,) = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    assert style_digest() == f"sha256-{digest}"
    assert f"style-src 'self' 'sha256-{digest}';" in answer.headers["content-security-policy"]


def test_no_file_outside_the_folder_is_served():
    with client(made_study()) as browser:
        for path in ("/static/x/..%2fapp.py", "/static/../app.py", "/static/x/htmx-LICENSE.txt"):
            assert browser.get(path).status_code == 404
