"""How often is "no point is feasible" said wrongly, how often rightly, and is its chance a chance?

Feasible problems have a constraint on a drawn function that 2 % of the design space meet.
Infeasible ones have the same constraint, below the function's minimum by 5 % or 50 % of its spread;
the collection has ten more. After 20 trials, and 40 of infeasible ones, we store the verdict and
the chance that no point is feasible (`Result.p_infeasible`).

    python -m benchmarks.infeasibility [--seeds 200] [--first 2000] [--collection]
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
import torch

import grisaille as gs
from benchmarks.collection import HALVES
from benchmarks.honest_bounds import drawn, share
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows

FEASIBLE = 0.02
STOPS = (20, 40)
# How far below the minimum of the function the limit of an infeasible problem lies, in its spreads.
MARGINS = (0.05, 0.5)


@dataclass(frozen=True, slots=True)
class Job:
    """One problem: of the collection by name, else drawn; `margin` is 0 for a feasible one."""

    seed: int
    margin: float = 0.0
    half: str = ""
    name: str = ""


def problem_of(job: Job) -> gs.Problem:
    """Return the problem of a job."""
    if job.name:
        entry = next(entry for entry in HALVES[job.half]() if entry.name == job.name)
        return entry.make(None).problem
    generator = np.random.default_rng([job.seed, 7])
    length = (0.3, 0.5, 0.8)[job.seed % 3]
    function = drawn(generator, 2, "se", length)
    axis = np.linspace(-1, 1, 201)
    values = function(np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2))
    limit = float(np.quantile(values, FEASIBLE))
    if job.margin:
        limit = float(values.min() - job.margin * values.std())
    x = gs.Variable("x", shape=2, lower=-1, upper=1)
    h = gs.BlackBox(lambda x: float(function(x[None])[0]), name="h", noise=0)
    return gs.Problem(minimize=generator.standard_normal(2) @ x, subject_to=[h(x) <= limit])


def run_one(job: Job) -> Row:
    """Go on with one study, and look at it three times."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    study = gs.Study(problem_of(job), seed=job.seed)
    row: Row = {
        "seed": job.seed,
        "problem": job.name or "drawn",
        "feasible": not job.margin and not job.name,
        "margin": job.margin,
    }
    for stop in STOPS if job.name or job.margin else STOPS[:1]:
        result = study.run(trials=stop, progress=False)
        row[f"verdict {stop}"] = str(result.status)
        row[f"found {stop}"] = bool(result.success)
        row[f"chance {stop}"] = result.p_infeasible
    return {**{f"{what} 40": "" for what in ("verdict", "found", "chance")}, **row}


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.infeasibility", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=2000)
    parser.add_argument("--collection", action="store_true", help="the ten of the collection, too")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    jobs = [
        Job(0, half=half, name=entry.name)
        for half, entries in HALVES.items()
        for entry in entries()
        if options.collection and not entry.feasible
    ]
    jobs += [Job(seed, margin) for margin in MARGINS for seed in seeds[: options.seeds // 20]]
    jobs += [Job(seed) for seed in seeds]
    rows = run_jobs(run_one, jobs, processes=options.processes)
    feasible = [row for row in rows if row["feasible"]]
    summary: dict[str, object] = {}
    for stop in STOPS[:1]:
        said = [row[f"verdict {stop}"] == "likely_infeasible" for row in feasible]
        summary[f"feasible, {stop} trials: likely_infeasible"] = share(said)
        chances = [row[f"chance {stop}"] for row in feasible]
        summary[f"feasible, {stop} trials: chance above 0.95, above 0.5"] = [
            share([c > limit for c in chances]) for limit in (0.95, 0.5)
        ]
    for what, some in (
        ("collection", [r for r in rows if r["problem"] != "drawn"]),
        *((f"margin {m:g}", [r for r in rows if r["margin"] == m]) for m in MARGINS),
    ):
        if not some:
            continue
        for stop in STOPS:
            verdicts = [
                row[f"verdict {stop}"] in ("likely_infeasible", "infeasible") for row in some
            ]
            chances = [row[f"chance {stop}"] for row in some]
            summary[f"infeasible ({what}), {stop} trials"] = {
                "recognized": share(verdicts),
                "chance above 0.95": share(
                    [v or c > 0.95 for c, v in zip(chances, verdicts, strict=True)]
                ),
            }
    for name, value in summary.items():
        print(f"{name}: {value}")
    write_rows("infeasibility", rows)
    write_result("infeasibility", summary)


if __name__ == "__main__":
    main()
