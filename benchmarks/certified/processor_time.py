"""How much processor time proofs take: the mean of a rough process, and one band in six inputs."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import grisaille as gs
from benchmarks.certified.one_layer import one_layer_problem
from benchmarks.certified.solving import column, proof_of, timed
from benchmarks.references.band_problems import BandData, correlation, random_lcb
from benchmarks.results_folder import Row

_DIMENSIONS = 3
_SHARE = 0.1


def rough_process(observations: int, seed: int) -> BandData:
    """Values of a draw of unit variance over [-2, 2]^3, with length-scales of 0.1 of the range.

    generator = numpy.random.default_rng([seed, 3, n, 20]); inputs = generator.uniform(-2, 2, (n,
    3)), then outputs = L @ generator.standard_normal(n), L the lower Cholesky factor of K + 1e-4 I.
    """
    generator = np.random.default_rng([seed, _DIMENSIONS, observations, 20])
    inputs = generator.uniform(-2, 2, (observations, _DIMENSIONS))
    lengthscale = np.full(_DIMENSIONS, 4 * _SHARE)
    covariance = correlation(inputs, inputs, lengthscale, "se")
    noise = 1e-4
    factor = np.linalg.cholesky(covariance + noise * np.eye(observations))
    outputs = factor @ generator.standard_normal(observations)
    return BandData(inputs, outputs, lengthscale, 1.0, noise)


def posterior_mean_cases() -> Iterator[tuple[int, float, int]]:
    for beta in (0.0, 2.0):
        for observations in (20, 100, 500, 1000):
            for seed in range(5):
                yield observations, beta, seed


def posterior_mean(case: tuple[int, float, int]) -> list[Row]:
    """The least posterior mean, or lower end of the band, to a gap of 0.1."""
    observations, beta, seed = case
    solver = gs.Certified(0.1, 0.0, 10_000_000, 60.0)
    measured = _measured(solver, rough_process(observations, seed), beta, seed)
    return [{"observations": observations, "beta": beta, "seed": seed, **measured}]


def six_inputs_cases() -> Iterator[tuple[float, int]]:
    for beta in (2.0, 3.0):
        for seed in range(10):
            yield beta, seed


def six_inputs(case: tuple[float, int]) -> list[Row]:
    """The least lower end of a band with 50 observations of six inputs, to a gap of 1e-3."""
    beta, seed = case
    solver = gs.Certified(1e-3, 0.0, 10_000_000)
    return [{"beta": beta, "seed": seed, **_measured(solver, random_lcb(6, 50, seed), beta, seed)}]


def _measured(solver: gs.Certified, data: BandData, beta: float, seed: int) -> Row:
    plausible = one_layer_problem(data, beta)
    timed(gs.MultiStart(starts=2, samples=64, iterations=2), plausible, seed)  # warm up
    started = time.process_time()
    solution, seconds = timed(solver, plausible, seed)
    spent = time.process_time() - started
    return {**proof_of(solution, seconds), "processor_seconds": round(spent, 3)}


def summarize_posterior_mean(rows: list[Row]) -> Row:
    return {
        f"n = {n}, beta = {beta:g}": _summary(
            [r for r in rows if (r["observations"], r["beta"]) == (n, beta)]
        )
        for beta, n in sorted({(r["beta"], r["observations"]) for r in rows})
    }


def summarize_six_inputs(rows: list[Row]) -> Row:
    return {
        f"beta = {beta:g}": _summary([r for r in rows if r["beta"] == beta])
        for beta in sorted({r["beta"] for r in rows})
    }


def _summary(rows: list[Row]) -> Row:
    spent = column(rows, "processor_seconds")
    return {
        "certified": f"{sum(r['status'] == 'optimal' for r in rows)} of {len(rows)}",
        "median processor seconds": float(np.median(spent)),
        "worst processor seconds": float(spent.max()),
        "median regions": float(np.median(column(rows, "regions"))),
        "largest gap": float(column(rows, "gap").max()),
    }
