"""Errors say what is wrong and what to do, and lose nothing that was evaluated."""

import numpy as np

import grisaille as gs

x = gs.Variable("x", lower=0, upper=4)


@gs.black_box(noise=0)
def simulator(x):
    return np.sqrt(3.5 - x) - x if x < 3.5 else np.nan  # fails in a corner


problem = gs.Problem(maximize=simulator(x) ** 2)

if __name__ == "__main__":
    try:
        problem.solve(20, progress=False)
    except gs.EvaluationError as error:
        print("evaluation:", error)
        print("kept:", error.result.nit, "trials, best", error.result.fun)

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
    except gs.GrisailleError as error:  # the root of them all; here a gs.ProtocolError
        print("protocol:", error)
