"""Answers of any size and shape: does each public call end in a result or in a sentence?

    python -m benchmarks.extreme_answers [--seeds 10] [--first 0] [--processes 1]

Thirty kinds of functions, with ten seeds each: outputs from 1e-300 to 1e300, narrow peaks and
plateaus, penalties, inputs that nearly agree, offsets beside which nothing is left, constants,
jumps and noise. Each data set is observed and asked for; then every public call of a study and of
its result is made, and each part of its page. Problems, strategies and kernels go round.

A call ends well if it returns, or raises a `GrisailleError`. Any other exception is raw. Counted as
well: warnings that are none of Grisaille's, and results that show "nan".
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

import grisaille as gs
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.adapters.export import export_csv, export_json, export_observations_csv
from grisaille.views.page.guard import Rules
from grisaille.views.page.serving import Pages
from grisaille.views.page.studies import RunningStudies
from grisaille.views.page.study_page import StudyPage

Function = Callable[[np.ndarray], float]
"""A function of a point of the unit cube."""

SEARCH = gs.MultiStart(starts=2, samples=32, iterations=8, again=False, polish=False)
TOKEN = "a-token-that-only-this-benchmark-knows"


def smooth(u: np.ndarray) -> float:
    return float(np.sin(5 * u[0]) + np.sum(u**2))


def sized(generator: np.random.Generator) -> Function:
    """Any size from 1e-300 to 1e300."""
    size = 10.0 ** generator.uniform(-300, 300)
    return lambda u: size * smooth(u)


def at_power(power: float) -> Callable[[np.random.Generator], Function]:
    return lambda _: lambda u: 10.0**power * smooth(u)


def peak(generator: np.random.Generator) -> Function:
    place, width = generator.uniform(0.2, 0.8), 10.0 ** generator.uniform(-3, -1)
    sign = generator.choice([-1, 1])
    return lambda u: float(sign * np.exp(-np.sum((u - place) ** 2) / width**2))


def peak_on(offset: float) -> Callable[[np.random.Generator], Function]:
    def make(generator: np.random.Generator) -> Function:
        bare = peak(generator)
        return lambda u: offset + bare(u)

    return make


def penalized(penalty: float) -> Callable[[np.random.Generator], Function]:
    def make(generator: np.random.Generator) -> Function:
        edge = generator.uniform(0.3, 0.9)
        return lambda u: penalty if u[0] > edge else smooth(u)

    return make


def offset_by(offset: float, size: float) -> Callable[[np.random.Generator], Function]:
    return lambda _: lambda u: offset + size * smooth(u)


def constant(value: float) -> Callable[[np.random.Generator], Function]:
    return lambda _: lambda u: value


def decades(generator: np.random.Generator) -> Function:
    """Values over many decades, of both signs."""
    slope = generator.uniform(5, 290)
    return lambda u: float(np.sign(np.cos(9 * u[0])) * 10.0 ** (slope * (2 * u[0] - 1)))


def exponential(generator: np.random.Generator) -> Function:
    slope = generator.uniform(20, 340)
    return lambda u: float(np.exp(slope * u[0]))


def pole(generator: np.random.Generator) -> Function:
    place = generator.uniform(0, 1)
    return lambda u: float(1 / (np.abs(u[0] - place) + 1e-200))


def step(generator: np.random.Generator) -> Function:
    edge, height = generator.uniform(0.2, 0.8), 10.0 ** generator.uniform(-12, 12)
    return lambda u: float(height * (u[0] > edge)) + 1e-9 * smooth(u)


def denormal(_: np.random.Generator) -> Function:
    return lambda u: float(5e-324 * np.round(100 * smooth(u)))


def one_bit(_: np.random.Generator) -> Function:
    return lambda u: 1.0 + np.spacing(1.0) * round(4 * smooth(u))


def zeros(_: np.random.Generator) -> Function:
    return lambda u: -0.0 if u[0] < 0.5 else 0.0


def noisy(size: float) -> Callable[[np.random.Generator], Function]:
    def make(generator: np.random.Generator) -> Function:
        return lambda u: size * (smooth(u) + generator.normal())

    return make


def nearly_once(generator: np.random.Generator) -> Function:
    """All answers are equal but one."""
    odd = 10.0 ** generator.uniform(-200, 140)
    place = generator.uniform(0, 1)
    return lambda u: odd if abs(u[0] - place) < 0.1 else 0.0


KINDS: dict[str, Callable[[np.random.Generator], Function]] = {
    "any size": sized,
    "any size, again": sized,
    "1e-300": at_power(-300),
    "1e-170": at_power(-170),
    "1e-155": at_power(-155),
    "1e-100": at_power(-100),
    "1e100": at_power(100),
    "1e149": at_power(149),
    "1e155": at_power(155),
    "1e300": at_power(300),
    "peak": peak,
    "peak, again": peak,
    "peak on 1e6": peak_on(1e6),
    "peak on 1e-200": peak_on(1e-200),
    "penalty of the largest float": penalized(sys.float_info.max),
    "penalty of 1e150": penalized(1e150),
    "penalty of 1e30": penalized(1e30),
    "penalty of -1e9": penalized(-1e9),
    "offset 1e8": offset_by(1e8, 1.0),
    "offset 1e15, size 1e-3": offset_by(1e15, 1e-3),
    "offset -1e149, size 1e140": offset_by(-1e149, 1e140),
    "constant": constant(3.7),
    "zeros of both signs": zeros,
    "decades": decades,
    "exponential": exponential,
    "pole": pole,
    "step": step,
    "denormal": denormal,
    "one bit": one_bit,
    "noise of 1e-160": noisy(1e-160),
}
assert len(KINDS) == 30


@dataclass(frozen=True, slots=True)
class Job:
    """One data set."""

    kind: str
    seed: int


def points_of(seed: int, inputs: int, generator: np.random.Generator) -> np.ndarray:
    """Points to observe: random ones, equal ones, or ones that nearly agree."""
    points = generator.uniform(0, 1, (8, inputs))
    apart = (None, 0.0, 1e-16, 1e-12, 1e-8, 1e-4)[seed % 6]
    if apart is not None:
        points[4:] = np.clip(points[:4] + apart * generator.choice([-1, 1], (4, inputs)), 0, 1)
    return points


def boxes_of(function: Function, seed: int) -> Iterator[tuple[str, gs.Problem]]:
    """Problems that the function is a part of, by their names."""
    options: list[dict[str, Any]] = [
        {},
        {"noise": 0},
        {"kernel": gs.SquaredExponential()},
        {"kernel": gs.Matern().on(0) + gs.Linear()},
        {"kernel": gs.Matern(lengthscale=0.3, variance=1.0), "noise": 0},
        {"noise": 0.1},
    ]
    own = options[seed % len(options)]
    x = gs.Variable("x", 1 + seed % 2, lower=0, upper=1)
    f = gs.BlackBox(function, name="f", **own)
    yield "one", gs.Problem(minimize=f(x))
    g = gs.BlackBox(lambda u: 0.3 - u[0], name="g", noise=0)
    yield "constrained", gs.Problem(maximize=f(x), subject_to=[g(x) <= 0.1])
    h = gs.BlackBox(lambda y, u: np.tanh(y) + u[0], name="h")
    yield "nested", gs.Problem(minimize=h(f(x), x), subject_to=[x[0] <= 0.9])
    both = gs.BlackBox(
        lambda u: [function(u), function(1 - u)], name="f", outputs=["a", "b"], **own
    )
    y = both(x)
    yield "two outputs", gs.Problem(minimize=y["a"], subject_to=[y["b"] <= y["a"] + 1])
    curve = gs.BlackBox(
        lambda u: [function((u + t) / 2) for t in np.linspace(0, 1, 5)],
        name="f",
        outputs=5,
        shared_kernel=True,
        noise=own.get("noise"),
    )
    yield "curve", gs.Problem(minimize=np.max(curve(x)))


PROBLEMS = 5
STRATEGIES: tuple[gs.Strategy, ...] = (
    gs.Optimistic(solver=SEARCH),
    gs.Optimistic(solver=SEARCH),
    gs.Optimistic(beta=3.0, solver=gs.Grid(7)),
    gs.LogEI(),
    gs.EIFN(),
    gs.EICF(),
    gs.CUQB(),
    gs.CONFIG(),
    gs.RandomSearch(),
    gs.SobolSearch(),
    gs.Acquisition(lambda known: lambda x: -known.predict(x)[0]),
)


@dataclass
class Calls:
    """The calls of one data set, and how they ended."""

    ended: Counter[str] = field(default_factory=Counter)
    raw: list[str] = field(default_factory=list)
    strange: set[str] = field(default_factory=set)

    def make(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call; return its value, or None if it raised."""
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                value = call()
                self.ended["returned"] += 1
            except gs.GrisailleError as error:
                value = None
                self.ended["sentences"] += 1
                if not str(error):
                    self.raw.append(f"{name}: an error without words")
            except Exception as error:
                value = None
                self.ended["raw"] += 1
                place = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(place.filename).name}:{place.lineno}"
                self.raw.append(f"{name}: {type(error).__name__}: {error} ({where})"[:300])
        for warning in seen:
            ours = issubclass(warning.category, gs.GrisailleWarning | DeprecationWarning)
            if not ours:
                where = f"{Path(warning.filename).name}:{warning.lineno}"
                self.strange.add(f"{name}: {warning.message} ({where})"[:200])
        return value


