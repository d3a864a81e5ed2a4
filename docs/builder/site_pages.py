"""Which page of the site shows which file of the repository."""

from __future__ import annotations

from pathlib import PurePosixPath

# Pages outside docs/, by their path in the repository, and where the site has them.
PROJECT_PAGES = {
    "ARCHITECTURE.md": "generated/project/architecture.md",
    "CHANGELOG.md": "generated/project/changelog.md",
    "CONTRIBUTING.md": "generated/project/contributing.md",
    "SECURITY.md": "generated/project/security.md",
    "release/README.md": "generated/project/releases.md",
    "benchmarks/results/comparison.md": "generated/results/comparison.md",
    "benchmarks/results/comparison_drawn.md": "generated/results/comparison_drawn.md",
}
_FOLDERS = {
    "README.md": "index.md",
    "examples": "generated/gallery/index.rst",
    "benchmarks/results": "generated/results/index.md",
    "benchmarks/results/reproduction": "generated/results/index.md",
}


def page_of(path: str) -> str | None:
    """The page, as a path below docs/, that shows this path of the repository, if there is one."""
    if path in PROJECT_PAGES:
        return PROJECT_PAGES[path]
    if path in _FOLDERS:
        return _FOLDERS[path]
    parts = PurePosixPath(path)
    if parts.parent == PurePosixPath("examples") and parts.suffix == ".py":
        return f"generated/gallery/{parts.stem}.rst"
    if parts.parts[:1] == ("docs",):
        return str(parts.relative_to("docs"))
    return None


def repository_path(page: str) -> str:
    """The file of the repository that is shown on a page, given as a path below docs/."""
    shown = {site: path for path, site in PROJECT_PAGES.items()}
    return shown.get(page, f"docs/{page}")
