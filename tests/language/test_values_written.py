"""What people write into the cells of a sheet."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.language.values import ValueKind, cell_text, cell_value, shown_value

pytestmark = pytest.mark.slow


LABELS = ValueKind(("A", "10"))


@pytest.mark.parametrize("empty", [None, np.nan, "", "  ", "nan"])
def test_what_tables_write_into_empty_cells_is_nothing(empty: object):
    assert cell_text(empty) == ""
    with pytest.raises(gs.ModelError, match="column 'c' is empty"):
        cell_value({"c": empty}, "c", LABELS)


def test_a_label_may_have_become_a_number():
    assert cell_value({"c": " A "}, "c", LABELS) == 0
    assert cell_value({"c": 10}, "c", LABELS) == 1
    assert cell_value({"c": 10.0}, "c", LABELS) == 1
    assert shown_value(LABELS, 1.0) == "10"


def test_a_number_that_must_be_whole_may_be_written_as_text():
    whole = ValueKind((), is_whole=True)
    assert cell_value({"n": "7"}, "n", whole) == 7
    with pytest.raises(gs.ModelError, match=r"column 'n' is 7.5: it is a whole number"):
        cell_value({"n": "7.5"}, "n", whole)
    assert shown_value(whole, 7.0) == "7"