def measure(job: Job) -> Row:
    """Make every public call for one data set."""
    number = list(KINDS).index(job.kind)
    generator = np.random.default_rng([number, job.seed])
    # Neighbouring kinds and seeds get other problems and strategies.
    made = list(boxes_of(KINDS[job.kind](generator), job.seed))
    name, problem = made[(number + job.seed) % PROBLEMS]
    strategy = STRATEGIES[(number + 3 * job.seed) % len(STRATEGIES)]
    calls = Calls()
    try:
        study = gs.Study(problem, strategy=strategy, seed=job.seed)
    except gs.ModelError:  # it is for other problems
        strategy = STRATEGIES[0]
        study = gs.Study(problem, strategy=strategy, seed=job.seed)
    study.name = "extreme"
    use_study(calls, study, points_of(job.seed, problem.program.size, generator))
    result = calls.make("result", study.result)
    with tempfile.TemporaryDirectory() as folder:
        if result is not None:
            use_result(calls, result, Path(folder), ("linear", "log")[job.seed % 2])
    look_at_models(calls, study)
    look_at_page(calls, study)
    text = "" if result is None else str(result)
    return {
        "kind": job.kind,
        "seed": job.seed,
        "problem": name,
        "strategy": type(strategy).__name__,
        "calls": sum(calls.ended.values()),
        **{end: calls.ended[end] for end in ("returned", "sentences", "raw")},
        "says_nan": int("nan" in text),
        "strange_warnings": len(calls.strange),
        "first_raw": " | ".join(calls.raw[:3]),
        "first_strange": " | ".join(sorted(calls.strange)[:2]),
    }


