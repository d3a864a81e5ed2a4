"""Whether something can serve as the kernel of a black box, checked before it is used."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.checks import attribute_of, real_numbers
from grisaille.errors import ModelError, counted, shortened, text_of
from grisaille.surrogates.composite import is_plain
from grisaille.surrogates.kernel import Kernel, Product, Restricted, Sum, is_kernel, length_scales

_WANTED = (
    "pass gs.SquaredExponential(), gs.Matern(), gs.Linear(), a sum or product of them, or a kernel "
    "of your own (a class that inherits gs.Kernel)"
)
# How far numbers of an own kernel may be from what they must be, by rounding.
_ROUNDING = 1e-8


def check_kernel(kernel: object, box: str, inputs: int | None = None, hint: str = "") -> None:
    """Raise ModelError if something is no kernel, or does not fit the inputs of a black box.

    Args:
        kernel: What a black box was declared with.
        box: Name of the black box.
        inputs: How many inputs it has; None if that is not known yet.
        hint: What messages say behind this number.
    """
    if not is_kernel(kernel):
        raise ModelError(f"black box {box!r} has kernel={shortened(kernel)}: {_WANTED}")
    check_inputs(kernel, f"black box {box!r}", inputs, hint)


def check_inputs(kernel: Any, who: str, inputs: int | None, hint: str = "") -> None:
    """Raise ModelError if a kernel does not fit a number of inputs, or is no covariance."""
    if isinstance(kernel, Sum | Product):
        for part in kernel.parts:
            check_inputs(part, who, inputs, hint)
    elif isinstance(kernel, Restricted):
        if inputs is not None and max(kernel.inputs) >= inputs:
            raise ModelError(
                f"{who} takes {counted(inputs, 'number')}, but kernel {kernel!r} reads input "
                f"{max(kernel.inputs)}: inputs are counted from 0"
            )
        check_inputs(kernel.kernel, who, len(kernel.inputs))
    else:
        if not is_plain(kernel):
            _check_hyperparameters(kernel, who)
        scales = length_scales(kernel)
        if inputs is not None and scales is not None and len(scales) not in (1, inputs):
            raise ModelError(
                f"{who} takes {counted(inputs, 'number')}{hint}, but its kernel has "
                f"{counted(len(scales), 'length-scale')}: pass one, or one per input"
            )
        if inputs is not None and not is_plain(kernel) and (fault := _fault(kernel, inputs)):
            raise ModelError(f"kernel {shortened(kernel)} of {who}: {fault}")


def _check_hyperparameters(kernel: Any, who: str) -> None:
    who = f"kernel {type(kernel).__name__} of {who}"
    scales, variance = attribute_of(kernel, "lengthscale"), attribute_of(kernel, "variance")
    try:
        hash(kernel)
    except TypeError as error:
        raise ModelError(
            f"{who} cannot be hashed, so nothing learned with it can be kept: make its class a "
            "dataclass(frozen=True) whose fields are numbers or tuples"
        ) from error
    if scales is None and variance is None:
        return
    try:
        numbers = np.concatenate([np.atleast_1d(real_numbers(v)) for v in (scales, variance)])
        positive = bool((np.isfinite(numbers) & (numbers > 0)).all())
    except (TypeError, ValueError):
        positive = False
    if not positive:
        raise ModelError(
            f"{who} has lengthscale={shortened(scales)} and variance={shortened(variance)}: both "
            "must be positive numbers, or both None to have them learned"
        )


@lru_cache(maxsize=64)
def _fault(kernel: Kernel, inputs: int) -> str:
    """What is wrong with a kernel of a user's own, in a sentence; empty if nothing is.

    It is tried on a few points, two of them equal, as learning and predicting will use it.
    """
    generator = torch.Generator().manual_seed(0)
    # Callers without gradients ask first, too. The verdict is cached for those that need them.
    with torch.inference_mode(False), torch.enable_grad():
        points = torch.randn(2, 6, inputs, generator=generator, dtype=torch.float64)
        points[:, 5] = points[:, 0]
        return _fault_at(kernel, points.requires_grad_())


def _fault_at(kernel: Kernel, leaves: Tensor) -> str:
    """The fault of a kernel at points (2, 6, inputs), the first equal to the last."""
    try:
        matrix = kernel.correlation(leaves, leaves)
        part = kernel.correlation(leaves[:, :2], leaves)
        diagonal = kernel.diagonal(leaves)
    except Exception as error:
        shape = tuple(leaves.shape)
        return f"correlation or diagonal failed on points of shape {shape}: {text_of(error)}"
    return (
        _fault_of_shape("correlation", matrix, (2, 6, 6))
        or _fault_of_shape("correlation", part, (2, 2, 6))
        or _fault_of_shape("diagonal", diagonal, (2, 6))
        or _fault_of_numbers(matrix.detach(), part.detach(), diagonal.detach())
        or _fault_of_slopes(matrix, leaves)
    )


def _fault_of_shape(name: str, value: Any, shape: tuple[int, ...]) -> str:
    if not torch.is_tensor(value) or value.dtype != torch.float64:
        kind = value.dtype if torch.is_tensor(value) else type(value).__name__
        return f"{name} returned {kind}: return a float64 tensor, computed in PyTorch"
    if value.shape != shape:
        return (
            f"{name} returned shape {tuple(value.shape)}, expected {shape}: leading axes are "
            "batches, and (..., n, d) and (..., m, d) give (..., n, m), or (..., n) on the diagonal"
        )
    return ""


def _fault_of_numbers(matrix: Tensor, part: Tensor, diagonal: Tensor) -> str:
    if not all(torch.isfinite(v).all() for v in (matrix, part, diagonal)):
        return "it returned numbers that are not finite"
    size = _ROUNDING * (1 + float(matrix.abs().max()))
    on_diagonal = matrix.diagonal(dim1=1, dim2=2)
    if (worst := (on_diagonal - diagonal).abs()).max() > size:
        at = int(worst.argmax())
        return (
            f"diagonal says {float(diagonal.flatten()[at]):.6g} where correlation says "
            f"{float(on_diagonal.flatten()[at]):.6g}: it is the correlation of an input with itself"
        )
    if (part - matrix[:, :2]).abs().max() > size:
        return "correlation of two points depends on which other points are asked with them"
    if (worst := (matrix - matrix.transpose(1, 2)).abs()).max() > size:
        at = int(worst.argmax())
        return (
            f"correlation is not symmetric: {float(matrix.flatten()[at]):.6g} one way, "
            f"{float(matrix.transpose(1, 2).flatten()[at]):.6g} the other"
        )
    if (least := float(torch.linalg.eigvalsh(matrix).min())) < -size:
        return (
            f"correlation is no covariance: a matrix of it has the negative eigenvalue {least:.3g}"
        )
    return ""


def _fault_of_slopes(matrix: Tensor, leaves: Tensor) -> str:
    if not matrix.requires_grad:
        return "correlation has no derivative: compute it in PyTorch, without .detach() or NumPy"
    (slopes,) = torch.autograd.grad(matrix.sum(), leaves)
    if not torch.isfinite(slopes).all():
        return (
            "the derivative of correlation is not finite where two inputs are equal: use "
            "torch.cdist for distances, or add a tiny number under the root"
        )
    return ""
