"""HTML for notebooks: every text is escaped, unless it is HTML already."""

from __future__ import annotations

from grisaille.markup import Html, code, element, escaped, joined, labelled, table


def test_a_text_is_escaped_and_html_is_not():
    assert escaped("<b> & 'c'") == "&lt;b&gt; &amp; &#x27;c&#x27;"
    assert escaped(element("b", "x < y")) == "<b>x &lt; y</b>"


def test_a_style_cannot_end_its_attribute():
    assert element("p", "", style='a">b') == '<p style="a&quot;&gt;b"></p>'


def test_what_is_joined_is_html_and_is_not_escaped_again():
    both = joined(["<", element("i", ">")])
    assert isinstance(both, Html)
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
