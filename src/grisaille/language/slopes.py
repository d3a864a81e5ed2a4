"""Values with their slopes, carried forward through known operations in NumPy.

A search needs the slopes of an objective and of all constraints at a few points. Carried forward
with the values, they come in one pass of small NumPy operations; automatic differentiation takes
several times as long on arrays this small. Operations without a rule are left to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grisaille.array_types import Array


@dataclass(frozen=True, slots=True)
class Sloped:
    """A value and its slopes by D coordinates.

    Attributes:
        value: (batch, *shape), or (1, *shape) if it is the same at all points.
        slopes: (batch, D, *shape); None if they are all 0.
    """

    value: Array
    slopes: Array | None = None

    def picked(self, columns: slice, shape: tuple[int, ...]) -> Sloped:
        """Return some columns of flat values in a shape."""
        slopes = None if self.slopes is None else self.slopes[:, :, columns]
        return Sloped(
            self.value[:, columns].reshape(-1, *shape),
            None if slopes is None else slopes.reshape(*slopes.shape[:2], *shape),
        )


SlopeRule = Callable[..., Sloped]
"""`(arguments with slopes..., *parameters) -> value with slopes`."""


def unknown(*_arguments: Any) -> Sloped:
    """Refuse an operation without a rule; `Program.has_slopes` tells before."""
    raise AssertionError("this operation has no rule for slopes")


def _raised(array: Array, axes: int, rank: int) -> Array:
    """An array with new axes after the first ones, so that the others are `rank`."""
    shape = array.shape
    return array.reshape(shape[:axes] + (1,) * (rank - len(shape) + axes) + shape[axes:])


def _aligned(*sides: Sloped) -> tuple[Sloped, ...]:
    """The same with values of one rank, new axes after the batch, as in `operations.align`."""
    ranks = [side.value.ndim - 1 for side in sides]
    rank = max(ranks)
    if min(ranks) == rank:
        return sides
    return tuple(
        Sloped(_raised(s.value, 1, rank), None if s.slopes is None else _raised(s.slopes, 2, rank))
        for s in sides
    )


def _sum_of(parts: list[Array]) -> Array | None:
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def elementwise(
    function: Callable[..., Array], *partials: Callable[..., Array | float]
) -> SlopeRule:
    """Return the rule of an operation that works entry by entry, from its partial derivatives.

    Each is a function of the arguments and of the value.
    """

    def rule(*arguments: Sloped) -> Sloped:
        sides = _aligned(*arguments)
        given = [side.value for side in sides]
        value = function(*given)
        parts = []
        for side, partial in zip(sides, partials, strict=True):
            if side.slopes is not None:
                factor = partial(*given, value)
                factor = factor[:, None] if isinstance(factor, np.ndarray) else factor
                parts.append(factor * side.slopes)
        slopes = _sum_of(parts)
        if slopes is not None and slopes.shape[2:] != value.shape[1:]:
            slopes = np.broadcast_to(slopes, slopes.shape[:2] + value.shape[1:])
        return Sloped(value, slopes)

    return rule


def by_base(base: Array, exponent: Array, _value: Array) -> Array:
    """Differentiate a power by its base."""
    return np.where(exponent == 0, 0.0, exponent * base ** (exponent - 1))


def by_exponent(base: Array, exponent: Array, value: Array) -> Array:
    """Differentiate a power by its exponent."""
    return np.where((base == 0) & (exponent >= 0), 0.0, value * np.log(base))


def _larger(one: Array, other: Array, _value: Array) -> Array:
    """Return 1 where `one` is larger, 1/2 where both are equal."""
    return np.asarray((one > other) + 0.5 * (one == other))


def _smaller(one: Array, other: Array, _value: Array) -> Array:
    return np.asarray((one < other) + 0.5 * (one == other))


LARGER = (_larger, lambda a, b, v: _larger(b, a, v))
SMALLER = (_smaller, lambda a, b, v: _smaller(b, a, v))


def where(condition: Sloped, yes: Sloped, no: Sloped) -> Sloped:
    """Choose the value and the slopes of one of two sides."""
    test, first, second = _aligned(condition, yes, no)
    taken, unknown = test.value <= 0, np.isnan(test.value)
    value = np.where(unknown, test.value, np.where(taken, first.value, second.value))
    parts = []
    for side, mask in ((first, taken & ~unknown), (second, ~taken & ~unknown)):
        if side.slopes is not None:
            parts.append(np.where(mask[:, None], side.slopes, 0.0))
    slopes = _sum_of(parts)
    if slopes is not None and slopes.shape[2:] != value.shape[1:]:
        slopes = np.broadcast_to(slopes, slopes.shape[:2] + value.shape[1:])
    return Sloped(value, slopes)


def total(argument: Sloped, axes: tuple[int, ...]) -> Sloped:
    """Add up along axes."""
    if not axes:
        return argument
    slopes = argument.slopes
    return Sloped(
        argument.value.sum(tuple(a + 1 for a in axes)),
        None if slopes is None else slopes.sum(tuple(a + 2 for a in axes)),
    )


def extreme(reduce: Callable[..., Array]) -> SlopeRule:
    """Return the rule of the largest or smallest entry; equal ones share the slope."""

    def rule(argument: Sloped, axes: tuple[int, ...]) -> Sloped:
        if not axes:
            return argument
        along = tuple(a + 1 for a in axes)
        kept = reduce(argument.value, along, keepdims=True)
        value = kept.reshape([n for i, n in enumerate(argument.value.shape) if i not in along])
        if argument.slopes is None:
            return Sloped(value)
        share = (argument.value == kept) / (argument.value == kept).sum(along, keepdims=True)
        return Sloped(value, (share[:, None] * argument.slopes).sum(tuple(a + 2 for a in axes)))

    return rule


def product(argument: Sloped, axes: tuple[int, ...]) -> Sloped:
    """Multiply along axes."""
    for axis in sorted((a + 1 for a in axes), reverse=True):
        value, slopes = argument.value, argument.slopes
        if slopes is not None:
            # The product of all others, also where one of them is 0.
            ones = np.ones_like(np.take(value, [0], axis))
            inner = [slice(None)] * value.ndim
            inner[axis] = slice(None, -1)
            before = np.cumprod(np.concatenate([ones, value[tuple(inner)]], axis), axis)
            turned = np.flip(value, axis)
            after = np.cumprod(np.concatenate([ones, turned[tuple(inner)]], axis), axis)
            others = before * np.flip(after, axis)
            slopes = (others[:, None] * slopes).sum(axis + 1)
        argument = Sloped(value.prod(axis), slopes)
    return argument


def norm(argument: Sloped, axes: tuple[int, ...]) -> Sloped:
    """Return the root of the sum of squares along axes."""
    along = tuple(a + 1 for a in axes)
    kept = np.sqrt((argument.value * argument.value).sum(along, keepdims=True))
    value = kept.reshape([n for i, n in enumerate(argument.value.shape) if i not in along])
    if argument.slopes is None:
        return Sloped(value)
    share = np.where(kept > 0, argument.value / np.where(kept > 0, kept, 1.0), 0.0)
    return Sloped(value, (share[:, None] * argument.slopes).sum(tuple(a + 2 for a in axes)))


def matmul(left: Sloped, right: Sloped) -> Sloped:
    """Multiply matrices or vectors."""
    vectors = left.value.ndim == 2, right.value.ndim == 2
    if vectors[0]:
        left = _with_axis(left, -2)
    if vectors[1]:
        right = _with_axis(right, -1)
    left, right = _aligned(left, right)
    value = left.value @ right.value
    parts = []
    if left.slopes is not None:
        parts.append(left.slopes @ right.value[:, None])
    if right.slopes is not None:
        parts.append(left.value[:, None] @ right.slopes)
    slopes = _sum_of(parts)
    dropped = tuple(axis for axis, vector in zip((-2, -1), vectors, strict=True) if vector)
    return Sloped(
        np.squeeze(value, dropped), None if slopes is None else np.squeeze(slopes, dropped)
    )


def _with_axis(side: Sloped, axis: int) -> Sloped:
    slopes = None if side.slopes is None else np.expand_dims(side.slopes, axis)
    return Sloped(np.expand_dims(side.value, axis), slopes)


def take(argument: Sloped, positions: tuple[int, ...], shape: tuple[int, ...]) -> Sloped:
    """Pick entries by their flat positions."""
    value, slopes = argument.value, argument.slopes
    size = math.prod(value.shape[1:])
    taken = value.reshape(len(value), size)[:, positions].reshape(len(value), *shape)
    if slopes is None:
        return Sloped(taken)
    ends = slopes.shape[:2]
    return Sloped(taken, slopes.reshape(*ends, size)[:, :, positions].reshape(*ends, *shape))


def join(*arguments: Sloped) -> Sloped:
    """Lay values side by side, flat."""
    batch = max(len(a.value) for a in arguments)
    sizes = [math.prod(a.value.shape[1:]) for a in arguments]
    value, place = np.empty((batch, sum(sizes))), 0
    known = [a.slopes for a in arguments if a.slopes is not None]
    slopes = None
    if known:
        count = max(len(s) for s in known)
        slopes = np.zeros((count, known[0].shape[1], sum(sizes)))
    for argument, size in zip(arguments, sizes, strict=True):
        part = slice(place, place + size)
        value[:, part] = argument.value.reshape(len(argument.value), size)
        if slopes is not None and argument.slopes is not None:
            slopes[:, :, part] = argument.slopes.reshape(*argument.slopes.shape[:2], size)
        place += size
    return Sloped(value, slopes)
