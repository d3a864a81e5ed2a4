"""HTML for notebooks: every text is escaped, unless it is HTML already."""

from __future__ import annotations

from xml.etree import ElementTree

from markupsafe import Markup

from grisaille.markup import code, element, joined, labelled, table


def test_a_text_is_escaped_and_html_is_not():
    assert joined(["<b> & 'c'"]) == "&lt;b&gt; &amp; &#39;c&#39;"
    assert joined([element("b", "x < y")]) == "<b>x &lt; y</b>"


def test_a_style_cannot_end_its_attribute():
    assert element("p", "", style='a">b') == '<p style="a&#34;&gt;b"></p>'


def test_what_is_joined_is_html_and_is_not_escaped_again():
    both = joined(["<", element("i", ">")])
    assert isinstance(both, Markup)
    assert both == "&lt;<i>&gt;</i>"
    assert element("p", both) == "<p>&lt;<i>&gt;</i></p>"


def test_control_characters_are_shown():
    assert "\x1b" not in code("\x1b[2J")
    assert "\\x1b[2J" in code("\x1b[2J")


def test_a_table_has_a_row_of_headers_only_if_there_are_any():
    with_headers = table(["<a>"], [["<b>"], ["c"]])
    assert with_headers.count("<th") == 1
    assert "&lt;a&gt;" in with_headers
    assert table([], [["b"], ["c"]]).count("<tr") == 2


def test_columns_of_numbers_stand_on_the_right():
    left, right = table([], [["a", "1"]], numbers=[1]).split("<td")[1:]
    assert "text-align:left" in left
    assert "text-align:right" in right


def test_labels_and_what_they_say_are_escaped():
    shown = labelled([("<script>", "</td>")])
    assert "<script>" not in shown
    assert shown.count("</td>") == 2


def test_attributes_are_escaped_and_written_as_svg_has_them():
    hostile = "<script>alert('x')</script> & \"quotes\""
    found = ElementTree.fromstring(element("text", hostile, aria_label=hostile, class_="both"))
    assert found.text == hostile
    assert found.attrib == {"aria-label": hostile, "class": "both"}


def test_numbers_are_rounded_to_a_tenth():
    assert element("a", x=1.2345, y=2.0) == '<a x="1.2" y="2"></a>'
