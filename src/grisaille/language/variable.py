"""Variables, the values they may take, and the coordinates they are searched in.

This is the one place that knows the meaning of `step=` and `log=`. Searches, distances and random
points use search coordinates: the logarithm of a variable with `log=True`, and every other
variable as it is. Searches cover everything between the bounds; points that are tried lie on the
steps.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence, Set
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.checks import (
    attribute_of,
    check_name,
    is_count,
    is_flag,
    is_number,
    is_one_of,
    real_numbers,
)
from grisaille.errors import ModelError, shortened
from grisaille.language import operations
from grisaille.language.expression import (
    A,
    Algebra,
    Constant,
    Expression,
    Operation,
    V,
    join,
    operate,
)
from grisaille.language.operations import Shape
from grisaille.language.units import declared_unit, entry_units, plain_numbers

# --- variable -------------------------------------------------------------------------------------
# Variables: what the optimizer chooses.

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

    def _become(self, algebra: Algebra[A, V], _arguments: Sequence[A]) -> V:
        """Return the meaning of a variable."""
        return algebra.variable(self)

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
        given = plain_numbers(
            given,
            entry_units(self.unit, 1),
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
        if is_one_of(label, self.labels):
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
        away = Operation(operations.subtract, (self, Constant(float(place))))
        made = operate(operations.maximum, 1 - abs(away), 0.0)
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


# --- design space ---------------------------------------------------------------------------------
# The design space: which values a design point may have, and the coordinates it is searched in.
#
# This is the one place that knows what `step=` and `log=` of a variable mean. Searches,
# distances and random points use search coordinates: the logarithm of a variable with
# `log=True`, and every other variable as it is. Searches cover everything between the bounds;
# what is tried is on the steps.

# Numbers with more digits after the point than this are not meant as decimal numbers.
_MOST_DIGITS = 12
# The largest number of neighbours to list: all corners of six entries.
_MOST_NEIGHBOURS = 64
# How many steps away a point that was not tried is looked for, at most.
_FARTHEST = 1024
SAME = 1e-9
"""Design points closer than this part of each range are the same."""


class DesignSpace:
    """The values of a flat design point.

    Args:
        variables: The variables, in the order of a flat design point.

    Attributes:
        lower: (n,), the least design point.
        upper: (n,), the greatest one: on the last step where there are steps.
        steps: (n,), their lengths; 0 where every number between the bounds may be tried.
        stepped: (n,), which entries have steps.
        logarithmic: (n,), which entries are searched in the logarithm.
        whole: (n,), which entries are whole numbers for searches and proofs as well: integers, and
            the positions of labels.
        nominal: (n,), which of these are positions of labels, whose order has no meaning.
        search_lower: (n,), `lower` in search coordinates.
        search_upper: (n,).
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.lower = _flat([v.lower for v in variables])
        upper = _flat([v.upper for v in variables])
        steps = _flat([np.zeros(v.shape) if v.step is None else v.step for v in variables])
        flags = [np.full(v.size, v.log) for v in variables]
        self.logarithmic: Flags = np.concatenate([np.zeros(0, dtype=bool), *flags])
        flags = [np.full(v.size, v.is_whole) for v in variables]
        self.whole: Flags = np.concatenate([np.zeros(0, dtype=bool), *flags])
        flags = [np.full(v.size, bool(v.labels)) for v in variables]
        self.nominal: Flags = np.concatenate([np.zeros(0, dtype=bool), *flags])
        self.steps = steps
        self.stepped: Flags = steps > 0
        self._steps = np.where(self.stepped, steps, 1.0)
        self._last = np.zeros_like(steps)
        self._decimals = np.zeros_like(steps)
        for i in np.flatnonzero(self.stepped):
            self._last[i] = np.floor((upper[i] - self.lower[i]) / steps[i] + ROUNDING)
            self._decimals[i] = max(_digits(self.lower[i]), _digits(steps[i]))
        self.upper = np.where(self.stepped, np.minimum(self._values(self._last), upper), upper)
        self.search_lower, self.search_upper = self.lower, self.upper
        if self.logarithmic.any():
            low, high = (
                np.log(np.where(self.logarithmic, e, 1.0)) for e in (self.lower, self.upper)
            )
            # A rounded logarithm must not cut off an end, or a proof would not cover it.
            low, high = low - 2 * np.spacing(np.abs(low)), high + 2 * np.spacing(np.abs(high))
            self.search_lower = np.where(self.logarithmic, low, self.lower)
            self.search_upper = np.where(self.logarithmic, high, self.upper)

    # --- search coordinates ----------------------------------------------------------------------
    def to_search(self, design: Tensor) -> Tensor:
        """Design points in search coordinates, (..., n)."""
        if not self.logarithmic.any():
            return design
        taken = torch.tensor(self.logarithmic)
        positive = torch.where(taken, design, 1.0).clamp_min(1e-300)
        return torch.where(taken, positive.log(), design)

    def to_design(self, search: Tensor) -> Tensor:
        """The design points of search coordinates, (..., n): differentiable, and in the bounds."""
        if not self.logarithmic.any():
            return search
        taken = torch.tensor(self.logarithmic)
        value = torch.where(taken, search, 0.0).exp()
        # Rounding may leave the bounds, which must not cost the derivative there.
        inside = value.detach().clamp(torch.tensor(self.lower), torch.tensor(self.upper))
        return torch.where(taken, value + (inside - value.detach()), search)

    def design(self, search: Tensor) -> Array:
        """The design point of search coordinates (n,), which further entries may follow."""
        return np.array(self.to_design(search[..., : len(self.lower)]).numpy())

    def to_try(self, search: Tensor) -> Array:
        """The same on the steps: the nearest design point that may be tried."""
        return self.on_steps(self.design(search))

    def distances(self, x: Array, others: Sequence[Array]) -> Array:
        """How far a design point is from others, (others, n), in search coordinates."""
        points = torch.tensor(np.array([x, *others]).reshape(-1, len(self.lower)))
        searched = self.to_search(points).numpy()
        return np.asarray(np.abs(searched[1:] - searched[0]))

    # --- steps -----------------------------------------------------------------------------------
    @property
    def has_steps(self) -> bool:
        """Whether some entry has steps."""
        return bool(self.stepped.any())

    def on_steps(self, x: Array) -> Array:
        """The design point whose entries are the nearest that may be tried."""
        if not self.has_steps:
            return x
        return np.where(self.stepped, self._values(np.rint(self._count(x))), x)

    def spread(self, search: Array) -> Array:
        """The design point to try for a point drawn uniformly in search coordinates.

        Every value of an entry with steps is equally likely, unless they count by their logarithm.
        """
        x = self.design(torch.tensor(search))
        if not self.has_steps:
            return x
        share = (x - self.lower) / (self.upper - self.lower)
        count = np.clip(np.floor(share * (self._last + 1)), 0, self._last)
        evenly = self.stepped & ~self.logarithmic
        return np.where(evenly, self._values(count), self.on_steps(x))

    def neighbours(self, x: Array, reach: int = 1) -> Array:
        """Design points to try around one, (count, n): the nearest first.

        On each side of an entry these are `reach` steps: with 1 they are the corners of the cell
        that the point is in. A whole number is in no cell, and moves by `reach` in both directions;
        one label is as near as another. Where these are too many, only one entry at a time moves.
        """
        if not self.has_steps:
            return x[None]
        entries: list[int] = np.flatnonzero(self.stepped).tolist()
        nearest = self.on_steps(x)
        below = np.floor(self._count(x) + ROUNDING)
        counts = []
        for entry in entries:
            around = below[entry] + np.arange(1 - reach, 1 + reach)
            if self.nominal[entry]:
                around = np.arange(self._last[entry] + 1)
            elif self.whole[entry]:
                around = np.rint(self._count(x)[entry]) + np.arange(-reach, 1 + reach)
            counts.append(np.unique(np.clip(around, 0, self._last[entry])))
        total = np.prod([float(len(c)) for c in counts])
        rows = [nearest]
        if total <= _MOST_NEIGHBOURS:
            for chosen in product(*counts):
                rows.append(self._with(nearest, dict(zip(entries, chosen, strict=True))))
        else:
            for entry, around in zip(entries, counts, strict=True):
                for count in around:
                    rows.append(self._with(nearest, {entry: count}))
        distinct = dict.fromkeys(row.tobytes() for row in rows)
        return np.array([np.frombuffer(row) for row in distinct])

    def free_around(self, point: Tensor, taken: Sequence[Array]) -> Tensor:
        """Return points to try around one, without those that are taken, in search coordinates.

        All around it if the whole neighbourhood is taken: a small grid can be used up.
        """
        x = self.design(point)
        around = self.neighbours(x)
        look = self._nearest_free if self.whole.any() else partial(self._farther_free, x)
        free = look(around, taken)
        return self.to_search(torch.tensor(around if free is None else free))

    def _farther_free(self, x: Array, around: Array, taken: Sequence[Array]) -> Array | None:
        """Design points that are not taken, along each entry; None if none is found."""
        rows, reach = around, 1
        while reach <= _FARTHEST:
            free = [row for row in rows if not self.is_among(row, taken)]
            if free:
                return np.array(free)
            reach *= 2
            rows = self.neighbours(x, reach)
        return None

    def _nearest_free(self, around: Array, taken: Sequence[Array]) -> Array | None:
        """Design points that are not taken, as few moves away as possible; None if all are taken.

        Labels and whole numbers with few values leave no way to go farther along one entry. So we
        go on from all neighbours to their neighbours. Only points that are taken are gone on from,
        so that this ends soon.
        """
        level, seen = list(around), {row.tobytes() for row in around}
        while level:
            free = [row for row in level if not self.is_among(row, taken)]
            if free:
                return np.array(free)
            further = (row for center in level for row in self.neighbours(center))
            fresh = {row.tobytes(): row for row in further if row.tobytes() not in seen}
            seen |= set(fresh)
            level = list(fresh.values())
        return None

    def is_among(self, x: Array, others: Sequence[Array], part: float = SAME) -> bool:
        """Return whether a design point is as near to one of others, in parts of each range."""
        if not len(others):
            return False
        reach = part * (self.search_upper - self.search_lower)
        return bool((self.distances(x, others) <= reach).all(1).any())

    def _with(self, x: Array, counts: dict[int, float]) -> Array:
        """A design point on the steps with other values of some entries."""
        every = np.rint(self._count(x))
        every[list(counts)] = list(counts.values())
        return np.where(self.stepped, self._values(every), x)

    def _count(self, x: Array) -> Array:
        """How many steps each entry is above the lower bound."""
        return np.asarray(np.clip((x - self.lower) / self._steps, 0, self._last))

    def _values(self, count: Array) -> Array:
        """The value so many steps above the lower bound: 0.3, not 0.30000000000000004."""
        value = self.lower + count * self._steps
        scale = 10.0**self._decimals
        exact = (self._decimals <= _MOST_DIGITS) & (np.abs(value) < 2**52 / scale)
        return np.where(exact, np.rint(np.where(exact, value, 0.0) * scale) / scale, value)


def _flat(parts: list[Array]) -> Array:
    return np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])


def _digits(number: float) -> int:
    """Digits after the decimal point, or one more than count."""
    exponent = Decimal(repr(float(number))).normalize().as_tuple().exponent
    assert isinstance(exponent, int)  # bounds and steps are finite
    return min(max(0, -exponent), _MOST_DIGITS + 1)
