"""The folder `benchmarks/results`: what was measured, by which command, with which versions."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.versions import versions
from grisaille.lab.comparison.run_folder import write_whole

RESULTS = Path(__file__).parent / "results"

Row = dict[str, Any]
"""One line of a CSV file, by column."""


def write_result(name: str, content: dict[str, Any], module: str | None = None) -> None:
    """Write `content` to benchmarks/results/NAME.json, with the command and the versions.

    The command is `python -m benchmarks.MODULE` with the arguments it was called with. By default
    a result has the name of the module that made it.
    """
    command = " ".join(["python -m", f"benchmarks.{module or name}", *sys.argv[1:]])
    record = {"command": command, "versions": versions(), **content}
    text = json.dumps(record, indent=2, ensure_ascii=False)
    write_whole(RESULTS / f"{name}.json", text + "\n")


def write_rows(name: str, rows: Sequence[Row]) -> None:
    """Write rows to benchmarks/results/NAME.csv; the first row names the columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(RESULTS / f"{name}.csv", text.getvalue())
