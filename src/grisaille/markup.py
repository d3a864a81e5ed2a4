"""HTML that notebooks show: every text is escaped, unless it is made of HTML already."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from grisaille.errors import printable

# Colours are those of the notebook, light or dark; only lines and small print are a grey between.
_TABLE = "border-collapse:collapse;margin:0.3em 0;font-size:0.92em"
_CELL = "text-align:left;vertical-align:top;padding:0.15em 0.9em 0.15em 0;border:none"
_NUMBER = "text-align:right;vertical-align:top;padding:0.15em 0.9em 0.15em 0;border:none"
_HEAD = f"{_CELL};font-weight:600;border-bottom:1px solid #8884"
_CODE = "font-family:monospace;white-space:pre-wrap"


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


def element(tag: str, *children: object, style: str = "") -> Html:
    """An element with children; those that are not `Html` are texts, and are escaped."""
    opening = f'{tag} style="{html.escape(style)}"' if style else tag
    return Html(f"<{opening}>{''.join(map(escaped, children))}</{tag}>")


def escaped(value: object) -> Html:
    """A value as HTML: itself if it is HTML, else its text with everything special escaped."""
    if isinstance(value, Html):
        return value
    return Html(html.escape(printable(str(value))))


def joined(parts: Iterable[object]) -> Html:
    """Parts one after another."""
    return Html("".join(map(escaped, parts)))


def code(text: object) -> Html:
    """A formula, or lines whose columns are aligned by spaces."""
    return element("span", text, style=_CODE)


def small(text: object) -> Html:
    """A remark in grey."""
    return element("span", text, style="color:#888")


def heading(text: object) -> Html:
    """What follows, in a word or two."""
    return element("div", text, style="font-weight:600;margin-top:0.4em")


def table(headers: Sequence[object], rows: Iterable[Sequence[object]]) -> Html:
    """A table; numbers stand on the right. Without headers it has none."""
    body = [
        element("tr", *(element("td", cell, style=_style_of(cell)) for cell in row)) for row in rows
    ]
    head = [element("tr", *(element("th", text, style=_HEAD) for text in headers))]
    return element("table", *(head if headers else []), *body, style=_TABLE)


def labelled(rows: Iterable[tuple[str, object]]) -> Html:
    """A table of labels and what they say."""
    return table((), [(small(label), code(text)) for label, text in rows])


def _style_of(cell: object) -> str:
    return _NUMBER if isinstance(cell, int | float) else _CELL
