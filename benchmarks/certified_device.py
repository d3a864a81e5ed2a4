"""Branch and bound of one layer on another device.

`python -m benchmarks.certified_device cuda cpu` bounds the lower end of one band in 6, 8 and 10
dimensions with `gs.Certified(device=...)` on each device, for at most a minute each, and tells how
long a gap of 1e-3 took, or what gap is left. The first point is searched for on the processor, with
one thread; that is not counted. Every row is written to `benchmarks/results/certified_device.csv`.
"""

from __future__ import annotations

import argparse

import torch

import grisaille as gs
from benchmarks.certified.one_layer import one_layer_problem
from benchmarks.certified.solving import proof_of
from benchmarks.references.band_problems import random_lcb
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.proof.relaxation import relaxed

CASES = ((6, 20, 2), (6, 50, 0), (8, 20, 0), (8, 50, 0), (8, 100, 0), (10, 20, 0), (10, 50, 0))


def measure(device: str, case: tuple[int, int, int], seconds: float) -> Row:
    """Prove one case on a device, a second time after a short first one that warms up."""
    dimensions, observations, seed = case
    plausible = one_layer_problem(random_lcb(*case), 2.0)
    problem = relaxed(plausible)
    best = gs.MultiStart().solve(problem, plausible.lower.new_zeros(0, len(plausible.lower)), seed)
    for limit in (1.0, seconds):
        solver = gs.Certified(1e-3, 0.0, 10**9, limit, device=device)
        solution = solver.prove(problem, best, seed)
    assert solution.proof is not None
    return {
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else device,
        "dimensions": dimensions,
        "observations": observations,
        "seed": seed,
        **proof_of(solution, solution.proof.seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certified_device")
    parser.add_argument("devices", nargs="+", help="names of PyTorch devices")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each case")
    parser.add_argument("--cases", type=int, help="only the first ones")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for device in options.devices:
        for case in CASES[: options.cases]:
            rows.append(measure(device, case, options.seconds))
            print(rows[-1], flush=True)
    write_rows("certified_device", rows)
    summary = {
        f"{r['device']}, d = {r['dimensions']}, n = {r['observations']}": {
            "status": r["status"],
            "gap": r["gap"],
            "regions": r["regions"],
            "seconds": r["seconds"],
        }
        for r in rows
    }
    write_result("certified_device", summary)


if __name__ == "__main__":
    main()
