"""A curve as one black box: 365 daily loads of a building, with known sums, means and maxima.

The simulator returns a whole year at once, and all days share one kernel. What is bought, and the
limit of the connection, are known functions of the curve.
"""

import numpy as np

import grisaille as gs

days = np.arange(365)
outside = 10 - 12 * np.cos(2 * np.pi * (days - 15) / 365)  # °C


def daily_load(insulation, storage):  # kWh per day; expensive in reality
    demand = np.maximum(20 - outside, 0) * 8 / (1 + insulation / 10)
    smooth = np.convolve(np.pad(demand, 30, mode="wrap"), np.ones(61) / 61, "valid")
    return (1 - 0.1 * storage) * demand + 0.1 * storage * smooth + 0.4 * storage


insulation = gs.Variable("insulation", lower=0, upper=30, unit="cm")
storage = gs.Variable("storage", lower=0, upper=8, unit="m3")
building = gs.BlackBox(
    daily_load, name="building", outputs=365, noise=0, lower=0, shared_kernel=True
)
load = building(insulation, storage)

energy = gs.named("energy", np.sum(load), unit="kWh")
cost = gs.named("cost", 0.12 * energy + 60 * insulation + 110 * storage, unit="EUR")
problem = gs.Problem(minimize=cost, subject_to={"connection": np.max(load) <= 65})

if __name__ == "__main__":
    strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256))  # quick
    result = problem.solve(trials=15, strategy=strategy, seed=0, progress=False)
    print(result)
    print(result.model("building"))
