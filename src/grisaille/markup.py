"""HTML and SVG elements, and what notebooks show of them. Every text is escaped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from markupsafe import Markup, escape

from grisaille.errors import printable

# Colours are those of the notebook, light or dark; only lines and small print are a grey between.
_TABLE = "border-collapse:collapse;margin:0.3em 0;font-size:0.92em"
_CELL = "vertical-align:top;padding:0.15em 0.9em 0.15em 0;border:none"
_HEAD = f"{_CELL};font-weight:600;border-bottom:1px solid #8884"
_CODE = "font-family:monospace;white-space:pre-wrap"


def element(tag: str, *children: object, **attributes: Any) -> Markup:
    """Return one element.

    Args:
        tag: Its name.
        *children: Markup, and texts, which are escaped.
        **attributes: Its attributes: `text_anchor` is written `text-anchor`, and `class_` is
            `class`. Numbers are rounded to a tenth of a pixel.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_text(value)}"'
        for name, value in attributes.items()
    )
    return Markup(f"<{tag}{written}>{joined(children)}</{tag}>")


def joined(parts: Iterable[object]) -> Markup:
    """Return parts one after another, with texts escaped and control characters shown."""
    shown = (part if hasattr(part, "__html__") else printable(str(part)) for part in parts)
    return Markup("").join(shown)


def _text(value: Any) -> str:
    return str(escape(value)) if isinstance(value, str) else f"{round(value, 1):g}"


def code(text: object) -> Markup:
    """Return a formula, or lines whose columns are aligned by spaces."""
    return element("span", text, style=_CODE)


def small(text: object) -> Markup:
    """Return a remark in grey."""
    return element("span", text, style="color:#888")


def heading(text: object) -> Markup:
    """Return a heading of a word or two."""
    return element("div", text, style="font-weight:600;margin-top:0.4em")


def table(
    headers: Sequence[object], rows: Iterable[Sequence[object]], *, numbers: Collection[int] = ()
) -> Markup:
    """Return a table.

    Args:
        headers: The words above the columns; empty for none.
        rows: The cells.
        numbers: Positions of the columns of numbers, which are aligned on the right.
    """

    def line(tag: str, cells: Sequence[object], style: str) -> Markup:
        sides = ("right" if place in numbers else "left" for place in range(len(cells)))
        shown = zip(cells, sides, strict=True)
        return element(
            "tr",
            *(element(tag, cell, style=f"{style};text-align:{side}") for cell, side in shown),
        )

    head = [line("th", headers, _HEAD)] if headers else []
    return element("table", *head, *(line("td", row, _CELL) for row in rows), style=_TABLE)


def labelled(rows: Iterable[tuple[str, object]]) -> Markup:
    """Return a table of labels and their texts."""
    return table((), [(small(label), code(text)) for label, text in rows])
