"""The cost of recording an answer and of opening a study, relative to one suggestion.

    python -m benchmarks.studies_overhead [TRIALS]

All in one process and on one SQLite file. The trials come from random search, which makes a large
study quickly; what is measured does not depend on how they were chosen.
"""

from __future__ import annotations

import sys
import tempfile
import time

import numpy as np

import grisaille as gs
from benchmarks.results_folder import write_result
from benchmarks.studies_setup import nested
from benchmarks.study_internals import start_trial, take_query


def measure(trials: int, kernel: gs.Matern | None) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        return measure_in(f"sqlite:///{folder}/study.db", trials, kernel)


def measure_in(storage: str, trials: int, kernel: gs.Matern | None) -> dict[str, float]:
    study = gs.Study(
        nested(kernel=kernel), storage=storage, name="large", strategy=gs.RandomSearch()
    )
    study.run(trials, progress=False)
    answers = [_answer(study) for _ in range(50)]
    study.close()

    gs.Study(nested(kernel=kernel), storage=storage, name="large", allow_changes=True).close()
    before = time.perf_counter()
    study = gs.Study(nested(kernel=kernel), storage=storage, name="large")
    opened = time.perf_counter()
    study.strategy.suggest(study.situation)
    first = time.perf_counter()
    study.close()
    suggestion = first - opened
    answer = float(np.median(answers))
    return {
        "trials": trials,
        "suggestion_seconds": suggestion,
        "answer_seconds_median": answer,
        "answer_part_of_a_suggestion": answer / suggestion,
        "opening_seconds": opened - before,
        "opening_part_of_a_suggestion": (opened - before) / suggestion,
        "resume_with_first_suggestion_part": (first - before) / suggestion,
    }


def _answer(study: gs.Study) -> float:
    """Seconds to hand out a query and record its answer, commits included."""
    before = time.perf_counter()
    query = take_query(study)
    while query is None:
        start_trial(study)
        before = time.perf_counter()
        query = take_query(study)
    study.tell(query, study.box(query.box)(*query.arguments), seconds=0.0)
    return time.perf_counter() - before


def main(trials: int) -> None:
    found = {
        "kernels given": measure(trials, gs.Matern(2.5, 0.5, 1.0)),
        "kernels learned": measure(trials, None),
    }
    print(found)
    write_result("studies_overhead", found)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
