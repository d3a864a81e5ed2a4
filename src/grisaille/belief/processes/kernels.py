"""Kernels: families, sums, products, parts of the inputs, and their hyper-parameters.

A kernel with `lengthscale` and `variance` is used as it is, in the user's own units and with zero
prior mean, as in the paper. One without them is a family whose hyper-parameters are learned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import chain
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import attribute_of, has_method, is_number, is_whole, real_numbers
from grisaille.errors import ModelError, counted, shortened, text_of

# --- kernel ---------------------------------------------------------------------------------------
# The base class of kernels, and their combinations: sums, products, parts of the inputs.


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

    # True for the given kernels that depend on the distance alone (`Radial`).
    _is_radial: ClassVar[bool] = False

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

    def _scale(self, states: Tensor, lengthscale: Tensor, shares: Tensor | None) -> Tensor:
        """Scaled inputs (k, n, d) of states (n, d), from (k, d); one part has no shares."""
        del shares
        return states / lengthscale.unsqueeze(1)

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
class Joined(Kernel):
    """Kernels that are added, or multiplied."""

    parts: tuple[Kernel, ...]

    _multiplies: ClassVar[bool]

    def __post_init__(self) -> None:
        # The parts of a part of the same kind are in its place.
        kind = type(self)
        apart = (part.parts if isinstance(part, kind) else (part,) for part in self.parts)
        parts = tuple(chain.from_iterable(apart))
        object.__setattr__(self, "parts", parts)
        if len({part.lengthscale is None for part in parts}) > 1:
            raise ModelError(
                f"{self!r} has hyper-parameters in some parts only: give every part its "
                "lengthscale and variance, or none, to have them all learned"
            )

    @property
    def lengthscale(self) -> tuple[float, ...] | None:  # type: ignore[override]
        """Those of all parts, one after the other; None to learn them."""
        scales = [length_scales(part) for part in self.parts]
        return None if None in scales else tuple(v for part in scales for v in part or ())

    @property
    def variance(self) -> float | None:  # type: ignore[override]
        """The sum, or the product, of those of the parts."""
        if self.lengthscale is None:
            return None
        variances = [float(part.variance) for part in self.parts if part.variance is not None]
        return math.prod(variances) if self._multiplies else math.fsum(variances)

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """With all length-scales and variances 1."""
        return _joined([part.correlation(first, second) for part in self.parts], self._multiplies)

    def diagonal(self, inputs: Tensor) -> Tensor:
        """With all length-scales and variances 1."""
        return _joined([part.diagonal(inputs) for part in self.parts], self._multiplies)

    def _sized(self, whole: bool) -> list[bool]:
        """Tell which parts have a size to learn, if the whole has one."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, repr=False)
class Sum(Joined):
    """k(s, s') = k_1(s, s') + k_2(s, s') + ...: a sum of functions, one of each kernel."""

    _multiplies = False

    def _sized(self, whole: bool) -> list[bool]:
        # The sizes of the parts count against one another, also where that of the whole does not.
        return [whole, *(True for _ in self.parts[1:])]

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


@dataclass(frozen=True, slots=True, repr=False)
class Product(Joined):
    """k(s, s') = k_1(s, s') k_2(s, s') ...: functions that vary as all kernels say."""

    _multiplies = True

    def _sized(self, whole: bool) -> list[bool]:
        # One factor has the size of all; length-scales of a linear one hold it already.
        linear = [_is_linear(part) for part in self.parts]
        carrier = linear.index(True) if any(linear) else 0
        return [whole and position == carrier for position in range(len(self.parts))]

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
        joined = isinstance(self.kernel, Joined)
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


def _joined(values: Sequence[Tensor], multiplies: bool) -> Tensor:
    """The product of tensors, from left to right, or their sum."""
    if not multiplies:
        return total(values)
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


# --- kernels --------------------------------------------------------------------------------------
# Kernels: linear, squared-exponential and Matérn, each with a length-scale per input.


