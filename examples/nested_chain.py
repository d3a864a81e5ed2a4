"""The paper's chain phi3(phi1(x)^2 + 3 phi1(x) - 3): nested boxes, two ways to evaluate."""

import numpy as np

import grisaille as gs

kernel = gs.SquaredExponential(lengthscale=0.7, variance=0.5)  # given, so nothing is learned


@gs.black_box(noise=0, kernel=kernel)
def phi1(x):
    return 0.6 * np.sin(1.5 * x[0]) * np.cos(x[1])


@gs.black_box(noise=0, kernel=gs.Matern(2.5, lengthscale=1.0, variance=1.0))
def phi3(s):
    return np.sin(s) + 0.1 * s


x = gs.Variable("x", shape=2, lower=-2, upper=2)
y = phi1(x)
problem = gs.Problem(minimize=phi3(y**2 + 3 * y - 3))

if __name__ == "__main__":
    print(problem.diagram(), end="\n\n")
    separate = problem.solve(10, progress=False)  # also evaluates phi3 at its optimistic input
    chained = problem.solve(10, evaluation="chained", progress=False)  # the real chain only
    for name, result in (("separate", separate), ("chained", chained)):
        print(f"{name}: {result.fun:.4f} after {result.evaluations}, gap {result.gap:.1e}")
    trial: gs.Trial
    for trial in separate.history.trials[:3]:
        print(trial.number, trial.suggestion.kind, trial.x, trial.objective)
