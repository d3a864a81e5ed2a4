"""What a kernel is, and how kernels are put together: sums, products, parts of the inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.checks import has_method, is_whole
from grisaille.errors import ModelError, shortened


class Kernel:
    """A covariance function: variance * correlation(s / lengthscale, s' / lengthscale).

    Base of the kernels here and of your own ones. An own kernel needs the method `correlation`, in
    PyTorch, and `diagonal` unless every input has correlation 1 with itself. Its length-scales and
    its variance are learned, or given as attributes. Kernels are added and multiplied, and
    `kernel.on(0, 2)` reads only inputs 0 and 2. A kernel must not change; equal ones should be
    equal, as those of a frozen dataclass are.

    Attributes:
        lengthscale: One per input or one for all; None to learn them.
        variance: The factor; None to learn it.
    """

    __slots__ = ()

    lengthscale: tuple[float, ...] | None = None
    variance: float | None = None

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """Correlations of scaled inputs, (..., n, d) and (..., m, d) to (..., n, m)."""
        raise NotImplementedError(
            f"kernel {type(self).__name__} needs a method correlation(first, second)"
        )

    def diagonal(self, inputs: Tensor) -> Tensor:
        """Correlation of each scaled input with itself, (..., n, d) to (..., n): ones."""
        return torch.ones_like(inputs[..., 0])

    def on(self, *inputs: int) -> Kernel:
        """The same kernel of some inputs only, counted from 0: `gs.Matern().on(0, 2)`.

        The inputs of a black box are the numbers of all its arguments, one after the other.
        """
        return Restricted(self, inputs)

    def __add__(self, other: object) -> Kernel:
        return Sum((self, _kernel(other, f"{self!r} + {shortened(other)}")))

    def __radd__(self, other: object) -> Kernel:
        if is_whole(other) and other == 0:  # the sum of a list of kernels starts at 0
            return self
        return Sum((_kernel(other, f"{shortened(other)} + {self!r}"), self))

    def __mul__(self, other: object) -> Kernel:
        return Product((self, _kernel(other, f"{self!r} * {shortened(other)}")))

    def __rmul__(self, other: object) -> Kernel:
        if is_whole(other) and other == 1:  # math.prod of a list of kernels starts at 1
            return self
        return Product((_kernel(other, f"{shortened(other)} * {self!r}"), self))


@dataclass(frozen=True, slots=True, repr=False)
class Sum(Kernel):
    """k(s, s') = k_1(s, s') + k_2(s, s') + ...: a sum of functions, one of each kernel."""

    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(self.parts, Sum))
        _check_given(self, self.parts)

    @property
    def lengthscale(self) -> tuple[float, ...] | None:  # type: ignore[override]
        """Those of all parts, one after the other; None to learn them."""
        return _all_scales(self.parts)

    @property
    def variance(self) -> float | None:  # type: ignore[override]
        """The sum of those of the parts."""
        return None if self.lengthscale is None else math.fsum(_variances(self.parts))

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """With all length-scales and variances 1."""
        return total([part.correlation(first, second) for part in self.parts])

    def diagonal(self, inputs: Tensor) -> Tensor:
        """With all length-scales and variances 1."""
        return total([part.diagonal(inputs) for part in self.parts])

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


@dataclass(frozen=True, slots=True, repr=False)
class Product(Kernel):
    """k(s, s') = k_1(s, s') k_2(s, s') ...: functions that vary as all kernels say."""

    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(self.parts, Product))
        _check_given(self, self.parts)

    @property
    def lengthscale(self) -> tuple[float, ...] | None:  # type: ignore[override]
        """Those of all parts, one after the other; None to learn them."""
        return _all_scales(self.parts)

    @property
    def variance(self) -> float | None:  # type: ignore[override]
        """The product of those of the parts."""
        return None if self.lengthscale is None else math.prod(_variances(self.parts))

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """With all length-scales and variances 1."""
        return product([part.correlation(first, second) for part in self.parts])

    def diagonal(self, inputs: Tensor) -> Tensor:
        """With all length-scales and variances 1."""
        return product([part.diagonal(inputs) for part in self.parts])

    def __repr__(self) -> str:
        return " * ".join(f"({p!r})" if isinstance(p, Sum) else repr(p) for p in self.parts)


