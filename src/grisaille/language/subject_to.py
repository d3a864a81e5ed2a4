"""The constraints of a problem as they are passed: their names and tolerances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import argument, check_amount, check_name, tuple_of
from grisaille.errors import ModelError, shortened
from grisaille.language import atoms
from grisaille.language.constraint import Constraint, is_never_met
from grisaille.language.expression import Call, Constant, Expression, Operation, operate
from grisaille.language.program import Program, Resolve
from grisaille.language.variable import Variable

Given = Constraint | Iterable[Constraint] | Mapping[str, Constraint]

DEFAULT_TOLERANCE = 1e-6
"""By how much of the size of its terms a constraint may be violated and still counts as met.

Gurobi and SCIP have 1e-6, HiGHS has 1e-7. Our searches stop within 1e-7 of the spread of a
constraint (`solvers/search_problem.FEASIBILITY`), so what they call feasible counts as met.
"""
# The same beyond a tolerance of the user's own: 30,000 times the rounding of one sum. Measured at
# limits of size 1 to 100, recommended points exceed them by at most 4e-12.
_ROUNDING = 1e-12
# The least size of a variable, in parts of its range, and of an output that is compared with 0: so
# that violations of 1e-9 of them count as met there, which is what searches resolve.
_SMALL = 1e-3
# Operations whose value has the size that they give for the sizes of their arguments.
_TERM_BY_TERM = {
    atoms.total,
    atoms.multiply,
    atoms.matmul,
    atoms.take,
    atoms.join,
    atoms.maximum,
    atoms.minimum,
    atoms.largest,
    atoms.smallest,
    atoms.square,
    atoms.norm,
    atoms.product,
}

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
        return tuple(_with_tolerance(c, float(given)) for c in constraints)
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
        _with_tolerance(c, float(given[c.name])) if c.name is not None and c.name in given else c
        for c in constraints
    )


def _with_tolerance(constraint: Constraint, tolerance: float) -> Constraint:
    return constraint.replaced(tolerance=tolerance, is_exact=tolerance == 0, lenience=0.0)


class Allowances:
    """How far the body of each constraint may be above 0 while the constraint counts as met.

    This is the one place that decides it. A constraint may be violated by `DEFAULT_TOLERANCE` of
    the size of its terms; one with a tolerance of its own, beyond that by rounding only; one with
    `feasibility_tol=0`, not at all. The size of the terms of `a + b <= c` at a point is
    |a| + |b| + |c|, so that the rule means the same in every unit.

    Searches do not exploit it: they aim at the limits as written.
    """

    def __init__(self, constraints: Sequence[Constraint], variables: Sequence[Variable]) -> None:
        sums = [
            operate(atoms.add, *_term_sizes((c.left, c.right), output))
            for output in (0.0, _SMALL, None)
            for c in constraints
        ]
        self._program = Program(sums, variables)
        self._rules = [(c.tolerance, c.is_exact) for c in constraints]
        several = [np.full(c.body.size, c.lenience) for c in constraints]
        self._lenience = np.concatenate([np.zeros(0), *several])

    def at(self, x: Tensor, resolve: Resolve) -> Array:
        """(batch, K) at points (batch, n), where black boxes answer as `resolve` says."""
        with torch.no_grad():
            sizes = [part.reshape(len(x), -1).numpy() for part in self._program.run(x, resolve)]
        count = len(self._rules)
        columns = [np.zeros((len(x), 0))]
        for k, (tolerance, is_exact) in enumerate(self._rules):
            known, least, observed = sizes[k::count]
            # A limit of 0 for outputs alone has no size at the limit: outputs count as about 1.
            size = np.where(known == 0, observed + least, observed)
            most = np.maximum(_ROUNDING * size, DEFAULT_TOLERANCE * tolerance)
            columns.append((most if tolerance else DEFAULT_TOLERANCE * size) * (not is_exact))
        return np.nan_to_num(np.concatenate(columns, 1), nan=0.0, posinf=0.0)

    def needed(self, x: Tensor, resolve: Resolve, bodies: Array) -> list[Array | None]:
        """`at` for each point, given the bodies (batch, K); None where it makes no difference."""
        if not (bodies > 0).any():
            return [None] * len(x)
        allowed = self.at(x, resolve)
        return [
            own if ((body > 0) & (body <= own)).any() else None
            for body, own in zip(bodies, allowed, strict=True)
        ]

    def lenient(self, body: Array, allowed: Array | None) -> Array | None:
        """Return how far each constraint may be violated if loops may miss what plants do, (K,).

        Args:
            body: The bodies at a point, (K,).
            allowed: What `needed` says there.

        Returns:
            None if it makes no difference.
        """
        own = np.zeros(len(body)) if allowed is None else allowed
        reach = np.maximum(own, self._lenience)
        return reach if ((body > own) & (body <= reach)).any() else None


def _term_sizes(sides: Sequence[Expression], output: float | None) -> list[Expression]:
    """The sum of the absolute values of the terms of each expression.

    Args:
        sides: The expressions.
        output: The size of every black-box output; None for its own absolute value.
    """
    program = Program(sides)
    sizes: list[Expression] = []
    for node in program.nodes:
        own, parts = node.expression, [sizes[a] for a in node.arguments]
        size: Expression = Operation(atoms.absolute, (own,))
        if isinstance(own, Operation) and own.atom in (atoms.add, atoms.subtract):
            size = Operation(atoms.add, tuple(parts))
        elif isinstance(own, Operation) and own.atom in (atoms.negative, atoms.absolute):
            size = parts[0]
        elif isinstance(own, Operation) and own.atom is atoms.divide:
            size = Operation(atoms.divide, (parts[0], Operation(atoms.absolute, own.arguments[1:])))
        elif isinstance(own, Operation) and own.atom in _TERM_BY_TERM:
            size = Operation(own.atom, tuple(parts), own.parameters)
        elif isinstance(own, Call) and output is not None:
            size = Constant(np.full(own.shape, output))
        elif isinstance(own, Variable) and own.is_number and not own.log:
            # Near 0 a variable is as large as what a search resolves of its range.
            size = operate(atoms.add, size, _SMALL * (own.upper - own.lower))
        sizes.append(size)
    return [sizes[position] for position in program.outputs]


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
    if is_never_met(constraint):
        raise ModelError(
            f"{where} is {constraint!r}, which no finite number meets: write a finite bound, or "
            "leave it out"
        )
    return constraint
