"""Which beta for the paper's experiment: both methods on instances that its results do not use.

The stored table was made in several runs and not all of them were run to the end, so numbers of
instances differ between betas.

Run by hand: `python -m benchmarks.beta_choice [--beta 1.5 ...] [--first 1000] [--instances 80]`.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np
import torch

import grisaille as gs
from benchmarks.parallel_jobs import run_jobs
from benchmarks.reproduction.experiment import STEPS
from benchmarks.results_folder import RESULTS, Row, write_rows
from grisaille.lab.problems.paper_examples import KERNEL, lp_with_embedded_gp

MEASURES = ("constrained_regret", "positive_regret", "violation_1", "violation_2")
# A lighter search than the experiment's own, because a trend is all that is asked for.
SOLVER = gs.MultiStart(starts=8, samples=1024, iterations=40)


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
    write_rows("beta_choice", run_jobs(run_one, jobs, processes=options.processes))
    print(table())


def run_one(job: tuple[float, int, str]) -> Row:
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
    measured = {name: f"{v:.6g}" for name, v in zip(MEASURES, values, strict=True)}
    return {"beta": beta, "instance": instance, "method": method, **measured}


def table() -> str:
    """Means over the instances that both methods have run, and their ratios, in Markdown."""
    with (RESULTS / "beta_choice.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    stored = {
        (float(r["beta"]), r["method"], int(r["instance"])): [float(r[c]) for c in MEASURES]
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
