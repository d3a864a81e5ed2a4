"""Own strategies side by side on own problems, with tables and figures."""

import numpy as np
import torch

import grisaille as gs

x = gs.Variable("x", 2, lower=-2, upper=2)


@gs.black_box(outputs=2, noise=0)
def plume(x):  # simulates two sensors
    return np.sin(x[0]) + x[1] ** 2, np.cos(x[0] * x[1])


@gs.black_box(noise=0)
def tank(flow):
    return flow * np.exp(-flow)


y = plume(x)
problems = {
    "calibration": gs.Problem(minimize=(y[0] - 1) ** 2 + y[1] ** 2),
    "cascade": gs.Problem(maximize=tank(y[0] ** 2), subject_to=[x[0] + y[1] <= 0.5]),
}


def believed_best(knowledge: gs.Knowledge):
    """The mean of the draws, less half of their deviation."""

    def value(points):
        objective, _ = knowledge.draw(points, samples=16)
        return torch.sub(objective.std(0) / 2, objective.mean(0))

    return value


strategies = {
    "mine": gs.Acquisition(believed_best),
    "chance": gs.RandomSearch(),
}

if __name__ == "__main__":
    comparison: gs.Comparison = gs.compare(
        problems,
        strategies,
        seeds=2,
        trials=8,
        optimum={"calibration": 0.0},  # that of the other one is not known
        folder="compare",  # the same call again makes only what is missing
        progress=False,
    )
    print(comparison.table())
    worst = comparison.runs.groupby(["problem", "strategy"])["regret_final"].max()
    print(worst.round(4))
    print("drawn:", comparison.plot("regret.png"))  # save() writes every table and figure
