"""Variables: what the optimizer chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grisaille.checks import check_name, is_count, real_numbers
from grisaille.errors import ModelError, shortened
from grisaille.language.atoms import Shape
from grisaille.language.declared_unit import declared_unit
from grisaille.language.expression import Expression


class Variable(Expression):
    """A scalar or an array with finite bounds that the optimizer chooses.

    Args:
        name: Its name in messages and tables; unique within a problem.
        shape: `()` for a scalar, an integer for a vector, or a tuple.
        lower: Lower bound, a number or an array of that shape.
        upper: Upper bound, likewise; above `lower` in every entry.
        unit: Its unit, such as "K", or a list with one for each entry; "" for a plain number.
    """

    __slots__ = ("lower", "upper")
    name: str

    def __init__(
        self,
        name: str,
        shape: int | Sequence[int] = (),
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        unit: str | Sequence[str | None] | None = None,
    ) -> None:
        check_name("a variable", name, "gs.Variable('x', ...)")
        super().__init__(_dimensions(name, shape))
        self.name = name
        self.unit = declared_unit(f"variable {name!r}", unit, self.shape)
        self.lower = self._bound("lower", lower)
        self.upper = self._bound("upper", upper)
        wrong = np.argwhere(~(self.lower < self.upper))
        if len(wrong):
            entry = tuple(int(i) for i in wrong[0])
            where = f" at entry {list(entry)}" if entry else ""
            raise ModelError(
                f"variable {name!r} has lower bound {self.lower[entry]:g} and upper bound "
                f"{self.upper[entry]:g}{where}: the lower must be below the upper (use a plain "
                "number for a fixed value)"
            )

    def _bound(self, side: str, given: ArrayLike | None) -> NDArray[np.float64]:
        if given is None:
            raise ModelError(
                f"variable {self.name!r} has no {side} bound: bounds are required, because the "
                f"search covers the whole box; pass {side}=..."
            )
        try:
            bound = np.array(np.broadcast_to(real_numbers(given), self.shape))
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"variable {self.name!r} has shape {self.shape}, but its {side} bound is "
                f"{shortened(given)}: pass a number or an array of that shape"
            ) from error
        if not np.isfinite(bound).all():
            raise ModelError(
                f"variable {self.name!r} has {side} bound {shortened(given)}: bounds must be "
                "finite numbers"
            )
        bound.setflags(write=False)
        return bound


def _dimensions(name: str, shape: Any) -> Shape:
    several = isinstance(shape, list | tuple | range) or (
        isinstance(shape, np.ndarray) and shape.ndim == 1
    )
    dimensions = tuple(shape) if several else (shape,)
    if all(is_count(size) for size in dimensions):
        return tuple(int(size) for size in dimensions)
    raise ModelError(
        f"variable {name!r} has shape {shortened(shape)}: pass () for a scalar, or how many "
        "entries each axis has, at least one"
    )
