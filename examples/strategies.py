"""Every strategy for one layer of black boxes, on the same problem."""

import numpy as np

import grisaille as gs

x = gs.Variable("x", 2, lower=-2, upper=2)


@gs.black_box(outputs=2, noise=0)
def plume(x):  # simulates two sensors
    return np.sin(x[0]) + x[1] ** 2, np.cos(x[0] * x[1])


measured = plume(np.array([0.7, -0.4]))
problem = gs.Problem(minimize=np.sum((plume(x) - np.array(measured)) ** 2))  # calibration

if __name__ == "__main__":
    for strategy in (
        gs.Optimistic(solver=gs.MultiStart()),
        gs.EICF(),
        gs.EIFN(samples=64),
        gs.CUQB(probability=0.95),
        gs.CONFIG(solver=gs.MultiStart()),
        gs.LogEI(),
        gs.SobolSearch(),
        gs.RandomSearch(),
    ):
        result = problem.solve(12, strategy=strategy, progress=False)
        print(f"{type(strategy).__name__:<13} misfit {result.fun:.1e} after {result.nit} runs")

    # A strategy that does not apply says so before anything is evaluated.
    nested = gs.black_box(lambda y: float(np.sum(y)), name="tank", noise=0)
    try:
        gs.Problem(minimize=nested(plume(x))).solve(5, strategy=gs.EICF())
    except gs.ModelError as error:
        print(error)
