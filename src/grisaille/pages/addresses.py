"""Names of studies and numbers of events in addresses."""

from __future__ import annotations

from urllib.parse import quote, unquote


def in_address(name: str) -> str:
    """The name of a study as one part of an address, whatever characters it has."""
    # Servers and browsers may decode %2F too early, so that its mark is another one.
    return quote(name, safe="").replace("~", "%7E").replace("%", "~")


def whole_number(text: str) -> int | None:
    """A number from an address or a header; None if it is none, or larger than any that is used."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def study_name(part: str) -> str:
    """The name behind a part of an address."""
    return unquote(part.replace("~", "%"))
