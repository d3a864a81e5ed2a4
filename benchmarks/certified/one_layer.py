"""The lower end of one band: in few dimensions beside SCIP and MAiNGO, and in many."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import grisaille as gs
from benchmarks.certified.solving import proof_of, timed
from benchmarks.references.band_problems import BandData, random_lcb
from benchmarks.references.global_solvers import minimize_lcb
from benchmarks.results_folder import Row
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.rules import plausible_set


def one_layer_problem(data: BandData, beta: float) -> PlausibleSet:
    """The lower end of the band of one black box, to be minimized."""
    x = gs.Variable("x", data.inputs.shape[1], lower=-2, upper=2)
    kernel = gs.SquaredExponential(data.lengthscale, data.variance)
    h = gs.BlackBox(None, name="h", kernel=kernel, noise=data.noise**0.5)
    seen = zip(data.inputs, data.outputs, strict=True)
    history = gs.History(loose=tuple(gs.Observation("h", s, np.array([y])) for s, y in seen))
    return plausible_set(gs.Problem(minimize=h(x)).program, history, beta)


def one_layer_cases() -> Iterator[tuple[int, int, int]]:
    for dimensions, observations in ((2, 20), (2, 50), (4, 20), (4, 50), (6, 20), (6, 50)):
        for seed in range(3):
            yield dimensions, observations, seed


def one_layer(case: tuple[int, int, int]) -> list[Row]:
    dimensions, observations, seed = case
    data = random_lcb(dimensions, observations, seed)
    solution = timed(gs.Certified(1e-3, 0.0, 10_000_000, 120.0), one_layer_problem(data, 2.0), seed)
    row: Row = {
        "dimensions": dimensions,
        "observations": observations,
        "seed": seed,
        **proof_of(*solution),
    }
    corners = np.full(dimensions, -2.0), np.full(dimensions, 2.0)
    for solver in ("scip", "maingo"):
        try:
            answer = minimize_lcb(solver, data, 2.0, *corners, gap=1e-3, seconds=60)
        except ImportError:
            row |= {f"{solver}_{name}": np.nan for name in ("status", "lower", "upper", "seconds")}
            continue
        row |= {
            f"{solver}_status": answer.status,
            f"{solver}_lower": answer.lower,
            f"{solver}_upper": answer.upper,
            f"{solver}_seconds": round(answer.seconds, 3),
        }
    return [row]


def summarize_one_layer(rows: list[Row]) -> Row:
    summary: Row = {}
    for dimensions, observations in sorted({(r["dimensions"], r["observations"]) for r in rows}):
        key = (dimensions, observations)
        mine = [r for r in rows if (r["dimensions"], r["observations"]) == key]
        entry: Row = {
            "certified to 1e-3": f"{sum(r['status'] == 'optimal' for r in mine)} of {len(mine)}",
            "seconds": [r["seconds"] for r in mine],
        }
        for solver in ("scip", "maingo"):
            done = [r for r in mine if r[f"{solver}_status"] == "optimal"]
            ratios = [float(r[f"{solver}_seconds"]) / float(r["seconds"]) for r in done]
            entry[f"{solver} finished"] = f"{len(done)} of {len(mine)}"
            entry[f"times as long as ours, {solver}"] = [round(r, 1) for r in ratios]
            bounds = [(float(r["lower"]), float(r[f"{solver}_upper"])) for r in done]
            entry[f"our bound above what {solver} attains"] = sum(
                lower > upper + 1e-5 for lower, upper in bounds
            )
        summary[f"d = {dimensions}, n = {observations}"] = entry
    return summary


def larger_cases() -> Iterator[tuple[int, int, int]]:
    for dimensions in (8, 10):
        for observations in (20, 50, 100):
            for seed in range(2):
                yield dimensions, observations, seed


def larger(case: tuple[int, int, int]) -> list[Row]:
    dimensions, observations, seed = case
    plausible = one_layer_problem(random_lcb(dimensions, observations, seed), 2.0)
    solution = timed(gs.Certified(1e-3, 0.0, 10_000_000, 10.0), plausible, seed)
    return [
        {
            "dimensions": dimensions,
            "observations": observations,
            "seed": seed,
            **proof_of(*solution),
        }
    ]


def summarize_larger(rows: list[Row]) -> Row:
    return {
        f"d = {r['dimensions']}, n = {r['observations']}, seed {r['seed']}": {
            "gap after 10 s": r["gap"],
            "regions": r["regions"],
        }
        for r in rows
    }
