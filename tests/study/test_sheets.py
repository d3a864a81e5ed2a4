"""Questions as a table, and what becomes of each line of it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas
import pytest

import grisaille as gs
from grisaille.errors import GrisailleWarning, ModelError
from grisaille.study.sheets import open_questions, unrecorded_lines

pytestmark = pytest.mark.slow


def laboratory(**options) -> gs.Study:
    recipe = gs.Variable("recipe", 2, lower=[20, 0.5], upper=[80, 4.0])
    synthesis = gs.BlackBox(None, name="synthesis", outputs=["product", "acid"])
    purification = gs.BlackBox(None, name="purification")
    batch = synthesis(recipe)
    problem = gs.Problem(maximize=batch["product"] - purification(batch["acid"]) - 0.03 * recipe[1])
    settings = {"strategy": gs.RandomSearch(), "evaluation": "chained", **options}
    return gs.Study(problem, **settings)


@pytest.fixture
def study() -> gs.Study:
    return laboratory()


@pytest.fixture
def sheet(study) -> pandas.DataFrame:
    return study.ask_sheet(3)


def outcomes(study, sheet) -> list[str]:
    return study.tell_sheet(sheet)["outcome"].tolist()


def refusal(study, sheet, row: int = 0) -> str:
    """What is said of a row that must be refused, while nothing is recorded of it."""
    before = len(study.answers())
    told = study.tell_sheet(sheet)
    assert told["outcome"][row] == "refused"
    assert told["message"][row].startswith(f"row {row}: ")
    assert len(study.answers()) == before
    return told["message"][row]


def fill(sheet, row: int = 0, **cells) -> None:
    for column, value in ({"product": 0.5, "acid": 0.25} | cells).items():
        sheet.loc[row, column] = value


def test_a_sheet_has_named_rounded_inputs_and_an_empty_cell_for_each_output(study, sheet):
    wanted = ["id", "trial", "box", "recipe[0]", "recipe[1]", "product", "acid", "failed"]
    assert list(sheet.columns) == wanted
    assert sheet["id"].tolist() == ["1-1", "2-1", "3-1"]
    assert (sheet[["product", "acid", "failed"]] == "").all(axis=None)
    asked = np.array([query.inputs for query in study.pending])
    shown = sheet[["recipe[0]", "recipe[1]"]].to_numpy()
    assert (asked != shown).all()
    assert np.abs(asked - shown).max(0).tolist() <= [0.003, 0.00018]


def test_what_stands_on_the_sheet_is_what_was_done(study, sheet):
    fill(sheet)
    fill(sheet, 1, **{"recipe[0]": 50})
    told = study.tell_sheet(sheet)
    assert told["outcome"].tolist() == ["recorded", "recorded", "open"]
    assert "as done at recipe[0] = 50" in told["message"][1]
    assert "instead" not in told["message"][0]  # rounding is no news
    answers = study.answers("synthesis")
    assert answers["recipe[0]"].tolist() == [sheet["recipe[0]"][0], 50.0]
    assert answers["product"].tolist() == [0.5, 0.5]


def test_different_boxes_stand_on_one_sheet_and_cells_of_others_hold_a_dash(study, sheet):
    fill(sheet)
    study.tell_sheet(sheet)
    mixed = study.ask_sheet(2)
    assert mixed["box"].tolist() == ["purification", "synthesis"]
    assert mixed["purification.acid"].tolist() == [0.25, "-"]
    assert mixed["product"].tolist() == ["-", ""]
    assert mixed["purification"].tolist() == ["", "-"]
    mixed.loc[0, "purification"] = 0.1
    told = study.tell_sheet(mixed)
    objective = 0.5 - 0.1 - 0.03 * sheet["recipe[1]"][0]
    assert told["message"][0] == (
        f"row 0: query 1-2 is answered, and trial 1 complete: objective {objective:.6g}"
    )
    assert told["outcome"].tolist() == ["recorded", "open"]
    mixed.loc[0, "product"] = 0.9
    assert "which has no 'product', but this column says '0.9'" in refusal(study, mixed)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"product": ""}, "no number in column 'product': fill in all of 'product', 'acid'"),
        ({"product": "0,93"}, "column 'product' says '0,93', which is not a finite number"),
        ({"product": "0,93"}, "write one, 0.93 say"),
        ({"product": "high"}, "'high', which is not a finite number"),
        ({"product": np.inf}, "'inf', which is not a finite number"),
        ({"product": 10**400}, "which is not a finite number"),
        ({"product": 10**5000}, "column 'product' says '<int>', which is not a finite number"),
        ({"recipe[0]": 10**400}, "which is not a finite number"),
        ({"product": True}, "'True', which is not a finite number"),
        ({"product": "-"}, "'-', which is not a finite number"),
        ({"recipe[0]": np.nan}, "column 'recipe[0]' is empty: write what was set"),
        ({"failed": "the pump"}, "a reason in 'failed': leave one of them empty"),
        ({"id": "9-9"}, "no query '9-9': those without an answer are '1-1', '2-1', '3-1'"),
        ({"id": "1-Jan"}, "if a spreadsheet made a date of it, format the column as text"),
        ({"id": ""}, "there is no id"),
        ({"box": "purification"}, "belongs to box synthesis, but column 'box' says"),
        ({"trial": 3}, "belongs to trial 1, but column 'trial' says '3'"),
    ],
)
def test_a_line_that_does_not_fit_is_refused_and_the_others_count(study, sheet, cells, message):
    sheet = sheet.astype(object)
    fill(sheet, 0, **cells)
    assert message in refusal(study, sheet)
    fill(sheet, 1)
    assert outcomes(study, sheet) == ["refused", "recorded", "open"]


def test_a_declared_range_is_checked_line_by_line():
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(None, name="f", lower=0, noise=0)
    study = gs.Study(gs.Problem(minimize=box(x)), strategy=gs.RandomSearch())
    sheet = study.ask_sheet(2)
    sheet["f"] = [-1.0, 1.0]
    assert outcomes(study, sheet) == ["refused", "recorded"]


def test_telling_a_sheet_again_changes_nothing(study, sheet):
    fill(sheet)
    sheet.loc[1, "failed"] = "the pump stopped"
    assert outcomes(study, sheet) == ["recorded", "failed", "open"]
    before = len(study.events())
    told = study.tell_sheet(sheet)
    assert told["outcome"].tolist() == ["known", "known", "open"]
    assert len(study.events()) == before
    assert [query.id for query in study.ask(2)] == ["1-2", "2-1"]  # the failed one, once more
    assert outcomes(study, sheet) == ["known", "known", "open"]
    sheet.loc[1, "failed"] = "the pump stopped again"
    told = study.tell_sheet(sheet)
    assert told["message"][1] == "row 1: query 2-1 failed, and is given up"


def test_another_answer_is_refused_and_a_corrected_one_is_known(study, sheet):
    fill(sheet, product=9.3)
    study.tell_sheet(sheet)
    study.correct("1-1", [0.93, 0.25])
    told = study.tell_sheet(sheet)
    assert told["message"][0] == "row 0: query 1-1 is recorded already, and was corrected since"
    fill(sheet, product=0.94)
    said = refusal(study, sheet)
    assert "has another answer already, [0.93, 0.25]" in said
    assert "study.correct('1-1', ...) records it" in said
    fill(sheet, product=0.93, **{"recipe[0]": 50.0})
    assert "[0.93, 0.25] at [50.0, " in refusal(study, sheet)


def test_an_id_on_two_lines_must_not_have_two_answers(study, sheet):
    fill(sheet)
    twice = pandas.concat([sheet, sheet.head(1)], ignore_index=True)
    assert outcomes(laboratory_like(study), twice) == ["recorded", "open", "open", "known"]
    fill(twice, 3, product=0.7)
    said = refusal(study, twice)
    assert said == "row 0: query 1-1 has different answers in row 0 and row 3: keep one"
    assert outcomes(study, twice) == ["refused", "open", "open", "refused"]


def laboratory_like(study) -> gs.Study:
    """Another study with the same questions."""
    other = laboratory()
    other.ask(len(study.pending))
    return other


def test_lines_come_in_any_order_with_blanks_and_columns_of_people(study, sheet):
    for row in range(3):
        fill(sheet, row, product=0.1 * (row + 1))
    sheet = sheet.iloc[[2, 0, 1]].astype(object)
    sheet["id"] = [" query 3-1 ", "1-1", "QUERY 2-1"]
    sheet.loc[9] = np.nan
    sheet.loc[10] = " "
    sheet["operator"] = "Ann"
    sheet["faild"] = ""
    sheet.columns = [f" {name} " for name in sheet.columns]
    with pytest.warns(GrisailleWarning, match="2 columns of the sheet not read") as seen:
        told = study.tell_sheet(sheet.iloc[:, ::-1])
    assert "'faild', 'operator'; did you mean 'failed' by 'faild'?" in str(seen[0].message)
    assert told["outcome"].tolist() == ["recorded"] * 3 + ["refused"] * 2  # Ann, without an id
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = study.tell_sheet(sheet.drop(columns=[" operator "]))
    assert told["outcome"].tolist() == ["known"] * 3 + ["open"] * 2
    product = study.answers("synthesis").set_index("id")["product"]
    assert [product[name] for name in ("1-1", "2-1", "3-1")] == pytest.approx([0.1, 0.2, 0.3])


def test_an_experiment_outside_the_bounds_is_kept_and_its_trial_breaks_off(study, sheet):
    fill(sheet, **{"recipe[0]": 90.0})
    told = study.tell_sheet(sheet)
    assert told["outcome"][0] == "recorded"
    assert "but trial 1 breaks off: it was made at recipe[0] = 90, outside" in told["message"][0]
    assert study.answers("synthesis")["recipe[0]"].tolist() == [90.0]


def test_open_questions_can_be_written_again_with_new_ones(study, sheet):
    fill(sheet)
    study.tell_sheet(sheet)
    again = study.ask_sheet(1, pending=True)
    assert again["id"].tolist() == ["2-1", "3-1", "1-2"]
    with pytest.raises(ModelError, match="pending=1"):
        study.ask_sheet(pending=1)


def test_it_is_known_what_a_new_sheet_would_take_away(study, sheet):
    assert unrecorded_lines(study, sheet) == []
    assert open_questions(study, sheet) == ["1-1", "2-1", "3-1"]
    fill(sheet)
    sheet.loc[1, "failed"] = "the pump"
    sheet.loc[2, "product"] = "high"
    assert unrecorded_lines(study, sheet) == ["row 0", "row 1", "row 2"]
    study.tell_sheet(sheet)
    assert unrecorded_lines(study, sheet) == ["row 2"]
    assert open_questions(study, sheet) == ["3-1"]


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        ([1, 2], "pass a DataFrame"),
        (pandas.DataFrame({"a": [1]}), "no column 'id' among the columns 'a'"),
        (pandas.DataFrame([[1, 2]], columns=["id", "id "]), "two columns are called 'id'"),
    ],
)
def test_what_is_no_sheet_is_refused(study, sheet, message):
    with pytest.raises(ModelError, match=message):
        study.tell_sheet(sheet)


def test_an_empty_sheet_has_its_columns(study):
    study.ask(3, trials=3)
    sheet = study.ask_sheet(2, trials=3)
    assert list(sheet.columns) == ["id", "trial", "box", "failed"]
    assert study.tell_sheet(sheet).empty
