"""How does the default do on problems that it was not developed on?

Every problem of one half of the collection is solved with bare defaults: `problem.solve(trials=N)`,
where N is the initial design and 40 more. Noise is left out, or declared to be 0; or, on problems
without constraints, it is left out although answers have noise of 5 % of their spread. For each run
we store whether it ended in an exception, what it recommends and how good and feasible that truly
is, the bound, what the bound rests on, whether it is on the wrong side of the optimum, and the
audit of the bands.

Run by hand: `python -m benchmarks.never_seen held_out [--seeds 10] [--noise left_out]
[--strategies Optimistic,EIFN] [--patience 120]`. The same command again goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import grisaille as gs
from benchmarks.collection import HALVES
from benchmarks.collection.entry import Entry
from benchmarks.histories import sobol_history
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.lab.problems import KnownProblem
from grisaille.strategies.strategy import Strategy

TRIALS = 40
DEFAULT = "Optimistic"
_BEST = "the best rival"
# What is declared: nothing, noise 0, or nothing although answers have noise of 5 % of their spread.
NOISES = {"left_out": None, "zero": 0, "true": None}
NOISE = 0.05
STRATEGIES = {
    "Optimistic": gs.Optimistic,
    "EIFN": gs.EIFN,
    "EICF": gs.EICF,
    "CUQB": gs.CUQB,
    "CONFIG": gs.CONFIG,
    "LogEI": gs.LogEI,
}


@dataclass(frozen=True, slots=True)
class Job:
    """One run, all by name."""

    half: str
    problem: str
    strategy: str
    noise: str
    seed: int


class GaveUpError(Exception):
    """A run took longer than was asked for."""


def run_one(job: Job, patience: float = math.inf) -> Row:
    """One run, measured; an exception is a result like any other.

    Args:
        job: Which one.
        patience: Seconds after which a run is given up; it is then stored as given up.
    """
    entry = next(e for e in HALVES[job.half]() if e.name == job.problem)
    known = entry.make(NOISES[job.noise])
    size = known.problem.program.size
    started = time.perf_counter()
    row: Row = {**asdict(job), "variables": size, "traceback": ""}
    trials, strategy = min(20, 2 * (size + 1)) + TRIALS, STRATEGIES[job.strategy]()
    solve = _solve_with_noise if job.noise == "true" else _solve
    if math.isfinite(patience):
        signal.signal(signal.SIGALRM, _give_up)
        signal.setitimer(signal.ITIMER_REAL, patience)
    try:
        result = solve(known.problem, trials, strategy, job.seed)
    except Exception as error:
        row["traceback"] = f"{type(error).__name__}: {error}"[:200]
        return row
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    row.update(_measured(entry, known, result))
    row["seconds"] = round(time.perf_counter() - started, 1)
    return row


def _give_up(*_: object) -> None:
    raise GaveUpError("it took too long")


def _solve(problem: gs.Problem, trials: int, strategy: Strategy, seed: int) -> gs.Result:
    return problem.solve(trials=trials, strategy=strategy, seed=seed, progress=False)


def _solve_with_noise(problem: gs.Problem, trials: int, strategy: Strategy, seed: int) -> gs.Result:
    """The same, with normal noise added to every answer.

    Its standard deviation is 5 % of that of the output over 64 Sobol points.
    """
    boxes = {box.name: box for box in problem.boxes}
    seen = sobol_history(problem, 64, seed=0)
    level = {
        name: NOISE * np.nanstd(seen.data(name, box.inputs, box.outputs)[1], axis=0)
        for name, box in boxes.items()
    }
    generator = np.random.default_rng([seed, 5])
    study = gs.Study(problem, strategy=strategy, seed=seed)
    while queries := study.ask(trials=trials):
        for query in queries:
            answer = boxes[query.box].evaluate(query.inputs)
            noise = level[query.box] * generator.standard_normal(len(answer))
            study.tell(query, answer + noise)
    return study.run(trials, progress=False)


def _measured(entry: Entry, known: KnownProblem, result: gs.Result) -> Row:
    sense = known.problem.sense
    value, violation = known.measure(result.x)
    objectives = np.array([t.objective for t in result.history])
    spread = float(objectives[np.isfinite(objectives)].std())
    bound = result.lower_bound if sense == 1 else -result.upper_bound
    scale = max(spread, abs(entry.optimum)) if entry.feasible else spread
    rows = result.calibration
    return {
        "status": str(result.status),
        "assurance": str(result.assurance),
        "feasible": violation <= 0 and bool(result.success),
        "violation": violation,
        "regret": sense * (value - entry.optimum),
        "spread": spread,
        "scale": scale,
        "bound": bound,
        "gap": result.gap,
        "wrong_bound": bool(bound > sense * entry.optimum + 1e-6 * scale),
        "inside": sum(r.inside for r in rows),
        "answers": sum(r.answers for r in rows),
        "factor": max((r.factor for r in rows), default=1.0),
        "seconds": 0.0,
    }


def main() -> None:
    """Run what is missing, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("half", choices=HALVES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--noise", choices=NOISES, default="left_out")
    parser.add_argument("--strategies", default="Optimistic")
    parser.add_argument("--patience", type=float, default=math.inf, help="seconds for one run")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("never_seen"))
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    store = options.folder / f"{options.half}.jsonl"
    done = read(store)
    jobs = [
        Job(options.half, entry.name, strategy, options.noise, seed)
        for seed in range(options.first, options.first + options.seeds)
        for strategy in options.strategies.split(",")
        for entry in HALVES[options.half]()
        if options.noise != "true" or "constrained" not in entry.tags
    ]
    with store.open("a") as file:

        def keep(_job: Job, row: Row) -> None:
            file.write(json.dumps(row, default=float) + "\n")
            file.flush()

        missing = [job for job in jobs if job not in done]
        run = partial(run_one, patience=options.patience)
        run_jobs(run, missing, keep, processes=options.processes, total=len(jobs))
    rows = list(read(store).values())
    name = f"never_seen_{options.half}"
    columns: dict[str, None] = dict.fromkeys(key for row in rows for key in row)
    write_rows(name, [{column: row.get(column, "") for column in columns} for row in rows])
    summary = summarize(rows)
    print(json.dumps(summary, indent=2))
    write_result(name, summary, "never_seen")


