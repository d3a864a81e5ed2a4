"""What is known of a point and of a learned black box: confidence, predictions, a look inside.

A reactor's conversion and by-product are expensive to evaluate; profit and limits are formulas.
"""

import numpy as np

import grisaille as gs

temperature = gs.Variable("T", lower=320, upper=400)
feed = gs.Variable("feed", lower=0.5, upper=2.0)


@gs.black_box(outputs=["conversion", "waste"], noise=0)
def reactor(T, feed):  # noqa: N803 - it is the name of the column, too
    rate = np.exp(0.05 * (T - 360))
    return np.array([rate / (rate + feed), 0.02 * rate**1.5])


y = reactor(temperature, feed)
profit = 100 * feed * y["conversion"] - 0.3 * (temperature - 320)
problem = gs.Problem(
    maximize=profit,
    subject_to=[y["waste"] <= 0.05, y["conversion"] >= 0.55],
)
study = gs.Study(problem, seed=0)
result = study.run(14)

# How sure is the recommended point, which constraints hold it back, and what are they worth?
print(result.confidence.drop(columns="note").round(4).to_string(), end="\n\n")

# Any expression of the variables and black boxes has a prediction with an interval.
sold = feed * y["conversion"]
points = {"T": [350, 360, 370], "feed": 1.2}
print(study.predict(points, sold).round(4), end="\n\n")

# Without an expression: objective, and slack of each constraint, which is positive where it is met.
print(study.predict({"T": [365, 371], "feed": 1.45}).round(4).T, end="\n\n")

# What was learned of the reactor, and whether some answer does not fit the others.
model = study.model("reactor")
print(model, end="\n\n")
print(model.lengthscales.round(3), end="\n\n")
print(model.leave_one_out().filter(like="waste").head(4).round(4))
