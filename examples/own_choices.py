"""Choices made by hand: kernels, options of the strategy, solvers, a BoTorch model."""

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.mlls import ExactMarginalLogLikelihood

import grisaille as gs


def own_model(inputs, outputs):
    """Any BoTorch model of one black box, in the user's own units."""
    bounds = torch.tensor([[-1.0, -1.0], [1.0, 1.0]], dtype=torch.float64)  # of x, see below
    scaled = Normalize(2, bounds=bounds)
    model = SingleTaskGP(inputs, outputs, input_transform=scaled, outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


x = gs.Variable("x", shape=2, lower=-1, upper=1)
trend = gs.BlackBox(lambda x: 2 * x[0] - x[1], name="trend", noise=0, kernel=gs.Linear())
ripple = gs.BlackBox(lambda x: np.sin(4 * x[0]), name="ripple", noise=0, kernel=gs.Matern(1.5))
bowl = gs.BlackBox(lambda x: np.sum((x - 0.3) ** 2), name="bowl", model=own_model)
problem = gs.Problem(minimize=trend(x) + ripple(x), subject_to=[bowl(x) <= 0.5])

if __name__ == "__main__":
    search = gs.MultiStart(starts=12, samples=512)
    careful = gs.Optimistic(beta=3.0, solver=search, initial=5)
    print(problem.solve(10, strategy=careful, progress=False))

    one = gs.Variable("t", lower=0, upper=4)
    wave = gs.BlackBox(np.sin, name="wave", noise=0, kernel=gs.SquaredExponential(1.0, 1.0))
    by_grid = gs.Optimistic(solver=gs.Grid(101))  # the paper's first suggestion
    print(gs.Problem(minimize=wave(one)).solve(8, strategy=by_grid, progress=False))
