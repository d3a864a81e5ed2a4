"""Linear programs with an embedded Gaussian process: as they are, infeasible, feasible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

import grisaille as gs
from benchmarks.certified.solving import column, proof_of, timed
from benchmarks.histories import random_history
from benchmarks.results_folder import Row
from grisaille import problems
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.processes.posterior import Posterior
from grisaille.belief.rules import plausible_set
from grisaille.lab.problems.paper_examples import GaussianDraw

MARGINS = (0.1, 0.03, 0.01, 0.003, 0.001)


def lp_cases() -> Iterator[int]:
    yield from range(20)


def lp(seed: int) -> list[Row]:
    problem = problems.lp_with_embedded_gp(seed).problem
    rows = []
    for observations in (5, 10, 20, 50):
        history = random_history(problem, observations, seed)
        for beta in (2.0, 3.0):
            plausible = plausible_set(problem.program, history, beta)
            timed(gs.MultiStart(starts=2, samples=64, iterations=2), plausible, seed)  # warm up
            certified = timed(gs.Certified(1e-3, 0.0), plausible, seed)
            search = timed(gs.MultiStart(starts=20), plausible, seed)
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
        "most regions": int(column(rows, "regions").max()),
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
    relaxed_problem = gs.Problem(minimize=worst, subject_to=[constraint.body - worst <= 0])
    shown, _ = timed(
        gs.Certified(0.1 * margin, 0.0), plausible_set(relaxed_problem.program, history, beta), seed
    )
    assert shown.proof is not None
    # The least violation possible is then between the margin and 1.1 times that.
    shift = margin - shown.proof.lower
    moved = gs.Problem(minimize=problem.objective, subject_to=[constraint.body + shift <= 0])
    plausible = plausible_set(moved.program, history, beta)
    solution, seconds = timed(gs.Certified(1e-3, 0.0), plausible, seed)
    proof = solution.proof
    assert proof is not None
    verified, least = False, np.nan
    if proof.refuted_regions:
        certificate = gs.Certificate(moved, history, beta, proof.refuted_regions)
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
        "most regions": int(column(rows, "regions").max()),
    }


def feasible_cases() -> Iterator[int]:
    yield from range(1000)


def feasible(seed: int) -> list[Row]:
    """One solve of a random history, and for the first 100 instances every step of a run."""
    known = problems.lp_with_embedded_gp(seed)
    observations, beta = (5, 10, 20, 50)[seed % 4], (2.0, 3.0)[seed // 4 % 2]
    history = random_history(known.problem, observations, seed)
    plausible = plausible_set(known.problem.program, history, beta)
    solution, seconds = timed(gs.Certified(1e-2, 0.0), plausible, seed)
    proof = solution.proof
    assert proof is not None
    rows = [_against_truth(known, plausible, "random", proof.lower, proof.upper)]
    rows[0] |= {"status": str(proof.status), "seconds": round(seconds, 4)}
    if seed < 100:
        strategy = gs.Optimistic(beta=beta, solver=gs.Certified(1e-2, 0.0), exploit=False)
        result = known.problem.solve(20, strategy=strategy, seed=seed, progress=False)
        for step, trial in enumerate(result.history):
            before = gs.History(result.history.trials[:step])
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
