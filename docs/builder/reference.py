"""The reference: every public name, one page for each room of the library."""

from __future__ import annotations

import enum
import importlib
import inspect
import shutil
from pathlib import Path

import grisaille as gs

# In the order of the reference: the room of a name, its title, and what is found there.
ROOMS = {
    "language": ("Problems", "What the problem is: variables, black boxes, constraints."),
    "reductions": ("Rewritten problems", "Problems in terms of other ones."),
    "language.causal": ("Interventions", "What may be set in a causal system."),
    "study": ("Studies and results", "The loop that asks, evaluates and records, and its result."),
    "strategies": ("Strategies", "How the next point is chosen."),
    "strategies.causal": ("Causal strategies", "How the next intervention is chosen."),
    "search": ("Solvers", "How a strategy searches."),
    "belief.processes": ("Kernels", "What is believed of one black box."),
    "belief": ("What is believed", "What is believed of the whole problem."),
    "proof": ("Certificates", "What is proved."),
    "theory": ("Theory", "What the theorems promise."),
    "records": ("Records", "What was asked and answered; what a strategy receives and returns."),
    "metrics": ("Metrics", "What points are worth where the optimum is known."),
    "study.evaluation": ("Programs", "Black boxes that are programs."),
    "lab.comparison": ("Comparison", "Strategies side by side."),
    "adapters": ("Other tools", "Studies as generators for other tools."),
    "errors": ("Errors and warnings", "What can go wrong."),
}
MARK = "<!-- every public name -->"
_FOLDER = "generated/reference"
_PROBLEMS = "Known problems, with known optima. [The page on them](../../problems.md) has formulas."


def rooms_of(names: list[str]) -> dict[str, list[str]]:
    """The public names by their room; raises KeyError for a room that has no title here."""
    rooms: dict[str, list[str]] = {room: [] for room in ROOMS}
    for name in names:
        thing = getattr(gs, name)
        if inspect.ismodule(thing):
            continue  # gs.problems, which has a page of its own
        rooms[_room(thing.__module__)].append(name)
    return {room: found for room, found in rooms.items() if found}


def _room(module: str) -> str:
    """The most special room with a title that a module lies in."""
    parts = module.split(".")[1:]
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in ROOMS:
            return ".".join(parts[:length])
    raise KeyError(f"module {module!r} lies in no room of the reference: add it to ROOMS")


def write(folder: Path) -> None:
    """Write all pages of the reference."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rooms = rooms_of(list(gs.__all__))
    for room, names in rooms.items():
        title, about = ROOMS[room]
        text = page(title, about, {f"grisaille.{name}": getattr(gs, name) for name in names})
        (folder / f"{_file(room)}.md").write_text(text, encoding="utf-8")
    problems = importlib.import_module("grisaille.problems")
    known = {f"grisaille.problems.{name}": getattr(problems, name) for name in problems.__all__}
    (folder / "problems.md").write_text(page("Known problems", _PROBLEMS, known), encoding="utf-8")


def page(title: str, about: str, things: dict[str, object]) -> str:
    """A page with the documentation of some names."""
    parts = [f"# {title}", about]
    for path, thing in things.items():
        kind = "autoclass" if inspect.isclass(thing) else "autofunction"
        options = _options(thing) if inspect.isclass(thing) else []
        parts.append("\n".join(["```{eval-rst}", f".. {kind}:: {path}", *options, "```"]))
    return "\n\n".join([*parts, "## What to read next", _NEXT]) + "\n"


def _options(kind: type) -> list[str]:
    """What to show of a class: its members, also those of our own base classes."""
    foreign = [
        base.__name__ for base in kind.__mro__ if not base.__module__.startswith("grisaille")
    ]
    options = ["   :members:", f"   :inherited-members: {', '.join(foreign)}"]
    if slots := vars(kind).get("__slots__"):  # the docstring of the class documents them
        options.append(f"   :exclude-members: {', '.join(slots)}")
    if issubclass(kind, enum.Enum):
        options.append("   :undoc-members:")
    if any(base.__name__ in gs.__all__ for base in kind.__bases__) or issubclass(kind, Exception):
        options.append("   :show-inheritance:")
    return options


_NEXT = (
    "[All names](../../reference.md), or [the examples](../../../examples), which use every one."
)


def with_every_public_name(page: str) -> str:
    """The first page of the reference: every name with the first lines of its docstring."""
    parts = []
    for room, names in rooms_of(list(gs.__all__)).items():
        title, about = ROOMS[room]
        parts.append(f"## [{title}]({_FOLDER}/{_file(room)}.md)\n\n{about}")
        rows = [f"| {{py:obj}}`gs.{n} <grisaille.{n}>` | {_first_lines(n)} |" for n in names]
        parts.append("\n".join(["| name | |", "|---|---|", *rows]))
    parts.append(
        f"## More\n\n- [Known problems]({_FOLDER}/problems.md): `gs.problems`\n"
        f"- [Every command]({_FOLDER}/command_help.md): the texts of `--help`"
    )
    pages = [*(_file(room) for room in rooms_of(list(gs.__all__))), "problems", "command_help"]
    entries = [f"{_FOLDER}/{page}" for page in pages]
    parts.append("\n".join(["```{toctree}", ":hidden:", "", *entries, "```"]))
    return page.replace(MARK, "\n\n".join(parts))


def _first_lines(name: str) -> str:
    text = inspect.getdoc(getattr(gs, name)) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", r"\|")


def _file(room: str) -> str:
    return room.replace(".", "_")
