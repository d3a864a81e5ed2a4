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
ratio of the means is what is judged.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import mean

import numpy as np
import torch

import grisaille as gs
from benchmarks.histories import sobol_history
from benchmarks.references.botorch_blackbox import suggest_blackbox
from benchmarks.references.function_networks import Acquisition, suggest_network
from benchmarks.results_folder import write_result
from grisaille.language.problem import Problem
from grisaille.problems import ackley, drop_wave, lp_with_embedded_gp, rosenbrock, williams_otto
from grisaille.records import Bound, Evaluation, History, Situation
from grisaille.strategies.strategy import Strategy
from grisaille.surrogates import fitting

OBSERVATIONS = 50
CYCLE = 4
REPETITIONS = 2 * CYCLE
THREADS = (1, 2)
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
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS, help="default: 1 2")
    arguments = parser.parse_args()
    contests = [against_botorch(lp_with_embedded_gp(0, learn=True).problem, "LP, kernel learned")]
    contests.append(against_botorch(williams_otto().problem, "Williams-Otto"))
    for known in (drop_wave(), ackley(), rosenbrock()):
        contests.append(against_function_networks(known.problem, known.name))
    records = []
    for threads in arguments.threads:
        torch.set_num_threads(threads)
        for contest in contests:
            record = measure(contest, threads).record()
            records.append(record)
            show(record)
    write_result(
        "speed",
        {
            "observations": OBSERVATIONS,
            "repetitions": REPETITIONS,
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
    return Contest(name, ours, references, dict.fromkeys(references, 0.1))


def growing(problem: Problem) -> list[History]:
    """Histories of 50 to 53 Sobol points, as of a study that has had a bound already."""
    first, *others = sobol_history(problem, OBSERVATIONS + CYCLE - 1, _HISTORY_SEED)
    first = replace(first, suggestion=replace(first.suggestion, bound=Bound(first.objective)))
    return [History((first, *others[: OBSERVATIONS - 1 + more])) for more in range(CYCLE)]


def our_suggestion(
    problem: Problem,
    histories: list[History],
    evaluation: Evaluation,
    strategy: Strategy = _DEFAULT,
) -> Suggest:
    """One suggestion of ours that learns its hyper-parameters anew."""

    def suggest(seed: int) -> object:
        fitting._learned.cache_clear()
        history = histories[seed % CYCLE]
        return strategy.suggest(Situation(problem, history, seed, evaluation, _REMAINING))

    return suggest


def measure(contest: Contest, threads: int) -> Timing:
    """Time all sides in turns, after one unmeasured suggestion of each."""
    sides = {"grisaille": contest.ours, **contest.references}
    timing = Timing(contest.problem, threads, contest.bars, {name: [] for name in sides})
    for suggest in sides.values():
        suggest(REPETITIONS)
    for repetition in range(REPETITIONS):
        for name, suggest in sides.items():
            timing.seconds[name].append(seconds_of(suggest, repetition))
    return timing


def seconds_of(suggest: Suggest, seed: int) -> float:
    """Seconds that one suggestion takes."""
    gc.collect()
    started = time.perf_counter()
    suggest(seed)
    return time.perf_counter() - started


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
            line += f"   ours / theirs {ratios[name]:.3f}, at most {bars[name]:g} wanted"
        print(line, flush=True)


if __name__ == "__main__":
    main()
