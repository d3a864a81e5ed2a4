"""Results on disk: what was measured, by which command, with which versions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.versions import versions

RESULTS = Path(__file__).parent / "results"


def write_result(name: str, content: dict[str, Any], module: str | None = None) -> None:
    """Write `content` to benchmarks/results/NAME.json, with the command and the versions.

    The command is `python -m benchmarks.MODULE` with the arguments it was called with; a result is
    named after the module that made it, unless `module` says which.
    """
    RESULTS.mkdir(exist_ok=True)
    command = " ".join(["python -m", f"benchmarks.{module or name}", *sys.argv[1:]])
    record = {"command": command, "versions": versions(), **content}
    text = json.dumps(record, indent=2, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
