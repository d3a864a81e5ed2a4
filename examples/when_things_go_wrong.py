"""Errors say what is wrong and what to do, and keep everything that was evaluated."""

import numpy as np

import grisaille as gs

x = gs.Variable("x", lower=0, upper=4)


@gs.black_box(noise=0)
def simulator(x):
    return np.sqrt(3.5 - x) - x if x < 3.5 else np.nan  # fails in a corner


problem = gs.Problem(maximize=simulator(x) ** 2)

if __name__ == "__main__":
    result = problem.solve(12, progress=False)
    print("it went on:", result.nit, "trials of 12, best", result.fun)
    for failure in result.failures:
        print("failed:", failure.reason)

    broken = gs.BlackBox(lambda x: 1 / 0, name="broken", noise=0)
    try:
        gs.Problem(minimize=broken(x)).solve(12, progress=False)
    except gs.EvaluationError as error:
        print("evaluation:", error)
        print("kept:", error.result.nit, "trials,", len(error.result.failures), "failures")

    try:
        gs.Problem(minimize=x, subject_to=[0 <= x <= 1])
    except gs.ModelError as error:
        print("model:", error)

    norm = gs.BlackBox(
        lambda x: 5 + x, name="tall", noise=0, norm_bound=1.0, kernel=gs.Matern(2.5, 1.0, 1.0)
    )
    try:
        gs.Problem(minimize=norm(x)).solve(5, progress=False)
    except gs.AssumptionError as error:
        print("assumption:", error)

    try:
        gs.Problem(minimize=gs.BlackBox(None, name="laboratory")(x)).solve(5, progress=False)
    except gs.ProtocolError as error:
        print("protocol:", error)

    assert issubclass(gs.ProtocolError, gs.GrisailleError)  # so are all errors of this library
