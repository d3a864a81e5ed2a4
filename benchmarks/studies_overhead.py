"""What recording costs: an answer, and opening a study again, against one suggestion.

    python -m benchmarks.studies_overhead [TRIALS]

All in one process and on one SQLite file. The trials come from random search, which makes a large
study quickly; what is measured does not depend on how they were chosen.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np

import grisaille as gs
from benchmarks.recording import write_result
from benchmarks.studies_problem import nested
from grisaille.confidence.incumbent import Incumbent, find_incumbent
from grisaille.records import Bound, Suggestion
from grisaille.strategies.strategy import Situation
from grisaille.study.budget import Limits
from grisaille.study.writer import Decision


@dataclass(frozen=True)
class Anywhere:
    """Random search."""

    def suggest(self, situation: Situation) -> Suggestion:
        """A point anywhere in the box."""
        program = situation.problem.program
        unit = np.random.default_rng(situation.trial_seed).random(program.size)
        x = program.lower + (program.upper - program.lower) * unit
        return Suggestion(gs.TrialKind.INITIAL, x)

    def bound(self, situation: Situation) -> Bound:
        """None."""
        return Bound()

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The best point tried."""
        return find_incumbent(situation.history, None)

    def learned(self, problem: gs.Problem) -> list[str]:
        """Nothing."""
        return []


def measure(trials: int, kernel: gs.Matern | None) -> dict[str, float]:
    storage = f"sqlite:///{tempfile.mkdtemp(prefix='grisaille-overhead-')}/study.db"
    study = gs.Study(nested(kernel=kernel), storage=storage, name="large", strategy=Anywhere())
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
    """What handing out a query and recording its answer take, commits included."""
    before = time.perf_counter()
    query = study._session.take()
    while query is None:
        decision = study._session.decide(Limits())
        assert isinstance(decision, Decision)
        study._session.start(decision)
        before = time.perf_counter()
        query = study._session.take()
    box = study.box(query.box)
    assert box.fn is not None
    study.tell(query, box.fn(*query.arguments), seconds=0.0)
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