def value_of(study: gs.Study, query: gs.Query) -> Any:
    """What the black box returns, unchecked."""
    fn = study.box(query.box).fn
    assert fn is not None
    return fn(*query.arguments)


def use_study(calls: Calls, study: gs.Study, points: np.ndarray) -> None:
    """Record answers in all ways, correct and retract some, and ask what may be asked."""
    box = study.problem.boxes[0]
    fn = box.fn
    assert fn is not None
    if box.inputs == points.shape[1]:
        for point in points:  # each by itself: some are refused
            calls.make("observe", partial(study.observe, box, [point], [np.ravel(fn(point))]))
    calls.make("enqueue", partial(study.enqueue, points[:1]))
    for query in calls.make("ask", partial(study.ask, 2)) or []:
        value = value_of(study, query)
        if calls.make("tell", partial(study.tell, query, value)) is None:
            with suppress(gs.GrisailleError):
                study.fail(query, "too large to be recorded", retry=False)
    for query in calls.make("ask", study.ask) or []:
        calls.make("tell", partial(study.tell, query, 1.0, inputs=query.inputs * 0.99))
    sheet = calls.make("ask_sheet", study.ask_sheet)
    if sheet is not None and len(sheet):
        calls.make("tell_sheet", partial(study.tell_sheet, sheet))
    for query in calls.make("ask", study.ask) or []:
        calls.make("release", partial(study.release, query))
    calls.make("run", partial(study.run, study.state.made() + 3, progress=False, gap_tol=1e-9))
    names = list(study.answers()["id"])
    if len(names) > 2:
        seen = study.state.answer(names[-1])
        assert seen is not None
        calls.make("correct", partial(study.correct, names[-1], seen.outputs * 1.5))
        calls.make("retract", partial(study.retract, names[0]))
    calls.make("run", partial(study.run, study.state.made() + 2, progress=False))
    look_at_study(calls, study, points)


