"""The documentation site: links, contents, the reference and the gallery, without building it."""

from __future__ import annotations

import ast
import re
from pathlib import Path, PurePath

import pytest
from docs.builder.check_site import missing_from, problems_of
from docs.builder.command_help import commands, help_of
from docs.builder.constants import PAGE, constants, with_table
from docs.builder.contents import with_tables_of_contents
from docs.builder.docstrings import as_restructured_text
from docs.builder.gallery import with_title
from docs.builder.links import site_links
from docs.builder.reference import MARK, ROOMS, rooms_of, with_every_public_name
from docs.builder.site_pages import PROJECT_PAGES, page_of

import grisaille as gs

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(file for file in DOCS.rglob("*.md") if "generated" not in file.parts),
        *(ROOT / "benchmarks" / "results").glob("*.md"),
        ROOT / "release" / "README.md",
    ]
)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
_CODE = re.compile(r"^```.*?^```\s*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def named(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def prose(file: Path) -> str:
    return _CODE.sub("", file.read_text(encoding="utf-8"))


def anchors(file: Path) -> set[str]:
    """The anchors that code-hosting pages and the site make of headings."""
    headings = re.findall(r"^#+ (.+?)\s*$", prose(file), flags=re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_of_a_page_leads_to_a_file_and_to_a_heading_in_it(page: Path):
    for target, anchor in _LINK.findall(prose(page)):
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{named(page)}: {target} is not there"
        if anchor:
            assert anchor in anchors(file), f"{named(page)}: {target} has no heading {anchor}"


@pytest.mark.parametrize(
    "page", [file for file in PAGES if file.parent.name != "results"], ids=named
)
def test_every_page_ends_with_what_to_read_next(page: Path):
    if page.name in ("README.md", "index.md"):  # these are lists of pages
        return
    last = re.findall(r"^## (.+)$", prose(page), flags=re.MULTILINE)[-1]
    assert last == "What to read next"
    assert _LINK.search(prose(page).rpartition("## What to read next")[2])


def test_every_page_is_in_the_contents_of_the_site():
    contents = with_tables_of_contents((DOCS / "index.md").read_text(encoding="utf-8"))
    listed = set(re.findall(r"^([\w/]+)$", contents, flags=re.MULTILINE))
    for page in PAGES:
        shown = page_of(named(page))
        if shown not in (None, "index.md") and "results" not in page.parts:
            assert shown.removesuffix(".md") in listed, f"docs/index.md does not list {named(page)}"
    assert "generated/gallery/index" in listed


def test_tables_of_contents_have_the_headings_of_the_first_page_as_captions():
    page = "# Site\n\n[A](a.md)\n\n## One\n\n- [B](b.md): text\n- plain\n\n## Two\n\nText.\n"
    made = with_tables_of_contents(page)
    assert made.startswith(page)
    assert made.count("{toctree}") == 1
    assert ":caption: One\n\nb\n```" in made


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("studies.md", "../SECURITY.md", "generated/project/security.md"),
        ("studies.md", "../examples/laboratory.py", "generated/gallery/laboratory.rst"),
        ("studies.md", "../examples", "generated/gallery/index.rst"),
        ("studies.md", "solving.md#errors", "solving.md#errors"),
        ("studies.md", "https://example.org/a.md", "https://example.org/a.md"),
        ("recipes/costs.md", "../../examples/first.py", "../generated/gallery/first.rst"),
        ("recipes/costs.md", "../studies.md", "../studies.md"),
        ("generated/project/architecture.md", "docs/method.md", "../../method.md"),
        ("generated/project/architecture.md", "CONTRIBUTING.md", "contributing.md"),
        ("generated/project/releases.md", "../docs/versioning.md", "../../versioning.md"),
        ("benchmarks.md", "../benchmarks/results", "generated/results/index.md"),
        ("comparison.md", "../benchmarks/results/a.csv", "../benchmarks/results/a.csv"),
    ],
)
def test_a_link_of_the_repository_becomes_a_link_of_the_site(page, link, expected):
    assert site_links(f"[text]({link})", PurePath(page)) == f"[text]({expected})"


