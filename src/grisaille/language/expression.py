"""Expressions: constants, known operations and black-box calls.

An expression is immutable and has a NumPy shape. Operators and NumPy functions applied to one
record a new expression (`numpy_functions` has the table); nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, NDArray

from grisaille.checks import is_whole, real_numbers
from grisaille.errors import ModelError, NoSuchEntryError, shortened, text_of
from grisaille.language import operations
from grisaille.language.operations import Atom, Shape

if TYPE_CHECKING:
    from grisaille.language.black_box import BlackBox
    from grisaille.language.constraint import Constraint
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
        from grisaille.language.constraint import Constraint

        return Constraint(as_expression(self), as_expression(other))

    def __ge__(self, other: Any) -> Constraint:
        from grisaille.language.constraint import Constraint

        return Constraint(as_expression(other), as_expression(self), flipped=True)

    def __lt__(self, other: Any) -> NoReturn:
        raise ModelError(STRICT)

    def __gt__(self, other: Any) -> NoReturn:
        raise ModelError(STRICT)

    def __eq__(self, other: object) -> Any:
        from grisaille.language.constraint import Constraint

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
        from grisaille.language.numpy_functions import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, _types: Any, args: Any, kwargs: Any) -> Any:
        from grisaille.language.numpy_functions import apply_function

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
    from grisaille.language.constraint import Constraint

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
