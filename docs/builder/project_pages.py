"""Pages that lie elsewhere in the repository, and the list of stored measurements."""

from __future__ import annotations

import shutil
from pathlib import Path

from docs.builder.site_pages import PROJECT_PAGES

_RESULTS = """# Stored measurements

Numbers on the pages about measurements come from these files. A file is named after the command
that wrote it, `python -m benchmarks.NAME`. Most JSON files hold the command, the versions and every
seed.

- [The comparison in tables](comparison.md)
- [The comparison on drawn problems in tables](comparison_drawn.md)

| file | kB |
|---|---|
{rows}

## What to read next

[Benchmarks](../../benchmarks.md) says what was measured, and [the comparison](../../comparison.md)
how strategies compare.

```{{toctree}}
:hidden:

comparison
comparison_drawn
```
"""


def write(root: Path, generated: Path) -> None:
    """Copy the pages, and list the files of benchmarks/results for download."""
    for path, page in PROJECT_PAGES.items():
        target = generated.parent / page
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, target)
    results = root / "benchmarks" / "results"
    files = sorted(p for p in results.rglob("*") if p.suffix in (".csv", ".json"))
    rows = "\n".join(_row(file, results) for file in files)
    page = generated / "results" / "index.md"
    page.write_text(_RESULTS.format(rows=rows), encoding="utf-8")


def _row(file: Path, results: Path) -> str:
    name = file.relative_to(results).as_posix()
    kilobytes = -(-file.stat().st_size // 1000)
    return f"| [{name}](../../../benchmarks/results/{name}) | {kilobytes} |"
