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
- `larger`: the same in 8 and 10 dimensions: the gap that is left after 10 seconds.

Every row goes to `benchmarks/results/certified_STUDY.csv`.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

import grisaille as gs
from benchmarks.auxiliary_quality import random_history
from benchmarks.references.global_solvers import BandData, minimize_lcb, random_lcb
from benchmarks.versions import versions
from grisaille import problems
from grisaille.certification.certificate import Certificate
from grisaille.certification.relaxation import relaxed
from grisaille.confidence.plausible_set import PlausibleSet, plausible_set
from grisaille.language.problem import Problem
from grisaille.problems.paper import KERNEL, GaussianDraw
from grisaille.records import History, Observation
from grisaille.solvers.certified import Certified
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.search_problem import Solution, Solver
from grisaille.surrogates.posterior import Posterior

Row = dict[str, object]
RESULTS = Path(__file__).parent / "results"
MARGINS = (0.1, 0.03, 0.01, 0.003, 0.001)


def main() -> None:
    """Run one study, print its summary and write its rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certified")
    parser.add_argument("study", choices=list(STUDIES))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--cases", type=int, help="only the first ones")
    arguments = parser.parse_args()
    work, cases, summarize = STUDIES[arguments.study]
    chosen = list(cases())[: arguments.cases]
    rows: list[Row] = []
    with get_context("spawn").Pool(arguments.processes) as pool:
        for number, part in enumerate(pool.imap(work, chosen), 1):
            rows += part
            print(f"{number}/{len(chosen)}", *(r for r in part[:1]), flush=True)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"certified_{arguments.study}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    command = f"python -m benchmarks.certified {arguments.study}"
    if arguments.cases:
        command += f" --cases {arguments.cases}"
    summary = {"command": command, "versions": versions(), **summarize(rows)}
    text = json.dumps(summary, indent=2)
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
    print(text)


def timed(solver: Solver, plausible: PlausibleSet, seed: int) -> tuple[Solution, float]:
    """A search without hints, and how long it took."""
    torch.set_num_threads(1)
    nothing = plausible.lower.new_zeros(0, len(plausible.lower))
    started = time.perf_counter()
    solution = solver.solve(relaxed(plausible), nothing, seed)
    return solution, time.perf_counter() - started


def proof_of(solution: Solution, seconds: float) -> Row:
    """What a row says about a proof."""
    proof = solution.proof
    assert proof is not None
    return {
        "status": str(proof.status),
        "lower": proof.lower,
        "upper": proof.upper,
        "gap": proof.upper - proof.lower if np.isfinite(proof.upper) else np.nan,
        "boxes": proof.regions,
        "seconds": round(seconds, 4),
        "slack": proof.slack,
    }


# --- the linear programs ------------------------------------------------------------------------
def lp_cases() -> Iterator[int]:
    yield from range(20)


def lp(seed: int) -> list[Row]:
    problem = problems.lp_with_embedded_gp(seed).problem
    rows = []
    for observations in (5, 10, 20, 50):
        history = random_history(problem, observations, seed)
        for beta in (2.0, 3.0):
            plausible = plausible_set(problem.program, history, beta)
            timed(MultiStart(starts=2, samples=64, iterations=2), plausible, seed)  # warm up
            certified = timed(Certified(1e-3, 0.0), plausible, seed)
            search = timed(MultiStart(starts=20), plausible, seed)
            rows.append(
                {
                    "seed": seed,
                    "observations": observations,
                    "beta": beta,
                    **proof_of(*certified),
                    "multistart": search[0].value,
                    "multistart_seconds": round(search[1], 4),
                }
            )
    return rows


def summarize_lp(rows: list[Row]) -> Row:
    ours, search = column(rows, "seconds"), column(rows, "multistart_seconds")
    return {
        "cases": len(rows),
        "certified to 1e-3": sum(r["status"] == "optimal" for r in rows),
        "median seconds": float(np.median(ours)),
        "worst seconds": float(ours.max()),
        "median seconds of multi-start search": float(np.median(search)),
        "ratio of medians": float(np.median(ours) / np.median(search)),
        "median of ratios": float(np.median(ours / search)),
        "most boxes": int(column(rows, "boxes").max()),
        "largest slack": float(column(rows, "slack").max()),
        "multi-start search missed by 1e-3 or more": int(
            (column(rows, "multistart") > column(rows, "upper") + 1e-3).sum()
        ),
    }


def infeasible_cases() -> Iterator[int]:
    yield from range(100)


def infeasible(seed: int) -> list[Row]:
    """Constraints moved up until even the best plausible point violates one by the margin."""
    problem = problems.lp_with_embedded_gp(seed).problem
    margin = MARGINS[seed % len(MARGINS)]
    observations = (5, 10, 20, 50)[seed % 4]
    beta = (2.0, 3.0)[seed % 2]
    history = random_history(problem, observations, seed)
    (constraint,) = problem.constraints
    worst = gs.Variable("worst", lower=-20, upper=20)
    relaxed_problem = Problem(minimize=worst, subject_to=[constraint.body - worst <= 0])
    shown, _ = timed(
        Certified(0.1 * margin, 0.0), plausible_set(relaxed_problem.program, history, beta), seed
    )
    assert shown.proof is not None
    # The least violation possible is then between the margin and 1.1 times that.
    shift = margin - shown.proof.lower
    moved = Problem(minimize=problem.objective, subject_to=[constraint.body + shift <= 0])
    plausible = plausible_set(moved.program, history, beta)
    solution, seconds = timed(Certified(1e-3, 0.0), plausible, seed)
    proof = solution.proof
    assert proof is not None
    verified, least = False, np.nan
    if proof.refuted_regions:
        certificate = Certificate(moved, history, beta, proof.refuted_regions)
        verified, least = certificate.verify(), certificate.least_violation
    return [
        {
            "seed": seed,
            "margin": margin,
            "margin_known_to": shown.proof.upper - shown.proof.lower,
            "observations": observations,
            "beta": beta,
            **proof_of(solution, seconds),
            "verified": verified,
            "least_violation": least,
        }
    ]


def summarize_infeasible(rows: list[Row]) -> Row:
    return {
        "cases": len(rows),
        "proved": sum(r["status"] == "infeasible" for r in rows),
        "verified": sum(bool(r["verified"]) for r in rows),
        "least violation above the margin": int(
            (
                column(rows, "least_violation")
                > column(rows, "margin") + column(rows, "margin_known_to") + 1e-6
            ).sum()
        ),
        "median seconds": float(np.median(column(rows, "seconds"))),
        "worst seconds": float(column(rows, "seconds").max()),
        "most boxes": int(column(rows, "boxes").max()),
    }


def feasible_cases() -> Iterator[int]:
    yield from range(1000)


def feasible(seed: int) -> list[Row]:
    """One solve of a random history, and for the first 100 instances every step of a run."""
    known = problems.lp_with_embedded_gp(seed)
    observations, beta = (5, 10, 20, 50)[seed % 4], (2.0, 3.0)[seed // 4 % 2]
    history = random_history(known.problem, observations, seed)
    plausible = plausible_set(known.problem.program, history, beta)
    solution, seconds = timed(Certified(1e-2, 0.0), plausible, seed)
    proof = solution.proof
    assert proof is not None
    rows = [_against_truth(known, plausible, "random", proof.lower, proof.upper)]
    rows[0] |= {"status": str(proof.status), "seconds": round(seconds, 4)}
    if seed < 100:
        strategy = gs.Optimistic(beta=beta, solver=Certified(1e-2, 0.0), exploit=False)
        result = known.problem.solve(20, strategy=strategy, seed=seed, progress=False)
        for step, trial in enumerate(result.history):
            before = History(result.history.trials[:step])
            plausible = plausible_set(known.problem.program, before, beta)
            lower, upper = trial.suggestion.bound.proved, trial.suggestion.bound.estimated
            assert lower is not None
            assert upper is not None
            row = _against_truth(known, plausible, "run", lower, upper)
            closed = upper - lower <= 1e-2 * (1 + 1e-9)
            row |= {"status": "optimal" if closed else "gap", "seconds": trial.seconds[0]}
            rows.append(row)
        # A run that stops early claims to have shown that there is no feasible point.
        if result.status is gs.Status.INFEASIBLE:
            plausible = plausible_set(known.problem.program, result.history, beta)
            row = _against_truth(known, plausible, "run", np.inf, np.inf)
            rows.append(row | {"status": "infeasible", "seconds": np.nan})
    return [{"seed": seed, "beta": beta, **row} for row in rows]


def _against_truth(
    known: problems.KnownProblem, plausible: PlausibleSet, kind: str, lower: float, upper: float
) -> Row:
    """Whether the bands hold where it matters: at the true optimum."""
    (call,) = known.problem.program.calls
    draw = call.box.fn
    assert isinstance(draw, GaussianDraw)
    with torch.no_grad():
        state = torch.tensor(known.x).unsqueeze(0)
        low, high = plausible.band(call, state)
        truth = draw.batch(state)
    belief = plausible.beliefs["h"]
    assert isinstance(belief, Posterior)
    return {
        "history": kind,
        "observations": len(belief.inputs),
        "lower": lower,
        "upper": upper,
        "optimum": known.optimum,
        "bands_hold_at_optimum": bool(((low <= truth) & (truth <= high)).all()),
    }


def summarize_feasible(rows: list[Row]) -> Row:
    holds = np.array([bool(r["bands_hold_at_optimum"]) for r in rows])
    lower, optimum = column(rows, "lower"), column(rows, "optimum")
    refuted = np.array([r["status"] == "infeasible" for r in rows])
    return {
        "solves": len(rows),
        "instances": len({r["seed"] for r in rows}),
        "bands hold at the optimum": int(holds.sum()),
        "called infeasible although the bands hold": int((refuted & holds).sum()),
        "called infeasible where the bands exclude the optimum": int((refuted & ~holds).sum()),
        # The optimum is known to a search's precision.
        "lower bound above the optimum although the bands hold": int(
            ((lower > optimum + 1e-6) & holds & ~refuted).sum()
        ),
        "closest from below": float((optimum - lower)[holds & ~refuted].min()),
        "certified to 1e-2": sum(r["status"] == "optimal" for r in rows),
        "median seconds": float(np.nanmedian(column(rows, "seconds"))),
        "worst seconds": float(np.nanmax(column(rows, "seconds"))),
    }


# --- other problems -----------------------------------------------------------------------------
def williams_otto_cases() -> Iterator[int]:
    yield from range(3)


def williams_otto(seed: int) -> list[Row]:
    strategy = gs.Optimistic(solver=Certified(0.1, 0.0, seconds=60.0))
    result = problems.williams_otto().problem.solve(
        25, strategy=strategy, seed=seed, progress=False
    )
    rows = []
    for trial in result.history:
        suggestion = trial.suggestion
        if suggestion.bound.estimated is None:
            continue
        proved = np.nan if suggestion.bound.proved is None else suggestion.bound.proved
        rows.append(
            {
                "seed": seed,
                "trial": trial.number,
                "kind": str(suggestion.kind),
                "promise": suggestion.bound.estimated,
                "proved": proved,
                "gap": suggestion.bound.estimated - proved,
                "seconds": round(trial.seconds[0], 3),
                "best": result.fun,
                "lower_bound": result.lower_bound,
            }
        )
    return rows


def summarize_williams_otto(rows: list[Row]) -> Row:
    gaps = column(rows, "gap")
    return {
        "trials with an auxiliary problem": len(rows),
        "certified to 0.1": int((gaps <= 0.1 + 1e-9).sum()),
        "largest gap": float(gaps.max()),
        "median seconds of a suggestion": float(np.median(column(rows, "seconds"))),
        "worst seconds": float(column(rows, "seconds").max()),
    }


def depth_three(seed: int) -> Problem:
    """phi3(phi2(phi1(x))^2 - phi1(x)), with phi1 shared between two levels."""
    generator = np.random.default_rng([seed, 3])

    def box(name: str, ranges: list[tuple[float, float]]) -> gs.BlackBox:
        draw = GaussianDraw(generator, 1, ranges)
        return gs.BlackBox(draw, name=name, noise=0, kernel=KERNEL, norm_bound=draw.norms)

    x = gs.Variable("x", 2, lower=-2, upper=2)
    y = box("phi1", [(-2.0, 2.0)] * 2)(x)
    inner = box("phi2", [(-4.0, 4.0)])(y)
    return Problem(minimize=box("phi3", [(-4.0, 13.0)])(inner**2 - y))


NESTED: dict[str, Callable[[int], Problem]] = {
    "chain": lambda seed: problems.chain(seed).problem,
    "shifted square": lambda seed: problems.shifted_square(seed).problem,
    "sum of squares": lambda seed: problems.sum_of_squares(seed).problem,
    "depth three": depth_three,
}


def nested_cases() -> Iterator[tuple[str, int]]:
    for name in NESTED:
        for seed in range(5):
            yield name, seed


def nested(case: tuple[str, int]) -> list[Row]:
    name, seed = case
    problem = NESTED[name](seed)
    rows = []
    for observations in (5, 10, 20, 50):
        history = random_history(problem, observations, seed)
        for beta in (2.0, 3.0):
            plausible = plausible_set(problem.program, history, beta)
            solution = timed(Certified(1e-2, 0.0, 1_000_000, 120.0), plausible, seed)
            rows.append(
                {
                    "problem": name,
                    "seed": seed,
                    "observations": observations,
                    "beta": beta,
                    **proof_of(*solution),
                }
            )
    return rows


def summarize_nested(rows: list[Row]) -> Row:
    summary: Row = {}
    for name in NESTED:
        mine = [r for r in rows if r["problem"] == name]
        if not mine:
            continue
        seconds = column(mine, "seconds")
        summary[name] = {
            "cases": len(mine),
            "certified to 1e-2": sum(r["status"] == "optimal" for r in mine),
            "median seconds": float(np.median(seconds)),
            "worst seconds": float(seconds.max()),
            "most boxes": int(column(mine, "boxes").max()),
            "largest gap": float(column(mine, "gap").max()),
        }
    return summary


# --- one layer ----------------------------------------------------------------------------------
def one_layer_problem(data: BandData, beta: float) -> PlausibleSet:
    """The lower end of the band of one black box, to be minimized."""
    x = gs.Variable("x", data.inputs.shape[1], lower=-2, upper=2)
    kernel = gs.SquaredExponential(data.lengthscale, data.variance)
    h = gs.BlackBox(None, name="h", kernel=kernel, noise=data.noise**0.5)
    seen = zip(data.inputs, data.outputs, strict=True)
    history = History(loose=tuple(Observation("h", s, np.array([y])) for s, y in seen))
    return plausible_set(Problem(minimize=h(x)).program, history, beta)


def one_layer_cases() -> Iterator[tuple[int, int, int]]:
    for dimensions, observations in ((2, 20), (2, 50), (4, 20), (4, 50), (6, 20), (6, 50)):
        for seed in range(3):
            yield dimensions, observations, seed


def one_layer(case: tuple[int, int, int]) -> list[Row]:
    dimensions, observations, seed = case
    data = random_lcb(dimensions, observations, seed)
    solution = timed(Certified(1e-3, 0.0, 10_000_000, 120.0), one_layer_problem(data, 2.0), seed)
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
            ratios = [float(r[f"{solver}_seconds"]) / float(r["seconds"]) for r in done]  # type: ignore[arg-type]
            entry[f"{solver} finished"] = f"{len(done)} of {len(mine)}"
            entry[f"times as long as ours, {solver}"] = [round(r, 1) for r in ratios]
            bounds = [
                (float(r["lower"]), float(r[f"{solver}_upper"]))  # type: ignore[arg-type]
                for r in done
            ]
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
    solution = timed(Certified(1e-3, 0.0, 10_000_000, 10.0), plausible, seed)
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
            "boxes": r["boxes"],
        }
        for r in rows
    }


def column(rows: list[Row], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows], dtype=float)


STUDIES: dict[str, tuple] = {
    "lp": (lp, lp_cases, summarize_lp),
    "infeasible": (infeasible, infeasible_cases, summarize_infeasible),
    "feasible": (feasible, feasible_cases, summarize_feasible),
    "williams_otto": (williams_otto, williams_otto_cases, summarize_williams_otto),
    "nested": (nested, nested_cases, summarize_nested),
    "one_layer": (one_layer, one_layer_cases, summarize_one_layer),
    "larger": (larger, larger_cases, summarize_larger),
}


if __name__ == "__main__":
    main()
