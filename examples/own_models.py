"""Own parts of a model: kernels put together, an own kernel, white boxes with derivatives."""

from dataclasses import dataclass

import numpy as np
import torch

import grisaille as gs


@dataclass(frozen=True)
class Periodic(gs.Kernel):
    """Functions that repeat themselves: the learned length-scale is the period."""

    roughness: float = 1.5

    def correlation(self, first, second):
        turns = first.unsqueeze(-2) - second.unsqueeze(-3)  # (..., n, m, inputs)
        return torch.exp(-2 * torch.sin(torch.pi * turns).square().sum(-1) / self.roughness**2)


# The yield is a sum: something of temperature and pressure, and a straight line in the feed.
yield_ = gs.BlackBox(
    lambda t, p, feed: np.exp(-((t - 0.6) ** 2) * 4) * np.sin(2 + p) + 0.3 * feed,
    name="yield",
    noise=0,
    lower=0,
    upper=1.5,
    kernel=gs.Matern().on(0, 1) + gs.Linear().on(2),
)
# The demand has its days and its weeks.
demand = gs.BlackBox(
    lambda day: 1 + 0.3 * np.sin(2 * np.pi * day / 7) + 0.02 * day,
    name="demand",
    noise=0,
    lower=0,
    kernel=Periodic() + gs.Linear(),
)


@gs.white_box(torch=True)
def storage(stock, flows):
    """What is left after ten hours of filling and leaking, in PyTorch, which differentiates it."""
    for flow in flows:
        stock = stock + 0.1 * (flow - 0.2 * stock * stock)
    return stock


# In NumPy, with its derivative.
overflow = gs.white_box(
    lambda level: np.logaddexp(0, 3 * level),
    name="overflow",
    vectorized=True,
    gradient=lambda level: 1.5 * (1 + np.tanh(1.5 * level))[..., None],
)

t, p, feed = (gs.Variable(name, lower=0, upper=1) for name in ("temperature", "pressure", "feed"))
day = gs.Variable("day", lower=0, upper=14)
flows = gs.Variable("flows", 10, lower=0, upper=1)
stock = storage(yield_(t, p, feed), flows)
problem = gs.Problem(
    maximize=stock * demand(day) - 0.2 * np.sum(flows) - 0.4 * feed,
    subject_to=[overflow(stock - 1.2) <= 0.8],
)

if __name__ == "__main__":
    search = gs.Optimistic(solver=gs.MultiStart(starts=8, samples=128))
    print(problem.solve(7, strategy=search, seed=0, progress=False))
