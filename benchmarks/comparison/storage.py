"""Runs on disk: one JSON file each, written at once or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.comparison.plan import Job
from benchmarks.comparison.run import Run, Step
from grisaille.errors import ModelError
from grisaille.study.encoding import from_plain, to_plain

_RUNS = "runs"
_NUMBERS = (
    "objective",
    "violation",
    "regret",
    "constrained_regret",
    "suggesting",
    "evaluating",
)


class Folder:
    """A folder of runs.

    Args:
        path: Where.
    """

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise ModelError(f"--folder {path} is a file: name a folder")
        self.path = path

    def load(self) -> dict[Job, Run]:
        """Every run that is there, failed ones included."""
        files = sorted((self.path / _RUNS).glob("*/*/*.json"))
        runs = map(_read, files)
        return {run.job: run for run in runs}

    def missing(
        self, settings: Mapping[Job, dict[str, Any]], *, retry: bool, replace: bool
    ) -> list[Job]:
        """The jobs that have no run yet.

        Args:
            settings: What each run depends on, by job.
            retry: Whether a failed run counts as none.
            replace: Whether a run that was made in another way counts as none.

        Raises:
            ModelError: A run was made in another way, and is not to be replaced.
        """
        there = self.load()
        changed = {
            job: there[job]
            for job, wanted in settings.items()
            if job in there and there[job].settings != wanted
        }
        if changed and not replace:
            job, run = next(iter(changed.items()))
            wanted = settings[job]
            differences = "; ".join(
                f"{key} was {run.settings.get(key)} and is {value} now"
                for key, value in wanted.items()
                if run.settings.get(key) != value
            )
            raise ModelError(
                f"{len(changed)} of the runs in {str(self.path)!r} were made in another way, such "
                f"as {job} ({differences}): use another --folder, or pass --replace to make them "
                "again"
            )
        return [
            job
            for job in settings
            if job not in there or job in changed or (retry and there[job].failed)
        ]

    def add(self, run: Run, command: str) -> None:
        """Store one run, in the place of an earlier one."""
        job = run.job
        file = self.path / _RUNS / job.problem / job.strategy / f"{job.seed}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".draft")
        text = json.dumps({"command": command, **_to_plain(run)}, allow_nan=False)
        draft.write_text(text + "\n", encoding="utf-8")
        os.replace(draft, file)  # a kill in between loses nothing


def chosen(
    runs: Iterable[Run], problems: Iterable[str] | None, strategies: Iterable[str] | None
) -> list[Run]:
    """The runs of some problems and strategies; None for all."""
    return [
        run
        for run in runs
        if (problems is None or run.job.problem in problems)
        and (strategies is None or run.job.strategy in strategies)
    ]


def _read(file: Path) -> Run:
    try:
        return _from_plain(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{str(file)!r} holds no run that can be read ({error}): remove it, and the run is "
            "made again"
        ) from error


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
    return Run(**{name: data[name] for name in Run.__slots__ if name != "steps"}, steps=steps)
