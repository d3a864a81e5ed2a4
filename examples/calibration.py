"""Calibration: three parameters of a simulator, fitted to a measured curve of 50 points.

The simulator is one black box with 50 outputs, and the sum of squares is known: so each run teaches
the whole curve and not one number, and a dozen runs are enough.
"""

import numpy as np

import grisaille as gs

hours = np.linspace(0.2, 10, 50)


def concentration(rate, decay, delay):  # A -> B -> C after a delay; B is measured
    t = np.maximum(hours - delay, 0)
    return rate / (rate - decay) * (np.exp(-decay * t) - np.exp(-rate * t))


measured = concentration(1.3, 0.25, 0.6) + np.random.default_rng(0).normal(0, 0.01, 50)

rate = gs.Variable("rate", lower=0.6, upper=3)
decay = gs.Variable("decay", lower=0.05, upper=0.5)
delay = gs.Variable("delay", lower=0, upper=1.5)
simulator = gs.BlackBox(concentration, name="simulator", outputs=50, shared_kernel=True)
misfit = np.sum((simulator(rate, decay, delay) - measured) ** 2)
problem = gs.Problem(minimize=misfit)

if __name__ == "__main__":
    strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256))  # quick
    result = problem.solve(trials=10, strategy=strategy, seed=0, progress=False)
    print(result)
    print(f"rate {result[rate]:.3f}, decay {result[decay]:.3f}, delay {result[delay]:.3f}")
    print(f"left per point: {np.sqrt(result.fun / 50):.4f}, of which 0.01 is noise of the curve")
