"""Names of studies in addresses."""

from __future__ import annotations

from urllib.parse import quote, unquote


def in_address(name: str) -> str:
    """The name of a study as one part of an address, whatever characters it has."""
    # Servers and browsers may decode %2F too early, so that its mark is another one.
    return quote(name, safe="").replace("~", "%7E").replace("%", "~")


def study_name(part: str) -> str:
    """The name behind a part of an address."""
    return unquote(part.replace("~", "%"))