@dataclass(frozen=True, slots=True, repr=False)
class Restricted(Kernel):
    """A kernel that reads some inputs only."""

    kernel: Kernel
    inputs: tuple[int, ...]

    def __post_init__(self) -> None:
        whole = bool(self.inputs) and all(is_whole(i) and i >= 0 for i in self.inputs)
        if not whole or len(set(self.inputs)) < len(self.inputs):
            raise ModelError(
                f"a kernel on inputs {shortened(self.inputs)}: pass different whole numbers, "
                "counted from 0, as in gs.Matern().on(0, 2)"
            )
        object.__setattr__(self, "inputs", tuple(map(int, self.inputs)))

    @property
    def lengthscale(self) -> tuple[float, ...] | None:  # type: ignore[override]
        """Those of the kernel."""
        return length_scales(self.kernel)

    @property
    def variance(self) -> float | None:  # type: ignore[override]
        """That of the kernel."""
        return self.kernel.variance

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """That of the kernel, of its inputs."""
        columns = list(self.inputs)
        return self.kernel.correlation(first[..., columns], second[..., columns])

    def diagonal(self, inputs: Tensor) -> Tensor:
        """That of the kernel, of its inputs."""
        return self.kernel.diagonal(inputs[..., list(self.inputs)])

    def __repr__(self) -> str:
        joined = isinstance(self.kernel, Sum | Product)
        text = f"({self.kernel!r})" if joined else repr(self.kernel)
        return f"{text}.on({', '.join(map(str, self.inputs))})"


def is_kernel(value: object) -> bool:
    """Whether a value has the methods of a kernel."""
    return has_method(value, "correlation") and has_method(value, "diagonal")


def length_scales(kernel: Kernel) -> tuple[float, ...] | None:
    """The length-scales of a kernel as a tuple; one of a user's own may have a single number."""
    scales: Any = kernel.lengthscale
    return None if scales is None else tuple(float(v) for v in np.atleast_1d(scales))


def total(values: Sequence[Tensor]) -> Tensor:
    """The sum of tensors, from left to right."""
    result = values[0]
    for value in values[1:]:
        result = result + value
    return result


def product(values: Sequence[Tensor]) -> Tensor:
    """The product of tensors, from left to right."""
    result = values[0]
    for value in values[1:]:
        result = result * value
    return result


def _kernel(value: object, text: str) -> Any:
    if not is_kernel(value):
        raise ModelError(
            f"{text}: kernels are added to and multiplied by kernels; pass variance= and "
            "lengthscale= to give one its size"
        )
    return value


def _flat(parts: tuple[Kernel, ...], kind: type[Sum] | type[Product]) -> tuple[Kernel, ...]:
    """The parts, with those of a part of the same kind in its place."""
    return tuple(p for part in parts for p in (part.parts if isinstance(part, kind) else (part,)))


def _check_given(kernel: Kernel, parts: tuple[Kernel, ...]) -> None:
    if len({part.lengthscale is None for part in parts}) > 1:
        raise ModelError(
            f"{kernel!r} has hyper-parameters in some parts only: give every part its lengthscale "
            "and variance, or none, to have them all learned"
        )


def _all_scales(parts: tuple[Kernel, ...]) -> tuple[float, ...] | None:
    scales = [length_scales(part) for part in parts]
    return None if None in scales else tuple(v for part in scales for v in part or ())


def _variances(parts: tuple[Kernel, ...]) -> list[float]:
    return [float(part.variance) for part in parts if part.variance is not None]
