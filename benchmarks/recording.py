"""Results on disk: what was measured, by which command, with which versions."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.versions import versions

RESULTS = Path(__file__).parent / "results"


def write_result(
    name: str,
    content: dict[str, Any],
    module: str | None = None,
    arguments: Sequence[str] | None = None,
) -> None:
    """Write `content` to benchmarks/results/NAME.json, with the command and the versions.

    The command is `python -m benchmarks.MODULE` with its arguments; a result is named after the
    module that made it and its arguments are those of the process, unless given here.
    """
    RESULTS.mkdir(exist_ok=True)
    given = sys.argv[1:] if arguments is None else arguments
    command = " ".join(["python -m", f"benchmarks.{module or name}", *given])
    record = {"command": command, "versions": versions(), **content}
    text = json.dumps(record, indent=2, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
