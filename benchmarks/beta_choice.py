"""Which beta for the paper's experiment: both methods on instances that its results do not use.

The stored table was made in several runs and not all of them were run to the end, so numbers of
instances differ between betas.

Run by hand: `python -m benchmarks.beta_choice [--beta 1.5 ...] [--first 1000] [--instances 80]`.
"""

from __future__ import annotations

import argparse
import csv
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

import grisaille as gs
from benchmarks.reproduction.experiment import STEPS
from grisaille.problems.paper import KERNEL, lp_with_embedded_gp

COLUMNS = ["beta", "instance", "method", "constrained_regret", "positive_regret"]
COLUMNS += ["violation_1", "violation_2"]
# A lighter search than the experiment's own, because a trend is all that is asked for.
SOLVER = gs.MultiStart(starts=8, samples=1024, iterations=40)
RESULTS = Path(__file__).parent / "results" / "beta_choice.csv"


def main() -> None:
    """Run what is asked for, store it, and print the means of everything stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beta", type=float, nargs="+", default=[1.0, 1.25, 1.5, 2.0])
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--instances", type=int, default=80)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    instances = range(options.first, options.first + options.instances)
    jobs = [(b, i, m) for b in options.beta for i in instances for m in ("ours", "config")]
    with get_context("spawn").Pool(options.processes) as pool:
        rows = pool.map(run_one, jobs, chunksize=1)
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    print(table())


def run_one(job: tuple[float, int, str]) -> list[object]:
    """Final measures of one run without noise and with the true kernel."""
    torch.set_num_threads(1)
    beta, instance, method = job
    known = lp_with_embedded_gp(instance)
    strategy = (
        gs.Optimistic(beta=beta, solver=SOLVER, exploit=False)
        if method == "ours"
        else gs.CONFIG(beta=beta, solver=SOLVER, exploit=False, kernel=KERNEL)
    )
    result = known.problem.solve(STEPS, strategy=strategy, seed=instance, progress=False)
    metrics = result.metrics(known.optimum)
    values = [
        metrics.constrained_regret[-1],
        metrics.cumulative_positive_regret[-1],
        *metrics.cumulative_violations[-1],
    ]
    return [beta, instance, method, *(f"{v:.6g}" for v in values)]


def table() -> str:
    """Means over the instances that both methods have run, and their ratios, in Markdown."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    stored = {
        (float(r["beta"]), r["method"], int(r["instance"])): [float(r[c]) for c in COLUMNS[3:]]
        for r in rows
    }
    lines = [
        "| beta | pairs | constrained regret | positive regret | violation 1 | violation 2 |",
        "|---|---|---|---|---|---|",
    ]
    for beta in sorted({key[0] for key in stored}):
        both = [
            (stored[key], stored[(beta, "config", key[2])])
            for key in stored
            if key[:2] == (beta, "ours") and (beta, "config", key[2]) in stored
        ]
        ours, config = np.array(both).mean(0)
        cells = [f"{a:.2g} / {b:.2g} = {a / b:.2f}" for a, b in zip(ours, config, strict=True)]
        lines.append(f"| {beta:g} | {len(both)} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
