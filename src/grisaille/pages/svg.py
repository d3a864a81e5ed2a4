"""SVG elements as text, with everything in them escaped."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape


def element(tag: str, content: str = "", /, **attributes: Any) -> Markup:
    """One element.

    Args:
        tag: Its name.
        content: A text, which is escaped, or markup.
        **attributes: Its attributes: `text_anchor` is written `text-anchor`, and `class_` is
            `class`. Numbers are rounded to a tenth of a pixel.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_text(value)}"'
        for name, value in attributes.items()
    )
    return Markup(f"<{tag}{written}>{escape(content)}</{tag}>")


def join(parts: list[Markup]) -> Markup:
    """Elements one after the other."""
    return Markup("").join(parts)


def _text(value: Any) -> str:
    return str(escape(value)) if isinstance(value, str) else f"{round(value, 1):g}"
