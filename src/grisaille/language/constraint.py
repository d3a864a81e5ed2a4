"""Constraints: relations between expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from grisaille.errors import ModelError, shortened
from grisaille.language import operations
from grisaille.language.expression import (
    Constant,
    Expression,
    Operation,
    Unit,
    is_relation,
    operate,
)
from grisaille.language.operations import Atom
from grisaille.markup import code

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
