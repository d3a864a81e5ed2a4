"""A report to send: one HTML file with the answer, its bound and what was learned."""

import tempfile
from pathlib import Path

import numpy as np

import grisaille as gs

flow = gs.Variable("flow", lower=0.5, upper=3.0, unit="kg/s")


@gs.black_box(noise=0)
def conversion(flow):
    return 1 - np.exp(-1.2 / flow)


profit = gs.named("profit", 100 * flow * conversion(flow) - 30 * flow, unit="$/s")
problem = gs.Problem(maximize=profit)
result = problem.solve(trials=8, seed=0)  # add dashboard=True to watch it in a browser

folder = Path(tempfile.mkdtemp())
result.report(folder / "profit.html", name="Profit of the reactor")
print(result.fun, (folder / "profit.html").stat().st_size, "bytes")
