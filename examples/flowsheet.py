"""A flowsheet: a simulated reactor, a known separation and a known recycle, under three limits.

What is known, balances and prices, is written as algebra; only the reactor is learned. The flow
into the reactor is chosen, and not the fresh feed: so the recycle is a formula.
"""

import numpy as np
from scipy.integrate import solve_ivp

import grisaille as gs


@gs.black_box(outputs=["conversion", "yield", "hottest"])  # A -> B -> C in a cooled tube of 10 m
def reactor(flow, inlet, coolant):
    def slopes(z, state):
        a, b, kelvin = state
        first = 0.8 * np.exp(-9000 * (1 / kelvin - 1 / 400)) * a
        second = 0.02 * np.exp(-13000 * (1 / kelvin - 1 / 400)) * b
        heat = 120 * first + 90 * second - 0.6 * (kelvin - coolant)
        return -first / flow, (first - second) / flow, heat / flow

    run = solve_ivp(slopes, (0, 10), (1.0, 0.0, inlet), rtol=1e-8, max_step=0.2)
    return 1 - run.y[0, -1], run.y[1, -1], run.y[2].max()


flow = gs.Variable("flow", lower=2, upper=8, unit="kmol/h")  # of A into the reactor
inlet = gs.Variable("inlet", lower=340, upper=420, unit="K")  # in a cold tube nothing happens
coolant = gs.Variable("coolant", lower=340, upper=400, unit="K")
recovery = gs.Variable("recovery", lower=0.8, upper=0.98)  # of the A that is left
y = reactor(flow, inlet, coolant)

left, product = flow * (1 - y["conversion"]), flow * y["yield"]
recycle = recovery * left
boiled = recycle * (1 + 0.2 / (1 - recovery))
purity = product / (product + left - recycle)
costs = 90 * (flow - recycle) + 4 * boiled + 0.2 * (inlet - 340)
profit = gs.named("profit", 160 * product - costs, unit="$/h")
limits = {"purity": purity >= 0.98, "hottest": y["hottest"] <= 430, "boiled": boiled <= 4}
problem = gs.Problem(maximize=profit, subject_to=limits)

if __name__ == "__main__":
    today = {flow: 4, inlet: 380, coolant: 370, recovery: 0.9}
    result = problem.solve(trials=16, x0=today, seed=0, progress=False)
    print(result)
    print(result.confidence[["value", "slack", "active", "multiplier"]])
    print(f"product {result[product]:.2f} kmol/h of purity {result[purity]:.4f}")
    print(f"recycle {result[recycle]:.2f} kmol/h, hottest at {result[y['hottest']]:.1f} K")
