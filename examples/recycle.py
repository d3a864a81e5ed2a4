"""A plant with a recycle: reactor, separator and purge, whose loop is never converged."""

import numpy as np

import grisaille as gs

celsius = gs.Variable("celsius", lower=150, upper=250, unit="degC")
purge = gs.Variable("purge", lower=0.02, upper=0.5)  # the part of the recycle that is let out
recycle = gs.Unknown("recycle", lower=0, upper=60, unit="mol/s")  # not a decision: what comes back


@gs.black_box(noise=0, lower=0, upper=1)
def conversion(celsius, inlet):
    return 1 - np.exp(-12 * np.exp(0.03 * (celsius - 200)) / inlet)


@gs.black_box(noise=0, lower=0, upper=1)
def recovered(unreacted):
    return 0.97 - 0.004 * unreacted


inlet = 10 + recycle
unreacted = inlet * (1 - conversion(celsius, inlet))
returned = (1 - purge) * recovered(unreacted) * unreacted
profit = 20 * (inlet - unreacted) - 1.5 * inlet - 0.4 * (celsius - 150)
problem = gs.Problem(
    maximize=profit,
    subject_to={"compressor": inlet <= 30},
    equations={"loop": recycle == returned},
)


def converged_profit(celsius, purge):
    """The same plant, with the loop closed by iterating: what is never done below."""
    inlet = 10.0
    for _ in range(500):
        unreacted = inlet * (1 - conversion(celsius, inlet))
        inlet = 10 + (1 - purge) * recovered(unreacted) * unreacted
    return 20 * (inlet - unreacted) - 1.5 * inlet - 0.4 * (celsius - 150), inlet


if __name__ == "__main__":
    print(problem.diagram())
    strategy = gs.Optimistic(solver=gs.MultiStart(starts=6, samples=512))  # quick
    result = problem.solve(14, strategy=strategy, seed=0, progress=False)
    print(result)
    temperatures, purges = np.linspace(150, 250, 51), np.linspace(0.02, 0.5, 49)
    grid = [converged_profit(t, p) for t in temperatures for p in purges]
    best = max(value for value, inlet in grid if inlet <= 30)
    print(f"best of {len(grid)} converged points on a grid: {best:.3f}")
    assert result.fun >= best - 0.01 * abs(best)
    x = result[celsius], result[purge]
    assert abs(result.fun - converged_profit(*x)[0]) < 0.1  # the loop is closed where we are
