"""The Williams-Otto reactor, the paper's nested forms, and a chain of depth three."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import grisaille as gs
from benchmarks.certified.solving import column, proof_of, timed
from benchmarks.histories import random_history
from benchmarks.results_folder import Row
from grisaille import problems
from grisaille.belief.rules import plausible_set
from grisaille.lab.problems.paper_examples import KERNEL, GaussianDraw


def williams_otto_cases() -> Iterator[int]:
    yield from range(3)


def williams_otto(seed: int) -> list[Row]:
    strategy = gs.Optimistic(solver=gs.Certified(0.1, 0.0, seconds=60.0))
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


def depth_three(seed: int) -> gs.Problem:
    """phi3(phi2(phi1(x))^2 - phi1(x)), with phi1 shared between two levels."""
    generator = np.random.default_rng([seed, 3])

    def box(name: str, ranges: list[tuple[float, float]]) -> gs.BlackBox:
        draw = GaussianDraw(generator, 1, ranges)
        return gs.BlackBox(draw, name=name, noise=0, kernel=KERNEL, norm_bound=draw.norms)

    x = gs.Variable("x", 2, lower=-2, upper=2)
    y = box("phi1", [(-2.0, 2.0)] * 2)(x)
    inner = box("phi2", [(-4.0, 4.0)])(y)
    return gs.Problem(minimize=box("phi3", [(-4.0, 13.0)])(inner**2 - y))


NESTED: dict[str, Callable[[int], gs.Problem]] = {
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
            solution = timed(gs.Certified(1e-2, 0.0, 1_000_000, 120.0), plausible, seed)
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
            "most regions": int(column(mine, "regions").max()),
            "largest gap": float(column(mine, "gap").max()),
        }
    return summary
