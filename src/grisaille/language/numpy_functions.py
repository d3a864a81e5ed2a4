"""NumPy's functions, recorded when they are applied to an expression."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from grisaille.checks import is_number, is_one_of
from grisaille.errors import ModelError, shortened, text_of
from grisaille.language import operations
from grisaille.language.constraint import Constraint, is_equality_as_condition
from grisaille.language.expression import Expression, as_expression, join, operate, reduce

_ATOM_OF_UFUNC: dict[Any, operations.Atom] = {
    function: atom
    for atom in operations.ATOMS
    for function in atom.numpy
    if isinstance(function, np.ufunc)
}

_RECORD_UFUNC: dict[Any, Callable[..., Any]] = {
    np.positive: lambda a: a,
    np.floor_divide: lambda a, b: as_expression(a) // b,
    np.remainder: lambda a, b: as_expression(a) % b,
    np.less_equal: lambda a, b: as_expression(a) <= b,
    np.greater_equal: lambda a, b: as_expression(a) >= b,
    np.less: lambda a, b: as_expression(a) < b,
    np.greater: lambda a, b: as_expression(a) > b,
    np.equal: lambda a, b: as_expression(a) == b,
    np.not_equal: lambda a, b: as_expression(a) != b,
}


def apply_ufunc(ufunc: Any, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    """Record a NumPy ufunc such as `np.exp`."""
    if method != "__call__":
        raise ModelError(
            f"np.{ufunc.__name__}.{method} cannot be recorded on an expression: use np.sum, "
            "np.prod, np.max or np.min, or gs.white_box"
        )
    if options:
        raise ModelError(
            f"np.{ufunc.__name__} with {', '.join(options)}= cannot be recorded on an expression: "
            "leave it out (an array a that is changed by a += y: write a = a + y)"
        )
    if ufunc in _ATOM_OF_UFUNC:
        return operate(_ATOM_OF_UFUNC[ufunc], *inputs)
    if ufunc in _RECORD_UFUNC:
        return _RECORD_UFUNC[ufunc](*inputs)
    raise _unknown(ufunc)


def apply_function(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Record any other NumPy function such as `np.sum`."""
    if function not in _RECORD_FUNCTION:
        raise _unknown(function)
    try:
        return _RECORD_FUNCTION[function](*args, **kwargs)
    except TypeError as error:
        reason = text_of(error).split("() ", 1)[-1]  # Python names the function of our table first
        raise ModelError(
            f"{_numpy_name(function)} was given arguments that cannot be recorded on an "
            f"expression: {reason}"
        ) from error


def _numpy_name(function: Any) -> str:
    """How a user writes a NumPy function: `np.sum`, `np.linalg.inv`."""
    name = str(function.__name__)
    module = getattr(function, "__module__", None)
    if module is None:  # ufuncs may have no module, and those of SciPy are not NumPy's
        module = "numpy" if getattr(np, name, None) is function else "scipy.special"
    return f"{module.replace('numpy', 'np', 1)}.{name}"


def _unknown(function: Any) -> ModelError:
    name = _numpy_name(function)
    if name in _INSTEAD:
        return ModelError(f"{name} cannot be recorded on an expression: {_INSTEAD[name]}")
    short = name.rpartition(".")[2]
    return ModelError(
        f"{name} cannot be recorded on an expression: use operators and the NumPy functions listed "
        "in docs/language.md, or wrap your own function with gs.white_box, as in "
        f"gs.white_box(lambda a: {name}(a, ...), name={short!r})(x)"
    )


