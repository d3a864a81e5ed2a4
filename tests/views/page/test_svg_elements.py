from __future__ import annotations

from xml.etree import ElementTree

import pytest

from grisaille.views.page.svg import element, join
from tests.views.page.page_helpers import HOSTILE

pytestmark = pytest.mark.slow


def test_texts_and_attributes_are_escaped():
    found = ElementTree.fromstring(element("text", HOSTILE, aria_label=HOSTILE))
    assert found.text == HOSTILE
    assert found.attrib == {"aria-label": HOSTILE}


def test_markup_inside_is_kept():
    found = ElementTree.fromstring(element("g", join([element("a"), element("b")]), class_="both"))
    assert [child.tag for child in found] == ["a", "b"]
    assert found.attrib == {"class": "both"}


def test_numbers_are_rounded_to_a_tenth():
    assert element("a", x=1.2345, y=2.0) == '<a x="1.2" y="2"></a>'
