"""How every reference searches: BoTorch's own fit and `optimize_acqf`, quiet and repeatable."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize
from botorch.optim import optimize_acqf
from botorch.optim.initializers import gen_batch_initial_conditions
from botorch.utils.sampling import manual_seed
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """How hard a reference searches, per design variable.

    Attributes:
        restarts: Local searches per variable.
        raw_samples: Sobol points per variable, of which the starts are drawn.
    """

    restarts: int = 10
    raw_samples: int = 100


@contextmanager
def repeatable(seed: int) -> Iterator[None]:
    """Run BoTorch from a seed, without its warnings and without touching the global generator."""
    with manual_seed(seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fitted_model(
    inputs: Tensor,
    outputs: Tensor,
    bounds: Tensor | None = None,
    noise_variance: Tensor | None = None,
) -> SingleTaskGP:
    """A fitted `SingleTaskGP` with BoTorch's defaults; outputs are standardized by default.

    Args:
        inputs: (n, d), in their own units.
        outputs: (n, m); the m columns are modelled independently.
        bounds: (2, d), the box that inputs are normalized by; None for the data's own range.
        noise_variance: (n, m), the variance of the noise; None to learn it.
    """
    model = SingleTaskGP(
        inputs,
        outputs,
        train_Yvar=noise_variance,
        input_transform=Normalize(d=inputs.shape[-1], bounds=bounds),
    )
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def best_point(
    acquisition: AcquisitionFunction,
    bounds: Tensor,
    effort: SearchEffort,
    *,
    initial_batch: int | None = None,
    nonnegative: bool = False,
    extra_start: Array | None = None,
) -> Array:
    """The point that maximizes an acquisition function, flat.

    Args:
        acquisition: What to maximize.
        bounds: (2, d).
        effort: How hard to search.
        initial_batch: How many raw samples are evaluated at once; None for all.
        nonnegative: Whether the acquisition function is never negative and may vanish: starts
            are then drawn where it does not.
        extra_start: (d,), one more point to start from.
    """
    dimensions = bounds.shape[-1]
    options: dict[str, bool | float | int | str] = {"nonnegative": nonnegative}
    if initial_batch is not None:
        options["init_batch_limit"] = initial_batch
    starts = gen_batch_initial_conditions(
        acquisition,
        bounds=bounds,
        q=1,
        num_restarts=effort.restarts * dimensions,
        raw_samples=effort.raw_samples * dimensions,
        options=options,
    )
    if extra_start is not None:
        starts = torch.cat([starts, torch.tensor(extra_start).reshape(1, 1, -1)])
    candidates, _ = optimize_acqf(
        acquisition,
        bounds=bounds,
        q=1,
        num_restarts=len(starts),
        raw_samples=effort.raw_samples * dimensions,
        batch_initial_conditions=starts,
    )
    return np.asarray(candidates[0].numpy(), dtype=float)


def box_bounds(lower: Array, upper: Array) -> Tensor:
    """Lower and upper bounds as BoTorch takes them, (2, d)."""
    return torch.tensor(np.stack([lower, upper]), dtype=torch.float64)