class Radial(Protocol):
    """A kernel of the distance alone, with what bounds over regions need.

    As a function of q = |s - s'|^2 its correlation is convex and decreasing: it is a mixture of
    squared-exponential kernels.
    """

    @property
    def order(self) -> int:
        """Up to which order functions in its space have derivatives of finite norm."""

    def profile(self, squared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Correlation at squared scaled distances, and its first two derivatives there.

        Derivatives beyond those that `order` allows may be infinite at 0.
        """
        ...

    def remainder(self, radius: Tensor) -> Tensor:
        """How far a function of norm 1 can be from its Taylor polynomial of order `order`.

        The norm of f -> f(s) - polynomial(s) in the space of the correlation, at scaled distance
        `radius` from the centre; it grows with the radius.
        """
        ...

    def _at_distance(self, distance: Array) -> tuple[Array, Array]:
        """Correlations k(r) at scaled distances r, and k'(r) / r.

        For a Matérn kernel of smoothness 1/2 this is infinite at 0, where the slope counts as 0.
        """
        ...


@dataclass(frozen=True, slots=True, init=False)
class SquaredExponential(Kernel):
    """k(s, s') = variance * exp(-|(s - s') / lengthscale|^2 / 2)."""

    lengthscale: tuple[float, ...] | None
    variance: float | None

    _is_radial = True

    def __init__(self, lengthscale: ArrayLike | None = None, variance: float | None = None) -> None:
        _set_hyperparameters(self, lengthscale, variance)

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """Correlations of scaled inputs, (..., n, d) and (..., m, d) to (..., n, m)."""
        return torch.exp(-0.5 * _distance(first, second).square())

    @property
    def order(self) -> int:
        """2: Taylor polynomials of order 2 are used, although all orders exist."""
        return 2

    def profile(self, squared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Correlation at squared scaled distances, and its first two derivatives there."""
        value = torch.exp(-0.5 * squared)
        return value, -0.5 * value, 0.25 * value

    def remainder(self, radius: Tensor) -> Tensor:
        """How far a function of norm 1 can be from its Taylor polynomial of order 2.

        The variance of f(r) - f(0) - r f'(0) - r^2 f''(0) / 2 for a process of this kernel.
        """
        half = 0.5 * radius.square()
        exact = 2 + 3 * half**2 - torch.exp(-half) * (2 + 2 * half + 4 * half**2)
        return _root_of_least(exact, 2 + 3 * half**2, (10 / 3) * half**3)

    def _at_distance(self, distance: Array) -> tuple[Array, Array]:
        value = np.exp(-0.5 * distance * distance)
        return value, -value


