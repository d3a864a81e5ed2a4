"""How open may a loop be, and which trial is the answer then?

The default solves Sellar's problem and a plant with a recycle (docs/problems.md). After every
second trial, each rule picks an answer among the trials so far, and we close its loop exactly: the
answer is near if it is as near as in `benchmarks.recycle`. The rules differ in what part of the
unknown's range an equation may be missed by, and in the price of an open loop, in parts of the
spread of the objectives for a loop as open as is allowed. Price 0 is the choice by objectives.

Run by hand: `python -m benchmarks.closed_loops [--seeds 5]`.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
import torch

import grisaille as gs
from benchmarks.recycle import BROKEN, CASES, measured
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.lab.problems import catalogue
from grisaille.language.unknowns import CLOSED
from grisaille.records import Trial

RULES = [(0.0, 0.0), *product((1e-4, 1e-3), (0.0, 0.01, 0.1, 1.0))]
"""The part of the range, and the price. The first one judges as searches do, by 1e-6."""


def picked(trials: list[Trial], lenience: np.ndarray, price: float) -> Trial | None:
    """The answer among some trials by a rule; None if no trial is feasible."""
    objectives = np.array([t.objective for t in trials])
    missed = np.array([t.missed for t in trials])
    parts = np.divide(missed, lenience, out=np.zeros_like(missed), where=lenience > 0)
    met = ((missed == 0) | (parts > 0) & (parts <= 1)).all(1)
    values = objectives + price * objectives.std() * parts.max(1)
    return trials[int(np.where(met, values, np.inf).argmin())] if met.any() else None


def rows_of(name: str, seed: int) -> list[Row]:
    """One study, and what each rule answers after every second trial."""
    known, case = catalogue()[name](seed), CASES[name]
    study = gs.Study(known.problem, seed=seed)
    study.run(case.trials, progress=False)
    trials = list(study.history)
    whole = known.problem.lenience
    assert whole is not None
    rows: list[Row] = []
    for (part, price), count in product(RULES, range(6, len(trials) + 1, 2)):
        found = picked(trials[:count], whole * (part / CLOSED), price)
        regret, broken = np.nan, np.nan
        if found is not None:
            regret, broken = measured(known, case, known.problem, found.x)
        rows.append(
            {
                "problem": name,
                "seed": seed,
                "part": part,
                "price": price,
                "trials": count,
                "answer": found is not None,
                "near": bool(abs(regret) <= case.near and broken <= BROKEN),
                "regret": regret,
                "violation": broken,
            }
        )
    return rows


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [row for name in CASES for seed in range(options.seeds) for row in rows_of(name, seed)]
    summary: dict[str, object] = {}
    for name, (part, price) in product(CASES, RULES):
        own = [r for r in rows if (r["problem"], r["part"], r["price"]) == (name, part, price)]
        last = [r for r in own if r["trials"] == max(o["trials"] for o in own)]
        summary[f"{name}, part {part:g}, price {price:g}"] = {
            "moments": len(own),
            "answers": sum(r["answer"] for r in own),
            "near": sum(r["near"] for r in own),
            "largest final regret": max(abs(r["regret"]) for r in last),
        }
    for label, value in summary.items():
        print(f"{label}: {value}")
    write_rows("closed_loops", rows)
    write_result("closed_loops", summary)


if __name__ == "__main__":
    main()
