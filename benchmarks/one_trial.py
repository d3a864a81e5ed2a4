"""Count the files and functions that one more trial enters, and how often it learns.

    python -m benchmarks.one_trial

It counts while `Study.run` makes the eleventh trial and its result. A function is a code object, so
that lambdas and comprehensions count, too. Set PYTHONPATH to the `src` of
another version to compare with it.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import grisaille as gs

ROOT = str(Path(gs.__file__).parent)
STRATEGIES = {
    "RandomSearch": gs.RandomSearch(),
    "Optimistic": gs.Optimistic(),
    "EIFN": gs.EIFN(),
    "CUQB": gs.CUQB(),
    "CONFIG": gs.CONFIG(),
}


def problem(noise: float) -> gs.Problem:
    """Two black boxes in a chain, with a constraint."""
    generator = np.random.default_rng(0)
    x = gs.Variable("x", 2, lower=-1, upper=1)
    first = gs.BlackBox(
        lambda x: x[0] ** 2 + np.sin(x[1]) + noise * generator.normal(), name="first", noise=noise
    )
    second = gs.BlackBox(lambda y: y**2, name="second", noise=0)
    y = first(x)
    return gs.Problem(minimize=second(y) + 0.1 * x[0], subject_to=[y <= 1])


def count(strategy: Any, noise: float) -> tuple[set[CodeType], int]:
    """Return the functions entered, and the calls of `believe`, for one more trial."""
    study = gs.Study(problem(noise), strategy=strategy, seed=0)
    study.run(10, progress=False)
    entered: set[CodeType] = set()
    believed = 0

    def look(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal believed
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            entered.add(frame.f_code)
            believed += frame.f_code.co_name == "believe"

    sys.setprofile(look)
    try:
        study.run(11, progress=False)
    finally:
        sys.setprofile(None)
    return entered, believed


def main() -> None:
    warnings.simplefilter("ignore")
    for name, strategy in STRATEGIES.items():
        for noise in (0.0, 0.05):
            entered, believed = count(strategy, noise)
            files = {code.co_filename for code in entered}
            processes = sum("/processes/" in file for file in files)
            print(
                f"{name:<12} noise {noise:<4g} files {len(files):>3} ({processes} of processes), "
                f"functions {len(entered):>4}, believe {believed}",
                flush=True,
            )


if __name__ == "__main__":
    main()
