"""How units combine, compared with pint's own arithmetic."""

from __future__ import annotations

import itertools

import pint
import pytest

from grisaille.language.units import MisfitError, Physical, Texts, UnknownUnitError

UNITS = ["m", "cm", "s", "kg/s", "kW", "kJ/s", "Pa", "bar", "K", "%", "rad", "mol/l", "1/h", "kWh"]


def fits(left: str, right: str) -> bool:
    algebra = Physical()
    try:
        algebra.alike(algebra.read(left), algebra.read(right))
    except MisfitError:
        return False
    return True


def test_units_fit_exactly_where_pint_converts_by_a_factor_of_one():
    registry = pint.UnitRegistry()
    for left, right in itertools.product(UNITS, repeat=2):
        a, b = registry.Unit(left), registry.Unit(right)
        compatible = a.is_compatible_with(b)
        same = compatible and registry.convert(1.0, a, b) == pytest.approx(1, rel=1e-9)
        assert fits(left, right) == same, (left, right)


@pytest.mark.parametrize("text", ["$/kWh", "k€", "M£/a", "CHF/t", "m3/h", "Nm", "°C", "J/(mol K)"])
def test_texts_of_engineers_are_read(text):
    assert Physical().read(text).text == text


@pytest.mark.parametrize("text", ["-", "1", ""])
def test_plain_numbers_have_several_texts(text):
    assert Physical().read(text).is_plain


@pytest.mark.parametrize("text", ["pieces", "3 kg", "kg*", "/", "_", "import os", "m" * 100])
def test_other_texts_are_not_units(text):
    with pytest.raises(UnknownUnitError):
        Physical().read(text)


def test_texts_are_kept_where_nothing_changes_and_never_refused():
    texts = Texts()
    assert (texts.alike("K", "K"), texts.alike("K", "m")) == ("K", None)
    assert (texts.product("K", ""), texts.product("", "K"), texts.product("K", "m")) == (
        "K",
        "K",
        None,
    )
    assert (texts.power("K", 1.0), texts.power("K", 2.0), texts.plain("K")) == ("K", None, None)
