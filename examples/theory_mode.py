"""The paper's theorems as code: bands that hold with probability 1 - delta, regret bounds."""

import numpy as np

import grisaille as gs

kernel = gs.SquaredExponential(lengthscale=0.8, variance=1.0)


def valve(x):
    """exp(-(x - 0.4)^2 / (2 * 0.8^2)) / 2: half the kernel's bump, so its norm is 1/2."""
    return 0.5 * np.exp(-((x - 0.4) ** 2) / (2 * 0.8**2))


x = gs.Variable("x", lower=-1, upper=1)
box = gs.BlackBox(valve, noise=0.05, kernel=kernel, norm_bound=0.5)  # B_i, sigma and k are declared
problem = gs.Problem(minimize=-2 * box(x), subject_to=[x <= 0.8])

if __name__ == "__main__":
    theory = gs.Theory(delta=0.1, horizon=12)
    result = problem.solve(12, strategy=gs.Optimistic(beta=theory), progress=False)
    print(result)

    # The bound promised beforehand, and the bound after the trials.
    print(gs.Guarantee(problem, theory))
    print("regret, promised      ", result.regret_bound(realized=False))
    print("regret, as it turned out", result.regret_bound())
    print("regret, the paper's A_i ", result.regret_bound(form="printed", realized=False))
    points = [trial.x[0] for trial in result.history]
    metrics = gs.Metrics([-2 * valve(p) for p in points], [], optimum=-1.0)  # noise-free values
    print("regret, measured      ", metrics.cumulative_positive_regret[-1])

    # Information gain of these points and of any points, and how the bounds grow with T.
    seen = np.array(points)[:, None]
    print("gain of the points    ", gs.information_gain(kernel, seen, 1 + 2 / 12))
    print("gain of any 12 points ", gs.maximum_information_gain(kernel, [-1], [1], 12, 1 + 2 / 12))
    for family in (gs.Linear(), kernel, gs.Matern(2.5)):
        rates = [rate(family, 1000, 1) for rate in (gs.information_gain_rate, gs.regret_rate)]
        print(type(family).__name__, rates, gs.convergence_rate(family, 1000, 1))
