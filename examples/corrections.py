"""A laboratory with old data, a point of its own, rounded settings and a typing error.

The study warns of the wrong number, takes the right one, and goes on as if it had been told at
first.
"""

import warnings

import numpy as np

import grisaille as gs

recipe = gs.Variable("recipe", shape=2, lower=[20, 0.5], upper=[80, 4.0])  # °C, hours
synthesis = gs.BlackBox(None, name="synthesis", outputs=["product", "acid"], noise=0.01)
batch = synthesis(recipe)
problem = gs.Problem(
    maximize=100 * batch["product"] - 3 * recipe[1], subject_to=[batch["acid"] <= 0.5]
)


def laboratory(celsius, hours):
    """What comes out; nobody knows this."""
    rate = 0.02 * np.exp(0.06 * (celsius - 20))
    return 1 - np.exp(-rate * hours), 0.002 * celsius * hours


with gs.Study(problem, seed=0) as study:
    old = np.array([[30, 1.0], [50, 2.0], [60, 3.0]])
    study.observe("synthesis", old, [laboratory(*row) for row in old])  # three trials, for nothing
    study.enqueue(recipe=[55, 2.5])  # how the batch is made today

    for day in range(1, 9):
        (query,) = study.ask(trials=8)
        done = np.round(query.inputs, 1)  # the oven knows no more digits
        product, acid = laboratory(*done)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            study.tell(query, [100 * product if day == 7 else product, acid], inputs=done)
        for warning in caught:
            if issubclass(warning.category, gs.GrisailleWarning):
                print(f"day {day}: {warning.message}")
                study.correct(query, [product, acid])
    study.retract("2/1", "last year's thermometer was broken")

    print(study.answers().round(3).tail(4))
    print(study.result())
