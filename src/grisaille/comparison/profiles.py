"""Data and performance profiles over many problems, and the evaluations that a strategy saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grisaille.comparison.regret_curves import first_at_most, quantile, regret_curve, resolution
from grisaille.comparison.results import Results

Array = NDArray[np.float64]
Times = dict[str, Array]
"""Evaluations that each strategy needs for each case, infinite where it does not get there."""


def solution_times(
    results: Results, problems: Sequence[str], strategies: Sequence[str], tau: float
) -> Times:
    """Evaluations after the initial design until regret <= tau * start, by strategy, (cases,).

    A case is a problem with a seed that all the strategies have run. The convergence test is that
    of Moré and Wild (2009), f(x) <= f_L + tau (f(x_0) - f_L), with the known optimum as f_L and the
    best point of the initial design as x_0.

    Args:
        results: The runs.
        problems: The problems that count.
        strategies: The strategies.
        tau: The part of the first regret that may be left.
    """
    times: dict[str, list[float]] = {name: [] for name in strategies}
    for problem in problems:
        starts = results.starts(problem)
        seeds = [results.group(problem, name).seeds for name in strategies]
        for seed in sorted(set.intersection(*(set(s) for s in seeds))):
            for name, runs in zip(strategies, seeds, strict=True):
                target = max(tau * starts[seed], resolution(runs[seed]))
                times[name].append(first_at_most(regret_curve(runs[seed]), target))
    return {name: np.array(values) for name, values in times.items()}


def data_profile(times: Array, evaluations: Array) -> Array:
    """Share of cases solved within each number of evaluations (Moré and Wild 2009)."""
    return np.asarray((times[None, :] <= evaluations[:, None]).mean(1))


def performance_profile(times: Times, ratios: Array) -> Times:
    """Share of cases solved within each multiple of what the quickest strategy needs.

    rho_s(alpha) = |{p : t_ps <= alpha min_s t_ps}| / |P| (Dolan and Moré 2002). A case
    that the initial design solves counts as one evaluation, so that ratios are finite.

    Args:
        times: Evaluations needed, by strategy, (cases,).
        ratios: The multiples alpha, (A,).

    Returns:
        Shares by strategy, (A,).
    """
    counted = {name: np.maximum(values, 1.0) for name, values in times.items()}
    best = np.min(list(counted.values()), axis=0)
    return {
        name: np.asarray(((values <= ratios[:, None] * best) & np.isfinite(values)).mean(1))
        for name, values in counted.items()
    }


@dataclass(frozen=True, slots=True)
class Saving:
    """How many times as many evaluations a baseline needs to reach its own final regret.

    Attributes:
        problem: The problem.
        target: The baseline's median final regret.
        baseline: Evaluations after the initial design until its median curve is there.
        reference: The same for the reference; infinite if it never is.
        ratio: Their quotient, where the initial design counts as 1; 0 if the reference never gets
            there; nan if the baseline finds no feasible point.
        ratio_in_all: The quotient with the initial design counted too.
    """

    problem: str
    target: float
    baseline: float
    reference: float
    ratio: float
    ratio_in_all: float


def savings(results: Results, reference: str, baseline: str) -> list[Saving]:
    """What the reference saves against a baseline, on each problem that both have run.

    Only seeds that both have run count.
    """
    found = []
    for problem in results.problems:
        ours, theirs = (results.group(problem, name).seeds for name in (reference, baseline))
        seeds = sorted(set(ours) & set(theirs))
        if not seeds:
            continue
        curve, other = (
            quantile(np.array([regret_curve(runs[seed]) for seed in seeds]), 0.5)
            for runs in (ours, theirs)
        )
        # A target below what is known of the optimum would be a matter of luck.
        target = max(float(other[-1]), resolution(ours[seeds[0]]))
        needs, saves = first_at_most(other, target), first_at_most(curve, target)
        initial = ours[seeds[0]].initial
        if np.isinf(target):
            ratio = ratio_in_all = np.nan
        else:
            ratio = max(needs, 1.0) / max(saves, 1.0)
            ratio_in_all = (needs + initial) / (saves + initial)
        found.append(Saving(problem, target, needs, saves, ratio, ratio_in_all))
    return found
