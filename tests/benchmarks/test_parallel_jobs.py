"""Jobs in other processes: results in order, each kept at once, failures told."""

from __future__ import annotations

import os
import time

import pytest
from benchmarks.parallel_jobs import run_jobs

import grisaille as gs

pytestmark = pytest.mark.slow


def wait_and_double(job: float) -> float:
    time.sleep(job)
    return 2 * job


def process(_job: int) -> int:
    return os.getpid()


def fail_at_two(job: int) -> int:
    if job == 2:
        raise ArithmeticError("out of luck")
    return job


def die(_job: int) -> None:
    os._exit(1)


def test_results_come_in_the_order_of_the_jobs_and_are_kept_as_soon_as_they_are_there(capsys):
    kept = []
    jobs = [1.0, 0.0, 0.1]
    found = run_jobs(wait_and_double, jobs, lambda *pair: kept.append(pair), processes=2, total=5)
    assert found == [2.0, 0.0, 0.2]
    assert kept == [(0.0, 0.0), (0.1, 0.2), (1.0, 2.0)]
    shown = capsys.readouterr().out.splitlines()
    assert (shown[0], shown[-1]) == ("2 of 5 runs", "5 of 5 runs")


def test_jobs_run_in_other_processes():
    assert os.getpid() not in run_jobs(process, range(3), processes=2)


def test_the_error_of_a_job_is_raised_and_earlier_results_are_kept():
    kept = []
    with pytest.raises(ArithmeticError, match="out of luck"):
        run_jobs(fail_at_two, [0, 1, 2], lambda job, _value: kept.append(job), processes=1)
    assert kept == [0, 1]


def test_a_process_that_dies_is_told_with_what_to_do():
    with pytest.raises(gs.EvaluationError, match="died, perhaps for lack of memory: start again"):
        run_jobs(die, [0], processes=1)
