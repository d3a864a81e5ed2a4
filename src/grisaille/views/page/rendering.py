"""Templates, addresses and files that every page needs. Everything from a study is escaped."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from grisaille.views.page.facts import number, shown
from grisaille.views.page.svg import svg

# --- assets ---------------------------------------------------------------------------------------
# Files that every page needs: styles, scripts, an icon. Browsers keep them.

_FOLDER = Path(__file__).parent / "static"
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file.

    Attributes:
        content: Its bytes.
        kind: Its media type.
        address: Where it is served. The address changes with the content, so that browsers may
            keep the file for good.
    """

    content: bytes
    kind: str
    address: str


@cache
def assets() -> dict[str, Asset]:
    """All files by name, read once."""
    return {
        path.name: _asset(path.name, path.read_bytes(), _KINDS[path.suffix])
        for path in sorted(_FOLDER.iterdir())
        if path.suffix in _KINDS
    }


def asset_address(name: str) -> str:
    """Where a file is served."""
    return assets()[name].address


@cache
def style() -> str:
    """The style sheets, which pages and reports have inside: so they are painted at once."""
    return "".join(assets()[name].content.decode() for name in ("uPlot.min.css", "style.css"))


@cache
def style_digest() -> str:
    """What a Content-Security-Policy calls these styles, so that it allows no others."""
    return "sha256-" + base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()


def _asset(name: str, content: bytes, kind: str) -> Asset:
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Asset(content, kind, f"/static/{digest}/{name}")


# --- rendering ------------------------------------------------------------------------------------
# Templates, filled in. Everything that comes from a study is escaped.


def render(template: str, **values: Any) -> str:
    """The text of a template."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("grisaille.views.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "shown": shown, "svg": svg}
    environment.globals |= {"asset": asset_address, "style": Markup(style())}
    return environment


# --- addresses ------------------------------------------------------------------------------------
# Names of studies and numbers of events in addresses.


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
