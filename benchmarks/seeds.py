"""Cases that are run once for each seed: every number printed and stored, and one line for each."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Collection
from multiprocessing import get_context

from benchmarks.recording import RESULTS, write_result

Row = dict[str, object]
Job = tuple[str, int]


def run_seeds(
    module: str,
    description: str | None,
    cases: Collection[str],
    run_one: Callable[[Job], Row],
    summarize: Callable[[str, list[Row]], Row],
) -> None:
    """Run all cases, or those that the command line names.

    Args:
        module: What results are named after.
        description: What the command line says about it.
        cases: Names of the cases.
        run_one: One case with one seed.
        summarize: The line of a case from its rows.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", choices=list(cases), action="append", help="run only these")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    names = options.only or list(cases)
    jobs = [(name, seed) for name in names for seed in range(options.seeds)]
    rows: list[Row] = []
    with get_context("spawn").Pool(options.processes) as pool:
        for row in pool.imap(run_one, jobs):
            rows.append(row)
            print(
                *(f"{k}={v:.6g}" if isinstance(v, float) else v for k, v in row.items()), flush=True
            )
    for name in names:
        mine = [row for row, job in zip(rows, jobs, strict=True) if job[0] == name]
        with (RESULTS / f"{module}_{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(mine[0]))
            writer.writeheader()
            writer.writerows(mine)
        summary = summarize(name, mine)
        print(name, summary)
        write_result(f"{module}_{name}", summary, module=module)
