"""Parallel evaluation in child processes, with a time limit and a cost budget."""

import time

import numpy as np

import grisaille as gs

x = gs.Variable("x", shape=2, lower=-1, upper=1)


@gs.black_box(noise=0)  # cost=1
def sketch(x):
    return float(np.sum(np.cos(3 * x)))


@gs.black_box(noise=0, cost=5, timeout=0.5)  # after 0.5 s its process is killed
def simulator(x):
    if x[0] > 0.9:
        time.sleep(60)  # a simulator that does not converge
    return float(x[0] * x[1] + 0.1 * np.sum(x**2))


problem = gs.Problem(minimize=sketch(x) + 3 * simulator(x))
strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256))  # quick

if __name__ == "__main__":  # optional: the child processes do not import this file
    result = problem.solve(6, strategy=strategy, workers=2, progress=False)
    print(f"two at once: {result.status}, found a point: {result.success}")

    study = gs.Study(problem, strategy=strategy)  # in memory, one evaluation at a time
    result = study.run(max_cost=40, progress=False)
    for failure in study.failures:
        print("given up:", failure.reason)
    print(f"on a budget: {result.status}, cost {study.cost:g}")
    print(result)
