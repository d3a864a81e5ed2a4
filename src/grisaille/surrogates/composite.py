"""Kernels with several parts, each with its own inputs, length-scales and variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grisaille.surrogates.kernel import (
    Kernel,
    Product,
    Restricted,
    Sum,
    length_scales,
    product,
    total,
)
from grisaille.surrogates.kernels import Linear, Matern, SquaredExponential


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
class Branch:
    """How the parts below are put together."""

    multiplies: bool
    members: tuple[Branch | int, ...]

    def combine(self, values: Sequence[Tensor]) -> Tensor:
        """The sum or product of what the parts say, by their position."""
        found = [m.combine(values) if isinstance(m, Branch) else values[m] for m in self.members]
        return product(found) if self.multiplies else total(found)

    def carriers(self) -> list[int]:
        """Parts that, each divided by a number, divide the whole by this number."""
        members = self.members[:1] if self.multiplies else self.members
        return [p for m in members for p in (m.carriers() if isinstance(m, Branch) else [m])]


@dataclass(frozen=True, slots=True)
class Composite(Kernel):
    """A kernel of several parts, or one of a user's own, for a known number of inputs.

    Its scaled inputs are those of each part, one after the other, and then one number per part: the
    root of the part's share of the variance. So they hold all that differs between outputs.

    Attributes:
        parts: The kernels that it is made of.
        branch: How they are put together.
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
        return not self.branch.multiplies and all(isinstance(m, int) for m in self.branch.members)

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

    def scale(self, states: Tensor, lengthscale: Tensor, shares: Tensor) -> Tensor:
        """Scaled inputs (k, n, D) of states (n, d), from (k, columns) and (k, parts)."""
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
    if isinstance(kernel, Sum | Product):
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
    if is_plain(kernel) or isinstance(kernel, Composite):
        return kernel
    parts: list[Part] = []
    found = _compile(kernel, tuple(range(inputs)), True, parts)
    branch = found if isinstance(found, Branch) else Branch(False, (found,))
    return Composite(tuple(parts), branch)


def _compile(
    kernel: Kernel, inputs: tuple[int, ...], sized: bool, parts: list[Part]
) -> Branch | int:
    if isinstance(kernel, Restricted):
        return _compile(kernel.kernel, tuple(inputs[i] for i in kernel.inputs), sized, parts)
    if isinstance(kernel, Sum):
        # The sizes of the parts count against one another, also where that of the whole does not.
        sizes = [sized, *(True for _ in kernel.parts[1:])]
    elif isinstance(kernel, Product):
        # One factor has the size of all; length-scales of a linear one hold it already.
        linear = [_is_linear(part) for part in kernel.parts]
        carrier = linear.index(True) if any(linear) else 0
        sizes = [sized and position == carrier for position in range(len(kernel.parts))]
    else:
        parts.append(Part(kernel, inputs, sized and not isinstance(kernel, Linear)))
        return len(parts) - 1
    multiplies = isinstance(kernel, Product)
    members: list[Branch | int] = []
    for part, size in zip(kernel.parts, sizes, strict=True):
        member = _compile(part, inputs, size, parts)
        # A restricted sum within a sum is no branch of its own.
        same = isinstance(member, Branch) and member.multiplies == multiplies
        members += member.members if same and isinstance(member, Branch) else [member]
    return Branch(multiplies, tuple(members))


def _is_linear(kernel: Kernel) -> bool:
    return isinstance(kernel.kernel if isinstance(kernel, Restricted) else kernel, Linear)
