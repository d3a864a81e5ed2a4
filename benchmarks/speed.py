"""How long a suggestion takes, next to what others need on the same 50 to 53 observations.

`python -m benchmarks.speed` measures, in one process and in turns, one suggestion with its
hyper-parameter fits against

- one plain BoTorch suggestion that sees the problem as a black box: on the LP with an embedded
  Gaussian process (its kernel left to be learned) and on the Williams-Otto reactor;
- one EI-FN suggestion, in each form of `benchmarks.references.function_networks.Acquisition`, which
  are written with BoTorch, and by `gs.EIFN`, which has our own surrogates and search: on Drop-Wave,
  Ackley-6 and Rosenbrock-5.

Repetition r gives seed r and 50 + r mod 4 observations to both sides: our bound is worked out in
one trial of four, so it is in one repetition of four. Absolute seconds belong to the machine; the
ratio of the means is what is judged. With one thread, this is the time of the processor, which
other work on the machine hardly changes. `--judged` leaves out references without a bar.

`python -m benchmarks.speed constrained --before SRC` compares with an earlier version, whose `src`
folder is SRC: one suggestion on each feasible constrained problem of the development half of the
collection, in child processes that take turns. `python -m benchmarks.speed many` measures
suggestions after thousands of observations of two black boxes with three outputs, in processes of
their own, and their memory. These two measure the time of the processor, too.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median

import numpy as np
import torch

import grisaille as gs
from benchmarks.collection import development
from benchmarks.histories import sobol_history
from benchmarks.memory import peak_gigabytes
from benchmarks.references.botorch_blackbox import suggest_blackbox
from benchmarks.references.function_networks import Acquisition, suggest_network
from benchmarks.results_folder import write_result
from benchmarks.studies_setup import nested
from grisaille.belief import knowledge
from grisaille.belief.processes import likelihood
from grisaille.lab.problems import ackley, drop_wave, lp_with_embedded_gp, rosenbrock, williams_otto
from grisaille.language.problem import Problem
from grisaille.records import Bound, Evaluation, History, Situation, TrialKind
from grisaille.strategies.strategy import Strategy

OBSERVATIONS = 50
CYCLE = 4
REPETITIONS = 2 * CYCLE
THREADS = (1, 2)
MANY = (("trials", 2000), ("rows", 2000), ("rows", 5000), ("rows", 10_000))
_REMAINING = 10
_HISTORY_SEED = 0
_DEFAULT = gs.Optimistic(solver=gs.MultiStart())

Suggest = Callable[[int], object]
"""Makes one suggestion from a seed."""


@dataclass(frozen=True, slots=True)
class Contest:
    """One problem, and whom we are measured against on it.

    Attributes:
        problem: Name of the problem.
        ours: One suggestion of ours.
        references: One suggestion of each reference, by name.
        bars: The most that ours / reference may be, for the references that are judged.
    """

    problem: str
    ours: Suggest
    references: dict[str, Suggest]
    bars: dict[str, float]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of every repetition, in order."""

    problem: str
    threads: int
    bars: dict[str, float]
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def record(self) -> dict[str, object]:
        """Everything measured, with means and ratios of means."""
        means = {name: mean(values) for name, values in self.seconds.items()}
        references = [name for name in self.seconds if name != "grisaille"]
        ratios = {name: means["grisaille"] / means[name] for name in references}
        return {
            "problem": self.problem,
            "threads": self.threads,
            "seconds": self.seconds,
            "mean seconds": means,
            "ratio": ratios,
            "bar": self.bars,
            "met": {name: ratios[name] <= bar for name, bar in self.bars.items()},
        }


