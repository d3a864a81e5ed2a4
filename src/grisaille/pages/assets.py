"""Files that every page needs: styles, scripts, an icon. Browsers keep them."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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
