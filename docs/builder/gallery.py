"""The gallery: every example, run, with what it printed and the pictures it made."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import grisaille as gs

_HEADER = """Examples
========

Each example is a plain script of the folder `examples`. It was run when this site was built; its
page shows what it printed. Where an example draws nothing itself, the picture is `result.plot()` of
its result, or a part of the diagram of its problem, in which black boxes are black.
"""
_MAIN = 'if __name__ == "__main__":\n'
# A text between two blocks of code: what the second one prints is then shown below it.
_RUN_IT = "# %%\n# Run as a script, it prints:\n\n"


def write_examples(source: Path, docs: Path, target: Path) -> None:
    """Copy the examples, with a title made of the file's name: sphinx-gallery asks for one."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "GALLERY_HEADER.rst").write_text(_HEADER, encoding="utf-8")
    pages = {
        page.relative_to(docs).with_suffix("").as_posix(): page.read_text(encoding="utf-8")
        for page in sorted([*docs.glob("*.md"), *docs.glob("recipes/*.md")])
    }
    for file in sorted(source.glob("*.py")):
        text = with_title(file.stem, file.read_text(encoding="utf-8"))
        about = [name for name, page in pages.items() if f"examples/{file.name})" in page]
        (target / file.name).write_text(text + _read_next(about), encoding="utf-8")


def _read_next(pages: list[str]) -> str:
    """The end of an example: the pages that name it, or where its names are explained."""
    lines = [f"# - :doc:`/{page}`" for page in pages or ["language", "solving", "reference"]]
    title = "What to read next"
    return "\n".join(["", "# %%", f"# {title}", f"# {'-' * len(title)}", "#", *lines, ""])


def with_title(name: str, text: str) -> str:
    """An example whose docstring begins with a title in reStructuredText."""
    title = name.replace("_", " ").capitalize()
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree) or "The example of the first page."
    code = text
    if ast.get_docstring(tree) is not None:
        code = "".join(text.splitlines(keepends=True)[tree.body[0].end_lineno :])
    heading = f'"""{title}\n{"=" * len(title)}\n\n{docstring.rstrip()}\n"""\n'
    return heading + "\n" + code.lstrip("\n").replace(_MAIN, f"{_RUN_IT}{_MAIN}")


class FirstThenByName:
    """The order of the gallery: the example of the README, then the others by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> tuple[bool, str]:
        """The key of a file."""
        return file != "first.py", file


def pictures(block: Any, variables: dict[str, Any], configuration: dict[str, Any]) -> str:
    """Save the pictures of an example that has just run; returns the text that shows them."""
    from sphinx_gallery.scrapers import figure_rst

    folder = Path(variables["src_file"]).parent
    defines_only = _MAIN in Path(variables["src_file"]).read_text(encoding="utf-8")
    if block[0] != "code" or (defines_only and _MAIN not in block[1]):
        return ""
    paths = variables["image_path_iterator"]
    saved: list[str] = []
    for drawn in sorted(folder.glob("*.png")):  # examples run in the folder they lie in
        saved.append(next(paths))
        shutil.move(drawn, saved[-1])
    things = variables["example_globals"]
    if not saved:
        for result in [thing for thing in things.values() if isinstance(thing, gs.Result)][-1:]:
            saved.append(next(paths))
            result.plot(saved[-1])
    if not saved:
        for problem in [thing for thing in things.values() if isinstance(thing, gs.Problem)][:1]:
            saved.append(next(paths))
            _draw_text(problem.diagram(), saved[-1])
    return str(figure_rst(saved, configuration["src_dir"])) if saved else ""


def _draw_text(text: str, path: str) -> None:
    """Save a text as a picture, in letters of one width; the legend and long lines are cut off."""
    lines = text.partition("\n\n")[0].splitlines()
    text = "\n".join(line if len(line) <= 60 else f"{line[:59]}…" for line in lines)
    width = max(len(line) for line in text.splitlines()) * 0.085 + 0.4
    height = len(lines) * 0.2 + 0.4
    figure = Figure(figsize=(width, height))
    figure.text(
        0.2 / width,
        1 - 0.2 / height,
        text,
        family="monospace",
        size=10,
        verticalalignment="top",
        parse_math=False,
    )
    figure.savefig(path, dpi=120)