def main() -> None:
    """Measure every contest with every number of threads, print and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed")
    parser.add_argument("what", nargs="?", choices=("others", "constrained", "many"))
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS, help="default: 1 2")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="default: 8")
    parser.add_argument("--judged", action="store_true", help="only references with a bar")
    parser.add_argument("--before", type=Path, help="the src folder of an earlier version")
    arguments = parser.parse_args()
    if arguments.what == "constrained":
        compare_versions(arguments.before)
        return
    if arguments.what == "many":
        measure_many()
        return
    contests = [against_botorch(lp_with_embedded_gp(0, learn=True).problem, "LP, kernel learned")]
    contests.append(against_botorch(williams_otto().problem, "Williams-Otto"))
    for known in (drop_wave(), ackley(), rosenbrock()):
        contests.append(against_function_networks(known.problem, known.name))
    records = []
    for threads in arguments.threads:
        torch.set_num_threads(threads)
        for contest in contests:
            if arguments.judged:
                judged = {n: s for n, s in contest.references.items() if n in contest.bars}
                contest = replace(contest, references=judged)
            record = measure(contest, threads, arguments.repetitions).record()
            records.append(record)
            show(record)
    write_result(
        "speed",
        {
            "observations": OBSERVATIONS,
            "repetitions": arguments.repetitions,
            "processors": os.cpu_count(),
            "measurements": records,
        },
    )


def against_botorch(problem: Problem, name: str) -> Contest:
    """Ours, evaluating separately, against plain BoTorch on the problem as a black box."""
    histories = growing(problem)

    def botorch(seed: int) -> object:
        program, history = problem.program, histories[seed % CYCLE]
        design = np.array([trial.x for trial in history])
        objectives = np.array([trial.objective for trial in history])
        constraints = np.array([trial.constraints for trial in history])
        return suggest_blackbox(
            design, objectives, constraints, program.lower, program.upper, seed=seed
        )

    ours = our_suggestion(problem, histories, "separate")
    return Contest(name, ours, {"BoTorch": botorch}, {"BoTorch": 1.0})


def against_function_networks(problem: Problem, name: str) -> Contest:
    """Ours, observing the chain only, against every form of EI-FN."""
    histories = growing(problem)

    def network(acquisition: Acquisition) -> Suggest:
        return lambda seed: suggest_network(
            problem, histories[seed % CYCLE], seed=seed, acquisition=acquisition
        )

    references = {f"EI-FN, {form}": network(form) for form in Acquisition}
    references["EI-FN, gs.EIFN"] = our_suggestion(problem, histories, "chained", gs.EIFN())
    ours = our_suggestion(problem, histories, "chained")
    bars = {f"EI-FN, {Acquisition.PUBLISHED}": 0.1, "EI-FN, gs.EIFN": 0.5}
    return Contest(name, ours, references, bars)


def growing(problem: Problem) -> list[History]:
    """Histories of 50 to 53 Sobol points, as of a study that has had a bound already."""
    first, *others = sobol_history(problem, OBSERVATIONS + CYCLE - 1, _HISTORY_SEED)
    # Without a trial that a strategy chose, the bound would be worked out every time.
    chosen = replace(first.suggestion, kind=TrialKind.NARROWED, bound=Bound(first.objective))
    first = replace(first, suggestion=chosen)
    return [History((first, *others[: OBSERVATIONS - 1 + more])) for more in range(CYCLE)]


def our_suggestion(
    problem: Problem,
    histories: list[History],
    evaluation: Evaluation,
    strategy: Strategy = _DEFAULT,
) -> Suggest:
    """One suggestion of ours that learns its hyper-parameters anew."""

    def suggest(seed: int) -> object:
        likelihood.learn.cache_clear()
        knowledge._learned_once.cache_clear()
        history = histories[seed % CYCLE]
        return strategy.suggest(Situation(problem, history, seed, evaluation, _REMAINING))

    return suggest


def measure(contest: Contest, threads: int, repetitions: int = REPETITIONS) -> Timing:
    """Time all sides in turns, after one unmeasured suggestion of each."""
    sides = {"grisaille": contest.ours, **contest.references}
    timing = Timing(contest.problem, threads, contest.bars, {name: [] for name in sides})
    # Several threads would count several times.
    clock = time.process_time if threads == 1 else time.perf_counter
    for suggest in sides.values():
        suggest(repetitions)
    for repetition in range(repetitions):
        for name, suggest in sides.items():
            timing.seconds[name].append(seconds_of(suggest, repetition, clock))
    return timing


def seconds_of(suggest: Suggest, seed: int, clock: Callable[[], float]) -> float:
    """Seconds that one suggestion takes by a clock."""
    gc.collect()
    started = clock()
    suggest(seed)
    return clock() - started


def show(record: dict[str, object]) -> None:
    """Print one measurement."""
    means, ratios, bars = record["mean seconds"], record["ratio"], record["bar"]
    assert isinstance(means, dict)
    assert isinstance(ratios, dict)
    assert isinstance(bars, dict)
    print(f"{record['problem']}, {record['threads']} thread(s)")
    for name, value in means.items():
        line = f"  {name:<20} {value:8.3f} s"
        if name in ratios:
            line += f"   ours / theirs {ratios[name]:.3f}"
        if name in bars:
            line += f", at most {bars[name]:g} wanted"
        print(line, flush=True)


# --- constrained problems, against an earlier version --------------------------------------------
def compare_versions(before: Path | None) -> None:
    """Time constrained problems with this version and an earlier one, in turns."""
    versions = {"now": Path(gs.__file__).parents[1]}
    if before is not None:
        versions["before"] = before.resolve()
    rows = []
    for name in constrained_problems():
        row: dict[str, object] = {"problem": name}
        for version, folder in versions.items():
            found = _in_child(folder, f"print(speed.constrained_seconds({name!r}))")
            row[version] = [float(v) for v in found.split()]
        if before is not None:
            row["ratio"] = sum(row["now"]) / sum(row["before"])  # type: ignore[call-overload]
        rows.append(row)
        print(row, flush=True)
    result: dict[str, object] = {"observations": OBSERVATIONS, "rows": rows}
    if before is not None:
        ratios = [float(row["ratio"]) for row in rows]  # type: ignore[arg-type]
        result |= {"median ratio": median(ratios), "bar": 0.5, "met": median(ratios) <= 0.5}
        print("median ratio", median(ratios))
    write_result("speed_constrained", result, "speed")


def constrained_problems() -> list[str]:
    """Names of the feasible constrained problems of the development half."""
    return [e.name for e in development() if e.feasible and "constrained" in e.tags]


def constrained_seconds(name: str) -> str:
    """Seconds of the processor of a suggestion for each number of observations, as text."""
    torch.set_num_threads(1)
    problem = next(e for e in development() if e.name == name).make(None).problem
    suggest = our_suggestion(problem, growing(problem), "separate")
    suggest(CYCLE)
    seconds = []
    for seed in range(CYCLE):
        gc.collect()
        started = time.process_time()
        suggest(seed)
        seconds.append(time.process_time() - started)
    return " ".join(f"{value:.4f}" for value in seconds)


# --- many observations ---------------------------------------------------------------------------
def measure_many() -> None:
    """Time suggestions after many observations, and measure their memory, in fresh processes."""
    folder = Path(gs.__file__).parents[1]
    rows = []
    for kernel in ("given", "learned"):
        for how, count in MANY:
            found = _in_child(
                folder, f"print(speed.many_observations({kernel!r}, {how!r}, {count}))"
            )
            rows.append(json.loads(found.splitlines()[-1]))
            print(rows[-1], flush=True)
    judged = [row for row in rows if row["observations"] == 2000 and row["how"] == "trials"]
    met = all(row["first seconds"] <= 3 and row["peak gigabytes"] < 2 for row in judged)
    write_result("speed_many", {"rows": rows, "bars": "3 s and 2 GB", "met": met}, "speed")


def many_observations(kernel: str, how: str, count: int) -> str:
    """Seconds of the processor of a suggestion after many observations, once more, and memory.

    Args:
        kernel: "given" or "learned".
        how: "trials" for trials of a random search, or "rows" for rows of known results.
        count: How many observations; rows, of each black box.
    """
    torch.set_num_threads(1)
    problem = nested(kernel=gs.Matern(2.5, 0.5, 1.0) if kernel == "given" else None)
    strategy = gs.RandomSearch() if how == "trials" else _DEFAULT
    study = gs.Study(problem, strategy=strategy, seed=0)
    started = time.process_time()
    if how == "trials":
        study.run(count // 2, progress=False)
    else:
        x = np.random.default_rng(0).uniform(-1, 1, (count, 2))
        y = np.stack([x[:, 0] + 0.5 * x[:, 1], x[:, 1] ** 2], 1)
        study.observe("first", x, y)
        study.observe("second", y, y[:, 0] ** 2 + y[:, 1])
    row: dict[str, object] = {"kernel": kernel, "how": how, "observations": count}
    row["seconds to record them"] = time.process_time() - started
    for which in ("first", "again"):
        started = time.process_time()
        _DEFAULT.suggest(study.situation)
        row[f"{which} seconds"] = time.process_time() - started
    return json.dumps({**row, "peak gigabytes": peak_gigabytes()})


def _in_child(source: Path, statement: str) -> str:
    """What a statement prints in a process of its own, with the library of a source folder."""
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{source}:{root}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", f"from benchmarks import speed; {statement}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
