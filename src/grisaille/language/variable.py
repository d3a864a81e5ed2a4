"""Variables: what the optimizer chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grisaille.checks import check_name, is_count, is_flag, real_numbers
from grisaille.errors import ModelError, shortened
from grisaille.language.atoms import Shape
from grisaille.language.declared_unit import declared_unit
from grisaille.language.expression import Expression

ROUNDING = 1e-9
"""A value may miss a whole number of steps by this part of one."""
MOST_STEPS = 1e9
"""Steps between two bounds beyond which a step is as good as none."""


class Variable(Expression):
    """A scalar or an array with finite bounds that the optimizer chooses.

    Args:
        name: Its name in messages and tables; unique within a problem.
        shape: `()` for a scalar, an integer for a vector, or a tuple.
        lower: Lower bound, a number or an array of that shape.
        upper: Upper bound, likewise; above `lower` in every entry.
        unit: Its unit, such as "K", or a list with one for each entry; "" for a plain number.
        step: Only lower, lower + step, lower + 2 step, ... up to `upper` are ever tried, a number
            or an array of that shape; None for every number between the bounds.
        log: Whether the logarithm of the values is what counts: they are searched, spread out and
            learned in the logarithm. For a variable over decades, with positive bounds.
    """

    __slots__ = ("log", "lower", "step", "upper")
    name: str

    def __init__(
        self,
        name: str,
        shape: int | Sequence[int] = (),
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        unit: str | Sequence[str | None] | None = None,
        step: ArrayLike | None = None,
        log: bool = False,
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
        self.step = None if step is None else self._checked_step(step)
        if not is_flag(log):
            raise ModelError(f"variable {name!r} has log={shortened(log)}: pass True or False")
        self.log = bool(log)
        if self.log and not (self.lower > 0).all():
            raise ModelError(
                f"variable {name!r} has log=True and lower bound {self.lower.min():g}: a logarithm "
                "needs positive numbers, so pass a positive lower=, or leave log= out"
            )

    def _bound(self, side: str, given: ArrayLike | None) -> NDArray[np.float64]:
        if given is None:
            raise ModelError(
                f"variable {self.name!r} has no {side} bound: bounds are required, because the "
                f"search covers the whole box; pass {side}=..."
            )
        bound = self._per_entry(f"{side} bound", given)
        if not np.isfinite(bound).all():
            raise ModelError(
                f"variable {self.name!r} has {side} bound {shortened(given)}: bounds must be "
                "finite numbers"
            )
        return bound

    def _checked_step(self, given: ArrayLike) -> NDArray[np.float64]:
        step = self._per_entry("step", given)
        if not (np.isfinite(step) & (step > 0)).all():
            raise ModelError(
                f"variable {self.name!r} has step {shortened(given)}: pass a positive number, one "
                "per entry, or None"
            )
        width = self.upper - self.lower
        wrong = np.argwhere((step > width * (1 + ROUNDING)) | (step * MOST_STEPS < width))
        if len(wrong):
            entry = tuple(int(i) for i in wrong[0])
            where = f" at entry {list(entry)}" if entry else ""
            if step[entry] > width[entry]:
                raise ModelError(
                    f"variable {self.name!r} has step {step[entry]:g}{where}, but its bounds are "
                    f"only {width[entry]:g} apart: it could take one value; pass a smaller step"
                )
            raise ModelError(
                f"variable {self.name!r} has step {step[entry]:g}{where}, of which more than "
                f"{MOST_STEPS:g} fit between its bounds: leave step= out"
            )
        return step

    def _per_entry(self, what: str, given: ArrayLike) -> NDArray[np.float64]:
        """One number per entry, not writable."""
        try:
            numbers = np.array(np.broadcast_to(real_numbers(given), self.shape))
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"variable {self.name!r} has shape {self.shape}, but its {what} is "
                f"{shortened(given)}: pass a number or an array of that shape"
            ) from error
        numbers.setflags(write=False)
        return numbers


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
