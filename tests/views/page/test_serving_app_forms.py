from __future__ import annotations

import pytest

import grisaille as gs
from grisaille.views.page.serving import record
from tests.study.study_helpers import QUICK
from tests.views.inspection.inspection_helpers import with_choice
from tests.views.page.page_helpers import asked_study, client, form_word, reactor_problem

pytestmark = pytest.mark.slow


def test_an_answer_is_recorded_as_python_records_it():
    study = asked_study()
    done = record(study, "tell", {"id": "1-1", "y:0": "3.5", "y:1": " 0,25 "})
    assert not done.is_refused
    assert "trial 1 is complete" in done.sentence
    assert study.history.trials[0].chain.tolist() == [3.5, 0.25]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"y:0": "3.5"}, "colour: nothing was typed"),
        ({"y:0": "3.5", "y:1": "high"}, "colour: 'high' is not a number"),
        ({"y:0": "nan", "y:1": "1"}, "hardness: 'nan' is not a number"),
        ({"values": "1 2 3"}, "black box 'oven' has 2 outputs, and 3 numbers were pasted"),
    ],
)
def test_a_typing_error_is_named_and_nothing_is_recorded(typed: dict[str, str], sentence: str):
    study = asked_study()
    done = record(study, "tell", {"id": "1-1", **typed})
    assert done.is_refused
    assert done.sentence.startswith(sentence)
    assert len(study.pending) == 2


def test_inputs_that_were_really_set_move_the_trial():
    study = asked_study()
    record(study, "tell", {"id": "1-1", "y:0": "3.5", "y:1": "0.2", "s:0": "0.75"})
    assert study.history.trials[0].x.tolist() == [0.75]


def test_an_answer_twice_is_refused_in_a_sentence():
    study = asked_study()
    form = {"id": "1-1", "y:0": "3.5", "y:1": "0.2"}
    record(study, "tell", form)
    again = record(study, "tell", form)
    assert again.is_refused
    assert "1-1" in again.sentence


def test_a_strange_answer_is_recorded_with_a_remark():
    study = gs.Study(reactor_problem(), strategy=QUICK, seed=0)
    study.run(8, progress=False)
    (query,) = study.ask()
    done = record(study, "tell", {"id": query.id, "y:0": "1e6", "y:1": "0.01"})
    assert not done.is_refused
    assert done.remarks


def test_a_failure_needs_a_reason():
    study = asked_study()
    assert record(study, "fail", {"id": "1-1", "reason": " "}).is_refused
    done = record(study, "fail", {"id": "1-1", "reason": "cold"})
    assert done.sentence == "Question 1-1 has no answer: it will be asked again."


def test_a_question_that_cannot_be_made_is_skipped_for_good():
    study = asked_study()
    with client(study) as browser:
        assert "Skip: this cannot be made" in browser.get("/studies/oven").text
        form = {"form": form_word(), "id": "1-1"}
        done = browser.post("/studies/oven/skip", data=form, headers={"hx-request": "true"})
    assert "Question 1-1 is skipped: it is not asked again" in done.text
    (failure,) = study.failures
    assert failure.reason == "this cannot be made"
    (other,) = study.pending
    assert other.id == "2-1"
    assert all(query.inputs.tolist() != failure.inputs.tolist() for query in study.ask(3))


def test_a_question_is_given_back():
    study = asked_study()
    record(study, "release", {"id": "1-1"})
    assert [query.id for query in study.pending] == ["2-1"]


def test_a_wrong_answer_is_corrected_and_taken_back():
    study = asked_study()
    record(study, "tell", {"id": "1-1", "y:0": "35", "y:1": "0.2"})
    done = record(study, "correct", {"id": "1-1", "y:0": "3.5", "y:1": "0.2"})
    assert "Trial 1 was computed again" in done.sentence
    assert study.history.trials[0].chain.tolist() == [3.5, 0.2]
    record(study, "retract", {"id": "1-1", "reason": "wrong sample"})
    assert len(study.history) == 0


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_pasted_table_is_observed(separator: str):
    study = asked_study()
    lines = [["x", "colour", "hardness "], ["0.1", "0.5", "2"], ["0.9", "0.4", "1"]]
    table = "\n".join(separator.join(line) for line in lines)
    done = record(study, "observe", {"box": "oven", "table": table})
    assert done.sentence == "2 answers of oven are recorded."
    assert study.history.counts() == {"oven": 2}
    assert [seen.outputs.tolist() for seen in study.history.observations()] == [[2, 0.5], [1, 0.4]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "paste a table"),
        ("x,hardness,colour\n", "has no row below the names"),
        ("x,hardness\n0.1,2", "there is no column 'colour'"),
        ("x\n0.1,2,3,4", "line 2 has 4 cells, but there are 1 columns"),
        ("x,hardness,colour\n9,0.1,2,0.5", "line 2 has 4 cells, but there are 3 columns"),
        ("0.1,2,0.5\n0.9,1,0.4", "begins with numbers: put a row with the names"),
        ("x,x,hardness,colour\n1,2,3,4", "has two columns 'x'"),
        ("x,hardness,heat\n1,2,3", "'heat' is not"),
        ("x,hardness,colour\n1,,3\n1,2,3", "row 0 of the outputs is [nan, 3.0]"),
        ("x,hardness,colour\n1,2_0,3", "there is '2_0'"),
        ("x,hardness,colour\n1,,3", "every number must be finite"),
        ('x,hardness,colour\n1,"2,3', "cannot be read as CSV"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table: str, message: str):
    study = asked_study()
    done = record(study, "observe", {"box": "oven", "table": table})
    assert done.is_refused
    assert message in done.sentence
    assert study.history.counts() == {}


@pytest.mark.parametrize("many", ["0", "-1", "many", "51"])
def test_questions_are_asked_for_in_small_numbers(many: str):
    done = record(asked_study(), "ask", {"n": many})
    assert done.is_refused
    assert "ask for 1 to 50" in done.sentence


def test_the_next_question_is_asked():
    study = asked_study()
    done = record(study, "ask", {"n": "1"})
    assert done.sentence == "1 question to answer: 3-1."


def test_an_own_point_is_tried_next_and_labels_are_words():
    study = gs.Study(with_choice().problem, strategy=QUICK)
    done = record(study, "enqueue", {"x:kind": "steep", "x:x": "2"})
    assert done.sentence == "Trial 1 will be tried at your point before anything else."
    assert study.ask()[0].arguments == ("steep", 2.0)
    refused = record(study, "enqueue", {"x:kind": "bent", "x:x": "2"})
    assert refused.is_refused
    assert "bent" in refused.sentence
