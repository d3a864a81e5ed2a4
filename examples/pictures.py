"""Pictures of a result: how it went, what was learned, what holds it back and what matters.

In a notebook, a picture that is the last line of a cell is shown; no magic command is needed.
"""

import numpy as np
from matplotlib.figure import Figure

import grisaille as gs

catalyst = gs.Choice("catalyst", ["A", "B"])
temperature = gs.Variable("T", lower=320, upper=400, unit="K")
dose = gs.Variable("dose", lower=0.01, upper=1, log=True)


def rate(catalyst, T, dose):  # noqa: N803 - it is the name on the axis, too
    return np.exp(0.05 * (T - 360)) * {"A": 1.0, "B": 1.6}[catalyst] * dose**0.2


@gs.black_box(noise=0)
def conversion(catalyst, T, dose):  # noqa: N803
    return rate(catalyst, T, dose) / (rate(catalyst, T, dose) + 1)


@gs.black_box(outputs=["waste", "colour"], noise=0)
def side_products(catalyst, T, dose):  # noqa: N803
    return 0.02 * rate(catalyst, T, dose) ** 1.5, 0.3 * dose + 0.001 * (T - 320)


side = side_products(catalyst, temperature, dose)
profit = gs.named("profit", 100 * conversion(catalyst, temperature, dose) - 20 * dose)
limits = {"waste": side["waste"] <= 0.05, "colour": side["colour"] <= 0.15}
problem = gs.Problem(maximize=profit, subject_to=limits)
result = problem.solve(trials=16, seed=0, progress=False)
print(result)

result.plot("convergence.png")  # trials, best value and bound; the gap; the violations
result.plot("distance.png", against="cost", scale="log")  # how far from the bound, and at what cost
result.plot_slices(path="slices.png")  # profit along each variable
result.plot_slices("side_products", "waste", path="waste.png")  # one output along its inputs
result.plot_constraints(path="constraints.png")  # the room that each trial leaves
result.plot_calibration(path="calibration.png")  # is the learned model any good?
result.plot_sensitivity(path="sensitivity.png")  # which variable, which black box?

# Axes of your own: one for each panel, or one for the objective alone.
page = Figure(figsize=(9, 3.4), layout="constrained")
left, right = page.subplots(1, 2)
result.plot(axes=left)
result.plot_constraints(axes=right)
page.savefig("page.png")
print("8 pictures saved, the last one", page)
