"""How often is a shown bound wrong, and what does honesty cost? By kind of function.

Functions are drawn from Gaussian processes (rough, smooth, noisy, chained, with a given kernel), or
are named test functions. Each is minimized by the default strategy. After its last trial the bound
is worked out twice from the same answers: by the rule of relevant regions, which results show, and
by the bands that points are chosen by, which version 0.2 showed. A bound is wrong if it lies above
the true optimum by more than 1e-3 of the objective's spread.

    python -m benchmarks.honest_bounds [--seeds 100] [--first 1000] [--only rough] [--keep FOLDER]

`--keep` stores the histories, and uses those that are there: so other rules can be measured on the
same answers.
"""

from __future__ import annotations

import argparse
import pickle
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.stats import binomtest

import grisaille as gs
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.belief.knowledge import Knowledge
from grisaille.records import History, Situation
from grisaille.study.progress_summary import ProgressSummary

WRONG = 1e-3
CLOSED = 0.02
NOISE = 0.05

Function = Callable[[np.ndarray], np.ndarray]
"""Values (batch,) at points (batch, d)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of function.

    Attributes:
        group: What it is counted with.
        inputs: d.
        trials: How many trials are made.
        family: "se" or "m32": squared exponential, or Matérn 3/2.
        lengthscale: Of the draw, on [-1, 1]^d.
        noise: Standard deviation of the answers, which is left out.
        chain: Whether its values go through a known part into a second black box.
        given: Whether the kernel is given.
        name: A named function, in place of a draw.
    """

    group: str
    inputs: int
    trials: int
    family: str = "se"
    lengthscale: float = 0.3
    noise: float = 0.0
    chain: bool = False
    given: bool = False
    name: str = ""

    @property
    def label(self) -> str:
        """A short name."""
        what = self.name or f"{self.family}{self.lengthscale:g}"
        return f"{self.group} {what} d{self.inputs} T{self.trials}"


def _kinds() -> Iterator[Kind]:
    for family, length in (("se", 0.3), ("m32", 0.5), ("se", 0.2)):
        for inputs in (1, 2):
            for trials in (15, 25):
                yield Kind("rough", inputs, trials, family, length)
    for inputs, length in ((1, 0.15), (2, 0.3)):
        yield Kind("noisy rough", inputs, 15, "se", length, NOISE)
    for inputs in (1, 2):
        yield Kind("noisy smooth", inputs, 15, "se", 0.8, NOISE)
    for inputs, trials in ((1, 12), (2, 15), (3, 18)):
        for length in (0.6, 1.0) if inputs < 3 else (1.0,):
            yield Kind("smooth", inputs, trials, "se", length)
    for length in (0.6, 0.35):
        yield Kind("chain", 1, 12, "se", length, chain=True)
    for inputs, length in ((1, 0.15), (2, 0.3)):
        yield Kind("given", inputs, 15, "se", length, given=True)
    for name, (low, _high, _call) in NAMED.items():
        yield Kind("named", len(low), 20, name=name)


def _rows(call: Callable[..., np.ndarray]) -> Function:
    return lambda x: call(*x.T)


PI = np.pi

