"""Branch and bound of one layer on another device.

`python -m benchmarks.certified_device cuda 8192` bounds the lower end of one band in 6, 8 and 10
dimensions for ten seconds each, with up to 8192 boxes split at a time, and prints what gap is left.
The bounds are batched tensor operations, so that PyTorch's default device decides where they run.
"""

from __future__ import annotations

import sys

import torch

from benchmarks.certified.one_layer import one_layer_problem
from benchmarks.references.band_problems import random_lcb
from grisaille.certification.relaxation import PlausibleRelaxation, relaxed
from grisaille.solvers import branch_and_bound as tree
from grisaille.solvers.multistart import MultiStart

CASES = ((6, 20, 2), (6, 50, 0), (8, 20, 0), (8, 50, 0), (8, 100, 0), (10, 50, 0))
SECONDS = 10.0


def main() -> None:
    device, batch = sys.argv[1], int(sys.argv[2])
    best = {}
    for case in CASES:  # the first point is searched for on the processor
        plausible = one_layer_problem(random_lcb(*case), 2.0)
        nothing = plausible.lower.new_zeros(0, len(plausible.lower))
        best[case] = MultiStart().solve(relaxed(plausible), nothing, 0).value
    torch.set_default_device(device)
    tree._LARGEST_BATCH = batch
    unit = torch.ones(1, dtype=torch.float64)
    with torch.no_grad():
        for case in CASES:
            relaxation = PlausibleRelaxation(one_layer_problem(random_lcb(*case), 2.0))
            for seconds in (1.0, SECONDS):  # the first one warms up
                limits = tree.Limits(1e-3, 0.0, 10**9, seconds, 64)
                proof = tree.branch_and_bound(
                    relaxation, unit, best[case], limits, lambda _lower, _upper: torch.inf
                )
            gap = proof.upper - proof.lower
            print(
                f"{device} batch {batch}  d, n, seed = {case}  {proof.status}  gap {gap:.2e}  "
                f"{proof.regions} regions in {proof.seconds:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
