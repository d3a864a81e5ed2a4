from __future__ import annotations

import json
import re

import pytest

import grisaille as gs
from grisaille.views.page.serving import news
from grisaille.views.page.study_page import StudyPage
from tests.study.study_helpers import QUICK
from tests.views.page.page_helpers import (
    HOSTILE,
    asked_study,
    awaited,
    client,
    form_word,
    made_study,
    reactor_study,
)

pytestmark = pytest.mark.slow


PARTS = [part for part in StudyPage.PARTS if part != "blame"]


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_page_is_shown(part: str):
    with client(made_study()) as browser:
        answer = browser.get(f"/studies/study/parts/{part}?learn=yes")
    assert answer.status_code == 200
    assert "<html" not in answer.text


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_an_empty_study_is_a_part_or_a_sentence(part: str):
    with client(reactor_study(0)) as browser:
        answer = browser.get(f"/studies/study/parts/{part}", headers={"hx-request": "true"})
    assert answer.status_code in (200, 404)
    assert answer.status_code == 200 or 'class="trouble"' in answer.text


def test_a_page_shows_names_units_and_values():
    with client(made_study()) as browser:
        text = browser.get("/studies/study").text
    for word in ("profit", "waste", "reactor", "column", "Questions", "flow in [0.5, 3] kg/s"):
        assert word in text


def test_the_list_of_studies_leads_to_their_pages():
    with client(made_study(), asked_study()) as browser:
        links = re.findall(r'href="(/studies/[^"]+)"', browser.get("/").text)
        assert links == ["/studies/study", "/studies/oven"]
        assert all(browser.get(link).status_code == 200 for link in links)


def test_the_past_is_shown_as_it_was():
    study = reactor_study(4)
    at = next(e.number for e in study.events() if e.kind == "completed" and e.data["trial"] == 2)
    with client(study) as browser:
        text = browser.get(f"/studies/study?at={at}").text
        data = browser.get(f"/studies/study/convergence.json?at={at}").json()
    assert f"after event {at} of" in text
    assert "<form method" not in text
    best = next(mark for mark in data["marks"] if mark["look"] == "best")
    assert best["x"][:2] == [1, 2]
    assert len(best["x"]) == 4  # the final value is shown beyond the last trial


def test_series_for_the_plot_have_no_numbers_that_json_lacks():
    with client(made_study()) as browser:
        answer = browser.get("/studies/study/convergence.json")
    data = json.loads(answer.text, parse_constant=lambda word: pytest.fail(word))
    marks = {mark["look"]: mark for mark in data["marks"]}
    assert len(marks["best"]["y"]) == len(marks["bound"]["y"])
    assert None in marks["bound"]["y"]


def test_the_plot_can_be_asked_for_the_gap_and_over_the_cost():
    with client(made_study()) as browser:
        gap = browser.get("/studies/study/convergence.json?over=cost&scale=gap").json()
    assert gap["y"]["is_logarithmic"]
    assert gap["x"]["label"] == "cost of all answers so far"


def test_a_black_box_is_shown_alone_and_as_a_part():
    with client(made_study()) as browser:
        whole = browser.get("/studies/study/box/reactor?output=waste")
        part = browser.get("/studies/study/box/reactor", headers={"hx-request": "true"})
    assert "<html" in whole.text
    assert "<html" not in part.text
    assert "<option selected>waste</option>" in whole.text
    assert part.text.count("<svg") == 3


def test_a_black_box_that_does_not_exist_is_named():
    with client(made_study()) as browser:
        answer = browser.get("/studies/study/box/furnace")
    assert answer.status_code == 404
    assert "furnace" in answer.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/studies/none", 404),
        ("/studies/study/parts/none", 404),
        ("/none", 404),
        ("/studies/study/export/none", 404),
    ],
)
def test_what_is_not_there_is_said_in_a_page(path: str, status: int):
    with client(made_study()) as browser:
        answer = browser.get(path)
    assert answer.status_code == status
    assert "This cannot be shown" in answer.text


