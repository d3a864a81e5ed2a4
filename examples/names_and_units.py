"""Names and units: what is shown and stored is called as an engineer calls it."""

import numpy as np

import grisaille as gs

flow = gs.Variable("flow", lower=0.5, upper=3, unit="kg/s")
temperature = gs.Variable("temperature", lower=20, upper=90, unit="degC")


@gs.black_box(outputs=["conversion", "impurity", "heat"], noise=0, unit={"heat": "kW"})
def reactor(flow, temperature):
    rate = 0.3 * np.exp(0.04 * (temperature - 20))
    conversion = 1 - np.exp(-rate / flow)
    return conversion, 0.01 * np.exp(0.05 * (temperature - 20)) / flow, 80 * flow * conversion


out = reactor(flow, temperature)
price = gs.named("price", 100, unit="$/kg")  # a constant with a unit
sales = gs.named("sales", price * flow * out["conversion"], unit="$/s")
profit = gs.named("profit", sales - 8 * flow - 0.3 * (temperature - 20), unit="$/s")

problem = gs.Problem(
    maximize=profit,
    subject_to={"purity": out["impurity"] <= 0.05, "cooling": out["heat"] <= 120},
    feasibility_tol={"cooling": 0.5},  # kW
)
print(problem)
result = problem.solve(trials=10, seed=0, progress=False)
print(result)
print(result[sales], "$/s of sales")
print(result.to_dataframe()[["trial", "objective", "purity", "cooling"]].tail(3))

try:  # with pint installed, units are checked
    gs.Problem(maximize=profit, subject_to=[out["heat"] <= temperature])
except gs.ModelError as error:
    print(error)
