"""Halve and double every constant of the library, and count which decisions change.

    python -m benchmarks.constants [--minutes 45] [--only RECORD]

A constant is a field of a record such as `GAP` in strategies/practical/gap.py. Some short runs on
the collection's half to develop on are made with each constant halved and doubled, and compared
with the same runs as the library is. Runs that do not read a constant are left out: they cannot
change. A run decides differently if any point that it tries differs by more than 1e-6 of its range.
The rows are in benchmarks/results/constants.csv. With `--only`, the rows of that record replace the
stored ones.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import functools
import gc
import importlib
import pkgutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import grisaille as gs
from benchmarks import decisions
from benchmarks.results_folder import RESULTS, Row, write_result, write_rows
from grisaille.lab.problems import KnownProblem
from grisaille.lab.problems.known_problem import Structure

ROOMS = ("strategies", "belief", "search", "proof", "reductions", "language", "theory")
"""The parts of the library whose constants may change decisions, the most interesting first."""

SAME = 1e-6
"""Points that differ by less, in ranges of the variables, are the same."""

EXACT = 1e-6
"""Regrets below this part of that of the first point count as this part."""

Constant = tuple[str, str, str]
"""The module of a record, its name and a field."""

COPIED: dict[Constant, str] = {("grisaille.strategies.practical.gap", "GAP", "taught"): "teaches"}
"""Functions of the module whose only default is a copy of the constant. Every run counts as one
that reads it."""


@dataclass(frozen=True)
class Case:
    """A short run.

    Attributes:
        name: A name for its row.
        make: Makes the problem.
        trials: How many trials it has.
        strategy: Makes the strategy; None for the default.
        evaluation: How black boxes are evaluated, as in `gs.Study`.
        only: Records that it is for; all by default. With "PREDICTIONS", the bands that it predicts
            are compared like points.
    """

    name: str
    make: Callable[[], KnownProblem]
    trials: int
    strategy: Callable[[], Any] | None = None
    evaluation: Any = None
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """A run in numbers.

    Attributes:
        points: Every point that it tried, in ranges of the variables.
        predicted: What it predicts where it was not, in parts of the largest number.
        shortfall: The regret of its answer, and by how much this breaks constraints.
        first: The same of its first point.
        seconds: Processor time.
        error: Its error, if it ended with one.
    """

    points: np.ndarray
    predicted: np.ndarray
    shortfall: float
    first: float
    seconds: float
    error: str = ""

    def decides_like(self, other: Outcome) -> bool:
        """Return whether both tried the same points, and predict the same."""
        pairs = ((self.points, other.points), (self.predicted, other.predicted))
        return all(a.shape == b.shape and (np.abs(a - b) <= SAME).all() for a, b in pairs)


def _known(name: str) -> Callable[[], KnownProblem]:
    return lambda: decisions.makers()[name](0)


def _laboratory() -> KnownProblem:
    """Make a chain of two boxes: the first is noisy, dear, and fails for x[0] > 1.2."""
    generator = np.random.default_rng(0)

    def first(v: np.ndarray) -> float:
        if v[0] > 1.2:
            raise RuntimeError("no convergence")
        return float(np.sin(2 * v[0]) + v[1] ** 2 + 0.05 * generator.normal())

    def truth(v: np.ndarray) -> tuple[float, float]:
        inner = np.sin(2 * v[0]) + v[1] ** 2
        worst = max(0.0, float(inner - v[0] - 1.5))
        return float(np.cos(inner) + 0.3 * v[1] + 0.1 * v[0] ** 2), worst

    x = gs.Variable("x", shape=2, lower=-1, upper=2)
    y = gs.BlackBox(first, name="first", noise=0.05, cost=4.0)(x)
    second = gs.BlackBox(lambda u, v: float(np.cos(u) + 0.3 * v), name="second", noise=0.0)
    problem = gs.Problem(minimize=second(y, x[1]) + 0.1 * x[0] ** 2, subject_to=[y - x[0] <= 1.5])
    best = np.array([0.74447789, -1.0])
    return KnownProblem(
        "laboratory", problem, -0.6576762973531128, best, "own", Structure.CONSTRAINED, truth
    )


def _proving() -> gs.Optimistic:
    return gs.Optimistic(beta=2.0, exploit=False, solver=gs.Certified(regions=3000))


CASES = (
    Case("HS 23", _known("HS 23"), 9),
    Case("Styblinski-Tang-3", _known("Styblinski-Tang-3"), 10),
    Case("chain", _known("chain"), 8),
    Case("Two decays, in one go", _known("Two decays"), 8, evaluation="chained"),
    Case("additive_choice", _known("additive_choice"), 10),
    Case("catalyst_choice", _known("catalyst_choice"), 6),
    Case("solvent_blend", _known("solvent_blend"), 8),
    Case("flash", _known("flash"), 5),
    Case("laboratory", _laboratory, 7),
    Case("Kinked chain, EIFN", _known("Kinked chain"), 9, strategy=gs.EIFN),
    Case(
        "constrained_toy_graph, ConstrainedCBO",
        _known("constrained_toy_graph"),
        6,
        strategy=gs.ConstrainedCBO,
    ),
    Case("Gramacy-Lee, proved", _known("Gramacy-Lee"), 8, strategy=_proving),
    Case("Branin, proved", _known("Branin"), 5, strategy=_proving),
    Case("HS 21, until it is solved", _known("HS 21"), 16, only=("GAP", "POLICY")),
    Case("Branin, until it is solved", _known("Branin"), 18, only=("GAP", "POLICY")),
    Case("Booth, until it is solved", _known("Booth calibration"), 16, only=("GAP", "POLICY")),
    Case("laboratory, predicted", _laboratory, 5, only=("PREDICTIONS",)),
    Case("HS 113, predicted", _known("HS 113"), 5, gs.SobolSearch, only=("PREDICTIONS",)),
    Case(
        "williams_otto, predicted",
        _known("williams_otto"),
        5,
        gs.SobolSearch,
        only=("PREDICTIONS",),
    ),
)


# --- records ------------------------------------------------------------------------------------
def records() -> dict[tuple[str, str], Any]:
    """Return the records of the rooms, by module and name."""
    found = {}
    for room in ROOMS:
        package = importlib.import_module(f"grisaille.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(info.name)
            for name, value in vars(module).items():
                own = type(value).__module__ == info.name
                if own and type(value).__name__.endswith("Constants"):
                    found[info.name, name] = value
    return found


class Counted:
    """A record that notes which fields are read.

    Args:
        record: The record.
        read: Where the names of fields are noted.
    """

    def __init__(self, record: Any, read: set[str]) -> None:
        self._record, self._read = record, read

    def __getattr__(self, name: str) -> Any:
        self._read.add(name)
        return getattr(self._record, name)


def reads(case: Case, found: dict[tuple[str, str], Any]) -> tuple[Outcome, set[Constant]]:
    """Run a case, and return its outcome with the constants that it reads."""
    noted: dict[tuple[str, str], set[str]] = {key: set() for key in found}
    counted = {key: Counted(record, noted[key]) for key, record in found.items()}
    replaced = []
    for key, record in found.items():
        for module in _modules():
            for name in [n for n, value in vars(module).items() if value is record]:
                replaced.append((module, name, record))
                setattr(module, name, counted[key])
    try:
        outcome = run(case)
    finally:
        for module, name, record in replaced:
            setattr(module, name, record)
    return outcome, {(*key, field) for key, fields in noted.items() for field in fields}


def _modules() -> Iterator[Any]:
    """Give every module of the library that is loaded."""
    return (m for n, m in list(sys.modules.items()) if n.split(".")[0] == "grisaille")


@functools.cache
def _caches() -> list[Any]:
    """Return what keeps earlier calls of functions of the loaded modules."""
    kind = type(_caches)
    kept = [found for found in gc.get_objects() if type(found) is kind]
    return [one for one in kept if str(one.__module__).startswith("grisaille")]


# --- runs ---------------------------------------------------------------------------------------
def run(case: Case) -> Outcome:
    """Run a case. An error is kept, since a constant may cause it."""
    for kept in _caches():
        kept.cache_clear()
    known = case.make()
    strategy = None if case.strategy is None else case.strategy()
    options: dict[str, Any] = {"strategy": strategy, "evaluation": case.evaluation, "seed": 0}
    error, answer = "", None
    began = time.process_time()
    with gs.Study(known.problem, **options) as study:
        try:
            answer = study.run(case.trials, progress=False).x
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
        seconds = time.process_time() - began
        predicted = _predicted(study, known) if "PREDICTIONS" in case.only else np.zeros(0)
        tried = [e.data["suggestion"]["x"] for e in study.events() if e.kind == "suggested"]
    lower, upper = np.array(known.problem.program.lower), np.array(known.problem.program.upper)
    points = (np.array(tried) - lower) / np.where(upper > lower, upper - lower, 1.0)
    first = _shortfall(known, np.array(tried[0]))
    last = first if answer is None else _shortfall(known, np.asarray(answer, dtype=float))
    return Outcome(points, predicted, last, first, seconds, error)


def _predicted(study: gs.Study, known: KnownProblem) -> np.ndarray:
    """Return what a study predicts along the diagonal of the space, scaled."""
    lower, upper = np.array(known.problem.program.lower), np.array(known.problem.program.upper)
    parts = np.linspace(0.3, 0.7, 5)[:, None]
    values = study.predict(lower + parts * (upper - lower)).to_numpy()
    return np.asarray(values / np.abs(values).max(0).clip(1e-300))


def _shortfall(known: KnownProblem, x: np.ndarray) -> float:
    value, worst = known.measure(x)
    return max(known.regret(value), 0.0) + worst


def changes(value: Any) -> dict[str, Any]:
    """Return a value halved and doubled, by name; a number that has no half is left out."""
    return {
        name: new
        for name, factor in (("halved", 0.5), ("doubled", 2.0))
        if (new := _scaled(value, factor)) is not None
    }


def _scaled(value: Any, factor: float) -> Any:
    """Return a value times a factor; None where that makes no sense or changes nothing."""
    if isinstance(value, tuple):
        parts = tuple(_scaled(part, factor) if part else part for part in value)
        return None if None in parts else parts
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        return value * factor
    new = max(1, round(value * factor))
    return None if new == value else new


def measured(
    constant: Constant, record: Any, cases: Sequence[tuple[Case, Outcome]]
) -> Iterator[Row]:
    """Give a row for each change of a constant.

    Args:
        constant: The constant.
        record: Its record.
        cases: The runs that read it, each with its outcome as the library is.
    """
    field = constant[2]
    value = getattr(record, field)
    new_values = changes(value)
    for way in ("halved", "doubled"):
        row = _row(constant, value, len(cases), way)
        if not cases:
            yield {**row, "note": "not reached by the sample"}
        elif way not in new_values:
            yield {**row, "note": "no other value to try"}
        else:
            _set(constant, record, new_values[way])
            try:
                after = [run(case) for case, _ in cases]
            finally:
                _set(constant, record, value)
            before = [outcome for _, outcome in cases]
            names = [case.name for case, _ in cases]
            yield {**row, "tried": _plain(new_values[way]), **_compared(names, before, after)}


def _set(constant: Constant, record: Any, value: Any) -> None:
    """Give a constant a value, also where it is the default of an argument."""
    module, _, field = constant
    object.__setattr__(record, field, value)
    if constant in COPIED:
        vars(sys.modules[module])[COPIED[constant]].__defaults__ = (value,)


def _row(constant: Constant, value: Any, runs: int, way: str) -> Row:
    """Return a row without numbers."""
    module, record, field = constant
    start = {"module": module.removeprefix("grisaille."), "record": record, "constant": field}
    empty = dict.fromkeys(("changed", "regret", "worst", "time", "changed_runs", "note"), "")
    return {**start, "value": _plain(value), "way": way, "tried": "", "runs": runs, **empty}


def _plain(value: Any) -> str:
    return " ".join(map(repr, value)) if isinstance(value, tuple) else repr(value)


def _compared(names: Sequence[str], before: Sequence[Outcome], after: Sequence[Outcome]) -> Row:
    """Return what changed: how many runs, and the ratios of their regret and of their time."""
    pairs = list(zip(before, after, strict=True))
    changed = [
        name for name, (old, new) in zip(names, pairs, strict=True) if not new.decides_like(old)
    ]
    ratios = [
        max(new.shortfall, EXACT * old.first) / max(old.shortfall, EXACT * old.first)
        for old, new in pairs
        if old.first > 0
    ]
    times = sum(new.seconds for new in after) / sum(old.seconds for old in before)
    return {
        "changed": len(changed),
        "regret": f"{np.exp(np.mean(np.log(ratios))):.3g}",
        "worst": f"{max(ratios):.3g}",
        "time": f"{times:.2f}",
        "changed_runs": "; ".join(changed),
        "note": "; ".join(outcome.error for outcome in after if outcome.error)[:200],
    }


def main() -> None:
    """Measure, and write rows on the way."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.constants", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop measuring after these")
    parser.add_argument("--only", action="append", help="only this record; repeatable")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    began = time.monotonic()
    found = records()
    for case in CASES:  # the first run of all loads modules
        run(case)
    _caches.cache_clear()
    plain = [run(case) for case in CASES]
    read = []
    for case, outcome in zip(CASES, plain, strict=True):
        counted, names = reads(case, found)
        read.append(names)
        same = counted.decides_like(outcome)
        print(f"{outcome.seconds:6.2f} s, {len(names):3} read  {case.name}", flush=True)
        if outcome.error or not same:
            raise SystemExit(f"{case.name} does not repeat: {outcome.error or 'other points'}")
    path = RESULTS / "constants.csv"
    kept = _stored_rows(path, options.only) if options.only else []
    rows: list[Row] = []
    for key, record in found.items():
        if options.only and key[1] not in options.only:
            continue
        for field in dataclasses.fields(record):
            constant = (*key, field.name)
            triples = zip(CASES, plain, read, strict=True)
            cases = [
                (case, outcome)
                for case, outcome, names in triples
                if (constant in names or constant in COPIED) and key[1] in (case.only or key)
            ]
            if time.monotonic() - began > 60 * options.minutes:
                value = getattr(record, field.name)
                rows.append({**_row(constant, value, len(cases), ""), "note": "no time left"})
                continue
            for row in measured(constant, record, cases):
                rows.append(row)
                print(*row.values(), sep=", ", flush=True)
            write_rows("constants", [*kept, *rows])
    write_rows("constants", [*kept, *rows])
    if not options.only:
        seconds = {c.name: round(o.seconds, 2) for c, o in zip(CASES, plain, strict=True)}
        minutes = round((time.monotonic() - began) / 60, 1)
        write_result("constants", {"minutes": minutes, "seconds_of_runs": seconds})


def _stored_rows(path: Path, but: Sequence[str]) -> list[Row]:
    """Return the rows of earlier runs, but not those of some records."""
    with path.open(encoding="utf-8", newline="") as stream:
        return [row for row in csv.DictReader(stream) if row["record"] not in but]


if __name__ == "__main__":
    main()