# 17 test functions of the literature: their ranges, and values at points.
NAMED: dict[str, tuple[Sequence[float], Sequence[float], Function]] = {
    "forrester": ([0], [1], _rows(lambda x: (6 * x - 2) ** 2 * np.sin(12 * x - 4))),
    "gramacy": ([0.5], [2.5], _rows(lambda x: np.sin(10 * PI * x) / (2 * x) + (x - 1) ** 4)),
    "alpine-1": ([0], [10], _rows(lambda x: -np.sqrt(x) * np.sin(x))),
    "rastrigin-1": ([-2], [2.5], _rows(lambda x: x**2 - 10 * np.cos(2 * PI * x))),
    "levy-1": (
        [-8],
        [9],
        _rows(
            lambda x: (
                np.sin(PI * (x + 3) / 4) ** 2
                + ((x - 1) / 4) ** 2 * (1 + np.sin(PI * (x + 3) / 2) ** 2)
            )
        ),
    ),
    "branin": (
        [-5, 0],
        [10, 15],
        _rows(
            lambda x, y: (
                (y - 5.1 / (4 * PI**2) * x**2 + 5 / PI * x - 6) ** 2
                + 10 * (1 - 1 / (8 * PI)) * np.cos(x)
            )
        ),
    ),
    "camel": (
        [-2, -1],
        [2, 1],
        _rows(lambda x, y: (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + 4 * (y**2 - 1) * y**2),
    ),
    "alpine-2": (
        [0, 0],
        [10, 10],
        _rows(lambda x, y: -np.sqrt(x * y) * np.sin(x) * np.sin(y)),
    ),
    "rastrigin-2": (
        [-1.5, -1.5],
        [2, 2],
        lambda x: (x**2 - 10 * np.cos(2 * PI * x)).sum(1),
    ),
    "ackley": (
        [-5, -5],
        [7, 7],
        lambda x: -20 * np.exp(-0.2 * np.sqrt((x**2).mean(1))) - np.exp(np.cos(2 * PI * x).mean(1)),
    ),
    "goldstein": (
        [-2, -2],
        [2, 2],
        _rows(
            lambda x, y: (
                np.log(1 + (x + y + 1) ** 2 * (19 - 14 * (x + y) + 3 * (x + y) ** 2))
                + np.log(
                    30
                    + (2 * x - 3 * y) ** 2
                    * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
                )
            )
        ),
    ),
    "rosenbrock": ([-2, -1], [2, 3], _rows(lambda x, y: 100 * (y - x**2) ** 2 + (1 - x) ** 2)),
    "michalewicz": (
        [0, 0],
        [PI, PI],
        lambda x: -(np.sin(x) * np.sin(np.array([1, 2]) * x**2 / PI) ** 20).sum(1),
    ),
    "drop-wave": (
        [-3, -3],
        [4, 4],
        lambda x: -(1 + np.cos(12 * np.linalg.norm(x, axis=1))) / (2 + (x**2).sum(1) / 2),
    ),
    "bowl": ([-1, -1], [2, 1.5], _rows(lambda x, y: x**2 + y**2 + x * y / 2)),
    "exponential": (
        [0, 0],
        [1, 1],
        _rows(lambda x, y: np.exp(x + y) + 3 * (x - 0.6) ** 2 - 3 * y),
    ),
    "franke": (
        [0, 0],
        [1, 1],
        _rows(
            lambda x, y: (
                -0.75 * np.exp(-((9 * x - 2) ** 2 + (9 * y - 2) ** 2) / 4)
                - 0.75 * np.exp(-((9 * x + 1) ** 2) / 49 - (9 * y + 1) / 10)
                - 0.5 * np.exp(-((9 * x - 7) ** 2 + (9 * y - 3) ** 2) / 4)
                + 0.2 * np.exp(-((9 * x - 4) ** 2) - (9 * y - 7) ** 2)
            )
        ),
    ),
}

KINDS = tuple(_kinds())


def drawn(generator: np.random.Generator, inputs: int, family: str, lengthscale: float) -> Function:
    """Draw a function of a Gaussian process of variance 1: a sum of 400 random waves."""
    waves = generator.standard_normal((inputs, 400)) / lengthscale
    if family == "m32":  # the spectrum of a Matérn kernel is Student's with 2 nu degrees
        waves /= np.sqrt(generator.chisquare(3, 400) / 3)
    phases, sizes = generator.uniform(0, 2 * PI, 400), generator.standard_normal(400)
    return lambda x: np.cos(x @ waves + phases) @ sizes * np.sqrt(2 / 400)


class Case:
    """A problem with its true optimum, and the spread of its objective.

    Args:
        kind: Its kind.
        seed: Which function of the kind, and its noise.
    """

    def __init__(self, kind: Kind, seed: int) -> None:
        generator = np.random.default_rng([seed, KINDS.index(kind)])
        inner, outer = self._inner(kind, generator), None
        if kind.chain:
            outer = drawn(generator, 1, "se", 1.5)
        noise = np.random.default_rng([seed, 1])

        def box(function: Function, name: str) -> gs.BlackBox:
            def answer(x: np.ndarray | float) -> float:
                value = float(function(np.reshape(x, (1, -1)).astype(float))[0])
                return value + kind.noise * noise.standard_normal() if kind.noise else value

            given = gs.SquaredExponential(kind.lengthscale, 1.0) if kind.given else None
            return gs.BlackBox(answer, name=name, noise=None if kind.noise else 0, kernel=given)

        x = gs.Variable("x", shape=kind.inputs, lower=-1, upper=1)
        y = box(inner, "h")(x)
        if outer is not None:
            y = box(outer, "outer")(y**2 + 3 * y - 3)
        self.problem = gs.Problem(minimize=y)
        self.truth = inner if outer is None else partial(_chained, inner, outer)
        axis = np.linspace(-1, 1, {1: 4001, 2: 201, 3: 41}[kind.inputs])
        points = np.stack(np.meshgrid(*[axis] * kind.inputs, indexing="ij"), -1)
        points = points.reshape(-1, kind.inputs)
        values = self.truth(points)
        self.spread = float(values.std())
        ends = [
            minimize(lambda p: float(self.truth(p[None])[0]), start, bounds=[(-1, 1)] * kind.inputs)
            for start in points[values.argsort()[:5]]
        ]
        self.optimum = min(float(values.min()), *(float(end.fun) for end in ends))

    @staticmethod
    def _inner(kind: Kind, generator: np.random.Generator) -> Function:
        if not kind.name:
            return drawn(generator, kind.inputs, kind.family, kind.lengthscale)
        lower, upper, call = NAMED[kind.name]
        low, high = np.array(lower, float), np.array(upper, float)
        return lambda x: call(low + (x + 1) / 2 * (high - low))


def _chained(inner: Function, outer: Function, x: np.ndarray) -> np.ndarray:
    z = inner(x)
    return outer((z**2 + 3 * z - 3)[:, None])


Job = tuple[Kind, int, str]
"""A kind, a seed, and the folder of histories ("" for none)."""


def run_one(job: Job) -> Row:
    """Make a history, or take the stored one, and work out both bounds."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    kind, seed, folder = job
    case = Case(kind, seed)
    stored = Path(folder) / f"{kind.label}-{seed}.pickle" if folder else None
    started = time.process_time()
    if stored is not None and stored.exists():
        history: History = pickle.loads(stored.read_bytes())
    else:
        history = case.problem.solve(kind.trials, seed=seed, progress=False).history
        if stored is not None:
            stored.write_bytes(pickle.dumps(history))
    row: Row = {"kind": kind.label, "group": kind.group, "seed": seed}
    row |= {"optimum": case.optimum, "spread": case.spread}
    row["run_seconds"] = round(time.process_time() - started, 3)
    _bound(case, history, seed, "shown")  # what is cached is not timed
    for name in ("chosen", "shown"):
        row |= {f"{name}_{key}": value for key, value in _bound(case, history, seed, name).items()}
    return row


def _bound(case: Case, history: History, seed: int, by: str) -> Row:
    """Work out a bound: the one that is shown, or that of the bands that points are chosen by."""
    strategy = gs.Optimistic()
    situation = Situation(case.problem, history, seed, remaining=0)
    started = time.process_time()
    if by == "shown":
        bound = strategy.bound(situation)
    else:
        with patch.object(Knowledge, "confident", property(lambda known: known.audited)):
            bound = strategy.bound(situation)
    seconds = time.process_time() - started
    result = ProgressSummary(strategy, situation).result(gs.Status.MAX_TRIALS, bound)
    return {
        "lower": result.lower_bound,
        "upper": result.upper_bound,
        "assurance": str(result.assurance),
        "wrong": result.lower_bound > case.optimum + WRONG * case.spread,
        "wrong_upper": result.upper_bound < case.optimum - WRONG * case.spread,
        "gap": result.gap / case.spread,
        "seconds": round(seconds, 4),
    }


def summarize(rows: Sequence[Row]) -> dict[str, object]:
    """Return what the bars are about, by group and by kind."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    for row in rows:
        if row["group"] != "named":
            groups.setdefault(row["kind"], []).append(row)
    return {name: _group(some) for name, some in groups.items()}


def _group(rows: Sequence[Row]) -> dict[str, object]:
    shown, chosen = ([float(r[f"{by}_gap"]) for r in rows] for by in ("shown", "chosen"))
    ratios = (np.array(shown) + WRONG) / (np.array(chosen) + WRONG)
    found: dict[str, object] = {"runs": len(rows)}
    for by in ("chosen", "shown"):
        closed = [r for r in rows if r[f"{by}_gap"] < CLOSED]
        found[f"wrong, {by}"] = share([r[f"{by}_wrong"] for r in rows])
        found[f"wrong of those closed, {by}"] = share([r[f"{by}_wrong"] for r in closed])
        found[f"upper end wrong, {by}"] = share([r[f"{by}_wrong_upper"] for r in rows])
        found[f"median gap, {by}"] = float(np.median([r[f"{by}_gap"] for r in rows]))
    found["ratio of gaps: median, upper quartile"] = [
        round(float(np.nanquantile(ratios, q)), 3) for q in (0.5, 0.75)
    ]
    taken = [sum(float(r[f"{by}_seconds"]) for r in rows) for by in ("shown", "chosen")]
    found["ratio of CPU time of a bound"] = round(taken[0] / taken[1], 3)
    return found


def share(flags: Sequence[bool]) -> str:
    """Return how many of how many, with the 95 % interval of Wilson."""
    if not flags:
        return "0 of 0"
    count = sum(map(bool, flags))
    interval = binomtest(count, len(flags)).proportion_ci(method="wilson")
    percent = [100 * p for p in (count / len(flags), interval.low, interval.high)]
    return f"{count} of {len(flags)}: {percent[0]:.0f} % [{percent[1]:.0f}, {percent[2]:.0f}]"


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.honest_bounds", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--only", default="", help="kinds whose label has this in it")
    parser.add_argument("--keep", default="", metavar="FOLDER")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--name", default="honest_bounds")
    options = parser.parse_args()
    named = max(1, options.seeds // 20)
    jobs = [
        (kind, seed, options.keep)
        for seed in range(options.first, options.first + options.seeds)
        for kind in KINDS
        if options.only in kind.label and (kind.group != "named" or seed < options.first + named)
    ]
    rows = run_jobs(run_one, jobs, processes=options.processes)
    write_rows(options.name, rows)
    summary = summarize(rows)
    for name, values in summary.items():
        print(name, *(f"    {key}: {value}" for key, value in values.items()), sep="\n")  # type: ignore[attr-defined]
    write_result(options.name, summary, "honest_bounds")


if __name__ == "__main__":
    main()
