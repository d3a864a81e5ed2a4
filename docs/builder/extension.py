"""What the documentation adds to Sphinx: links, contents, generated and executed pages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from docs.builder import command_help, gallery, page_blocks, project_pages, reference
from docs.builder.contents import with_tables_of_contents
from docs.builder.docstrings import as_restructured_text
from docs.builder.links import site_links

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = DOCS / "generated"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what happens before a build, and when a page is read."""
    # Before sphinx-gallery looks for its examples, which it does with the usual priority.
    app.connect("builder-inited", _write_generated_pages, priority=100)
    app.connect("source-read", _for_the_site)
    # Before napoleon, which turns the sections of docstrings into fields.
    app.connect("autodoc-process-docstring", _docstring, priority=100)
    return {"parallel_read_safe": False}


_KERNEL = """c.IPKernelApp.matplotlib = "inline"  # a figure is shown as a picture
c.IPKernelApp.log_level = "ERROR"  # that it listens on this machine without encryption is known
"""


def _write_generated_pages(app: Sphinx) -> None:
    kernel = ROOT / "build" / "ipython" / "profile_default" / "ipython_kernel_config.py"
    kernel.parent.mkdir(parents=True, exist_ok=True)
    kernel.write_text(_KERNEL, encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(kernel.parents[1])
    project_pages.write(ROOT, GENERATED)
    reference.write(GENERATED / "reference")
    command_help.write(GENERATED / "reference" / "command_help.md")
    gallery.write_examples(ROOT / "examples", DOCS, GENERATED / "examples")


def _for_the_site(app: Sphinx, name: str, content: list[str]) -> None:
    """Turn a page of the repository into a page of the site."""
    file = Path(app.env.doc2path(name))
    if file.suffix != ".md":
        return
    text = content[0]
    if name == "index":
        text = with_tables_of_contents(text)
    if reference.MARK in text:
        text = reference.with_every_public_name(text)
    if page_blocks.is_executed(text):
        text = page_blocks.as_notebook(text)
    content[0] = site_links(text, file.relative_to(DOCS))


def _docstring(
    app: Sphinx, kind: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    lines[:] = as_restructured_text(lines)
