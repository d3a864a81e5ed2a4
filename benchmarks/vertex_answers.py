"""Are answers right where limits meet, and rounding could decide which trial is the answer?

- 100 linear programs without a black box, ten of each kind: ordinary ones, in units of 1e-6 to 1e6,
  with optima where many limits meet, with equalities, with equalities written as two inequalities,
  with limits of zero, infeasible ones, with whole numbers, with ranges of 1e-7, and sparse ones. An
  answer is right if it is the optimum of HiGHS within 1e-6 of the largest value of the objective,
  and "infeasible" where there is none.
- 20 problems of the collection whose optimum is a vertex: as many active limits and bounds as
  variables. Each is solved with bare defaults: `problem.solve(trials=N)`. An answer is right if
  it is feasible and not worse than any trial within 1e-9 of the limits, in parts of the size of
  each limit over the trials.

Success and status agree if success is the feasibility of the answer, and no status says otherwise.

Run by hand: `python -m benchmarks.vertex_answers linear` and `python -m benchmarks.vertex_answers
collection [--seeds 5] [--trials 20]`. The same command again goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

import grisaille as gs
from benchmarks.collection import HALVES
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows

KINDS = (
    "ordinary",
    "other units",
    "many limits meet",
    "equalities",
    "two inequalities",
    "limits of zero",
    "infeasible",
    "whole numbers",
    "small ranges",
    "sparse",
)
# In the first eleven, only limits that are linear or bilinear in the variables are active; in the
# next four, quadratic ones; in the others, smooth ones.
VERTICES = (
    "HS 15",
    "HS 24",
    "HS 36",
    "HS 44",
    "HS 84",
    "HS 95",
    "Haverly pooling",
    "Haverly pooling 3",
    "I-beam",
    "Random 2",
    "HS 83",
    "HS 19",
    "HS 20",
    "HS 23",
    "HS 33",
    "Pressure vessel",
    "Welded beam",
    "Speed reducer",
    "Tubular column",
    "Compressor train",
)
NEAR = 1e-9
RIGHT = 1e-6


@dataclass(frozen=True, slots=True)
class Job:
    """One run."""

    name: str
    seed: int
    trials: int


def linear_program(job: Job) -> Row:
    """Solve one linear program, and compare it with HiGHS.

    HiGHS has tolerances of 1e-7, so it solves the program before its units and ranges are changed.
    """
    random = np.random.default_rng([KINDS.index(job.name), job.seed])
    n, m = int(random.integers(2, 9)), int(random.integers(1, 9))
    rows, inside = random.normal(size=(m, n)), random.uniform(-1, 1, n)
    weights, ends = random.normal(size=n), (-np.ones(n), np.ones(n))
    if job.name == "sparse":
        rows = np.where(random.random(rows.shape) < 0.4, rows, 0)
        rows[:, 0] += ~rows.any(1)
    limits = rows @ inside + random.uniform(0, 0.5, m)
    if job.name == "many limits meet":
        limits, weights = rows @ inside, -rows.T @ random.uniform(0, 1, m)
    if job.name == "limits of zero":
        limits, ends = np.zeros(m), (np.zeros(n), np.ones(n))
    if job.name == "infeasible":
        rows = np.vstack([rows, weights, -weights])
        limits = np.append(limits, np.array([1, -1]) * (weights @ inside) - 0.05)
    if job.name == "two inequalities":
        rows = np.vstack([rows, rows[0], -rows[0]])
        limits = np.append(limits, np.array([1, -1]) * (rows[0] @ inside))
    equal = job.name == "equalities"
    first = (rows[:1], rows[:1] @ inside) if equal else (None, None)
    whole = job.name == "whole numbers"
    known = linprog(
        weights,
        rows[1:] if equal else rows,
        limits[1:] if equal else limits,
        *first,
        bounds=np.column_stack(ends),
        integrality=np.full(n, int(whole)),
    )
    units, sizes = np.ones(n), np.ones(len(rows))
    if job.name == "other units":
        units, sizes = 10.0 ** random.integers(-6, 7, n), 10.0 ** random.integers(-6, 7, len(rows))
    if job.name == "small ranges":
        units = np.full(n, 1e-7)
    kind = gs.Integer if whole else gs.Variable
    x = kind("x", n, lower=ends[0] * units, upper=ends[1] * units)
    rows, limits = sizes[:, None] * rows / units, sizes * limits
    told = [rows[1:] @ x <= limits[1:]] if equal and m > 1 else []
    told += [rows[0] @ x == sizes[0] * first[1][0]] if equal else [rows @ x <= limits]
    started = time.perf_counter()
    result = gs.Problem(minimize=(weights / units) @ x, subject_to=told).solve(
        seed=job.seed, progress=False
    )
    regret = result.fun - known.fun if known.status == 0 else np.nan
    right = (
        abs(regret) <= RIGHT * np.abs(weights).sum() and result.maxcv == 0
        if known.status == 0
        else result.status is gs.Status.INFEASIBLE
    )
    return {
        **_judged(job, result),
        "regret": regret,
        "right": bool(right and result.success == (known.status == 0)),
        "seconds": round(time.perf_counter() - started, 1),
    }


def vertex(job: Job) -> Row:
    """Solve one problem of the collection, and compare the answer with all trials."""
    entry = next(e for half in HALVES.values() for e in half() if e.name == job.name)
    known = entry.make(None)
    started = time.perf_counter()
    result = known.problem.solve(trials=job.trials, seed=job.seed, progress=False)
    seconds = time.perf_counter() - started
    trials = result.history.trials
    bodies = np.array([t.constraints for t in trials]).reshape(len(trials), -1)
    sizes = np.abs(bodies).mean(0) + bodies.std(0)
    excess = (bodies / np.where(sizes > 0, sizes, 1.0)).max(1, initial=0.0)
    objectives = np.array([t.objective for t in trials])
    met = objectives[(excess <= NEAR) & np.isfinite(objectives)]
    best, sense = met.min(initial=np.inf), known.problem.sense
    answer = sense * result.fun if result.success else np.inf
    worse = 0.0 if answer <= best else float(answer - best)
    spread = float(objectives[np.isfinite(objectives)].std())
    return {
        **_judged(job, result),
        "regret": sense * (result.fun - entry.optimum),
        "right": worse == 0 and bool(result.success) == bool(len(met)),
        "seconds": round(seconds, 1),
        "feasible": bool(result.success),
        "spread": spread,
        "optimum": entry.optimum,
        "violation": float(known.measure(result.x)[1]),
        "largest excess": float(np.maximum(result.constr / np.where(sizes > 0, sizes, 1), 0).max()),
        "trials within 1e-9": len(met),
        "trials met exactly": int((excess <= 0).sum()),
        "worse than the best of them": worse,
        "without any tolerance": float(
            objectives[(excess <= 0) & np.isfinite(objectives)].min(initial=np.inf) - best
            if len(met)
            else 0.0
        ),
    }


def _judged(job: Job, result: gs.Result) -> Row:
    infeasible = result.status in (gs.Status.INFEASIBLE, gs.Status.LIKELY_INFEASIBLE)
    good = result.status in (gs.Status.OPTIMAL, gs.Status.GAP_TOL)
    agree = not (infeasible and result.success) and not (good and not result.success)
    return {
        "problem": job.name,
        "seed": job.seed,
        "trials": result.nit,
        "status": str(result.status),
        "success": bool(result.success),
        "agree": agree and (result.x is None or bool(result.success) == (result.maxcv == 0)),
    }


def _read(store: Path) -> dict[Job, Row]:
    lines = store.read_text().splitlines() if store.exists() else []
    return {Job(**job): row for job, row in map(json.loads, lines)}


PARTS = {"linear": (KINDS, linear_program, 10), "collection": (VERTICES, vertex, 5)}


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=0, help="10 linear programs, or 5 runs, each")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("vertex_answers"))
    options = parser.parse_args()
    names, run_one, usual = PARTS[options.part]
    seeds = range(options.seeds or usual)
    jobs = [Job(name, seed, options.trials) for seed in seeds for name in names]
    options.folder.mkdir(exist_ok=True)
    store = options.folder / f"{options.part}.jsonl"
    done = _read(store)
    with store.open("a") as file:

        def keep(job: Job, row: Row) -> None:
            done[job] = row
            file.write(json.dumps([asdict(job), row], default=float) + "\n")
            file.flush()

        missing = [job for job in jobs if job not in done]
        run_jobs(run_one, missing, keep, processes=options.processes, total=len(jobs))
    rows = [done[job] for job in jobs]
    name = f"vertex_answers_{options.part}"
    write_rows(name, rows)
    summary = {
        "runs": len(rows),
        "right": sum(row["right"] for row in rows),
        "success and status agree": sum(row["agree"] for row in rows),
        "statuses": {s: sum(r["status"] == s for r in rows) for s in {r["status"] for r in rows}},
    }
    if options.part == "collection":
        near = [
            row["feasible"] and row["regret"] <= 0.01 * max(row["spread"], abs(row["optimum"]))
            for row in rows
        ]
        lost = [row["without any tolerance"] > 0 for row in rows]
        summary |= {
            "answers within 1 % of the optimum": int(sum(near)),
            "answers that rounding would have replaced": int(sum(lost)),
        }
    for key, value in summary.items():
        print(f"{key}: {value}")
    write_result(name, summary, "vertex_answers")


if __name__ == "__main__":
    main()
