"""One run of a comparison as a JSON file: `runs/PROBLEM/STRATEGY/SEED.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grisaille.comparison.plan import Job
from grisaille.comparison.run import Run, Step
from grisaille.comparison.run_folder import file_name
from grisaille.study.encoding import from_plain, to_plain

_NUMBERS = (
    "objective",
    "violation",
    "regret",
    "constrained_regret",
    "suggesting",
    "evaluating",
)


@dataclass(frozen=True, slots=True)
class RunJson:
    """A `RunFormat` with one file for each run.

    Attributes:
        command: The command that makes the runs, stored with each of them.
    """

    command: str

    def files(self, folder: Path) -> list[Path]:
        """The files of all runs."""
        return sorted(folder.glob("runs/*/*/*.json"))

    def file_of(self, job: Job) -> Path:
        """The file of a job."""
        return Path("runs", file_name(job.problem), file_name(job.strategy), f"{job.seed}.json")

    def decode(self, file: Path, text: str) -> dict[Job, Run]:
        """The run in a file."""
        run = _from_plain(json.loads(text))
        return {run.job: run}

    def encode(self, runs: Mapping[Job, Run]) -> str:
        """The text of a file with one run."""
        (run,) = runs.values()
        return json.dumps({"command": self.command, **_to_plain(run)}, allow_nan=False) + "\n"


def _to_plain(run: Run) -> dict[str, Any]:
    steps = [
        {
            **asdict(step),
            "x": to_plain(step.x),
            **dict(zip(_NUMBERS, to_plain(getattr(step, n) for n in _NUMBERS), strict=True)),
        }
        for step in run.steps
    ]
    return {**{name: getattr(run, name) for name in Run.__slots__}, "steps": steps}


def _from_plain(data: dict[str, Any]) -> Run:
    steps = tuple(
        Step(
            number=step["number"],
            kind=step["kind"],
            x=tuple(map(float, from_plain(step["x"]))),
            **{name: float(step[name]) for name in _NUMBERS},
        )
        for step in data["steps"]
    )
    # Version 0.1.0 stored no sense.
    stored = {"sense": 1, **data, "steps": steps}
    return Run(**{name: stored[name] for name in Run.__slots__})