def read(store: Path) -> dict[Job, Row]:
    """The runs that are there."""
    if not store.exists():
        return {}
    rows = [json.loads(line) for line in store.read_text().splitlines()]
    keys = Job.__dataclass_fields__
    return {Job(**{key: row[key] for key in keys}): row for row in rows}


def summarize(rows: list[Row]) -> dict[str, Any]:
    """What the bars are about, by strategy and noise."""
    summary: dict[str, Any] = {}
    for strategy in dict.fromkeys(row["strategy"] for row in rows):
        for noise in NOISES:
            some = [r for r in rows if r["strategy"] == strategy and r["noise"] == noise]
            if some:
                summary[f"{strategy}, noise {noise}"] = _summary_of(some)
    for noise in NOISES:
        some = [row for row in rows if row["noise"] == noise]
        for rival in dict.fromkeys(row["strategy"] for row in some):
            if rival != DEFAULT:
                against = regrets_against(some, DEFAULT, rival)
                summary[f"{DEFAULT} against {rival}, noise {noise}"] = against
        best = best_rival(some)
        if best:
            ours = [row for row in some if row["strategy"] == DEFAULT]
            against = regrets_against([*ours, *best], DEFAULT, _BEST)
            summary[f"{DEFAULT} against {_BEST}, noise {noise}"] = against
    both = [row for row in rows if row["strategy"] == DEFAULT]
    renamed = [{**row, "strategy": row["noise"]} for row in both]
    summary["noise left out against noise 0"] = regrets_against(renamed, "left_out", "zero")
    return summary