_ROUNDED = "write np.floor(a + 0.5), or declare a gs.Integer"
_ENTRIES = "constraints of arrays count entry by entry, so pass them to subject_to as they are"
# What to write where a few operations do what a function of NumPy does.
_INSTEAD = {
    "np.round": _ROUNDED,
    "np.around": _ROUNDED,
    "np.rint": _ROUNDED,
    "np.trunc": "write np.sign(a) * np.floor(np.abs(a))",
    "np.exp2": "write 2**a",
    "np.cbrt": "write np.sign(a) * np.abs(a) ** (1 / 3)",
    "np.std": "write np.sqrt(np.mean((a - np.mean(a)) ** 2))",
    "np.var": "write np.mean((a - np.mean(a)) ** 2)",
    "np.diff": "write a[1:] - a[:-1]",
    "np.append": "write np.concatenate([a, b])",
    "np.outer": "write a.reshape(-1, 1) * b.reshape(1, -1)",
    "np.heaviside": "write np.where(a >= 0, 1, 0)",
    "np.all": f"{_ENTRIES}; in a condition, write (a <= 1) & (b <= 1)",
    "np.any": "write (a <= 1) | (b <= 1)",
    "np.logical_and": "write (a <= 1) & (b <= 1)",
    "np.logical_or": "write (a <= 1) | (b <= 1)",
}


def _where(condition: Any, yes: Any, no: Any) -> Expression:
    if not isinstance(condition, Constraint):
        raise ModelError(
            f"np.where needs a comparison such as y <= 0 as its condition, got "
            f"{shortened(condition)}"
        )
    if condition.is_equality:
        raise is_equality_as_condition(condition)
    return operate(operations.where, condition.body, yes, no)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    raised = a if low is None else operate(operations.maximum, a, low)
    return raised if high is None else operate(operations.minimum, raised, high)


def _dot(a: Any, b: Any) -> Expression:
    left, right = as_expression(a), as_expression(b)
    if left.ndim > 1 and right.ndim > 2:
        raise ModelError(
            f"np.dot of shapes {left.shape} and {right.shape} cannot be recorded: use @ for a "
            "stack of matrix products"
        )
    return left @ right if left.shape and right.shape else left * right


def _norm(x: Any, ord: Any = None, axis: Any = None) -> Expression:
    value = as_expression(x)
    if value.ndim == 0:
        return abs(value)
    of_matrix = value.ndim > 1 if axis is None else np.ndim(axis) > 0 and len(axis) > 1
    if of_matrix and ord is not None and not is_one_of(ord, ("fro",)):
        raise ModelError(
            f"np.linalg.norm of a matrix with ord={shortened(ord)} cannot be recorded: only the "
            "Frobenius norm can; for norms of its rows or columns pass axis=1 or axis=0"
        )
    order = ord if is_number(ord) else None  # whatever else it is may compare in its own way
    if ord is None or of_matrix or order == 2:
        return reduce(operations.norm, value, axis)
    if order == 1:
        return reduce(operations.total, abs(value), axis)
    if order == np.inf:
        return reduce(operations.largest, abs(value), axis)
    raise ModelError(
        f"np.linalg.norm with ord={shortened(ord)} cannot be recorded: use 1, 2 or np.inf"
    )


def _reducing(atom: operations.Atom) -> Callable[..., Expression]:
    return lambda a, axis=None: reduce(atom, a, axis)


_RECORD_FUNCTION: dict[Any, Callable[..., Any]] = {
    function: _reducing(atom)
    for atom in operations.ATOMS
    for function in atom.numpy
    if function not in _ATOM_OF_UFUNC
} | {
    np.mean: lambda a, axis=None: as_expression(a).mean(axis),
    np.clip: _clip,
    np.where: _where,
    np.dot: _dot,
    np.linalg.norm: _norm,
    np.stack: lambda arrays, axis=0: join(list(arrays), partial(np.stack, axis=axis)),
    np.concatenate: lambda arrays, axis=0: join(list(arrays), partial(np.concatenate, axis=axis)),
    np.hstack: lambda parts: join(list(parts), np.hstack),
    np.vstack: lambda parts: join(list(parts), np.vstack),
    np.reshape: lambda a, shape: a.reshape(shape),
    np.ravel: lambda a: a.ravel(),
    np.transpose: lambda a: a.T,
    np.squeeze: lambda a: a._relaid(np.squeeze),
    np.shape: lambda a: a.shape,
    np.size: lambda a: a.size,
    np.ndim: lambda a: a.ndim,
}
