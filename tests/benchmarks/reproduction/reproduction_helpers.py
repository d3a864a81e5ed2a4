"""Made-up runs of the experiment, and the folder of the stored ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.reproduction.experiment import STEPS, Curve, Job, Method, Setting
from benchmarks.reproduction.make_runs import shared_settings
from benchmarks.reproduction.runs_csv import RunsCsv

from grisaille.lab.comparison.run_folder import RunFolder

ROOT = Path(__file__).parents[3]


def folder_of(path: Path) -> RunFolder[Job, Curve]:
    return RunFolder(path, RunsCsv(), "--output")


STORED = folder_of(ROOT / "benchmarks/results/reproduction")


def made_up(seed: int) -> Curve:
    generator = np.random.default_rng(seed)
    return Curve(generator.random(STEPS).round(6), generator.random((STEPS, 2)).round(6))


def filled(path: Path, instances: int) -> RunFolder[Job, Curve]:
    folder = folder_of(path)
    folder.require_settings(shared_settings())
    for i in range(instances):
        for number, method in enumerate(Method):
            folder.add(Job(Setting.EXACT, i, method), made_up(2 * i + number))
    return folder
