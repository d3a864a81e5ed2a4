"""Expressions: constants, known operations and black-box calls, and relations between them.

An expression is immutable and has a NumPy shape. Operators and NumPy functions applied to one
record a new expression, and comparisons record a constraint; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, NDArray

from grisaille.checks import is_number, is_one_of, is_whole, real_numbers
from grisaille.errors import ModelError, NoSuchEntryError, shortened, text_of
from grisaille.language import operations
from grisaille.language.operations import Atom, Shape
from grisaille.markup import code

if TYPE_CHECKING:
    from grisaille.language.black_box import BlackBox
    from grisaille.language.variable import Variable

A = TypeVar("A")
V = TypeVar("V")

Operator = Callable[[Any, Any], "Expression"]

Unit = str | tuple[str | None, ...] | None
"""A unit as it was declared: for all entries, or one for each in flat order; None if unknown."""


STRICT = (
    "strict comparisons (<, >) cannot be recorded: write <= or >= for a constraint, np.maximum or "
    "np.minimum instead of max() or min(), and np.where(a <= b, ...) instead of if"
)


# Infinite constants are limits of np.clip and of constraints, but have no part in a formula.
_CALCULATE = (
    operations.add,
    operations.subtract,
    operations.multiply,
    operations.divide,
    operations.power,
    operations.matmul,
)


@dataclass(slots=True, eq=False)
class Algebra(Generic[A, V]):
    """A meaning of expressions: functions that say what each kind of expression becomes.

    Attributes:
        variable: Of a variable.
        constant: Of a constant.
        operation: Of an operation and its arguments; in `Program.fold`, what these became.
        call: Of a black-box call and its arguments.
    """

    variable: Callable[[Variable], V]
    constant: Callable[[Constant], V]
    operation: Callable[[Operation, Sequence[A]], V]
    call: Callable[[Call, Sequence[A]], V]


def _both_orders(atom: Atom) -> tuple[Operator, Operator]:
    """The methods that apply an atom with the expression on the left and on the right."""

    def on_the_left(self: Expression, other: Any) -> Expression:
        return operate(atom, self, other)

    def on_the_right(self: Expression, other: Any) -> Expression:
        return operate(atom, other, self)

    return on_the_left, on_the_right


class Expression:
    """A symbolic value, built from variables, black boxes, operators and NumPy functions.

    Expressions support `+ - * / ** @`, indexing, slicing, iteration, NumPy functions, and `<=`,
    `>=` and `==`, which make a `Constraint`.

    Attributes:
        shape: NumPy shape of the value; `()` for a scalar.
        arguments: The expressions this one is computed from.
        name: What it is called in texts, from `named`; None if it is written as a formula.
        unit: Its declared unit, one for all entries or one for each; None if there is none.
    """

    __slots__ = ("arguments", "name", "shape", "unit")
    is_number = True
    """Whether it can be calculated with; a choice of labels cannot."""
    _known: NDArray[np.float64] | None = None
    """The value of a constant."""
    shape: Shape
    arguments: tuple[Expression, ...]
    name: str | None
    unit: Unit

    def __init__(self, shape: Shape, arguments: tuple[Expression, ...] = ()) -> None:
        self.shape = shape
        self.arguments = arguments
        self.name = None
        self.unit = None

    def _become(self, algebra: Algebra[A, V], arguments: Sequence[A]) -> V:
        """Return the meaning of this expression in an algebra."""
        raise NotImplementedError

    def _entry_label(self, position: int) -> str:
        """Return how formulas write the index of an entry."""
        return str(position)

    # --- shape -----------------------------------------------------------------------------
    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def reshape(self, *shape: Any) -> Expression:
        """The same entries in another shape, as `numpy.reshape`."""
        return self._relaid(lambda positions: positions.reshape(*shape))

    @property
    def T(self) -> Expression:
        """The transpose."""
        return self._relaid(np.transpose)

    def ravel(self) -> Expression:
        """The entries as a vector."""
        return self.reshape(-1)

    def sum(self, axis: int | tuple[int, ...] | None = None) -> Expression:
        """Sum over all entries, or along `axis`."""
        return reduce(operations.total, self, axis)

    def mean(self, axis: int | tuple[int, ...] | None = None) -> Expression:
        """Mean over all entries, or along `axis`."""
        summed = self.sum(axis)
        count = Constant(self.size / summed.size)
        count.unit = ""  # a plain number, so that a mean has the unit of its entries
        return summed / count

    def max(self, axis: int | tuple[int, ...] | None = None) -> Expression:
        """Largest entry, or along `axis`."""
        return reduce(operations.largest, self, axis)

    def min(self, axis: int | tuple[int, ...] | None = None) -> Expression:
        """Smallest entry, or along `axis`."""
        return reduce(operations.smallest, self, axis)

    def __getitem__(self, key: Any) -> Expression:
        return self._relaid(lambda positions: positions[key])

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self!r} is a scalar: it has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Expression]:
        return (self[i] for i in range(len(self)))

    def _relaid(self, layout: Any) -> Expression:
        """The entries that `layout` picks from an array of their flat positions."""
        try:
            picked = np.asarray(layout(np.arange(self.size).reshape(self.shape)))
        except Exception as error:  # of NumPy, or of an object that a user passed
            wrong = NoSuchEntryError if isinstance(error, IndexError) else ModelError
            raise wrong(f"{self!r} has shape {self.shape}: {text_of(error)}") from error
        source, positions = self, tuple(int(i) for i in picked.ravel())
        if picked.shape == self.shape and positions == tuple(range(self.size)):
            return self
        if isinstance(self, Operation) and self.atom is operations.take:
            # Merge two picks into one, so that x[1:][0] and x[1] are the same node.
            source = self.arguments[0]
            positions = tuple(self.parameters[0][i] for i in positions)
            if picked.shape == source.shape and positions == tuple(range(source.size)):
                return source
        part = Operation(operations.take, (source,), (positions, picked.shape))
        if source is not self and self.name is not None:
            at = str(picked) if self.ndim == 1 and picked.ndim == 0 else "..."
            part.name = f"{self.name}[{at}]"
            units = self.unit
            part.unit = tuple(units[i] for i in picked.flat) if isinstance(units, tuple) else units
        return part

    # --- operators -------------------------------------------------------------------------
    __add__, __radd__ = _both_orders(operations.add)
    __sub__, __rsub__ = _both_orders(operations.subtract)
    __mul__, __rmul__ = _both_orders(operations.multiply)
    __truediv__, __rtruediv__ = _both_orders(operations.divide)
    __pow__, __rpow__ = _both_orders(operations.power)
    __matmul__, __rmatmul__ = _both_orders(operations.matmul)

    def __floordiv__(self, other: Any) -> Expression:
        return operate(operations.floor, self / other)

    def __rfloordiv__(self, other: Any) -> Expression:
        return operate(operations.floor, operate(operations.divide, other, self))

    def __mod__(self, other: Any) -> Expression:
        return operate(operations.subtract, self, (self // other) * other)

    def __rmod__(self, other: Any) -> Expression:
        return operate(operations.subtract, other, self * (other // self))

    def __divmod__(self, other: Any) -> tuple[Expression, Expression]:
        return self // other, self % other

    def __xor__(self, other: Any) -> NoReturn:
        raise ModelError(f"{self!r} ^ ... is no power in Python: write **")

    def __and__(self, other: Any) -> NoReturn:
        raise ModelError(
            f"& and | join comparisons, and {self!r} is none: write each comparison in "
            "parentheses, as in (y <= 1) & (z >= 0)"
        )

    __rand__ = __or__ = __ror__ = __and__

    def __round__(self, _digits: Any = None) -> NoReturn:
        raise ModelError(
            f"round({self!r}) cannot be recorded: write np.floor({self!r} + 0.5), or declare a "
            "gs.Integer"
        )

    def __neg__(self) -> Expression:
        return operate(operations.negative, self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return operate(operations.absolute, self)

    # --- relations -------------------------------------------------------------------------
    def __le__(self, other: Any) -> Constraint:

        return Constraint(as_expression(self), as_expression(other))

    def __ge__(self, other: Any) -> Constraint:

        return Constraint(as_expression(other), as_expression(self), flipped=True)

    def __lt__(self, other: Any) -> NoReturn:
        raise ModelError(STRICT)

    def __gt__(self, other: Any) -> NoReturn:
        raise ModelError(STRICT)

    def __eq__(self, other: object) -> Any:

        return Constraint(as_expression(self), as_expression(other), is_equality=True)

    def __ne__(self, other: object) -> Any:
        raise ModelError(
            f"{self!r} != ... cannot be recorded: constraints are written a <= b, a >= b or a == b"
        )

    # Identity, so that expressions can key dictionaries in spite of __eq__.
    __hash__ = object.__hash__

    def __deepcopy__(self, _memo: dict[int, Any]) -> Expression:
        return self  # it is immutable, and compared by identity

    # --- operations that need a number -----------------------------------------------------
    def __bool__(self) -> NoReturn:
        raise ModelError(
            f"{self!r} has no truth value before it is evaluated: write np.where(a <= b, x, y) "
            "instead of if, and, or, not"
        )

    def __float__(self) -> NoReturn:
        raise ModelError(
            f"{self!r} is not a number yet: use NumPy's functions (np.sin, not math.sin), or "
            "gs.white_box for a function of your own"
        )

    __int__ = __index__ = __complex__ = __trunc__ = __float__

    def __format__(self, spec: str) -> str:
        if spec:
            raise ModelError(
                f"{self!r} has no value to write as {spec!r} before it is evaluated: leave the "
                "format out for its formula, or write result[...] of it after a run"
            )
        return str(self)

    def __array__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise ModelError(
            f"{self!r} cannot be put into a NumPy array: join expressions with np.stack or "
            "np.concatenate, and wrap functions NumPy cannot record with gs.white_box"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:

        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, _types: Any, args: Any, kwargs: Any) -> Any:

        return apply_function(function, args, kwargs)

    @classmethod
    def __torch_function__(
        cls, function: Any, _types: Any, _args: Any = (), _kwargs: Any = None
    ) -> Any:
        if function.__qualname__.startswith("Tensor"):  # an operator of tensors: ours is next
            return NotImplemented
        raise ModelError(
            f"torch.{function.__name__} cannot be recorded on an expression: use NumPy's "
            "functions, or wrap a function of tensors with gs.white_box(fn, torch=True)"
        )

    def __repr__(self) -> str:
        from grisaille.language.text import formula

        return formula(self)

    def _repr_html_(self) -> str:
        from grisaille.language.diagram import expression_html

        return expression_html(self)


class Constant(Expression):
    """A known number or array."""

    __slots__ = ("value",)

    def __init__(self, value: ArrayLike) -> None:
        array = real_numbers(value, truth_values=True)  # masks select, as in NumPy
        array.setflags(write=False)
        super().__init__(array.shape)
        self.value = array

    @property
    def _known(self) -> NDArray[np.float64]:  # type: ignore[override]
        """The value."""
        return self.value

    def _become(self, algebra: Algebra[A, V], _arguments: Sequence[A]) -> V:
        """Return the meaning of a constant."""
        return algebra.constant(self)


class Operation(Expression):
    """A known operation on expressions."""

    __slots__ = ("atom", "parameters")
    atom: Atom
    parameters: tuple[Any, ...]

    def __init__(
        self, atom: Atom, arguments: tuple[Expression, ...], parameters: tuple[Any, ...] = ()
    ) -> None:
        try:
            shape = atom.shape(*(a.shape for a in arguments), *parameters)
        except ValueError as error:
            shapes = " and ".join(f"{a!r} of shape {a.shape}" for a in arguments)
            raise ModelError(f"{atom.name} does not fit {shapes}: {error}") from error
        super().__init__(shape, arguments)
        self.atom = atom
        self.parameters = parameters

    def _become(self, algebra: Algebra[A, V], arguments: Sequence[A]) -> V:
        """Return the meaning of an operation."""
        return algebra.operation(self, arguments)

    def of(self, arguments: Sequence[Expression]) -> Operation:
        """Return the same operation on other arguments, with the same name and unit."""
        made = Operation(self.atom, tuple(arguments), self.parameters)
        made.name, made.unit = self.name, self.unit
        return made


class Call(Expression):
    """A black box applied to expressions: its outputs, a scalar, or a vector that may have names.

    `call["name"]` picks a named output.
    """

    __slots__ = ("box",)
    box: BlackBox

    def __init__(self, box: BlackBox, arguments: tuple[Expression, ...]) -> None:
        super().__init__(box.output_shape, arguments)
        self.box = box
        self.unit = box.unit

    def _become(self, algebra: Algebra[A, V], arguments: Sequence[A]) -> V:
        """Return the meaning of a black-box call."""
        return algebra.call(self, arguments)

    def of(self, arguments: Sequence[Expression]) -> Call:
        """Return a call with other arguments, with the same name and unit."""
        made = Call(self.box, tuple(arguments))
        made.name, made.unit = self.name, self.unit
        return made

    def _entry_label(self, position: int) -> str:
        """Return the name of an output, if it has one."""
        names = self.box.output_names
        return repr(names[position]) if names else super()._entry_label(position)

    def __getitem__(self, key: Any) -> Expression:
        if isinstance(key, str):
            if key not in self.box.output_names:
                names = ", ".join(map(repr, self.box.output_names)) or "none"
                raise ModelError(
                    f"black box {self.box.name!r} has no output named {shortened(key)}: its names "
                    f"are {names} (declare them with outputs=[...])"
                )
            key = self.box.output_names.index(key)
        return super().__getitem__(key)


class Entry(NamedTuple):
    """An entry of an expression that no layout made: a variable, a call, what is computed."""

    source: Expression
    position: int


def entries(expression: Expression) -> list[Entry]:
    """Return where each entry comes from, through all picking and joining."""
    found: dict[Expression, list[Entry]] = {}
    stack = [expression]
    while stack:  # without recursion: layouts may be deep, and shared many times over
        part = stack[-1]
        if not (isinstance(part, Operation) and part.atom.is_layout):
            found[stack.pop()] = [Entry(part, position) for position in range(part.size)]
            continue
        missing = [a for a in part.arguments if a not in found]
        stack.extend(missing)
        if not missing:
            inner = [entry for a in part.arguments for entry in found[a]]
            picked = part.atom is operations.take
            found[stack.pop()] = [inner[p] for p in part.parameters[0]] if picked else inner
    return found[expression]


def is_relation(value: Constraint) -> ModelError:
    """What is wrong with a constraint where a number is needed."""
    return ModelError(f"{value!r} is a relation, not a value: use it in np.where or subject_to")


def as_expression(value: Any) -> Expression:
    """The expression itself, or a number or array as a constant."""
    if isinstance(value, Expression):
        if not value.is_number:
            raise ModelError(
                f"{value!r} is a choice among labels, not a number: compare it with a label, as in "
                f"{value!r} == {value.labels[0]!r}, which is 1 or 0, or pass it to a black box"  # type: ignore[attr-defined]
            )
        return value

    if isinstance(value, Constraint):
        raise is_relation(value)
    if isinstance(value, list | tuple) and any(isinstance(v, Expression) for v in value):
        return join([as_expression(v) for v in value], np.stack)
    from grisaille.language.units import has_quantity

    if has_quantity(value):
        raise ModelError(
            f"{shortened(value)} has a unit, and expressions hold plain numbers: write the number, "
            "as in gs.named('limit', 1.5, unit='m')"
        )
    try:
        constant = Constant(value)
    except (TypeError, ValueError) as error:
        if is_whole(value):
            raise ModelError(f"{shortened(value)} is too large for a float") from error
        is_function = callable(value) and not isinstance(value, type)
        raise ModelError(
            f"{shortened(value)} is a function, which must be called with variables: write f(x), "
            "where f is a gs.BlackBox or a gs.WhiteBox"
            if is_function
            else f"{shortened(value)} is neither an expression nor numbers: pass one of these"
        ) from error
    if np.isnan(constant.value).any():
        raise ModelError(f"the constant {shortened(value)} contains NaN: replace it by a number")
    return constant


def operate(atom: Atom, *arguments: Any) -> Expression:
    """Apply an atom to expressions and constants.

    Raises:
        ModelError: A number is infinite, and the atom calculates with it.
    """
    expressions = tuple(as_expression(a) for a in arguments)
    for given, one in zip(arguments, expressions, strict=True):
        number = None if given is one else one._known
        if number is not None and atom in _CALCULATE and np.isinf(number).any():
            raise ModelError(
                f"{atom.name} cannot calculate with the constant {one!r}: write a finite number"
            )
    by = expressions[-1]._known
    if atom is operations.divide and by is not None and not by.all():
        raise ModelError(
            f"{expressions[0]!r} / {expressions[1]!r} divides by zero: write a constant without 0"
        )
    return Operation(atom, expressions)


def reduce(atom: Atom, value: Any, axis: int | tuple[int, ...] | None) -> Expression:
    """Apply a reduction over all axes, or over those given."""
    expression = as_expression(value)
    given = tuple(range(expression.ndim)) if axis is None else axis
    several = given if isinstance(given, list | tuple) else (given,)
    try:
        if not all(is_whole(number) for number in several):
            raise TypeError("an axis is a whole number")
        axes = sorted(normalize_axis_tuple(tuple(several), expression.ndim))
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(
            f"{atom.name} over axis {shortened(axis)} of {expression!r}, which has shape "
            f"{expression.shape}: {error}"
        ) from error
    return Operation(atom, (expression,), (tuple(axes),))


def join(parts: Sequence[Any], arrange: Any) -> Expression:
    """Put expressions together as `arrange` (`np.stack`, say) puts arrays together."""
    expressions = tuple(as_expression(p) for p in parts)
    ends = np.cumsum([0, *(e.size for e in expressions)])
    positions = [
        np.arange(start, start + e.size).reshape(e.shape)
        for start, e in zip(ends[:-1], expressions, strict=True)
    ]
    try:
        layout = np.asarray(arrange(positions))
    except ValueError as error:
        shapes = ", ".join(str(e.shape) for e in expressions)
        raise ModelError(f"shapes {shapes} cannot be joined: {error}") from error
    return Operation(operations.join, expressions)._relaid(lambda flat: flat[layout])


# --- numpy functions ------------------------------------------------------------------------------

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


# --- constraints ----------------------------------------------------------------------------------

EQUALITY_TOLERANCE = 1e-4
"""By how much the two sides of an equality may differ, if nothing else is said."""
TOO_LARGE = " (too large)"
"""What the first of its two inequalities adds to the name of an equality."""


class Constraint:
    """A relation `left <= right` or `left == right`: a constraint of a problem.

    An inequality is also the condition of `np.where`: `a & b` holds where both hold, `a | b` where
    one holds.

    Attributes:
        left: The side that must not be larger.
        right: The side that must not be smaller.
        flipped: Whether it was written `right >= left`.
        name: What it is called in texts and tables; None if it is written as a formula.
        unit: Its declared unit; None if there is none.
        tolerance: By how much `left` may be larger all the same; or, in an equality, differ.
        is_equality: Whether both sides must be equal. A problem takes it as two inequalities.
        is_half: Whether it is one of these two.
        is_exact: Whether it has no tolerance at all, not even the default one for rounding.
        lenience: By how much it may be missed beyond its tolerance in a trial that still counts as
            feasible. Searches, bounds and proofs do not use it.
        body: `left - right - tolerance`, at most 0 where an inequality counts as met.
    """

    __slots__ = (
        "body",
        "flipped",
        "is_equality",
        "is_exact",
        "is_half",
        "left",
        "lenience",
        "name",
        "right",
        "tolerance",
        "unit",
    )

    def __init__(
        self,
        left: Expression,
        right: Expression,
        flipped: bool = False,
        name: str | None = None,
        unit: Unit = None,
        tolerance: float | None = None,
        is_equality: bool = False,
        is_half: bool = False,
        is_exact: bool = False,
        lenience: float = 0.0,
    ) -> None:
        self.left = left
        self.right = right
        self.flipped = flipped
        self.name = name
        self.unit = unit
        self.is_equality = is_equality
        self.is_half = is_half
        self.is_exact = is_exact
        self.lenience = lenience
        if tolerance is None:
            tolerance = EQUALITY_TOLERANCE if is_equality else 0.0
        self.tolerance = tolerance
        if _is_zero(right):
            body = left
        else:  # not `left - right`, which refuses infinite bounds
            body = -right if _is_zero(left) else Operation(operations.subtract, (left, right))
        self.body = body - tolerance if tolerance else body

    @property
    def residual(self) -> Expression:
        """`left - right`, without any tolerance."""
        return self.left - self.right

    def halves(self) -> tuple[Constraint, Constraint]:
        """An equality as two inequalities, which are met if the sides differ by the tolerance."""
        own = self.describe() if self.name is None else self.name
        common = {"is_equality": False, "is_half": True}
        return (
            self.replaced(name=f"{own}{TOO_LARGE}", **common),
            self.replaced(
                left=self.right,
                right=self.left,
                flipped=True,
                name=f"{own} (too small)",
                **common,
            ),
        )

    def __and__(self, other: Constraint) -> Constraint:
        return self._combined(operations.maximum, "&", other)

    def __or__(self, other: Constraint) -> Constraint:
        return self._combined(operations.minimum, "|", other)

    __rand__, __ror__ = __and__, __or__

    def __iter__(self) -> NoReturn:
        raise ModelError(
            f"{self!r} counts entry by entry: pass it as it is, without all(), any() or list()"
        )

    def _combined(self, atom: Atom, sign: str, other: Any) -> Constraint:
        if not isinstance(other, Constraint):
            raise ModelError(
                f"({self!r}) {sign} {shortened(other)}: both sides must be comparisons of "
                f"expressions, each in parentheses, such as (y <= 1) {sign} (z >= 0)"
            )
        for one in (self, other):
            if one.is_equality:
                raise is_equality_as_condition(one)
        return Constraint(operate(atom, self.body, other.body), Constant(0.0))

    def __bool__(self) -> NoReturn:
        raise ModelError(
            f"{self!r} has no truth value before it is evaluated: write 0 <= y <= 1 as two "
            "constraints, 'a and b' as a & b, and np.where(y <= 0, a, b) instead of if"
        )

    __array_function__ = Expression.__array_function__

    def __array_ufunc__(self, *_args: Any, **_options: Any) -> NoReturn:
        raise is_relation(self)

    def replaced(self, **parts: Any) -> Constraint:
        """The same constraint with other parts, such as `left=` or `tolerance=`."""
        own = {name: getattr(self, name) for name in self.__slots__ if name != "body"}
        return Constraint(**(own | parts))

    @property
    def labels(self) -> list[str]:
        """One text for each entry: the name or the formula, with the index in an array."""
        own, gap, comma = (
            (self.describe(), "  ", ", ") if self.name is None else (self.name, "", ",")
        )
        return [
            f"{own}{gap}[{comma.join(map(str, index))}]" if index else own
            for index in np.ndindex(self.body.shape)
        ]

    def describe(self, write: Callable[[Expression], str] = repr) -> str:
        """The relation in the direction it was written in, its sides as `write` writes them."""
        if self.is_equality:
            return f"{write(self.left)} == {write(self.right)}"
        if self.flipped:
            return f"{write(self.right)} >= {write(self.left)}"
        return f"{write(self.left)} <= {write(self.right)}"

    def __repr__(self) -> str:
        return self.describe() if self.name is None else f"{self.name}: {self.describe()}"

    def _repr_html_(self) -> str:
        return code(repr(self))


def is_equality_as_condition(constraint: Constraint) -> ModelError:
    """What is wrong with an equality where a condition is needed."""
    return ModelError(
        f"{constraint!r} is an equality, which numbers hardly ever meet exactly: as a condition, "
        "write abs(a - b) <= tolerance"
    )


def is_never_met(constraint: Constraint) -> bool:
    """Return whether a side is an infinite constant that the other side can never reach."""
    left, right = (
        np.zeros(()) if side._known is None else side._known
        for side in (constraint.left, constraint.right)
    )
    if constraint.is_equality:
        return bool(np.isinf(left).any() or np.isinf(right).any())
    return bool((left == np.inf).any() or (right == -np.inf).any())


def _is_zero(expression: Expression) -> bool:
    return not expression.shape and expression._known is not None and expression._known == 0
