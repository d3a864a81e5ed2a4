"""Record every decision of every strategy, so that two versions of the library can be compared.

    python -m benchmarks.decisions before.jsonl [--seeds 3] [--trials 15] [--only NAME]
    python -m benchmarks.decisions --compare before.jsonl after.jsonl

A refactoring must not change what is decided. Each run is one line of the file: the suggestions and
answers as a study stores them (numbers survive JSON to the last bit), and the result. The runs are
all strategies on all known problems and on the collection's half to develop on, and some scenarios
that these do not cover. This module uses
public names of the library and the stored events only, so it also runs with an older version:
set PYTHONPATH to that version's `src`.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import grisaille as gs
from benchmarks import collection
from benchmarks.parallel_jobs import run_jobs

Job = tuple[str, str, int, int]
"""A problem, a strategy, a seed and a number of trials; for a scenario, "scenario" and its name."""

Record = dict[str, Any]
"""One run as plain data."""

STRATEGIES: dict[str, Callable[[], Any]] = {
    "Optimistic": lambda: gs.Optimistic(),
    "Optimistic_chained": lambda: gs.Optimistic(),
    "Optimistic_paper": lambda: gs.Optimistic(beta=2.0, exploit=False, solver=gs.MultiStart()),
    "CONFIG": lambda: gs.CONFIG(),
    "EIFN": lambda: gs.EIFN(),
    "EICF": lambda: gs.EICF(),
    "CUQB": lambda: gs.CUQB(),
    "LogEI": lambda: gs.LogEI(),
    "MCBO": lambda: gs.MCBO(),
    "CBO": lambda: gs.CBO(),
    "ConstrainedCBO": lambda: gs.ConstrainedCBO(),
    "RandomSearch": lambda: gs.RandomSearch(),
    "SobolSearch": lambda: gs.SobolSearch(),
}

SCENARIO = "scenario"
SCENARIOS = ("noisy", "costs", "failures", "batches", "theory", "infeasible", "unknown_noise")

# Parts of an event that differ from run to run.
_NOT_DECIDED = (
    "seconds",
    "worker",
    "lease",
    "time",
    "versions",
    "asked",
    "until",
    "holder",
    "made_on",
)
_RESULT = ("status", "message", "x", "fun", "lower_bound", "upper_bound", "gap", "certified")
_RESULT += ("maxcv", "evaluations", "learned", "cost")


def main() -> int:
    """Record or compare; returns the exit code, 1 if runs differ."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.decisions",
        description=(__doc__ or "").splitlines()[0],
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--compare", action="store_true", help="compare two files")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help='run only this problem, this strategy, this scenario or "scenario"; may be repeated',
    )
    options = parser.parse_args()
    if len(options.files) != 1 + options.compare:
        parser.error("pass one file to record to, or --compare and two files")
    if options.compare:
        return compare(*options.files)
    seeds = range(options.first, options.first + options.seeds)
    jobs = jobs_of(seeds, options.trials, options.only)
    with options.files[0].open("w", encoding="utf-8") as stream:

        def keep(_job: Job, record: Record) -> None:
            stream.write(json.dumps(record, sort_keys=True) + "\n")
            stream.flush()

        run_jobs(run, jobs, keep, processes=options.processes)
    return 0


def jobs_of(seeds: Sequence[int], trials: int, only: Sequence[str] | None) -> list[Job]:
    """Every job, or those whose problem or strategy is among `only`."""
    pairs = [(SCENARIO, name) for name in SCENARIOS]
    pairs += [(problem, name) for problem in makers() for name in STRATEGIES]
    return [
        (*pair, seed, trials)
        for seed in seeds
        for pair in pairs
        if not only or any(name in only for name in pair)
    ]


def makers() -> dict[str, Callable[[int], Any]]:
    """What makes each problem from a seed, by name."""
    return {**collection.makers("development", noise=0.0), **gs.problems.catalogue()}


def run(job: Job) -> Record:
    """Run one job. An error is recorded too, since another version must fail alike."""
    torch.set_num_threads(1)
    problem, strategy, seed, trials = job
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if problem == SCENARIO:
                found = run_scenario(strategy, seed, trials)
            else:
                found = run_known_problem(problem, strategy, seed, trials)
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"}
    key = {"problem": problem, "strategy": strategy, "seed": seed, "trials": trials}
    return {**key, **found, "took": round(time.perf_counter() - began, 2)}


def run_known_problem(name: str, strategy_name: str, seed: int, trials: int) -> Record:
    """Run a strategy on a known problem, or record why it does not apply."""
    problem = makers()[name](seed).problem
    strategy = STRATEGIES[strategy_name]()
    try:
        strategy.check(problem)
    except gs.ModelError as error:
        return {"refused": str(error)}
    evaluation = "chained" if strategy_name == "Optimistic_chained" else None
    return _record_study(
        problem,
        lambda study: {"result": _plain_result(study.run(trials, progress=False))},
        strategy=strategy,
        seed=seed,
        evaluation=evaluation,
    )


