"""The command line of benchmarks that run named cases once for each seed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection

from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows

Job = tuple[str, int]
"""The name of a case, and a seed."""


def run_cases(
    module: str,
    description: str | None,
    cases: Collection[str],
    run_one: Callable[[Job], Row],
    summarize: Callable[[str, list[Row]], Row],
) -> None:
    """Run all cases, or those that the command line names; print and store every number.

    Args:
        module: The module's name, with which the names of its results begin.
        description: The description in the command's help.
        cases: Names of the cases.
        run_one: Runs one case with one seed.
        summarize: Sums up the rows of a case.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", choices=list(cases), action="append", help="run only these")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    names = options.only or list(cases)
    jobs = [(name, seed) for name in names for seed in range(options.seeds)]
    rows = run_jobs(run_one, jobs, print_row, processes=options.processes)
    for name in names:
        mine = [row for row, job in zip(rows, jobs, strict=True) if job[0] == name]
        write_rows(f"{module}_{name}", mine)
        summary = summarize(name, mine)
        print(name, summary)
        write_result(f"{module}_{name}", summary, module=module)


def print_row(_job: object, row: Row) -> None:
    """Print one row, numbers with six digits."""
    print(*(f"{k}={v:.6g}" if isinstance(v, float) else v for k, v in row.items()), flush=True)