@dataclass(frozen=True, slots=True, init=False)
class Matern(Kernel):
    """The Matérn kernel of smoothness 1/2, 3/2 or 5/2, with r = |(s - s') / lengthscale|.

    variance * exp(-r), (1 + a) exp(-a) with a = sqrt(3) r, and (1 + a + a^2 / 3) exp(-a) with
    a = sqrt(5) r.
    """

    smoothness: float
    lengthscale: tuple[float, ...] | None
    variance: float | None

    _is_radial = True

    def __init__(
        self,
        smoothness: float = 2.5,
        lengthscale: ArrayLike | None = None,
        variance: float | None = None,
    ) -> None:
        if not is_number(smoothness) or smoothness not in (0.5, 1.5, 2.5):
            raise ModelError(
                f"Matern smoothness {shortened(smoothness)} is not there: use 0.5, 1.5 or 2.5"
            )
        object.__setattr__(self, "smoothness", float(smoothness))
        _set_hyperparameters(self, lengthscale, variance)

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """Correlations of scaled inputs, (..., n, d) and (..., m, d) to (..., n, m)."""
        scaled = math.sqrt(2 * self.smoothness) * _distance(first, second)
        decay = torch.exp(-scaled)
        if self.smoothness == 0.5:
            return decay
        if self.smoothness == 1.5:
            return (1 + scaled) * decay
        return (1 + scaled + scaled * scaled / 3) * decay

    @property
    def order(self) -> int:
        """0, 1 or 2: the smoothness rounded down."""
        return int(self.smoothness)

    def profile(self, squared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Correlation at squared scaled distances, and its first two derivatives there."""
        scaled = (2 * self.smoothness * squared).sqrt()
        decay = torch.exp(-scaled)
        if self.smoothness == 0.5:
            slope = -decay / (2 * scaled)
            return decay, slope, -slope * (1 + 1 / scaled) / (2 * scaled)
        if self.smoothness == 1.5:
            return (1 + scaled) * decay, -1.5 * decay, 2.25 * decay / scaled
        value = (1 + scaled + scaled * scaled / 3) * decay
        return value, -(5 / 6) * (1 + scaled) * decay, (25 / 12) * decay

    def remainder(self, radius: Tensor) -> Tensor:
        """How far a function of norm 1 can be from its Taylor polynomial of order `order`.

        The variance of f(r) - f(0) - ... for a process of this kernel, as in
        `SquaredExponential.remainder`.
        """
        a = math.sqrt(2 * self.smoothness) * radius
        decay = torch.exp(-a)
        if self.smoothness == 0.5:
            return _root_of_least(2 - 2 * decay, 2 + 0 * a, 2 * a)
        if self.smoothness == 1.5:
            exact = 2 + a**2 - decay * (2 + 2 * a + 2 * a**2)
            return _root_of_least(exact, 2 + a**2, (4 / 3) * a**3)
        exact = 2 + a**4 / 4 - decay * (2 + 2 * a + a**2 + a**3 / 3 + a**4 / 3)
        return _root_of_least(exact, 2 + a**4 / 4, (4 / 15) * a**5)

    def _at_distance(self, distance: Array) -> tuple[Array, Array]:
        scaled = math.sqrt(2 * self.smoothness) * distance
        decay = np.exp(-scaled)
        if self.smoothness == 0.5:
            return decay, np.where(distance > 0, -decay / np.maximum(distance, 1e-300), 0.0)
        if self.smoothness == 1.5:
            return (1 + scaled) * decay, -3 * decay
        rate = (1 + scaled) * decay
        return rate + scaled * scaled * decay / 3, (-5 / 3) * rate


@dataclass(frozen=True, slots=True, init=False)
class Linear(Kernel):
    """k(s, s') = variance * sum_j s_j s'_j / lengthscale_j^2: linear functions."""

    lengthscale: tuple[float, ...] | None
    variance: float | None

    def __init__(self, lengthscale: ArrayLike | None = None, variance: float | None = None) -> None:
        _set_hyperparameters(self, lengthscale, variance)

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """Inner products of scaled inputs, (..., n, d) and (..., m, d) to (..., n, m)."""
        return first @ second.transpose(-1, -2)

    def diagonal(self, inputs: Tensor) -> Tensor:
        """Squared lengths: (..., n, d) to (..., n)."""
        return (inputs * inputs).sum(-1)


def _set_hyperparameters(
    kernel: object, lengthscale: ArrayLike | None, variance: float | None
) -> None:
    if (lengthscale is None) != (variance is None):
        raise ModelError(
            f"a {type(kernel).__name__} kernel needs both lengthscale and variance, or neither to "
            f"have them learned; got lengthscale={shortened(lengthscale)} and "
            f"variance={shortened(variance)}"
        )
    scales = None
    if lengthscale is not None and variance is not None:
        try:
            scales = tuple(float(v) for v in np.atleast_1d(real_numbers(lengthscale)))
            variance = float(real_numbers(variance).item())
            positive = len(scales) > 0 and all(
                np.isfinite(v) and v > 0 for v in (*scales, variance)
            )
        except (TypeError, ValueError):
            positive = False
        if not positive:
            raise ModelError(
                f"a {type(kernel).__name__} kernel has lengthscale={shortened(lengthscale)} and "
                f"variance={shortened(variance)}: they must be positive numbers, length-scales one "
                "or one per input"
            )
    object.__setattr__(kernel, "lengthscale", scales)
    object.__setattr__(kernel, "variance", variance)


def _root_of_least(exact: Tensor, size: Tensor, leading: Tensor) -> Tensor:
    """The root of a variance, from above.

    The closed form loses all its digits at small radii; its leading term, which is never smaller,
    takes over there.

    Args:
        exact: The closed form.
        size: Magnitude of the terms that it subtracts.
        leading: A bound that is exact in the limit.
    """
    rounding = 16 * torch.finfo(exact.dtype).eps * size
    return torch.minimum(exact.clamp_min(0) + rounding, leading).sqrt()


def _distance(first: Tensor, second: Tensor) -> Tensor:
    # From the differences themselves: with a matrix product, rounding would move neighbours so far
    # apart, far from the origin, that no Cholesky factor exists. Where two inputs coincide, the
    # derivative is 0.
    return torch.cdist(first, second, compute_mode="donot_use_mm_for_euclid_dist")


# --- composite ------------------------------------------------------------------------------------
# Kernels with several parts, each with its own inputs, length-scales and variance.


@dataclass(frozen=True, slots=True)
class Part:
    """One kernel in a sum or product.

    Attributes:
        kernel: The kernel.
        inputs: Which inputs of the black box it reads.
        has_variance: Whether it has a variance to learn. A linear kernel has none of its own, and
            in a product one size is enough.
    """

    kernel: Kernel
    inputs: tuple[int, ...]
    has_variance: bool


@dataclass(frozen=True, slots=True)
class Leaf:
    """The place of a part."""

    position: int

    def combine(self, values: Sequence[Tensor]) -> Tensor:
        """Text of the part."""
        return values[self.position]

    def carriers(self) -> list[int]:
        """The part itself."""
        return [self.position]

    def members_within(self, multiplies: bool) -> tuple[Branch | Leaf, ...]:
        """The part itself."""
        del multiplies
        return (self,)


@dataclass(frozen=True, slots=True)
class Branch:
    """How the parts below are put together."""

    multiplies: bool
    members: tuple[Branch | Leaf, ...]

    def combine(self, values: Sequence[Tensor]) -> Tensor:
        """The sum or product of what the parts say, by their position."""
        return _joined([member.combine(values) for member in self.members], self.multiplies)

    def carriers(self) -> list[int]:
        """Parts that, each divided by a number, divide the whole by this number."""
        members = self.members[:1] if self.multiplies else self.members
        return [position for member in members for position in member.carriers()]

    def members_within(self, multiplies: bool) -> tuple[Branch | Leaf, ...]:
        """Return its members where they join those of a sum or product around it, else itself."""
        return self.members if self.multiplies == multiplies else (self,)


@dataclass(frozen=True, slots=True)
class Composite(Kernel):
    """A kernel of several parts, or one of a user's own, for a known number of inputs.

    Its scaled inputs are those of each part, one after the other, and then one number per part: the
    root of the part's share of the variance. So they hold all that differs between outputs.

    Attributes:
        parts: The kernels that it is made of.
        branch: How they are put together: a sum, possibly of one member.
    """

    parts: tuple[Part, ...]
    branch: Branch

    @property
    def columns(self) -> list[int]:
        """The inputs that the parts read, one after the other."""
        return [i for part in self.parts for i in part.inputs]

    @property
    def is_sum(self) -> bool:
        """Whether it is a plain sum of its parts."""
        return len(self.branch.members) == len(self.parts)

    @property
    def lengthscale(self) -> tuple[float, ...] | None:  # type: ignore[override]
        """One per column; None to learn them."""
        scales: list[float] = []
        for part in self.parts:
            given = length_scales(part.kernel)
            if given is None:
                return None
            scales += given if len(given) == len(part.inputs) else given * len(part.inputs)
        return tuple(scales)

    def sizes(self, variances: Tensor) -> tuple[Tensor, Tensor]:
        """The whole variance (k,) and the shares (k, parts) in it, of variances (k, parts)."""
        whole = self.branch.combine(list(variances.unbind(-1)))
        shares = variances.clone()
        carriers = self.branch.carriers()
        shares[:, carriers] = shares[:, carriers] / whole.unsqueeze(-1)
        return whole, shares

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """Correlations of scaled inputs, (..., n, D) and (..., m, D) to (..., n, m)."""
        found = [
            (a[1] @ b[1].transpose(-1, -2)) * part.kernel.correlation(a[0], b[0])
            for part, a, b in zip(self.parts, self.split(first), self.split(second), strict=True)
        ]
        return self.branch.combine(found)

    def diagonal(self, inputs: Tensor) -> Tensor:
        """Correlation of each scaled input with itself, (..., n, D) to (..., n)."""
        found = [
            root.squeeze(-1).square() * part.kernel.diagonal(own)
            for part, (own, root) in zip(self.parts, self.split(inputs), strict=True)
        ]
        return self.branch.combine(found)

    def split(self, scaled: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The scaled inputs (..., d_p) of each part, and the root of its share, (..., 1)."""
        *own, roots = scaled.split([*(len(p.inputs) for p in self.parts), len(self.parts)], -1)
        return list(zip(own, roots.split(1, -1), strict=True))

    def _scale(self, states: Tensor, lengthscale: Tensor, shares: Tensor | None) -> Tensor:
        """Scaled inputs (k, n, D) of states (n, d), from (k, columns) and (k, parts)."""
        assert shares is not None
        own = states[..., self.columns] / lengthscale.unsqueeze(1)
        roots = shares.sqrt().unsqueeze(1).expand(-1, own.shape[1], -1)
        return torch.cat([own, roots], -1)

    def __repr__(self) -> str:
        return " and ".join(repr(part.kernel) for part in self.parts)


def is_plain(kernel: object) -> bool:
    """Whether a kernel is one of the given ones by itself."""
    return isinstance(kernel, SquaredExponential | Matern | Linear)


def base_kernels(kernel: Kernel) -> list[Kernel]:
    """The kernels that a sum or product is made of, those of a user's own among them."""
    if isinstance(kernel, Joined):
        return [base for part in kernel.parts for base in base_kernels(part)]
    return base_kernels(kernel.kernel) if isinstance(kernel, Restricted) else [kernel]


def own_kernels(kernel: Kernel) -> list[Kernel]:
    """Those that are a user's own."""
    return [base for base in base_kernels(kernel) if not is_plain(base)]


def grows(kernel: Kernel) -> bool:
    """Whether k(s, s) grows with the distance of s from 0: it has a linear kernel."""
    return any(isinstance(base, Linear) for base in base_kernels(kernel))


def compiled(kernel: Kernel, inputs: int) -> Kernel:
    """A kernel for a number of inputs: a given one as it is, any other as a `Composite`."""
    return kernel if is_plain(kernel) else as_composite(kernel, inputs)


def as_composite(kernel: Kernel, inputs: int) -> Composite:
    """A kernel as one of parts, possibly of a single one."""
    if isinstance(kernel, Composite):
        return kernel
    parts: list[Part] = []
    found = _compile(kernel, tuple(range(inputs)), True, parts)
    return Composite(tuple(parts), Branch(False, found.members_within(False)))


def _compile(
    kernel: Kernel, inputs: tuple[int, ...], sized: bool, parts: list[Part]
) -> Branch | Leaf:
    if isinstance(kernel, Restricted):
        return _compile(kernel.kernel, tuple(inputs[i] for i in kernel.inputs), sized, parts)
    if not isinstance(kernel, Joined):
        parts.append(Part(kernel, inputs, sized and not isinstance(kernel, Linear)))
        return Leaf(len(parts) - 1)
    multiplies = kernel._multiplies
    members: list[Branch | Leaf] = []
    for part, size in zip(kernel.parts, kernel._sized(sized), strict=True):
        members += _compile(part, inputs, size, parts).members_within(multiplies)
    return Branch(multiplies, tuple(members))


def _is_linear(kernel: Kernel) -> bool:
    return isinstance(kernel.kernel if isinstance(kernel, Restricted) else kernel, Linear)


# --- kernel checks --------------------------------------------------------------------------------
# Checks that something can serve as the kernel of a black box, before it is used.

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
    if isinstance(kernel, Joined):
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


# --- hyperparameters ------------------------------------------------------------------------------
# The hyper-parameters of a Gaussian process, and prior covariances.


def logarithms(states: Tensor, flags: Tensor) -> Tensor:
    """States (..., d) with the logarithm of those inputs that are flagged, (d,)."""
    positive = torch.where(flags, states, 1.0).clamp_min(1e-300)
    return torch.where(flags, positive.log(), states)


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """All parameters of a Gaussian process, for k outputs and d inputs.

    Attributes:
        lengthscale: (k, d), in the inputs' units, or of their logarithms if these are learned; of
            a composite kernel, one per column.
        variance: (k,), kernel variance in squared output units.
        noise: (k,), noise variance lambda in squared output units.
        mean: (k,), constant prior mean.
        center: (d,), the point that is taken as the origin of inputs, or of their logarithms.
        remarks: What was concluded while learning them, in a few words each.
        shares: (k, parts), how the parts of a composite kernel share the variance; else None.
        logarithmic: (d,), which inputs count by their logarithm; None for none of them.
    """

    lengthscale: Tensor
    variance: Tensor
    noise: Tensor
    mean: Tensor
    center: Tensor
    remarks: tuple[str, ...] = ()
    shares: Tensor | None = None
    logarithmic: Tensor | None = None

    def on(self, device: torch.device) -> Hyperparameters:
        """The same on a device."""
        moved = copy(self)
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Tensor):
                object.__setattr__(moved, f.name, value.to(device))
        return moved

    @property
    def are_alike(self) -> bool:
        """Whether all outputs have the same kernel and the same noise."""
        parts = [self.lengthscale, self.variance, self.noise, self.shares]
        return all(bool((part == part[:1]).all()) for part in parts if part is not None)

    def from_origin(self, states: Tensor) -> Tensor:
        """Inputs, or their logarithms, from the point that is taken as the origin, (batch, d)."""
        if self.logarithmic is not None:
            states = logarithms(states, self.logarithmic)
        return states - self.center

    def slopes_from_origin(self, states: Array) -> Array | None:
        """Return the derivatives of `from_origin` by each input, (batch, d); None if all are 1."""
        if self.logarithmic is None:
            return None
        return np.where(self.logarithmic.numpy(), 1 / states, 1.0)

    def of_logarithms(self, inputs: Tensor) -> tuple[Hyperparameters, Tensor]:
        """Return the same as functions of the logarithms of inputs, and inputs as these."""
        if self.logarithmic is None:
            return self, inputs
        return replace(self, logarithmic=None), logarithms(inputs, self.logarithmic)

    def scale(self, kernel: Kernel, states: Tensor) -> Tensor:
        """Inputs in length-scales from the origin of each output, (batch, d) to (k, batch, d).

        For a composite kernel, what it takes as scaled inputs.
        """
        return kernel._scale(self.from_origin(states), self.lengthscale, self.shares)

    def covariance(self, kernel: Kernel, first: Tensor, second: Tensor) -> Tensor:
        """Prior covariances of scaled inputs, (k, n, d) and (k, m, d) to (k, n, m).

        With inputs of the first outputs only, those of these outputs.
        """
        return self.variance[: len(first), None, None] * kernel.correlation(first, second)

    def joint_covariance(self, kernel: Kernel, scaled: Tensor, known: Tensor, q: int) -> Tensor:
        """Posterior covariances (batch, k, q, q) of q states each, (k, batch * q, d).

        Inner products of the columns of `known`, (k, n, batch * q), are what observations explain.
        """
        k, total, d = scaled.shape
        known = known.reshape(k, known.shape[1], total // q, q).permute(2, 0, 3, 1)
        pairs = scaled.reshape(k * (total // q), q, d)
        correlation = kernel.correlation(pairs, pairs).reshape(k, total // q, q, q)
        prior = (self.variance[:, None, None, None] * correlation).transpose(0, 1)
        return prior - known @ known.transpose(-1, -2)
