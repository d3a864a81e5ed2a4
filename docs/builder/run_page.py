"""Follow a page from top to bottom, and write what is printed into it.

    python -m docs.builder.run_page docs/first_hour.md

writes the page anew with what its code and its commands print now; `--check` only compares.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from docs.builder.page_blocks import Step, steps_of

_ROOT = Path(__file__).parents[2]


def printed_by(
    page: str, folder: Path, run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
) -> list[tuple[Step, str]]:
    """Follow the page in a folder, in one process; gives each step with what it printed.

    `run` starts the process.
    """
    steps = steps_of(page)
    todo = json.dumps([[step.kind, step.text, step.name] for step in steps])
    path = os.pathsep.join([str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = run(
        [sys.executable, str(Path(__file__).parent / "follow_steps.py")],
        input=todo,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "agg", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return list(zip(steps, json.loads(done.stdout), strict=True))


def with_output(page: str, followed: list[tuple[Step, str]]) -> str:
    """The page with what was printed in place of what it showed."""
    for step, printed in reversed(followed):
        if step.kind == "write":
            continue
        shown = printed
        if step.kind == "run":
            shown = f"\n```text\n{printed.rstrip()}\n```\n" if printed.strip() else ""
        start, end = step.span
        page = page[:start] + shown + page[end:]
    return page


def main() -> int:
    """Run the pages named on the command line; 1 if one would change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing, show what differs")
    options = parser.parse_args()
    differs = False
    for file in options.pages:
        page = file.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            new = with_output(page, printed_by(page, Path(folder)))
        differs = differs or new != page
        names = (str(file), f"{file}, run now")
        lines = difflib.unified_diff(page.splitlines(), new.splitlines(), *names, lineterm="")
        print(*lines, sep="\n")
        if not options.check:
            file.write_text(new, encoding="utf-8")
    return int(differs and options.check)


if __name__ == "__main__":
    sys.exit(main())
