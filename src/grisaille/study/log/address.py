"""The address of a database: what it says of a file, and how it is shown without passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from unicodedata import category
from urllib.parse import quote, unquote, unquote_plus

_HIDDEN = "***"

# Parameters whose plain values are shown. All others are hidden: one may be a misspelt password.
_HARMLESS = {"application_name", "connect_timeout", "host", "sslmode", "timeout", "uri", "user"}

_SCHEME = re.compile(r"[\w+.-]{2,}:/{1,2}")  # one slash is a mistake, or a path made of an address
_COLON = re.compile(":|%3a", re.IGNORECASE)
_HOST = re.compile(r"(\[[^\]/?]*\]|[^/:?%]*)(:\d{0,5}(?=[/?]|$))?")
_NAMED_SECRET = re.compile(r"(pass|pwd|secret|token)\w*\s*=\s*", re.IGNORECASE)


def file_address(path: Path) -> str:
    """The address of a SQLite file."""
    return f"sqlite:///{quote(str(path))}"


def is_unstorable(text: str) -> bool:
    """Return True for zeros and halves of characters (bytes that are not UTF-8 become these)."""
    return any(c == "\0" or category(c) == "Cs" for c in text)


def path_in(address: str) -> str:
    """The path in the address of a SQLite file; not all versions of SQLAlchemy decode it."""
    return unquote(address.partition(":///")[2])


def masked(address: str) -> str:
    """An address without its passwords.

    Whatever may be a password is hidden, so an address with a mistake may show less than it could.
    """
    shown, end = "", 0
    for first, last in _secret_places(address):
        shown += address[end:first] + _HIDDEN
        end = last
    return shown + address[end:]


def masked_in(text: str, address: str) -> str:
    """A text without the passwords of an address, such as a driver's message about it."""
    secrets = {address[first:last] for first, last in _secret_places(address)}
    # A driver cuts an address with a mistake at other places than the user meant. Shorter pieces
    # tell little, and hiding them everywhere would leave nothing to read.
    pieces = {piece for secret in secrets for piece in re.split(r"[@:/?#&;=\s]", secret)}
    secrets |= {piece for piece in pieces if len(piece) > 2}
    forms = {form(secret) for form in (str, unquote, unquote_plus) for secret in secrets}
    forms |= {repr(form)[1:-1] for form in forms}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, _HIDDEN)
    return text


def masked_addresses(text: str) -> str:
    """A text in which every address is without its passwords."""
    words = rf"{_SCHEME.pattern}\S*[^\s:;,.'\")]"  # a sentence may go on after an address
    return re.sub(words, lambda found: masked(found.group()), text)


def _secret_places(address: str) -> Iterator[tuple[int, int]]:
    """Where the secrets of an address begin and end, in order; none is empty."""
    places = _in_address if _SCHEME.match(address) else _in_other_text
    return ((first, last) for first, last in places(address) if first < last)


def _in_other_text(text: str) -> Iterator[tuple[int, int]]:
    """The possible secrets of a text that should have been an address."""
    user_ends = text.rfind("@")
    if user_ends >= 0:
        yield 0, user_ends
    value = text.find("=", user_ends + 1)
    if value >= 0:
        yield value + 1, len(text)
    elif user_ends < 0 and not re.match(r"sqlite|[a-z]:[\\/]", text, re.IGNORECASE):
        colon = text.find(":")
        if colon >= 0:
            yield colon + 1, len(text)


def _in_address(address: str) -> Iterator[tuple[int, int]]:
    scheme = _SCHEME.match(address)
    assert scheme is not None
    start, end = scheme.end(), len(address)
    is_file = address.lower().startswith("sqlite") and address[start : start + 1] == "/"

    # A password may contain @ where %40 was meant, so the last one ends it.
    user_ends = address.rfind("@")
    if user_ends >= start:
        drive = re.compile(r"/[a-z]:[\\/]", re.IGNORECASE).match(address, start)
        colon = _COLON.search(address, drive.end() if drive else start, user_ends)
        if colon:
            yield colon.end(), user_ends
        elif not is_file and not re.fullmatch(r"[\w.+%~-]*", address[start:user_ends]):
            yield start, user_ends  # something separates name and password, but not a colon
        start = user_ends + 1

    query = address.find("?", start)
    path_ends = end if query < 0 else query
    if not is_file:
        host = _HOST.match(address, start, path_ends)
        assert host is not None
        colon = _COLON.search(address, host.end(), path_ends)
        if colon:  # not that of a port
            yield colon.end(), end
            return
    named = _NAMED_SECRET.search(address, start, path_ends)
    if named:
        yield named.end(), end
        return
    for piece in re.compile(r"[^&;\s]+").finditer(address, path_ends + 1):
        name, _, value = piece.group().partition("=")
        if name not in _HARMLESS or not re.fullmatch(r"[\w./-]*", value):
            yield piece.end() - len(value or name), piece.end()
