"""The table of tuning constants in docs/method.md, made from the records in the source.

    python -m docs.builder.constants

A record is a frozen dataclass whose name ends with Constants. Each field has a line that ends with
one of these:

- "Measured: ..." and the measurement that chose it;
- "Halved and doubled: ..." or "Halved: ..." and what changes (`benchmarks.constants`);
- "A choice.", "A choice of layout." or "A choice of patience.", if no measurement could choose it;
- "Not measured."
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "grisaille"
PAGE = ROOT / "docs" / "method.md"
BEGIN, END = "<!-- constants -->\n", "<!-- end of constants -->"
_FIELD = re.compile(
    r"(?P<meaning>.*?) "
    r"(?:Measured: (?P<by>.*)|(?P<other>(?:Halved|Doubled)\b.*|A choice.*|Not measured))\."
)


@dataclass(frozen=True, slots=True)
class Constant:
    """One field of a record.

    Attributes:
        file: Where the record is, below the source of the library.
        name: Its name.
        value: Its value as it is written.
        meaning: What it is.
        measured: The measurement that chose it, or why there is none.
    """

    file: str
    name: str
    value: str
    meaning: str
    measured: str


def constants() -> list[Constant]:
    """Return the constants of all records, in the order of the files."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name.endswith("Constants"):
                found += _fields(str(path.relative_to(SOURCE)), node)
    return found


def _fields(file: str, record: ast.ClassDef) -> list[Constant]:
    """Return the fields of one record; raises ValueError for one without a line."""
    lines = _lines(ast.get_docstring(record) or "")
    found = []
    for field in record.body:
        if isinstance(field, ast.AnnAssign) and field.value is not None:
            name, value = ast.unparse(field.target), ast.unparse(field.value)
            read = _FIELD.fullmatch(lines.get(name, ""))
            if read is None:
                raise ValueError(f"{file}, {record.name}.{name}: say how it was measured")
            measured = read["by"] or read["other"][0].lower() + read["other"][1:]
            found.append(Constant(file, name, value, read["meaning"], measured))
    return found


def _lines(docstring: str) -> dict[str, str]:
    """Return the line of each attribute."""
    _, _, attributes = docstring.partition("Attributes:\n")
    entries = re.split(r"^    (?=\w+: )", attributes, flags=re.MULTILINE)[1:]
    pairs = (" ".join(entry.split()).partition(": ") for entry in entries)
    return {name: line for name, _, line in pairs}


def table() -> str:
    """Return the table, for Markdown."""
    rows = [
        f"| `{c.file}` | `{c.name}` | {c.value} | {c.meaning} | {c.measured} |" for c in constants()
    ]
    head = (
        "| file in `src/grisaille` | constant | value | meaning | measured |\n|---|---|---|---|---|"
    )
    return "\n".join(["", head, *rows, "", ""])


def with_table(page: str) -> str:
    """Return a page with the present table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
