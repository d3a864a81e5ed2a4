"""The known operations: one `Atom` each, with all that the library knows about it.

Values carry one leading batch dimension, which is 1 for constants. Layout (indexing, slicing,
reshaping, transposing, stacking) is two atoms only: `join` lays arguments side by side and `take`
picks entries by their flat position, so that NumPy itself works out what an index means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from grisaille.language.enclosures import nary, unary
from grisaille.language.enclosures.interval import Rule

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """One known operation.

    Attributes:
        name: Its name in messages; NumPy's name where NumPy has one.
        evaluate: Batched evaluation, `(arguments..., *parameters) -> value`.
        shape: Shape of the value, `(argument shapes..., *parameters) -> shape`, batch left out.
        infix: The operator sign when the atom is written between its arguments.
        continuous: False if the value can jump, so that gradients are not enough for a search.
        enclose: Rigorous bounds over regions, `(intervals of the arguments...) -> Enclosure`. None
            if unknown, and for reductions and layout, which `lowered` and exact sums handle.
    """

    name: str
    evaluate: Callable[..., Tensor]
    shape: Callable[..., Shape]
    infix: str = ""
    continuous: bool = True
    enclose: Rule | None = None


def align(*values: Tensor) -> tuple[Tensor, ...]:
    """Give all values the same rank, new axes after the batch, as NumPy broadcasting would."""
    ranks = [v.ndim for v in values]
    rank = max(ranks)
    if min(ranks) == rank:  # nearly always, and a reshape costs as much as a sum
        return values
    return tuple(v.reshape(v.shape[:1] + (1,) * (rank - v.ndim) + v.shape[1:]) for v in values)


def elementwise(
    name: str,
    function: Callable[..., Tensor],
    enclose: Rule,
    infix: str = "",
    continuous: bool = True,
) -> Atom:
    """An atom that works entry by entry and broadcasts."""

    def evaluate(*arguments: Tensor) -> Tensor:
        return function(*align(*arguments))

    return Atom(name, evaluate, np.broadcast_shapes, infix, continuous, enclose)


def reduction(name: str, function: Callable[[Tensor, list[int]], Tensor]) -> Atom:
    """An atom that reduces axes."""

    def evaluate(value: Tensor, axes: tuple[int, ...]) -> Tensor:
        return function(value, [axis + 1 for axis in axes]) if axes else value

    def shape(argument: Shape, axes: tuple[int, ...]) -> Shape:
        return tuple(size for axis, size in enumerate(argument) if axis not in axes)

    return Atom(name, evaluate, shape)


def _product(value: Tensor, axes: list[int]) -> Tensor:
    for axis in sorted(axes, reverse=True):
        value = torch.prod(value, axis)
    return value


def _matmul(left: Tensor, right: Tensor) -> Tensor:
    vector_left, vector_right = left.ndim == 2, right.ndim == 2
    left = left.unsqueeze(1) if vector_left else left
    right = right.unsqueeze(2) if vector_right else right
    value = torch.matmul(*align(left, right))
    value = value.squeeze(-1) if vector_right else value
    if vector_left:
        value = value.squeeze(-1 if vector_right else -2)
    return value


def _flat(value: Tensor) -> Tensor:
    """One row per point; the row's length is spelled out, because -1 fails on empty values."""
    return value.reshape(value.shape[0], math.prod(value.shape[1:]))


def _take(value: Tensor, positions: tuple[int, ...], shape: Shape) -> Tensor:
    flat = _flat(value)
    return flat[:, _index(positions)].reshape(flat.shape[:1] + shape)


@lru_cache(maxsize=4096)
def _index(positions: tuple[int, ...]) -> Tensor:
    return torch.tensor(positions, dtype=torch.long)


def _join(*values: Tensor) -> Tensor:
    batch = max(v.shape[0] for v in values)
    return torch.cat([_flat(v).expand(batch, -1) for v in values], dim=1)


def _where(condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    # If the condition is NaN, so is the value: otherwise a constraint could be met by leaving the
    # domain of a function.
    return torch.where(condition.isnan(), condition, torch.where(condition <= 0, yes, no))


add = elementwise("add", torch.add, nary.add, "+")
subtract = elementwise("subtract", torch.sub, nary.subtract, "-")
multiply = elementwise("multiply", torch.mul, nary.multiply, "*")
divide = elementwise("divide", torch.div, nary.divide, "/")
power = elementwise("power", torch.pow, nary.power, "**")
minimum = elementwise("minimum", torch.minimum, nary.minimum)
maximum = elementwise("maximum", torch.maximum, nary.maximum)
arctan2 = elementwise("arctan2", torch.atan2, nary.arctan2, continuous=False)
where = elementwise("where", _where, nary.where, continuous=False)

negative = elementwise("negative", torch.neg, unary.negative)
absolute = elementwise("abs", torch.abs, unary.absolute)
reciprocal = elementwise("reciprocal", torch.reciprocal, unary.reciprocal)
exp = elementwise("exp", torch.exp, unary.exp)
expm1 = elementwise("expm1", torch.expm1, unary.expm1)
log = elementwise("log", torch.log, unary.log)
log1p = elementwise("log1p", torch.log1p, unary.log1p)
log2 = elementwise("log2", torch.log2, unary.log2)
log10 = elementwise("log10", torch.log10, unary.log10)
sqrt = elementwise("sqrt", torch.sqrt, unary.sqrt)
square = elementwise("square", torch.square, unary.square)
sin = elementwise("sin", torch.sin, unary.sin)
cos = elementwise("cos", torch.cos, unary.cos)
tan = elementwise("tan", torch.tan, unary.tan)
arcsin = elementwise("arcsin", torch.asin, unary.arcsin)
arccos = elementwise("arccos", torch.acos, unary.arccos)
arctan = elementwise("arctan", torch.atan, unary.arctan)
sinh = elementwise("sinh", torch.sinh, unary.sinh)
cosh = elementwise("cosh", torch.cosh, unary.cosh)
tanh = elementwise("tanh", torch.tanh, unary.tanh)
arcsinh = elementwise("arcsinh", torch.asinh, unary.arcsinh)
arccosh = elementwise("arccosh", torch.acosh, unary.arccosh)
arctanh = elementwise("arctanh", torch.atanh, unary.arctanh)
sign = elementwise("sign", torch.sign, unary.sign, continuous=False)
floor = elementwise("floor", torch.floor, unary.floor, continuous=False)
ceil = elementwise("ceil", torch.ceil, unary.ceil, continuous=False)

total = reduction("sum", lambda value, axes: torch.sum(value, axes))
product = reduction("prod", _product)
largest = reduction("max", lambda value, axes: torch.amax(value, axes))
smallest = reduction("min", lambda value, axes: torch.amin(value, axes))
norm = reduction("norm", lambda value, axes: torch.linalg.vector_norm(value, dim=axes))

matmul = Atom("matmul", _matmul, lambda a, b: (np.zeros(a) @ np.zeros(b)).shape, "@")
take = Atom("take", _take, lambda _argument, _positions, shape: shape)
join = Atom("join", _join, lambda *shapes: (sum(int(np.prod(s)) for s in shapes),))
