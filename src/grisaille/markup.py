"""HTML that notebooks show: every text is escaped, unless it is made of HTML already."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence

from grisaille.errors import printable

# Colours are those of the notebook, light or dark; only lines and small print are a grey between.
_TABLE = "border-collapse:collapse;margin:0.3em 0;font-size:0.92em"
_CELL = "vertical-align:top;padding:0.15em 0.9em 0.15em 0;border:none"
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


def table(
    headers: Sequence[object], rows: Iterable[Sequence[object]], *, numbers: Collection[int] = ()
) -> Html:
    """A table.

    Args:
        headers: What stands above the columns; empty for nothing.
        rows: The cells.
        numbers: Which columns hold numbers, by position: these stand on the right.
    """

    def line(tag: str, cells: Sequence[object], style: str) -> Html:
        sides = ("right" if place in numbers else "left" for place in range(len(cells)))
        return element(
            "tr",
            *(
                element(tag, cell, style=f"{style};text-align:{side}")
                for cell, side in zip(cells, sides, strict=True)
            ),
        )

    head = [line("th", headers, _HEAD)]
    body = [line("td", row, _CELL) for row in rows]
    return element("table", *(head if headers else []), *body, style=_TABLE)


def labelled(rows: Iterable[tuple[str, object]]) -> Html:
    """A table of labels and what they say."""
    return table((), [(small(label), code(text)) for label, text in rows])
