"""Check the site that was built: nothing comes from elsewhere, and nothing is missing.

python -m docs.builder.check_site build/docs
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import grisaille as gs

_ROOT = Path(__file__).parents[2]
_FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class _Page(HTMLParser):
    """The addresses and the names on one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag fetches, links to and is called."""
        values = {name: value for name, value in attrs if value is not None}
        if tag in _FETCHED and _FETCHED[tag] in values:
            self.fetched.append(values[_FETCHED[tag]])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.names |= {values[name] for name in ("id", "name") if name in values}


def problems_of(site: Path) -> list[str]:
    """What a site fetches from elsewhere, and its links that lead nowhere, in sentences."""
    pages = {
        file.resolve(): _Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")
    }
    found = []
    for file, page in sorted(pages.items()):
        name = file.relative_to(site.resolve()).as_posix()
        found += [
            f"{name} fetches {address} from elsewhere: put it into docs/static"
            for address in page.fetched
            if _is_elsewhere(address)
        ]
        found += [
            f"{name} links to {address}, which is not there"
            for address in dict.fromkeys([*page.links, *page.fetched])
            if not _leads_somewhere(file, address, pages)
        ]
    return found


def missing_from(site: Path, names: list[str], examples: list[str]) -> list[str]:
    """The public names without an entry and the examples without a picture, in sentences."""
    reference = [_Page(file.read_text(encoding="utf-8")).names for file in _reference(site)]
    documented: set[str] = set().union(*reference)
    found = [
        f"gs.{name} is not in the reference"
        for name in names
        if f"grisaille.{name}" not in documented
    ]
    for example in examples:
        if not (site / "generated" / "gallery" / f"{example}.html").exists():
            found.append(f"examples/{example}.py is not in the gallery")
        elif not (site / "_images" / f"sphx_glr_{example}_001.png").exists():
            found.append(f"examples/{example}.py has no picture in the gallery")
    return found


def _reference(site: Path) -> list[Path]:
    return sorted((site / "generated" / "reference").glob("*.html"))


def _is_elsewhere(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https")


def _leads_somewhere(file: Path, address: str, pages: dict[Path, _Page]) -> bool:
    """Whether a link within the site has a target; others are not looked at."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return True
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target not in pages:
        return target.exists()
    return not parts.fragment or unquote(parts.fragment) in pages[target].names


def main() -> int:
    """Print what is wrong; 1 if there is something."""
    site = Path(sys.argv[1])
    names = [name for name in gs.__all__ if name != "problems"]
    names += [f"problems.{name}" for name in gs.problems.__all__]
    examples = [file.stem for file in sorted((_ROOT / "examples").glob("*.py"))]
    found = [*problems_of(site), *missing_from(site, names, examples)]
    print(*found, sep="\n")
    if not found:
        print(
            f"checked: {len(names)} public names, {len(examples)} examples, all links of the site"
        )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