# --- scenarios ----------------------------------------------------------------------------------
def run_scenario(name: str, seed: int, trials: int) -> Record:
    """Run a study with noise, costs, failures, late answers, theory or an infeasible problem."""
    first, second = _functions(name, seed)
    strategy = None
    if name == "theory":
        strategy = gs.Optimistic(beta=gs.Theory(delta=0.05), solver=gs.MultiStart())

    def use(study: gs.Study) -> Record:
        if name == "costs":
            study.observe("second", [[0.1, 0.2], [0.5, -0.3]], [[1.0], [0.7]])
        if name == "batches":
            _answer_late(study, {"first": first, "second": second}, trials)
            result = study.result()
        else:
            result = study.run(trials, progress=False)
        replayed = {str(n): _replayed(study, n) for n in (3, max(4, trials // 2))}
        return {"result": _plain_result(result), "replayed": replayed}

    return _record_study(_scenario_problem(name, first, second), use, strategy=strategy, seed=seed)


def _functions(name: str, seed: int) -> tuple[Callable[..., float], Callable[..., float]]:
    """The two black boxes of a scenario: first(x) and second(first(x), x[1])."""
    generator = np.random.default_rng(seed)

    def first(v: np.ndarray) -> float:
        if name == "failures" and v[0] > 1.2:
            raise RuntimeError("no convergence")
        noise = 0.05 * generator.normal() if name in ("noisy", "unknown_noise") else 0.0
        return float(np.sin(2 * v[0]) + v[1] ** 2 + noise)

    def second(u: float, v: float) -> float:
        return float(np.cos(u) + 0.3 * v)

    return first, second


def _scenario_problem(
    name: str, first: Callable[..., float], second: Callable[..., float]
) -> gs.Problem:
    x = gs.Variable("x", shape=2, lower=-1, upper=2)
    box = partial(gs.BlackBox, first, name="first")
    kernel = gs.SquaredExponential(lengthscale=1.0, variance=1.0)
    if name == "infeasible":
        y = box(noise=0.0, kernel=kernel)(x)
        return gs.Problem(minimize=x[0] + y, subject_to=[y <= -30.0])
    if name == "theory":
        y = box(noise=0.0, kernel=kernel, norm_bound=10.0)(x)
        return gs.Problem(minimize=y + x[0], subject_to=[y - x[1] <= 1.5])
    noise = {"noisy": 0.05, "unknown_noise": None}.get(name, 0.0)
    y = box(noise=noise, cost=4.0 if name == "costs" else 1.0)(x)
    z = gs.BlackBox(second, name="second", noise=0.0)(y, x[1])
    return gs.Problem(minimize=z + 0.1 * x[0] ** 2, subject_to=[y - x[0] <= 1.5])


def _answer_late(study: gs.Study, functions: dict[str, Callable[..., float]], trials: int) -> None:
    """Answer queries late and in another order; the sixth one fails."""
    pending: list[gs.Query] = []
    for step in range(trials):
        pending += study.ask(2)
        query = pending.pop(step % len(pending))
        if step == 5:
            study.fail(query, "the pump stood still")
        else:
            study.tell(query, functions[str(query.box)](*query.arguments))


def _replayed(study: gs.Study, number: int) -> list[Any] | str:
    """What a replay of a trial suggests, or why there is none."""
    try:
        suggestion = study.replay(number)
    except gs.ModelError as error:
        return str(error)
    return [str(suggestion.kind), suggestion.x.tolist()]


# --- what is recorded ---------------------------------------------------------------------------
def _record_study(problem: gs.Problem, use: Callable[[gs.Study], Record], **options: Any) -> Record:
    """What `use` returns of a new study, with every event of the study."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.db"
        with gs.Study(problem, name="study", storage=f"sqlite:///{path}", **options) as study:
            found = use(study)
        return {"events": _decided_events(path), **found}


def _decided_events(path: Path) -> list[Any]:
    """What was suggested and answered, without times and names of processes."""
    query = "select kind, data from grisaille_events order by study, number"
    with sqlite3.connect(path) as connection:
        events = [(kind, json.loads(text)) for kind, text in connection.execute(query)]
    return [[kind, _decided(data)] for kind, data in events if kind != "created"]


def _decided(data: Record) -> Record:
    return {name: value for name, value in data.items() if name not in _NOT_DECIDED}


def _plain_result(result: gs.Result) -> Record:
    found = {}
    for name in _RESULT:
        value = getattr(result, name, None)
        value = value.tolist() if hasattr(value, "tolist") else value
        found[name] = value if isinstance(value, int | float | list | None) else str(value)
    return found


# --- the comparison -----------------------------------------------------------------------------
def compare(before: Path, after: Path) -> int:
    """Print which runs of two files differ and where first; returns 1 if any does."""
    old, new = _load(before), _load(after)
    shared = sorted({*old} & {*new})
    changed = {key: found for key in shared if (found := difference(old[key], new[key]))}
    ran = sum("events" in old[key] for key in shared)
    print(f"{len(shared)} runs in both files ({ran} that ran, the others refused or failed)")
    print(f"{len({*old} ^ {*new})} in one file only; {len(changed)} differ")
    for key, found in changed.items():
        print(*key, found[:400])
    return 1 if changed else 0


def difference(old: Any, new: Any, where: str = "") -> str | None:
    """The first place where two plain values differ; None if they are equal to the last bit."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = sorted({*old, *new})
        pairs = [(f"{where}.{name}", old.get(name), new.get(name)) for name in names]
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f"{where}: {len(old)} entries, then {len(new)}"
        pairs = [(f"{where}[{i}]", *both) for i, both in enumerate(zip(old, new, strict=True))]
    else:
        same = old == new or (old != old and new != new)
        return None if same else f"{where}: {old!r}, then {new!r}"
    found = (difference(a, b, place) for place, a, b in pairs)
    return next((text for text in found if text is not None), None)


def _load(file: Path) -> dict[tuple[str, str, int], Record]:
    """The runs in a file, without how long they took."""
    runs = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        del record["took"]
        if "events" in record:
            record["events"] = [[kind, _decided(data)] for kind, data in record["events"]]
        runs[record["problem"], record["strategy"], record["seed"]] = record
    return runs


if __name__ == "__main__":
    sys.exit(main())
