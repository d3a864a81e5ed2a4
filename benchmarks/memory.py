"""How much memory a long study takes.

`python -m benchmarks.memory` builds a study of five black boxes with 500 observations each,
makes a suggestion (hyper-parameter fits included), and reports the peak resident memory of its
own process. Run it from a shell: on Linux a process inherits the peak of the one it was forked
from.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import grisaille as gs
from benchmarks.histories import sobol_history
from benchmarks.results_folder import write_result
from grisaille.language.problem import Problem
from grisaille.records import Situation

OBSERVATIONS = 500
BAR_IN_GIGABYTES = 1.5


def main() -> None:
    """Measure, print and write the result."""
    problem = five_boxes()
    history = sobol_history(problem, OBSERVATIONS, seed=0)
    before = peak_gigabytes()
    started = time.perf_counter()
    gs.Optimistic(solver=gs.MultiStart()).suggest(Situation(problem, history, seed=0, remaining=10))
    seconds = time.perf_counter() - started
    peak = peak_gigabytes()
    print(
        f"{OBSERVATIONS} observations of each of {len(problem.boxes)} black boxes: peak "
        f"{peak:.2f} GB, at most {BAR_IN_GIGABYTES:g} wanted ({before:.2f} GB before the "
        f"suggestion, which took {seconds:.1f} s)"
    )
    write_result(
        "memory",
        {
            "observations of each black box": history.counts(),
            "peak gigabytes": peak,
            "peak gigabytes before the suggestion": before,
            "suggestion seconds": seconds,
            "bar": BAR_IN_GIGABYTES,
            "met": peak <= BAR_IN_GIGABYTES,
        },
    )


def five_boxes() -> Problem:
    """Five smooth black boxes of two or three inputs in three layers, all to be learned."""
    x = gs.Variable("x", 4, lower=-2, upper=2)
    heat = gs.BlackBox(lambda a, b: np.sin(a) + b**2 / 4, name="heat", noise=0)
    flow = gs.BlackBox(lambda b, c, d: np.cos(b + c) * np.exp(-(d**2) / 4), name="flow", noise=0)
    mixing = gs.BlackBox(lambda h, c: h * np.tanh(c) + h**2 / 3, name="mixing", noise=0)
    loss = gs.BlackBox(lambda f, a: np.log1p(f**2) + a / 5, name="loss", noise=0)
    quality = gs.BlackBox(lambda m, k, d: np.sin(m - k) + d**2 / 8, name="quality", noise=0)
    warmth = heat(x[0], x[1])
    stream = flow(x[1], x[2], x[3])
    mixed, lost = mixing(warmth, x[2]), loss(stream, x[0])
    return Problem(
        minimize=quality(mixed, lost, x[3]) + 0.1 * np.sum(x**2), subject_to=[mixed + lost <= 1]
    )


def peak_gigabytes() -> float:
    """Peak resident memory of this process so far, in units of 10^9 bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e9


if __name__ == "__main__":
    main()
