"""Links as they are written in the repository, turned into links of the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePath

from docs.builder.site_pages import page_of, repository_path

_FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)\s*$)", re.DOTALL | re.MULTILINE)
_TARGET = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def site_links(text: str, page: PurePath) -> str:
    """Replace the targets of all links outside code, for a page given as a path below docs/."""
    folder = posixpath.dirname(repository_path(page.as_posix()))
    own_folder = page.parent.as_posix()

    def replaced(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        shown = page_of(path)
        there = f"docs/{shown}" if shown else path
        relative = posixpath.relpath(there, posixpath.join("docs", own_folder))
        return f"]({relative}{anchor})"

    parts = _FENCE.split(text)  # code blocks are the odd ones
    parts[::2] = [_TARGET.sub(replaced, part) for part in parts[::2]]
    return "".join(parts)