def best_rival(rows: list[Row]) -> list[Row]:
    """The least regret of all rivals that made a run, for each problem and seed."""
    best: dict[tuple[str, int], Row] = {}
    for row in rows:
        if row["strategy"] != DEFAULT and row.get("feasible"):
            key = row["problem"], row["seed"]
            if key not in best or row["regret"] < best[key]["regret"]:
                best[key] = {**row, "strategy": _BEST}
    return list(best.values())


def regrets_against(rows: list[Row], ours: str, theirs: str) -> dict[str, Any]:
    """Median regrets of two strategies, problem by problem, over the seeds that both have.

    A run without a feasible point has an infinite regret. Problems that a strategy refuses, and
    runs that were given up, do not count. Regrets below 1e-6 of the objective's scale are level:
    what is left of them is rounding.
    """
    found: dict[tuple[str, str], dict[int, float]] = {}
    scale: dict[str, float] = {}
    for row in rows:
        regret = row.get("regret", np.inf)
        if np.isnan(regret) or _is_not_run(row):  # an infeasible problem, or no run
            continue
        seeds = found.setdefault((row["problem"], row["strategy"]), {})
        seeds[row["seed"]] = max(regret, 0.0) if row.get("feasible") else np.inf
        scale[row["problem"]] = max(scale.get(row["problem"], 0.0), row.get("scale", 0.0))
    ratios: dict[str, float] = {}
    for problem in scale:
        mine, other = found.get((problem, ours), {}), found.get((problem, theirs), {})
        common = mine.keys() & other.keys()
        if common:
            level = 1e-6 * scale[problem] or 1e-300
            left, right = (np.median([s[c] for c in common]) + level for s in (mine, other))
            ratios[problem] = 1.0 if left == right else float(left / right)
    return {
        "problems": len(ratios),
        "no worse by more than 1 %": sum(ratio <= 1.01 for ratio in ratios.values()),
        "worse by more than 2 x": sum(ratio > 2 for ratio in ratios.values()),
        "worse by more than 3 x": {n: round(r, 2) for n, r in ratios.items() if r > 3},
        "better by more than 3 x": sum(ratio < 1 / 3 for ratio in ratios.values()),
    }


def _is_not_run(row: Row) -> bool:
    """Whether a strategy refused the problem, or was too slow."""
    refused = row["strategy"] != DEFAULT and row.get("traceback", "").startswith("ModelError")
    return refused or _is_given_up(row)


def _is_given_up(row: Row) -> bool:
    return bool(row.get("traceback", "").startswith(GaveUpError.__name__))


def _summary_of(rows: list[Row]) -> dict[str, Any]:
    finished = [row for row in rows if not row["traceback"]]
    solvable = [row for row in finished if not np.isnan(row["regret"])]
    hopeless = [row for row in finished if np.isnan(row["regret"])]
    summary: dict[str, Any] = {
        "runs": len(rows),
        "tracebacks": sum(bool(row["traceback"]) and not _is_not_run(row) for row in rows),
        "problems refused": sum(_is_not_run(r) and not _is_given_up(r) for r in rows),
        "given up": sum(map(_is_given_up, rows)),
        "runs on feasible problems": len(solvable),
        "feasible at the end": sum(row["feasible"] for row in solvable),
        "false likely_infeasible": sum(row["status"] == "likely_infeasible" for row in solvable),
        "runs on infeasible problems": len(hopeless),
        "found likely_infeasible": sum(row["status"] == "likely_infeasible" for row in hopeless),
    }
    for word in ("proved", "certified", "estimated"):
        some = [row for row in solvable if row["assurance"] == word]
        wrong = sum(row["wrong_bound"] for row in some)
        summary[f"bounds {word}"] = f"{wrong} wrong of {len(some)}"
    return summary


if __name__ == "__main__":
    main()
