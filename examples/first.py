import numpy as np

import grisaille as gs

x = gs.Variable("x", shape=2, lower=[0.5, 20], upper=[3.0, 90])  # feed in kg/s, °C


@gs.black_box(outputs=["conversion", "impurity"], noise=0)  # expensive, unknown, without noise
def reactor(x):
    rate, side = 0.3 * np.exp(0.04 * (x[1] - 20)), 0.01 * np.exp(0.05 * (x[1] - 20))
    return 1 - np.exp(-rate / x[0]), side / x[0]


y = reactor(x)  # symbolic, because x is symbolic
profit = 100 * x[0] * y["conversion"] - 8 * x[0] - 0.3 * (x[1] - 20)  # known prices
problem = gs.Problem(maximize=profit, subject_to=[y["impurity"] <= 0.05])
result = problem.solve(trials=20, seed=0)
print(result)
result.plot("convergence.png")
