"""Ten boxes in a row with 20 variables: each unit has two settings and reads what comes before it.

Learned as one function, 20 variables would need hundreds of runs. Each unit alone has three inputs,
so a few runs of the whole row teach all ten.
"""

import numpy as np

import grisaille as gs

settings = gs.Variable("settings", shape=(10, 2), lower=0, upper=1)


def unit(number):
    best = 0.2 + 0.06 * number

    def purify(impurity, heat, speed):  # how much of the impurity is left after this unit
        return impurity * (0.6 + 0.5 * (heat - best) ** 2 + 0.4 * (speed - 1 + best) ** 2)

    return gs.BlackBox(purify, name=f"unit{number}")


impurity = 1.0
for number in range(10):
    impurity = unit(number)(impurity, settings[number, 0], settings[number, 1])
cost = 0.01 * np.sum(settings)
problem = gs.Problem(minimize=impurity + cost)

if __name__ == "__main__":
    strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256))  # quick
    result = problem.solve(trials=22, seed=0, strategy=strategy, progress=False)
    print(result)