def look_at_study(calls: Calls, study: gs.Study, points: np.ndarray) -> None:
    """Read everything that a study tells of itself."""
    calls.make("incumbent", study.incumbent)
    for part in ("answers", "events"):
        calls.make(part, getattr(study, part))
    for part in ("cost", "failures", "history", "pending", "situation", "state"):
        calls.make(part, partial(getattr, study, part))
    for shown in (str, repr):
        calls.make(f"{shown.__name__} of a study", partial(shown, study))
    for trial in list(study.state.trials)[-1:]:
        calls.make("replay", partial(study.replay, trial))
    calls.make("predict", partial(study.predict, points))
    for export in (export_csv, export_json, export_observations_csv):
        calls.make(export.__name__, partial(export, study.state))


def look_at_models(calls: Calls, study: gs.Study) -> None:
    """Look at everything that is learned of each black box."""
    for box in study.problem.boxes:
        model = calls.make("model", partial(study.model, box))
        if model is None:
            continue
        calls.make("model.predict", partial(model.predict, np.full((2, box.inputs), 0.4)))
        calls.make("leave_one_out", model.leave_one_out)
        calls.make("repr of a model", partial(repr, model))
        for part in ("band_widths", "data", "kernel", "lengthscales", "noise", "variance"):
            calls.make(f"model.{part}", partial(getattr, model, part))


def use_result(calls: Calls, result: gs.Result, folder: Path, scale: Any) -> None:
    """Make every call of a result."""
    for part in (str, repr):
        calls.make(f"{part.__name__} of a result", partial(part, result))
    calls.make("result in a notebook", result._repr_html_)
    calls.make("bound_sources", result.bound_sources)
    calls.make("calibration", partial(getattr, result, "calibration"))
    calls.make("confidence", partial(getattr, result, "confidence"))
    calls.make("metrics", partial(result.metrics, 0.0))
    calls.make("to_dataframe", result.to_dataframe)
    for name in ("best_iterate_bound", "discrepancy_bounds", "guarantee", "regret_bound"):
        calls.make(name, getattr(result, name))
    calls.make("violation_bounds", result.violation_bounds)
    calls.make("predict", partial(result.predict, result.problem.objective))
    calls.make("plot", partial(result.plot, folder / "plot.svg", scale=scale))
    for name in ("plot_calibration", "plot_constraints", "plot_sensitivity", "plot_slices"):
        calls.make(name, partial(getattr(result, name), path=folder / f"{name}.svg"))
    calls.make("report", partial(result.report, folder / "report.html"))


def look_at_page(calls: Calls, study: gs.Study) -> None:
    """Ask for each part of the page of a study, as a browser does."""
    shown = RunningStudies()
    shown.add(study)
    base = f"/studies/{study.name}"
    with TestClient(Pages(shown, Rules(TOKEN)).app(), base_url="http://127.0.0.1:8642") as client:
        client.get(f"/?token={TOKEN}")

        def get(address: str) -> None:
            answer = client.get(address)
            if answer.status_code >= 500:
                raise RuntimeError(f"status {answer.status_code}")

        calls.make("page", partial(get, base))
        for part in StudyPage.PARTS:
            calls.make(f"page, {part}", partial(get, f"{base}/parts/{part}"))
        for box in study.problem.boxes:
            calls.make("page, box", partial(get, f"{base}/box/{box.name}"))
        calls.make("page, convergence.json", partial(get, f"{base}/convergence.json"))
        calls.make("page, report", partial(get, f"{base}/export/report.html"))


def main() -> None:
    """Measure all kinds and seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    jobs = [Job(kind, seed) for kind in KINDS for seed in seeds]
    rows: list[Row] = []
    for row in run_jobs(measure, jobs, processes=chosen.processes):
        rows.append(row)
        if row["raw"] or row["says_nan"] or row["strange_warnings"]:
            print(row, flush=True)
    names = ("calls", "returned", "sentences", "raw", "says_nan", "strange_warnings")
    total = {"data_sets": len(rows), **{name: sum(row[name] for row in rows) for name in names}}
    print(total)
    write_rows("extreme_answers", rows)
    write_result("extreme_answers", total)


if __name__ == "__main__":
    main()
