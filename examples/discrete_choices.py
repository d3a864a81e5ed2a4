"""A catalyst, a number of stages, and which of four additives to use: labels and whole numbers."""

import numpy as np

import grisaille as gs

catalyst = gs.Choice("catalyst", ["zeolite", "nickel", "platinum"])
stages = gs.Integer("stages", lower=2, upper=9)
use = gs.Integer("use", 4, lower=0, upper=1)  # 1 for each additive that goes in
heat = gs.Variable("heat", lower=0, upper=1)

ACTIVITY = {"zeolite": 0.55, "nickel": 0.75, "platinum": 0.95}


@gs.black_box(noise=0)
def conversion(catalyst, stages, heat):
    # The black box receives "nickel" and 5, not codes.
    best = {"zeolite": 0.8, "nickel": 0.6, "platinum": 0.3}[catalyst]
    return ACTIVITY[catalyst] * (1 - np.exp(-stages / 3)) - (heat - best) ** 2


price = 0.25 * (catalyst == "platinum") + 0.05 * (catalyst == "nickel") + 0.02 * stages
boost = use @ np.array([0.03, 0.05, 0.01, 0.04])
problem = gs.Problem(
    maximize=conversion(catalyst, stages, heat) + boost - price,
    subject_to=[np.sum(use) <= 2],  # at most two of four
)

if __name__ == "__main__":
    print(problem.diagram())
    strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256))  # quick
    result = problem.solve(
        14, x0={catalyst: "nickel", stages: 5, use: [1, 1, 0, 0], heat: 0.5}, strategy=strategy
    )
    print(result)
    print(result.to_dataframe()[["catalyst", "stages", "heat", "objective"]])
    assert isinstance(result[catalyst], str)
    assert isinstance(result[stages], int)
    assert result[use].sum() <= 2
