"""Known functions that operators cannot express: a price table, a pump curve, a tariff."""

import numpy as np

import grisaille as gs

price = gs.white_box(lambda q: np.interp(q, [0, 2, 4], [10, 9, 6]), name="price", vectorized=True)


@gs.white_box
def pump_power(flow):  # called with one number at a time
    return 0.3 * flow**1.5


@gs.black_box(noise=0, lower=0, upper=1)  # its output is a fraction
def recovery(flow, acidity):
    return 0.9 * np.exp(-((acidity - 5.5) ** 2) / 4 - 0.05 * flow**2)


flow = gs.Variable("flow", lower=0.5, upper=4)
acidity = gs.Variable("acidity", lower=3, upper=9)
product = flow * recovery(flow, acidity)
tariff = np.where(flow <= 3, 0.0, 1.5)  # the grid charges more above 3
problem = gs.Problem(
    maximize=product * price(product) - pump_power(flow) - tariff,
    subject_to=[product >= 0.5, np.abs(acidity - 6) <= 2],
)

if __name__ == "__main__":
    result = problem.solve(14, seed=1, progress=False)
    print(result)
    print(f"product: {result[product]:.3f} at a price of {result[price(product)]:.2f}")
    assert isinstance(price, gs.WhiteBox)
    assert isinstance(product, gs.Expression)
    assert isinstance(product >= 0.5, gs.Constraint)