@pytest.mark.parametrize("file", ["trials.csv", "answers.csv", "study.json", "report.html"])
def test_exports_are_there(file: str):
    with client(made_study()) as browser:
        answer = browser.get(f"/studies/study/export/{file}")
    assert answer.status_code == 200
    assert len(answer.text) > 200


def test_names_from_a_study_are_never_markup():
    x = gs.Variable(HOSTILE, lower=0, upper=1)
    box = gs.BlackBox(lambda x: x, name=HOSTILE, noise=0, outputs=[HOSTILE])
    problem = gs.Problem(
        minimize=gs.named(HOSTILE, box(x)[0], unit=None), subject_to={HOSTILE: box(x)[0] >= 0.1}
    )
    study = gs.Study(problem, strategy=QUICK, seed=0)
    study.name = HOSTILE
    study.run(5, progress=False)
    study.fail(study.ask()[0], HOSTILE)
    with client(study) as browser:
        link = re.findall(r'href="(/studies/[^"]+)"', browser.get("/").text)[0]
        texts = [browser.get(link).text]
        texts += [browser.get(f"{link}/parts/{part}").text for part in PARTS]
        texts.append(browser.get(f"{link}/export/report.html").text)
    assert all("<script>alert" not in text for text in texts)
    assert "&lt;script&gt;alert" in texts[0]


def test_a_form_answers_with_a_part_for_scripts_and_a_page_without():
    study = asked_study()
    with client(study) as browser:
        form = {"form": form_word(), "id": "1-1", "y:0": "3.5", "y:1": "0.2"}
        part = browser.post("/studies/oven/tell", data=form, headers={"hx-request": "true"})
        assert 'hx-swap-oob="innerHTML"' in part.text
        form = {"form": form_word(), "id": "2-1", "y:0": "1", "y:1": "0.2"}
        whole = browser.post("/studies/oven/tell", data=form)
        assert (whole.status_code, whole.headers["location"]) == (303, "/studies/oven#queue")
        wrong = browser.post("/studies/oven/tell", data=form)
        assert wrong.status_code == 422
        assert 'class="trouble"' in wrong.text
    assert len(study.history) == 2


def test_an_uploaded_file_is_observed():
    study = asked_study()
    with client(study) as browser:
        browser.post(
            "/studies/oven/observe",
            data={"form": form_word(), "box": "oven", "table": ""},
            files={"file": ("old.csv", "x,hardness,colour\n0.1,2,0.5\n")},
        )
    assert study.history.counts() == {"oven": 1}


def test_the_constraints_to_blame_are_named():
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: x, name="f", noise=0, lipschitz=1.0, lower=0, upper=1)
    limits = {"impossible": box(x) >= 2, "easy": x <= 0.9}
    problem = gs.Problem(minimize=box(x), subject_to=limits)
    study = gs.Study(problem, strategy=gs.Optimistic(beta=gs.Declared()), seed=0)
    study.run(4, progress=False)
    with client(study) as browser:
        text = browser.get("/studies/study/parts/blame").text
    assert "<li>impossible</li>" in text
    assert "easy" not in text


def test_news_are_the_number_of_the_last_event_and_begin_after_the_cursor():
    study = reactor_study(2)
    last = len(study.events())

    class Browser:
        async def is_disconnected(self) -> bool:
            return False

    async def listen(after: int, count: int) -> list[str]:
        heard = []
        async for text in news(Browser(), lambda: len(study.events()), after):
            heard.append(text)
            if len(heard) == count:
                break
        return heard

    assert awaited(listen(0, 2)) == ["retry: 1000\n\n", f"id: {last}\ndata: {last}\n\n"]
    study.record_settings(trials=5)
    assert awaited(listen(last, 2))[1] == f"id: {last + 1}\ndata: {last + 1}\n\n"


def test_a_study_of_interventions_has_a_page():
    from grisaille.lab.problems import toy_graph

    study = gs.Study(toy_graph().problem, seed=0)
    with client(study) as browser:
        assert browser.get("/studies/study").status_code == 200
