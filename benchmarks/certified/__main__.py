"""What branch and bound certifies, how often, and how fast.

`python -m benchmarks.certified STUDY` with one of

- `lp`: 20 linear programs with an embedded Gaussian process, 5 to 50 observations, beta 2 and 3, to
  a gap of 1e-3; beside multi-start search with 20 starts, in the same process.
- `infeasible`: 100 linear programs whose constraints are moved until the least possible violation
  is a known margin between 0.1 and 0.001.
- `feasible`: 1,000 feasible linear programs, and every step of a 20-step run on the first 100.
- `williams_otto`: every trial of 25-trial runs.
- `nested`: the paper's nested forms and a chain of depth three, to a gap of 1e-2.
- `one_layer`: the lower end of one band in 2, 4 and 6 dimensions, beside SCIP and MAiNGO if they
  are installed (`pip install .[oracles]`), to a gap of 1e-3, 60 seconds for each of them.
- `posterior_mean`: the least posterior mean (beta 0) and lower end of a band (beta 2) of a process
  with length-scales of 0.1 of the range, three inputs, 20 to 1,000 observations, to a gap of 0.1:
  processor seconds.
- `six_inputs`: the lower end of one band with 50 observations of six inputs, beta 2 and 3, ten
  seeds each, to a gap of 1e-3: processor seconds.
- `larger`: the same in 8 and 10 dimensions: the gap that is left after 10 seconds.

Every row is written to `benchmarks/results/certified_STUDY.csv`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.certified.linear_programs import (
    feasible,
    feasible_cases,
    infeasible,
    infeasible_cases,
    lp,
    lp_cases,
    summarize_feasible,
    summarize_infeasible,
    summarize_lp,
)
from benchmarks.certified.nested_problems import (
    nested,
    nested_cases,
    summarize_nested,
    summarize_williams_otto,
    williams_otto,
    williams_otto_cases,
)
from benchmarks.certified.one_layer import (
    larger,
    larger_cases,
    one_layer,
    one_layer_cases,
    summarize_larger,
    summarize_one_layer,
)
from benchmarks.certified.processor_time import (
    posterior_mean,
    posterior_mean_cases,
    six_inputs,
    six_inputs_cases,
    summarize_posterior_mean,
    summarize_six_inputs,
)
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows

Measure = Callable[[Any], list[Row]]
Cases = Callable[[], Iterator[Any]]
Summarize = Callable[[list[Row]], Row]

STUDIES: dict[str, tuple[Measure, Cases, Summarize]] = {
    "lp": (lp, lp_cases, summarize_lp),
    "infeasible": (infeasible, infeasible_cases, summarize_infeasible),
    "feasible": (feasible, feasible_cases, summarize_feasible),
    "williams_otto": (williams_otto, williams_otto_cases, summarize_williams_otto),
    "nested": (nested, nested_cases, summarize_nested),
    "one_layer": (one_layer, one_layer_cases, summarize_one_layer),
    "posterior_mean": (posterior_mean, posterior_mean_cases, summarize_posterior_mean),
    "six_inputs": (six_inputs, six_inputs_cases, summarize_six_inputs),
    "larger": (larger, larger_cases, summarize_larger),
}
"""By name: what measures one case, all cases, and what sums up the rows."""


def main() -> None:
    """Run one study, print its summary and write its rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certified")
    parser.add_argument("study", choices=list(STUDIES))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--cases", type=int, help="only the first ones")
    options = parser.parse_args()
    measure, cases, summarize = STUDIES[options.study]
    parts = run_jobs(
        measure,
        list(cases())[: options.cases],
        lambda case, rows: print(case, *rows[:1], flush=True),
        processes=options.processes,
    )
    rows = [row for part in parts for row in part]
    name = f"certified_{options.study}"
    write_rows(name, rows)
    summary = summarize(rows)
    print(json.dumps(summary, indent=2))
    write_result(name, summary, module="certified")


if __name__ == "__main__":
    main()
