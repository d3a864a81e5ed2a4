"""Variables: what the optimizer chooses."""

from __future__ import annotations

import difflib
from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grisaille.checks import (
    attribute_of,
    check_name,
    is_count,
    is_flag,
    is_number,
    real_numbers,
)
from grisaille.errors import ModelError, shortened
from grisaille.language import atoms
from grisaille.language.atoms import Shape
from grisaille.language.declared_unit import declared_unit
from grisaille.language.expression import Constant, Expression, Operation, join, operate
from grisaille.language.quantities import entry_units, plain_numbers

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

    is_whole = False
    """Whether its values are whole numbers, which searches and proofs know."""
    is_unknown = False
    """Whether equations determine it, so that it is not a decision."""
    labels: tuple[str, ...] = ()
    """What its values stand for, if it is a choice; else nothing."""

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
        several = isinstance(self.unit, tuple)
        given = plain_numbers(
            given,
            entry_units(self.unit, self.size if several else 1),
            [f"the {what}"] * self.size,
            lambda text: ModelError(f"variable {self.name!r}: {text}"),
            is_spread=what == "step",
        )
        try:
            numbers = np.array(np.broadcast_to(real_numbers(given), self.shape))
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"variable {self.name!r} has shape {self.shape}, but its {what} is "
                f"{shortened(given)}: pass a number or an array of that shape"
            ) from error
        numbers.setflags(write=False)
        return numbers


class Integer(Variable):
    """A whole number, or an array of them, that the optimizer chooses.

    It is a number in every expression, and a black box receives an `int`.

    Args:
        name: Its name in messages and tables; unique within a problem.
        shape: `()` for a scalar, an integer for a vector, or a tuple.
        lower: The least value, a number or an array of that shape.
        upper: The greatest value, likewise; above `lower` in every entry.
        unit: Its unit, or a list with one for each entry; "" for a plain number.
    """

    __slots__ = ()
    is_whole = True

    def __init__(
        self,
        name: str,
        shape: int | Sequence[int] = (),
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        unit: str | Sequence[str | None] | None = None,
    ) -> None:
        super().__init__(name, shape, lower=lower, upper=upper, unit=unit)
        given = self.lower, self.upper
        self.lower, self.upper = np.ceil(self.lower), np.floor(self.upper)
        wrong = np.argwhere(~(self.lower < self.upper))
        if len(wrong):
            entry = tuple(int(i) for i in wrong[0])
            where = f" at entry {list(entry)}" if entry else ""
            ends = f"between {given[0][entry]:g} and {given[1][entry]:g}{where}"
            if self.lower[entry] > self.upper[entry]:
                raise ModelError(
                    f"integer {name!r} has no whole number {ends}: pass bounds that have at least "
                    "two between them"
                )
            raise ModelError(
                f"integer {name!r} has only {self.lower[entry]:g} {ends}: use a plain number for a "
                "fixed value"
            )
        for bound in (self.lower, self.upper):
            bound.setflags(write=False)
        self.step = self._checked_step(1.0)


class Unknown(Variable):
    """A value that equations determine, such as a recycle stream; it is not a decision.

    `subject_to=[t == separator(reactor(x, t))]` closes a loop: the unknown t is what comes back.

    Args:
        name: Its name in messages and tables; unique within a problem.
        shape: `()` for a scalar, an integer for a vector, or a tuple.
        lower: The least value that a solution may have, a number or an array of that shape.
        upper: The greatest value, likewise. Solutions outside the bounds do not count.
        unit: Its unit, or a list with one for each entry; "" for a plain number.
        contraction: q, below 1: if all unknowns change by at most a part p of the distance between
            their bounds, what comes back of this one changes by at most q p. Only bounds on regret
            need it (docs/theory.md). None if it is not known.
    """

    __slots__ = ("contraction",)
    is_unknown = True

    def __init__(
        self,
        name: str,
        shape: int | Sequence[int] = (),
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        unit: str | Sequence[str | None] | None = None,
        contraction: float | None = None,
    ) -> None:
        super().__init__(name, shape, lower=lower, upper=upper, unit=unit)
        if contraction is not None and not (is_number(contraction) and 0 <= contraction < 1):
            raise ModelError(
                f"unknown {name!r} has contraction={shortened(contraction)}: pass a number of at "
                "least 0 and below 1, the part of a change that comes back around the loop, or None"
            )
        self.contraction = None if contraction is None else float(contraction)


class Choice(Variable):
    """One of several labels that the optimizer chooses.

    `catalyst == "A"` is 1 where the label is "A" and 0 elsewhere, so that costs and constraints of
    each label can be written. A black box receives the label itself.

    Args:
        name: Its name in messages and tables; unique within a problem.
        labels: The labels to choose from, at least two different texts. Their order has no meaning.

    Attributes:
        labels: The labels. A flat design point holds the position of the chosen one, from 0.
    """

    __slots__ = ("labels",)
    is_number = False
    is_whole = True

    def __init__(self, name: str, labels: Sequence[str]) -> None:
        check_name("a choice", name, "gs.Choice('catalyst', ['A', 'B'])")
        self.labels = _checked_labels(name, labels)
        super().__init__(name, lower=0, upper=len(self.labels) - 1, unit="", step=1)

    def position(self, label: Any) -> int:
        """Where a label stands among the labels.

        Raises:
            ModelError: It is not among them.
        """
        if isinstance(label, str) and label in self.labels:
            return self.labels.index(label)
        raise no_such_label(self.name, label, self.labels)

    def __eq__(self, other: object) -> Any:
        """1 where the label is this one, else 0."""
        return self._is(self.position(other))

    def __ne__(self, other: object) -> Any:
        """0 where the label is this one, else 1."""
        made = 1 - self.__eq__(other)
        made.name, made.unit = f"({self.name} != {other!r})", ""
        return made

    __hash__ = Expression.__hash__

    @property
    def indicators(self) -> Expression:
        """One number per label: 1 for the chosen one, 0 for the others."""
        made = join([self._is(place) for place in range(len(self.labels))], np.stack)
        made.name, made.unit = self.name, ""
        return made

    def _is(self, place: int) -> Expression:
        # Between two positions, where only relaxations look, it falls linearly from 1 to 0.
        away = Operation(atoms.subtract, (self, Constant(float(place))))
        made = operate(atoms.maximum, 1 - abs(away), 0.0)
        made.name, made.unit = f"({self.name} == {self.labels[place]!r})", ""
        return made


def no_such_label(name: str, label: object, labels: Sequence[str]) -> ModelError:
    """What is wrong with a label that a choice does not have."""
    near = difflib.get_close_matches(label, labels, 1) if isinstance(label, str) else []
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return ModelError(
        f"choice {name!r} has no label {shortened(label)}{hint}: its labels are "
        + ", ".join(map(repr, labels))
    )


def _checked_labels(name: str, labels: Any) -> tuple[str, ...]:
    try:
        # The order of a set differs from process to process; a table would give its columns.
        is_listed = not isinstance(labels, str | Set) and attribute_of(labels, "columns") is None
        found = tuple(labels) if is_listed else ()
    except Exception:  # it is no sequence, or of a class of the user's own
        found = ()
    texts = all(isinstance(label, str) and label for label in found)
    found = tuple(map(str, found)) if texts else found  # NumPy has texts of its own
    if len(found) < 2 or not texts or len(set(found)) < len(found):
        raise ModelError(
            f"choice {name!r} has labels {shortened(labels)}: pass a list of at least two "
            "different texts, such as ['A', 'B']"
        )
    return found


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
