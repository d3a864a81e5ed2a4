"""Measure how much the parts of the library know of each other.

    python -m benchmarks.house [SOURCE]

SOURCE is a folder `src/grisaille`, by default that of this checkout: pass that of another version
to compare with it. The words that show that a file knows a kind of entry (a logarithm, a step, a
label, a whole number, an unknown or a loop, a solved equality, a polytope) are names of the code.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "grisaille"

KINDS = re.compile(
    r"logarithmic|stepped|has_steps|on_steps|labels|nominal|is_whole|\.whole|is_unknown|Unknown"
    r"|Loops|loops|eliminat|[pP]olytope"
)
BELIEFS = {
    *("Posterior", "SharedPosterior", "CondensedPosterior", "ConstantProcess", "ModelSurrogate"),
    *("Surrogate", "DeclaredInterval", "EffectProcess", "Belief"),
}
RULES = {"BandRule", "Theory", "Declared", "Audited", "Optimistic", "Rule"}


class House:
    """The files of a version, parsed.

    Args:
        source: Its folder `src/grisaille`.
    """

    def __init__(self, source: Path) -> None:
        self.texts = {
            str(file.relative_to(source)): file.read_text(encoding="utf-8")
            for file in sorted(source.rglob("*.py"))
        }
        self.trees = {file: ast.parse(text) for file, text in self.texts.items()}
        self._module_of = {file: _module(file) for file in self.texts}

    def measures(self) -> dict[str, int]:
        """Return every number with what it counts."""
        edges = set(self._edges())
        importers = Counter(imported for _, imported in edges)
        single = [
            m
            for f, m in self._module_of.items()
            if not f.endswith("__init__.py") and importers[m] == 1
        ]
        knowing = [file for file, text in self.texts.items() if KINDS.search(text)]
        asked = list(self._isinstance())
        outside = [kinds for file, kinds in asked if "/processes/" not in f"/{file}"]
        return {
            "files": len(self.texts),
            "lines": sum(text.count("\n") for text in self.texts.values()),
            "import edges": len(edges),
            "files with one importer": len(single),
            "files that know a kind of entry": len(knowing),
            "  of them in strategies": sum(file.startswith("strategies/") for file in knowing),
            "isinstance": len(asked),
            "  of beliefs, outside processes": sum(bool(kinds & BELIEFS) for kinds in outside),
            "  of beta or Optimistic": sum(bool(kinds & RULES) for _, kinds in asked),
            "numeric constants of modules": sum(map(_constants, self.trees.values())),
        }

    def _edges(self) -> Iterator[tuple[str, str]]:
        """Give pairs of a module and one that it imports."""
        modules = set(self._module_of.values())
        for file, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grisaille"):
                    for alias in node.names:
                        inner = f"{node.module}.{alias.name}"
                        yield (
                            self._module_of[file],
                            inner if inner in modules else str(node.module),
                        )

    def _isinstance(self) -> Iterator[tuple[str, set[str]]]:
        """Give the file and the classes of each call of `isinstance`."""
        for file, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                    names = ast.walk(node.args[1])
                    yield file, {n.id for n in names if isinstance(n, ast.Name)}


def _module(file: str) -> str:
    return ".".join(["grisaille", *Path(file).with_suffix("").parts]).removesuffix(".__init__")


def _constants(tree: ast.Module) -> int:
    """Count the numbers that a module gives names to."""
    count = 0
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            count += sum(map(_is_number, values))
    return count


def _is_number(value: ast.expr) -> bool:
    """Return whether an expression is a number written out, such as -1.5 or 1 << 17."""
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.house", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("source", nargs="?", type=Path, default=SOURCE)
    for name, number in House(parser.parse_args().source).measures().items():
        print(f"{number:>7,}  {name}")


if __name__ == "__main__":
    main()
