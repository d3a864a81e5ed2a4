"""Units as they are declared."""

from __future__ import annotations

import pytest

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.language.units import declared_unit, unit_of_entry, unit_text


def test_one_unit_is_for_all_entries_or_there_is_one_for_each():
    assert declared_unit("x", " K ", (2,)) == "K"
    assert declared_unit("x", ["K", None], (2,)) == ("K", None)
    assert declared_unit("x", [["a", "b"], ["c", "d"]], (2, 2)) == ("a", "b", "c", "d")
    assert declared_unit("f", {"heat": "kW"}, (2,), ("mass", "heat")) == (None, "kW")
    assert declared_unit("x", None, ()) is None


@pytest.mark.parametrize(
    ("given", "shape", "message"),
    [
        (3, (), "x has unit=3: pass a text such as 'kg/s', '' for a plain number"),
        (["K"], (), "x has unit=.*pass a text"),
        (["K"], (2,), r"or a list of texts of shape \(2,\), one for each entry"),
        (["K", 3], (2,), r"x has unit=\['K', 3\]: pass a text"),
        ([["K"], []], (2,), "x has unit=.*pass a text"),
        ("a\nb", (), "x has unit='a"),
        ("K" * 101, (), "x has unit="),
        ({"T": "K"}, (2,), "units by name are for outputs that have names"),
    ],
)
def test_anything_else_is_refused(given, shape, message):
    with pytest.raises(ModelError, match=message):
        declared_unit("x", given, shape)


def test_a_unit_of_an_output_that_does_not_exist_is_refused():
    with pytest.raises(ModelError, match="'f' has a unit for 'heta': its outputs are 'mass', 'hea"):
        gs.BlackBox(None, name="f", outputs=["mass", "heat"], unit={"heta": "kW"})


def test_units_follow_values():
    assert unit_text("K") == " K"
    assert unit_text(("K", "K")) == " K"
    assert unit_text(("K", None, "m")) == " [K, -, m]"
    assert (unit_text(None), unit_text(""), unit_text(("", ""))) == ("", "", "")
    assert (unit_of_entry(("K", "m"), 1), unit_of_entry("K", 1)) == ("m", "K")
