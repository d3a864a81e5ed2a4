"""Tables of contents, read off the lists of links on the first page."""

from __future__ import annotations

import re

from docs.builder.site_pages import page_of

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY = re.compile(r"^\s*- \[[^\]]+\]\(([^)#]+)\)", re.MULTILINE)


def with_tables_of_contents(text: str) -> str:
    """Add a hidden table of contents for each section: the pages that its list links to first."""
    _, *sections = _SECTION.split(text)
    tables = []
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        entries = [_docname(target) for target in _ENTRY.findall(body)]
        if entries:
            lines = ["```{toctree}", ":hidden:", f":caption: {title}", "", *entries, "```"]
            tables.append("\n".join(lines))
    return "\n\n".join([text.rstrip(), *tables]) + "\n"


def _docname(target: str) -> str:
    """The name of a page for a table of contents; the first page lies in docs/ itself."""
    path = target.removeprefix("../") if target.startswith("../") else f"docs/{target}"
    page = page_of(path.rstrip("/")) or target
    return page.rsplit(".", 1)[0]