def test_links_in_code_stay_as_they_are():
    text = "```python\nf = g[0](../examples)\n```\n"
    assert site_links(text, PurePath("studies.md")) == text


def test_every_public_name_has_a_room_in_the_reference():
    rooms = rooms_of(list(gs.__all__))
    found = [name for names in rooms.values() for name in names]
    assert sorted([*found, "problems"]) == sorted(gs.__all__)
    page = with_every_public_name(f"# All\n\n{MARK}\n")
    assert all(f"`gs.{name} <grisaille.{name}>`" in page for name in found)
    assert set(rooms) <= set(ROOMS)


def test_a_name_from_a_room_without_a_title_is_refused():
    class Stray:
        __module__ = "grisaille.attic.stray"

    from docs.builder.reference import _room

    with pytest.raises(KeyError, match="lies in no room of the reference"):
        _room(Stray.__module__)


def test_the_page_of_commands_has_the_help_of_every_command():
    listed = commands()
    assert {"demo", "solve", "ask", "tell", "compare"} <= set(listed)
    assert all(help_of(command).startswith(f"usage: grisaille {command}") for command in listed)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_in_the_gallery_has_a_title_and_the_same_code(file: Path):
    text = file.read_text(encoding="utf-8")
    shown = with_title(file.stem, text)
    title, underline, *_ = ast.get_docstring(ast.parse(shown)).splitlines()
    assert title
    assert underline == "=" * len(title)
    assert [ast.dump(node) for node in code_of(shown)] == [ast.dump(node) for node in code_of(text)]


def code_of(text: str) -> list[ast.stmt]:
    """What a script does, its docstring left out."""
    body = ast.parse(text).body
    return body[1:] if ast.get_docstring(ast.parse(text)) is not None else body


def test_bars_and_letters_after_code_in_docstrings_are_no_marks():
    lines = ["The norm |x| of `Variable`s,", "and `a | b`."]
    assert as_restructured_text(lines) == [r"The norm \|x\| of `Variable`\ s,", "and `a | b`."]


def test_pages_outside_the_folder_of_documents_are_part_of_the_site():
    for path in PROJECT_PAGES:
        assert (ROOT / path).exists()


def write_site(folder: Path, text: str) -> Path:
    (folder / "generated" / "reference").mkdir(parents=True)
    (folder / "index.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://example.org/a.js"></script>',
        '<link href="//example.org/a.css">',
        '<img src="http://example.org/a.png">',
    ],
)
def test_a_site_that_fetches_something_from_elsewhere_is_refused(tag: str, tmp_path: Path):
    (sentence,) = problems_of(write_site(tmp_path, tag))
    assert "from elsewhere" in sentence


def test_a_link_of_the_site_that_leads_nowhere_is_found_and_others_are_not(tmp_path: Path):
    text = '<a id="here" href="#here"></a><a href="https://example.org">a</a>'
    assert problems_of(write_site(tmp_path, text)) == []
    (tmp_path / "two.html").write_text('<a href="index.html#there"></a><a href="three.html"></a>')
    assert problems_of(tmp_path) == [
        "two.html links to index.html#there, which is not there",
        "two.html links to three.html, which is not there",
    ]


def test_a_missing_name_and_a_missing_example_are_found(tmp_path: Path):
    site = write_site(tmp_path, "")
    reference = site / "generated" / "reference" / "study.html"
    reference.write_text('<dt id="grisaille.Study"></dt>', encoding="utf-8")
    assert missing_from(site, ["Study", "Result"], ["first"]) == [
        "gs.Result is not in the reference",
        "examples/first.py is not in the gallery",
    ]


def test_the_table_of_constants_is_that_of_the_source():
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page, "run python -m docs.builder.constants"


def test_a_constant_names_its_measurement_or_says_that_there_is_none():
    found = {(one.file, one.name): one for one in constants()}
    assert "Random 3" in found["search/multistart.py", "left_to_polish"].measured
    assert found["views/page/svg.py", "left"].measured == "a choice of layout"
