"""Hyper-parameters: taken from the kernel when given, else learned with BoTorch and GPyTorch.

Learning uses inputs scaled to the unit cube and standardized outputs, for which BoTorch's priors
are made. The results are in the user's units.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.surrogates.kernels import Kernel, Linear, Matern
from grisaille.surrogates.posterior import Hyperparameters

# Noise variance, in standardized units, that learning assumes for a noise-free black box.
_NOISE_FREE = 1e-6


def given(kernel: Kernel, noise: Array | None, inputs: int, outputs: int) -> Hyperparameters:
    """The hyper-parameters a kernel was given with; zero prior mean (the paper's setting)."""
    assert kernel.lengthscale is not None
    assert kernel.variance is not None
    lengthscale = torch.tensor(kernel.lengthscale, dtype=torch.float64).expand(outputs, inputs)
    variance = torch.full((outputs,), kernel.variance, dtype=torch.float64)
    deviation = torch.zeros(outputs, dtype=torch.float64) if noise is None else torch.tensor(noise)
    zeros = torch.zeros(outputs, dtype=torch.float64)
    center = torch.zeros(inputs, dtype=torch.float64)
    return Hyperparameters(lengthscale.clone(), variance, deviation**2, zeros, center)


def learned(
    kernel: Kernel, noise: Array | None, inputs: Array, outputs: Array, lower: Array, upper: Array
) -> Hyperparameters:
    """Hyper-parameters of maximum posterior probability, given observations.

    Args:
        kernel: The kernel family.
        noise: Standard deviation of the noise per output, (k,); None to learn it.
        inputs: (n, d).
        outputs: (n, k).
        lower: (d,), lower ends of the ranges that inputs are scaled by.
        upper: (d,), upper ends.
    """
    return _learned(
        kernel,
        None if noise is None else tuple(noise.tolist()),
        *(np.ascontiguousarray(a, dtype=float).tobytes() for a in (inputs, outputs, lower, upper)),
        inputs.shape[1],
        outputs.shape[1],
    )


@lru_cache(maxsize=256)
def _learned(
    kernel: Kernel,
    noise: tuple[float, ...] | None,
    input_bytes: bytes,
    output_bytes: bytes,
    lower_bytes: bytes,
    upper_bytes: bytes,
    d: int,
    k: int,
) -> Hyperparameters:
    lower, upper = (torch.tensor(np.frombuffer(b)) for b in (lower_bytes, upper_bytes))
    inputs = torch.tensor(np.frombuffer(input_bytes).reshape(-1, d))
    outputs = torch.tensor(np.frombuffer(output_bytes).reshape(-1, k))
    center = outputs.mean(0)
    spread = outputs.std(0) if len(outputs) > 1 else torch.zeros(k, dtype=torch.float64)
    spread = torch.where(spread > 1e-12 * center.abs(), spread, torch.ones_like(spread))
    standard = (outputs - center) / spread
    deviation = None if noise is None else torch.tensor(noise, dtype=torch.float64) / spread
    model = _fit(kernel, (inputs - lower) / (upper - lower), standard, deviation)

    # Constants from here on: a search must not differentiate through them.
    lengthscale, variance = (v.detach() for v in _kernel_values(model.covar_module, kernel, d, k))
    fitted = model.likelihood.noise.detach().reshape(k) if deviation is None else deviation**2
    mean = model.mean_module.constant.detach().reshape(k)
    return Hyperparameters(
        lengthscale=lengthscale * (upper - lower),
        variance=variance * spread**2,
        noise=fitted * spread**2,
        mean=center + mean * spread,
        center=lower,
    )


def _fit(kernel: Kernel, inputs: Tensor, outputs: Tensor, deviation: Tensor | None) -> Any:
    """A BoTorch model of inputs (n, d) in the unit cube and standardized outputs (n, k), fitted."""
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    known_noise = None
    if deviation is not None:
        known_noise = (deviation**2).clamp_min(_NOISE_FREE).expand_as(outputs)
    # A failed fit is tried again from random values: they must not come from, or disturb, the
    # global generator.
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        model = SingleTaskGP(
            inputs,
            outputs,
            train_Yvar=known_noise,
            covar_module=_covariance_module(kernel, inputs.shape[1], outputs.shape[1]),
            outcome_transform=None,
        )
        likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
        # BoTorch fits several outputs side by side, which is faster still.
        single = outputs.shape[1] == 1
        closure = _Loss(likelihood, kernel, inputs, outputs) if single else None
        fit_gpytorch_mll(likelihood, closure=closure)
    return model


class _Loss:
    """Minus the log posterior density of a one-output model's hyper-parameters, with gradients.

    The same number as GPyTorch's in less than half the time: with few observations its lazy
    operators cost more than the arithmetic.
    """

    def __init__(self, likelihood: Any, kernel: Kernel, inputs: Tensor, outputs: Tensor) -> None:
        self._likelihood = likelihood
        self._kernel = kernel
        self._inputs = inputs
        self._outputs = outputs
        self._parameters = [p for p in likelihood.parameters() if p.requires_grad]
        # All priors are log-normal. They are the model's, which hold the noise's: those of the
        # likelihood would hold it twice.
        priors = likelihood.model.named_priors()
        self._priors = [(module, value, prior) for _name, module, prior, value, _set in priors]
        self._constant = sum(
            value(module).numel() * math.log(float(prior.scale) * math.sqrt(2 * math.pi))
            for module, value, prior in self._priors
        )

    def __call__(self) -> tuple[Tensor, list[Tensor]]:
        model = self._likelihood.model
        n, d = self._inputs.shape
        lengthscale, variance = _kernel_values(model.covar_module, self._kernel, d, 1)
        scaled = self._inputs / lengthscale
        covariance = variance * self._kernel.correlation(scaled, scaled)
        noise = model.likelihood.noise.reshape(-1).expand(n)
        factor = torch.linalg.cholesky(covariance + torch.diag(noise))
        residual = self._outputs - model.mean_module.constant
        solved = torch.linalg.solve_triangular(factor, residual, upper=False)
        loss = 0.5 * solved.square().sum() + factor.diagonal().log().sum()
        for module, value, prior in self._priors:
            logarithm = value(module).log()
            loss = loss + (0.5 * ((logarithm - prior.loc) / prior.scale) ** 2 + logarithm).sum()
        loss = (loss + self._constant) / n
        gradients = torch.autograd.grad(loss, self._parameters)
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient
        return loss, list(gradients)


def _covariance_module(kernel: Kernel, d: int, k: int) -> Any:
    from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
    from gpytorch.kernels import LinearKernel, MaternKernel, ScaleKernel
    from gpytorch.priors import LogNormalPrior

    batch = torch.Size([k]) if k > 1 else torch.Size()
    if isinstance(kernel, Linear):
        return LinearKernel(ard_num_dims=d, batch_shape=batch)
    module = get_covar_module_with_dim_scaled_prior(
        ard_num_dims=d, batch_shape=batch, use_rbf_kernel=not isinstance(kernel, Matern)
    )
    if isinstance(kernel, Matern):
        assert isinstance(module, MaternKernel)
        module.nu = kernel.smoothness
    # BoTorch's default has no variance of its own: it trusts the standardized outputs. Here they
    # cluster around the optimum, so that their spread is far too small; the likelihood finds it.
    scaled = ScaleKernel(module, batch_shape=batch, outputscale_prior=LogNormalPrior(0.0, 1.0))
    scaled.outputscale = 1.0
    return scaled


def _kernel_values(module: Any, kernel: Kernel, d: int, k: int) -> tuple[Tensor, Tensor]:
    """Length-scales (k, d) and variances (k,) of a covariance module."""
    if isinstance(kernel, Linear):
        lengthscale = module.variance.reshape(k, -1).expand(k, d) ** -0.5
        return lengthscale, torch.ones(k, dtype=torch.float64)
    lengthscale = module.base_kernel.lengthscale.reshape(k, d)
    return lengthscale, module.outputscale.reshape(k)
