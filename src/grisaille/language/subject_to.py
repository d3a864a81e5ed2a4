"""The constraints of a problem as they are passed: their names and tolerances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from grisaille.checks import argument, check_amount, check_name, tuple_of
from grisaille.errors import ModelError, shortened
from grisaille.language.constraint import Constraint
from grisaille.language.expression import Expression
from grisaille.language.program import Program

Given = Constraint | Iterable[Constraint] | Mapping[str, Constraint]

# What can be iterated over, but is no collection of constraints, even if it is empty.
_SINGLE = (Constraint, Expression, str, bytes)


def constraints_of(given: Given, who: str = "subject_to") -> tuple[Constraint, ...]:
    """What is passed as `subject_to=` or `equations=`, as constraints with their names."""
    items: Any = given
    if isinstance(items, Mapping):
        return tuple(
            _with_name(name, _checked(constraint, f"{who}[{shortened(name)}]"))
            for name, constraint in items.items()
        )
    single = isinstance(items, _SINGLE) or not isinstance(items, Iterable)
    several: tuple[Any, ...] = (items,) if single else tuple_of(who, items)
    return tuple(_checked(one, f"{who}[{number}]") for number, one in enumerate(several))


def with_tolerances(
    constraints: tuple[Constraint, ...], given: float | Mapping[str, float] | None
) -> tuple[Constraint, ...]:
    """The constraints with what is passed as `feasibility_tol=`."""
    if given is None:
        return constraints
    if not isinstance(given, Mapping):
        check_amount("", "feasibility_tol", given)
        return tuple(c.replaced(tolerance=float(given)) for c in constraints)
    for name, tolerance in given.items():
        check_amount("", f"feasibility_tol[{shortened(name)}]", tolerance)
        if not any(c.name is not None and c.name == name for c in constraints):
            known = ", ".join(repr(c.name) for c in constraints if c.name is not None)
            raise ModelError(
                f"{argument('', 'feasibility_tol', given)}: no constraint is named "
                f"{shortened(name)}; the names are {known or 'none'} (give names with "
                "subject_to={'name': a <= b})"
            )
    return tuple(
        c if c.name is None else c.replaced(tolerance=float(given.get(c.name, c.tolerance)))
        for c in constraints
    )


def check_constraints_read(constraints: Iterable[Constraint]) -> None:
    """Raise ModelError if a constraint reads neither a variable nor a black box."""
    for number, constraint in enumerate(constraints):
        compiled = Program([constraint.body])
        if not compiled.variables and not compiled.calls:
            raise ModelError(
                f"constraint {number} ({constraint!r}) reads no variable: leave it out"
            )


def check_constraint_names(constraints: Iterable[Constraint]) -> None:
    """Raise ModelError if two constraints have the same name."""
    seen: set[str] = set()
    for constraint in constraints:
        labels = [] if constraint.name is None else constraint.labels
        twice = next((label for label in labels if label in seen), None)
        if twice is not None:
            raise ModelError(f"two constraints are named {twice!r}: give each its own name")
        seen.update(labels)


def tolerance_text(constraint: Constraint) -> str:
    """What is added to a constraint that has a tolerance."""
    return f" (tolerance {constraint.tolerance:g})" if constraint.tolerance else ""


def _with_name(name: Any, constraint: Constraint) -> Constraint:
    check_name("a constraint", name, "subject_to={'purity': a <= b}")
    if constraint.name not in (None, name):
        raise ModelError(
            f"subject_to[{name!r}] is the constraint that gs.named calls {constraint.name!r}: "
            "give it one name"
        )
    return constraint.replaced(name=name)


def _checked(constraint: Any, where: str) -> Constraint:
    if isinstance(constraint, bool | np.bool_ | np.ndarray):
        raise ModelError(
            f"{where} is {shortened(constraint)}, a plain value: it compares numbers, not "
            "expressions, so it constrains nothing; leave it out or use the problem's variables"
        )
    if isinstance(constraint, Expression):
        raise ModelError(
            f"{where} is the expression {constraint!r}: compare it with a bound, for example "
            f"{constraint!r} <= 0"
        )
    if not isinstance(constraint, Constraint):
        raise ModelError(
            f"{where} is {shortened(constraint)}: constraints are written a <= b, a >= b or a == b"
        )
    return constraint
