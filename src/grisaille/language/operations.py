"""The known operations: one row each, with all that the library knows about it.

Values carry one leading batch dimension, which is 1 for constants. Layout (indexing, slicing,
reshaping, transposing, stacking) is two atoms only: `join` lays arguments side by side and `take`
picks entries by their flat position, so that NumPy itself works out what an index means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.language import formula_text as texts
from grisaille.language import slopes
from grisaille.language import unit_rules as units
from grisaille.language.enclosures import known
from grisaille.language.enclosures.interval import Rule
from grisaille.language.formula_text import TextRule
from grisaille.language.slopes import SlopeRule
from grisaille.language.unit_rules import UnitRule

Shape = tuple[int, ...]


Linearity = Literal["", "jointly", "separately", "in the first"]
"""In which arguments a value is linear: in none, in all together, in each, or in the first."""


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """One known operation.

    A column that an operation leaves empty is listed in `gaps`; a function of the user's own has
    no more than the first three.

    Attributes:
        name: Its name in messages; NumPy's name where NumPy has one.
        evaluate: Batched evaluation, `(arguments..., *parameters) -> value`.
        shape: Shape of the value, `(argument shapes..., *parameters) -> shape`, batch left out.
        numpy: NumPy's functions that record it.
        slope: The value with its slopes.
        enclose: Rigorous bounds over regions, `(intervals of the arguments...) -> Enclosure`.
        unit: The unit of the value.
        text: The formula.
        linear: In which arguments the value is linear.
        pairwise: The operation on two entries that a reduction repeats.
        is_elementwise: True if it works entry by entry and broadcasts.
        is_layout: True if its entries are entries of its arguments.
        continuous: False if the value can jump, so that gradients are not enough for a search.
        gaps: Why columns are empty, by their names.
    """

    name: str
    evaluate: Callable[..., Tensor]
    shape: Callable[..., Shape]
    numpy: tuple[Any, ...] = ()
    slope: SlopeRule = slopes.unknown
    enclose: Rule | None = None
    unit: UnitRule = units.UNKNOWN
    text: TextRule = texts.as_call
    linear: Linearity = ""
    pairwise: Atom | None = None
    is_elementwise: bool = False
    is_layout: bool = False
    continuous: bool = True
    gaps: Mapping[str, str] = field(default_factory=dict)


def align(*values: Tensor) -> tuple[Tensor, ...]:
    """Give all values the same rank, new axes after the batch, as NumPy broadcasting would."""
    ranks = [v.ndim for v in values]
    rank = max(ranks)
    if min(ranks) == rank:  # nearly always, and a reshape costs as much as a sum
        return values
    return tuple(v.reshape(v.shape[:1] + (1,) * (rank - v.ndim) + v.shape[1:]) for v in values)


Partial = Callable[..., Array | float]


def elementwise(
    name: str,
    function: Callable[..., Tensor],
    recorded: Any,
    slope: Sequence[Partial] | SlopeRule | None,
    enclose: Rule,
    unit: UnitRule,
    text: TextRule = texts.as_call,
    **more: Any,
) -> Atom:
    """Make an atom that works entry by entry and broadcasts.

    Args:
        name: Its name.
        function: The value, of tensors.
        recorded: NumPy's function, or several, of which the first returns the value of arrays.
        slope: Partial derivatives, functions of the arguments and the value; or a rule; or none.
        enclose: Its enclosure.
        unit: Its unit.
        text: Its formula.
        more: Further columns.
    """
    numpy = recorded if type(recorded) is tuple else (recorded,)
    rule = slopes.unknown if slope is None else slope
    if not callable(rule):
        rule = slopes.elementwise(numpy[0], *rule)

    def evaluate(*arguments: Tensor) -> Tensor:
        return function(*align(*arguments))

    return Atom(
        name,
        evaluate,
        np.broadcast_shapes,
        numpy,
        rule,
        enclose,
        unit,
        text,
        is_elementwise=True,
        **more,
    )


def reduction(
    name: str,
    function: Callable[[Tensor, list[int]], Tensor],
    numpy: tuple[Any, ...],
    slope: SlopeRule,
    unit: UnitRule,
    **more: Any,
) -> Atom:
    """Make an atom that reduces axes."""

    def evaluate(value: Tensor, axes: tuple[int, ...]) -> Tensor:
        return function(value, [axis + 1 for axis in axes]) if axes else value

    def shape(argument: Shape, axes: tuple[int, ...]) -> Shape:
        return tuple(size for axis, size in enumerate(argument) if axis not in axes)

    return Atom(name, evaluate, shape, numpy, slope, None, unit, **more)


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


# --- the table ------------------------------------------------------------------------------------
_BY_TORCH = {"slope": "automatic differentiation finds the slopes"}
_LOWERED = {"enclose": "proofs write it in other operations (`lowered`)"}
_EXACT = {"enclose": "`Propagation` bounds sums and layouts without planes"}
_NO_UNIT = {"unit": "a sign has no unit that a rule could tell"}

# fmt: off

add = elementwise(
    "add", torch.add, np.add, (lambda a, b, v: 1.0, lambda a, b, v: 1.0),
    known.add, units.ADDED, texts.infix("+"),
    linear="jointly",
)
subtract = elementwise(
    "subtract", torch.sub, np.subtract, (lambda a, b, v: 1.0, lambda a, b, v: -1.0),
    known.subtract, units.SUBTRACTED, texts.infix("-"),
    linear="jointly",
)
multiply = elementwise(
    "multiply", torch.mul, np.multiply, (lambda a, b, v: b, lambda a, b, v: a),
    known.multiply, units.PRODUCT, texts.infix("*"),
    linear="separately",
)
divide = elementwise(
    "divide", torch.div, np.divide, (lambda a, b, v: 1 / b, lambda a, b, v: -v / b),
    known.divide, units.QUOTIENT, texts.infix("/"),
    linear="in the first",
)
power = elementwise(
    "power", torch.pow, (np.power, np.float_power), (slopes.by_base, slopes.by_exponent),
    known.power, units.RAISED, texts.infix("**"),
)
minimum = elementwise(
    "minimum", torch.minimum, (np.minimum, np.fmin), slopes.SMALLER,
    known.minimum, units.ALIKE,
)
maximum = elementwise(
    "maximum", torch.maximum, (np.maximum, np.fmax), slopes.LARGER,
    known.maximum, units.ALIKE,
)
arctan2 = elementwise(
    "arctan2", torch.atan2, np.arctan2, None, known.arctan2, units.ANGLE,
    continuous=False,
    gaps=_BY_TORCH,
)
where = elementwise(
    "where", _where, (), slopes.where, known.where, units.CHOSEN, texts.where,
    continuous=False,
    gaps={"numpy": "np.where takes a comparison, which `expression` takes apart"},
)
negative = elementwise(
    "negative", torch.neg, np.negative, (lambda a, v: -1.0,), known.negative, units.SAME,
    texts.negative,
    linear="jointly",
)


def _unary(
    name: str,
    function: Callable[[Tensor], Tensor],
    numpy: Any,
    slope: Partial | None,
    enclose: Rule,
    unit: UnitRule,
    **more: Any,
) -> Atom:
    rule = None if slope is None else (slope,)
    return elementwise(name, function, numpy, rule, enclose, unit, **more)


absolute = _unary(
    "abs", torch.abs, (np.abs, np.fabs), lambda a, v: np.sign(a), known.absolute, units.SAME,
)
reciprocal = _unary(
    "reciprocal", torch.reciprocal, np.reciprocal, lambda a, v: -v * v,
    known.reciprocal, units.RECIPROCAL,
)
exp = _unary("exp", torch.exp, np.exp, lambda a, v: v, known.exp, units.PLAIN)
expm1 = _unary("expm1", torch.expm1, np.expm1, lambda a, v: v + 1, known.expm1, units.PLAIN)
log = _unary("log", torch.log, np.log, lambda a, v: 1 / a, known.log, units.PLAIN)
log1p = _unary("log1p", torch.log1p, np.log1p, lambda a, v: 1 / (1 + a), known.log1p, units.PLAIN)
log2 = _unary(
    "log2", torch.log2, np.log2, lambda a, v: 1 / (a * math.log(2)), known.log2, units.PLAIN,
)
log10 = _unary(
    "log10", torch.log10, np.log10, lambda a, v: 1 / (a * math.log(10)),
    known.log10, units.PLAIN,
)
sqrt = _unary("sqrt", torch.sqrt, np.sqrt, lambda a, v: 0.5 / v, known.sqrt, units.ROOT)
square = _unary("square", torch.square, np.square, lambda a, v: 2 * a, known.square, units.SQUARE)
sin = _unary("sin", torch.sin, np.sin, lambda a, v: np.cos(a), known.sin, units.RADIANS)
cos = _unary("cos", torch.cos, np.cos, lambda a, v: -np.sin(a), known.cos, units.RADIANS)
tan = _unary("tan", torch.tan, np.tan, lambda a, v: 1 + v * v, known.tan, units.RADIANS)
arcsin = _unary(
    "arcsin", torch.asin, np.arcsin, lambda a, v: 1 / np.sqrt(1 - a * a),
    known.arcsin, units.PLAIN,
)
arccos = _unary(
    "arccos", torch.acos, np.arccos, lambda a, v: -1 / np.sqrt(1 - a * a),
    known.arccos, units.PLAIN,
)
arctan = _unary(
    "arctan", torch.atan, np.arctan, lambda a, v: 1 / (1 + a * a), known.arctan, units.PLAIN,
)
sinh = _unary("sinh", torch.sinh, np.sinh, lambda a, v: np.cosh(a), known.sinh, units.PLAIN)
cosh = _unary("cosh", torch.cosh, np.cosh, lambda a, v: np.sinh(a), known.cosh, units.PLAIN)
tanh = _unary("tanh", torch.tanh, np.tanh, lambda a, v: 1 - v * v, known.tanh, units.PLAIN)
arcsinh = _unary(
    "arcsinh", torch.asinh, np.arcsinh, None, known.arcsinh, units.PLAIN, gaps=_BY_TORCH
)
arccosh = _unary(
    "arccosh", torch.acosh, np.arccosh, None, known.arccosh, units.PLAIN, gaps=_BY_TORCH
)
arctanh = _unary(
    "arctanh", torch.atanh, np.arctanh, None, known.arctanh, units.PLAIN, gaps=_BY_TORCH
)
sign = _unary(
    "sign", torch.sign, np.sign, None, known.sign, units.UNKNOWN,
    continuous=False,
    gaps=_BY_TORCH | _NO_UNIT,
)
floor = _unary(
    "floor", torch.floor, np.floor, None, known.floor, units.SAME,
    continuous=False,
    gaps=_BY_TORCH,
)
ceil = _unary(
    "ceil", torch.ceil, np.ceil, None, known.ceil, units.SAME, continuous=False, gaps=_BY_TORCH
)

total = reduction(
    "sum", lambda value, axes: torch.sum(value, axes), (np.sum,), slopes.total, units.TOTAL,
    linear="jointly",
    gaps=_EXACT,
)
product = reduction(
    "prod", _product, (np.prod,), slopes.product, units.PRODUCT_ALONG,
    pairwise=multiply,
    gaps=_LOWERED,
)
largest = reduction(
    "max", lambda value, axes: torch.amax(value, axes), (np.max, np.amax),
    slopes.extreme(np.max), units.LARGEST,
    pairwise=maximum,
    gaps=_LOWERED,
)
smallest = reduction(
    "min", lambda value, axes: torch.amin(value, axes), (np.min, np.amin),
    slopes.extreme(np.min), units.LARGEST,
    pairwise=minimum,
    gaps=_LOWERED,
)
norm = reduction(
    "norm", lambda value, axes: torch.linalg.vector_norm(value, dim=axes), (),
    slopes.norm, units.TOTAL,
    gaps=_LOWERED | {"numpy": "np.linalg.norm has orders, which `expression` takes apart"},
)

matmul = Atom(
    "matmul", _matmul, lambda a, b: (np.zeros(a) @ np.zeros(b)).shape, (np.matmul,),
    slopes.matmul, None, units.MATRIX_PRODUCT, texts.infix("@"),
    linear="separately",
    gaps=_LOWERED,
)
_LAYOUT = _EXACT | {"numpy": "`Expression` records layouts"}
take = Atom(
    "take", _take, lambda _argument, _positions, shape: shape, (),
    slopes.take, None, units.TAKE, texts.take,
    linear="jointly",
    is_layout=True,
    gaps=_LAYOUT,
)
join = Atom(
    "join", _join, lambda *shapes: (sum(int(np.prod(s)) for s in shapes),), (),
    slopes.join, None, units.JOIN, texts.join,
    linear="jointly",
    is_layout=True,
    gaps=_LAYOUT,
)

# fmt: on
ATOMS = tuple(value for value in vars().copy().values() if isinstance(value, Atom))
"""All rows of the table."""
