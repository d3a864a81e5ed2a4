"""What the benchmarks of studies share: problems, a quick strategy, a server, a command line."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

import grisaille as gs
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row

Job = TypeVar("Job")

QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


def nested(seconds: float = 0.0, kernel: gs.Matern | None = None) -> gs.Problem:
    """Two black boxes in a chain with a constraint; each evaluation takes so many seconds."""
    x = gs.Variable("x", 2, lower=-1, upper=1)

    def first(x: np.ndarray) -> np.ndarray:
        time.sleep(seconds)
        return np.array([x[0] + 0.5 * x[1], x[1] ** 2])

    def second(y: np.ndarray) -> float:
        time.sleep(seconds)
        return float(y[0] ** 2 + y[1])

    inner = gs.BlackBox(first, outputs=2, noise=0, kernel=kernel)(x)
    outer = gs.BlackBox(second, noise=0, kernel=kernel)
    return gs.Problem(minimize=outer(inner), subject_to=[inner[0] >= -0.5])


def single(seconds: float = 0.0) -> gs.Problem:
    """One black box of two variables, Branin's function."""
    x = gs.Variable("x", 2, lower=[-5, 0], upper=[10, 15])

    def branin(x: np.ndarray) -> float:
        time.sleep(seconds)
        a, b = x
        bend = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
        return float(bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10)

    return gs.Problem(minimize=gs.BlackBox(branin, noise=0)(x))


@contextmanager
def server_for(which: list[str]) -> Iterator[str | None]:
    """Address of a PostgreSQL server, started for the benchmark; None for `sqlite` or nothing.

    It is started for `postgresql`, and for `pgbouncer` behind a pooler of transactions.
    """
    if which not in (["postgresql"], ["pgbouncer"]):
        yield None
        return
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from tests.pgbouncer import pgbouncer
    from tests.postgres_server import postgres_server

    with postgres_server() as address:
        if address is None:
            sys.exit("PostgreSQL is not installed")
        if which == ["postgresql"]:
            yield address
            return
        with pgbouncer(address, "transaction") as pooled:
            if pooled is None:
                sys.exit("pgbouncer is not installed")
            yield pooled


def run_with_seeds(
    run_one: Callable[[Job], Row], jobs: Callable[[int], Sequence[Job]]
) -> list[Row]:
    """Run the jobs for as many seeds as the command line says; print and return their rows.

    Args:
        run_one: Runs one job.
        jobs: The jobs, given the number of seeds.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", type=int, nargs="?", default=10)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    return run_jobs(
        run_one,
        jobs(options.seeds),
        lambda _job, row: print(row, flush=True),
        processes=options.processes,
    )
