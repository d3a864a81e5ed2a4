"""Problems: an objective and constraints over shared variables and black boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import argument, check_amount, check_name, tuple_of
from grisaille.errors import ModelError, shortened
from grisaille.language import operations
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import (
    Algebra,
    Constant,
    Constraint,
    Expression,
    Operation,
    as_expression,
    is_never_met,
    operate,
)
from grisaille.language.linear_system import check_linear_constraints
from grisaille.language.program import Program, Resolve
from grisaille.language.text import definition
from grisaille.language.unit_check import check_units, shown_units
from grisaille.language.unknowns import check_unknowns, checked_equations, with_usual_tolerance
from grisaille.language.variable import Variable

if TYPE_CHECKING:
    from grisaille.language.causal.model import CausalModel
    from grisaille.records import Trial
    from grisaille.reductions.linear_equalities import LinearEqualities
    from grisaille.strategies.strategy import Strategy
    from grisaille.study.result import Result


# --- subject to -----------------------------------------------------------------------------------
# The constraints of a problem as they are passed: their names and tolerances.

Given = Constraint | Iterable[Constraint] | Mapping[str, Constraint]

DEFAULT_TOLERANCE = 1e-6
"""By how much of the size of its terms a constraint may be violated and still counts as met.

Gurobi and SCIP have 1e-6, HiGHS has 1e-7. Our searches stop within 1e-7 of the spread of a
constraint (`SEARCH.feasibility`), so what they call feasible counts as met.
"""
# The same beyond a tolerance of the user's own: 30,000 times the rounding of one sum. Measured at
# limits of size 1 to 100, recommended points exceed them by at most 4e-12.
_ROUNDING = 1e-12
# The least size of a variable, in parts of its range, and of an output that is compared with 0: so
# that violations of 1e-9 of them count as met there, which is what searches resolve.
_SMALL = 1e-3
# Operations whose value has the size that they give for the sizes of their arguments.
_TERM_BY_TERM = {
    operations.total,
    operations.multiply,
    operations.matmul,
    operations.take,
    operations.join,
    operations.maximum,
    operations.minimum,
    operations.largest,
    operations.smallest,
    operations.square,
    operations.norm,
    operations.product,
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
            operate(operations.add, *_term_sizes((c.left, c.right), output))
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

    def of_operation(own: Operation, parts: Sequence[Expression]) -> Expression:
        atom = own.atom
        if atom in (operations.add, operations.subtract):
            return Operation(operations.add, tuple(parts))
        if atom in (operations.negative, operations.absolute):
            return parts[0]
        if atom is operations.divide:
            return Operation(atom, (parts[0], _absolute(own.arguments[1])))
        if atom in _TERM_BY_TERM:
            return Operation(atom, tuple(parts), own.parameters)
        return _absolute(own)

    def of_variable(own: Variable) -> Expression:
        if not own.is_number or own.log:
            return _absolute(own)
        # Near 0 a variable is as large as what a search resolves of its range.
        return operate(operations.add, _absolute(own), _SMALL * (own.upper - own.lower))

    sizes = program.fold(
        Algebra(
            variable=of_variable,
            constant=_absolute,
            operation=of_operation,
            call=lambda own, _: (
                _absolute(own) if output is None else Constant(np.full(own.shape, output))
            ),
        )
    )
    return [sizes[position] for position in program.outputs]


def _absolute(own: Expression) -> Expression:
    return Operation(operations.absolute, (own,))


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


# --- problem --------------------------------------------------------------------------------------


class Problem:
    """Minimize or maximize an expression subject to constraints.

    Args:
        minimize: The objective, a scalar expression; or
        maximize: the objective to maximize.
        subject_to: Constraints `a <= b`, `a >= b` or `a == b`: one, a list, or a dictionary of
            names and constraints; arrays count entry by entry.
        equations: Equalities `a == b` that determine the unknowns (`Unknown`); the same as in
            `subject_to`, where they may also stand.
        feasibility_tol: By how much `a` may be larger than `b`, in the units of the constraint: one
            number for all constraints, or a dictionary of names and numbers. By default 1e-4 for
            the sides of an equality, which may differ by that; for an equation `t == ...` of an
            unknown, 1e-6 of the distance between its bounds. Search, bounds and verdicts all
            count a constraint as met up to this. By default a trial counts as feasible up to 1e-6
            of the size of the terms of an inequality, and 1e-3 of the distance between the bounds
            of an unknown, which searches do not exploit; with 0, only where a constraint is met
            exactly.

    Attributes:
        objective: The objective as the user wrote it.
        sense: 1 when minimizing, -1 when maximizing.
        constraints: The constraints as the user wrote them, each equality as two inequalities.
        equalities: The equalities as the user wrote them.
        program: `sense * objective` and then the body of each constraint, compiled.
    """

    def __init__(
        self,
        *,
        minimize: Any = None,
        maximize: Any = None,
        subject_to: Constraint | Iterable[Constraint] | Mapping[str, Constraint] = (),
        equations: Constraint | Iterable[Constraint] | Mapping[str, Constraint] = (),
        feasibility_tol: float | Mapping[str, float] | None = None,
    ) -> None:
        if (minimize is None) == (maximize is None):
            raise ModelError("a problem needs one objective: pass either minimize= or maximize=")
        objective = _objective(minimize if maximize is None else maximize)
        closing = checked_equations(constraints_of(equations, "equations"))
        several = (*constraints_of(subject_to), *closing)
        constraints = with_tolerances(tuple(map(with_usual_tolerance, several)), feasibility_tol)
        self._set_up(1 if maximize is None else -1, objective, constraints)
        check_constraints_read(self.constraints)
        check_unknowns(self.variables, self.equalities)
        check_units(self)
        check_linear_constraints(self)

    def _set_up(
        self,
        sense: int,
        objective: Expression,
        constraints: tuple[Constraint, ...],
        variables: Sequence[Variable] | None = None,
    ) -> None:
        self.sense = sense
        self.objective = objective
        self.equalities = tuple(c for c in constraints if c.is_equality)
        for equality in self.equalities:
            if not equality.tolerance > 0:
                raise ModelError(
                    f"equality {equality!r} has feasibility_tol=0: no answer meets it exactly; "
                    "pass a number above 0, or leave it out for the usual one"
                )
        self.constraints = tuple(
            part for c in constraints for part in (c.halves() if c.is_equality else (c,))
        )
        signed = self.objective if self.sense == 1 else -self.objective
        self.program = Program(
            [signed, *(c.body for c in self.constraints)],
            variables,
            equality_tolerances=np.where(self._are_halves, self.tolerances, 0.0),
        )
        # A causal model may have no variable: its exogenous variables still vary.
        if not self.program.variables and not self.program.calls:
            raise ModelError(
                "the problem has no variable: its objective and constraints are constants; build "
                "them from a gs.Variable"
            )
        _check_names("variables", self.program.variables)
        _check_names("black boxes", self.program.boxes)
        check_constraint_names(self.constraints)
        self._causal: CausalModel | None = None
        self._origin: LinearEqualities | None = None

    @property
    def causal(self) -> CausalModel | None:
        """The causal model of a problem over interventions (`causal_problem`); else None."""
        return self._causal

    @property
    def origin(self) -> LinearEqualities | None:
        """How it was made from a problem with linear equalities; None if it was not."""
        return self._origin

    @property
    def searched(self) -> Problem:
        """The problem that strategies see: the same without its linear equalities."""
        return self if self.elimination is None else self.elimination.problem

    @cached_property
    def elimination(self) -> LinearEqualities | None:
        """How its linear equalities are solved before anything is searched; None if it has none."""
        from grisaille.reductions.linear_equalities import elimination_of

        return elimination_of(self)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in the order of a flat design point."""
        return self.program.variables

    @property
    def boxes(self) -> tuple[BlackBox, ...]:
        """The black boxes, in order of first use."""
        return self.program.boxes

    @property
    def is_exact(self) -> bool:
        """Whether the same point would give the same answers again: no black box has noise."""
        return all(box.is_exact for box in self.boxes)

    @property
    def chain_cost(self) -> float:
        """What evaluating the whole chain once costs."""
        return float(sum(call.box.cost for call in self.program.calls))

    @property
    def constraint_names(self) -> list[str]:
        """One text per scalar constraint, its name or else its formula.

        Array constraints count entry by entry, as in `purity[0]`.
        """
        return [label for constraint in self.constraints for label in constraint.labels]

    @property
    def constraint_units(self) -> list[str | None]:
        """The unit of each scalar constraint; None where none is known."""
        return [
            unit
            for constraint in self.constraints
            for unit in shown_units(constraint.body, constraint.unit)
        ]

    @property
    def objective_name(self) -> str | None:
        """What `named` calls the objective; None if it has no name."""
        return None if isinstance(self.objective, Variable) else self.objective.name

    @property
    def objective_unit(self) -> str | None:
        """The unit of the objective; None if none is known."""
        return shown_units(self.objective)[0]

    @property
    def tolerances(self) -> Array:
        """By how much each scalar constraint may be violated, (K,), in its own units."""
        several = [np.full(c.body.size, float(c.tolerance)) for c in self.constraints]
        return np.concatenate([np.zeros(0), *several])

    @cached_property
    def allowances(self) -> Allowances:
        """How far each constraint may be violated and still counts as met."""
        return Allowances(self.constraints, self.variables)

    @property
    def lenience(self) -> Array | None:
        """How far a trial may miss each constraint beyond that, (K,); None if not at all.

        Only equations of unknowns without a tolerance of the user's own are judged this way.
        """
        several = [np.full(c.body.size, c.lenience) for c in self.constraints]
        found = np.concatenate([np.zeros(0), *several])
        return found if found.any() else None

    @property
    def row_equalities(self) -> list[Constraint | None]:
        """For each scalar constraint the equality that it is one half of; else None, (K,)."""
        found: list[Constraint | None] = []
        remaining, latest = iter(self.equalities), None
        for constraint in self.constraints:
            if constraint.is_half and not constraint.flipped:
                latest = next(remaining)
            found += [latest if constraint.is_half else None] * constraint.body.size
        return found

    @property
    def _are_halves(self) -> NDArray[np.bool_]:
        """Which scalar constraints are one half of an equality, (K,)."""
        several = [np.full(c.body.size, c.is_half) for c in self.constraints]
        return np.concatenate([np.zeros(0, dtype=bool), *several])

    def solve(
        self,
        trials: int | None = None,
        *,
        x0: Any = None,
        strategy: Strategy | None = None,
        evaluation: Literal["separate", "chained"] = "separate",
        seed: int = 0,
        confidence: float | None = None,
        timeout: float | None = None,
        gap_tol: float | None = None,
        stop_if_infeasible: bool = False,
        max_cost: float | None = None,
        executor: Any = None,
        workers: int | None = None,
        callback: Callable[[Trial], object] | None = None,
        progress: bool | None = None,
        dashboard: bool = False,
    ) -> Result:
        """Optimize: choose where to evaluate the black boxes, and return the best feasible point.

        A `Study` does the same, and can be interrupted, resumed and shared.

        Args:
            trials: How many trials in all, the initial design included; by default 50, or as many
                as `max_cost` pays for.
            x0: A point, or several, to try first, such as where the plant is operated now: numbers
                in the order of the variables, values by name, or a DataFrame; see `Study.enqueue`.
            strategy: How to choose; `Optimistic()` by default, and `MCBO()` for a problem over
                interventions.
            evaluation: "separate" evaluates each black box also at its optimistic state (the
                paper); "chained" observes only the real chain.
            seed: Makes the run repeatable.
            confidence: The chance that a shown bound is right; by default that of the strategy,
                which is 0.95.
            timeout: Seconds after which no new trial starts.
            gap_tol: Stop when best value and bound are this close, in the objective's units. Bands
                that are a guess are doubted first: the gap must be closed for wider ones, too.
                Where noise was left out, the best point is evaluated once more before.
            stop_if_infeasible: Stop when the bands, twice as wide as the answers so far ask for,
                leave no feasible point. Without it the trials go on, and the result says so. A
                proof that rests on declared constants stops in any case.
            max_cost: What all evaluations together may cost.
            executor: What evaluates: anything with `submit`, such as a process pool of
                `concurrent.futures` or a Dask client. None for this process.
            workers: How many evaluations at once; without an executor, child processes make them.
            callback: Called with each `Trial`; a true return value stops the run.
            progress: True for a live table, False for silence, None for a live table in a
                terminal or a notebook and plain lines elsewhere.
            dashboard: Whether to serve a live page of the run to browsers of this machine. Its
                address is printed. It is there as long as this process lives.

        Returns:
            The result. Ctrl-C ends the run with the result so far, and so does the Stop button of
            a notebook.

        Raises:
            EvaluationError: No trial succeeds. This and any other exception that ends the run has
                what was evaluated before in its `result`.
        """
        from grisaille.study.run import solve

        return solve(
            self,
            trials=trials,
            x0=x0,
            strategy=strategy,
            evaluation=evaluation,
            seed=seed,
            confidence=confidence,
            timeout=timeout,
            gap_tol=gap_tol,
            stop_if_infeasible=stop_if_infeasible,
            max_cost=max_cost,
            executor=executor,
            workers=workers,
            callback=callback,
            progress=progress,
            dashboard=dashboard,
        )

    def diagram(self, format: Literal["text", "mermaid", "dot"] = "text") -> str:
        """The graph of the problem, with black and white boxes marked.

        Args:
            format: "text" for a terminal, "mermaid" for Markdown, "dot" for Graphviz.
        """
        from grisaille.language.diagram import diagram

        return diagram(self, format)

    def __deepcopy__(self, _memo: dict[int, Any]) -> Problem:
        return self  # it is immutable, and its variables are compared by identity

    def __repr__(self) -> str:
        verb = "minimize" if self.sense == 1 else "maximize"
        lines = [f"{verb} {definition(self.objective)}"]
        written = [*(c for c in self.constraints if not c.is_half), *self.equalities]
        lines += [f"  subject to {c!r}{tolerance_text(c)}" for c in written]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from grisaille.language.diagram import problem_html

        return problem_html(self)


def rewritten(
    problem: Problem,
    objective: Expression,
    constraints: Iterable[Constraint],
    causal: CausalModel | None = None,
    variables: Sequence[Variable] | None = None,
) -> Problem:
    """A new problem of the same sense, with these formulas and perhaps a causal model.

    Its variables are those that the formulas read, unless others are given.
    """
    new = derived(problem.sense, objective, constraints, variables)
    new._causal = causal
    new._origin = problem._origin
    return new


def reduced_by(problem: Problem, elimination: LinearEqualities) -> None:
    """Let a reduced problem, which was just made, know what it was made from."""
    problem._origin = elimination


def derived(
    sense: int,
    objective: Expression,
    constraints: Iterable[Constraint],
    variables: Sequence[Variable] | None = None,
) -> Problem:
    """A problem that the library makes of another one; its units are not checked again."""
    new = Problem.__new__(Problem)
    new._set_up(sense, _scalar(objective), tuple(constraints), variables)
    return new


def _objective(given: Any) -> Expression:
    if isinstance(given, list | tuple) and len(given) > 1:
        raise ModelError(
            f"the objective is a list of {len(given)}, and a problem has one objective: weigh them "
            "into one number, as in a + 2 * b, or keep one and limit the others in subject_to="
        )
    return _scalar(as_expression(given))


def _scalar(objective: Expression) -> Expression:
    if objective.size != 1:
        raise ModelError(
            f"the objective {objective!r} has shape {objective.shape}: it must be one number, such "
            "as one entry of it, or what its entries come to: np.sum(...), np.max(...)"
        )
    return objective.reshape(())


def _check_names(what: str, named: Iterable[Variable | BlackBox]) -> None:
    seen: set[str] = set()
    for thing in named:
        if thing.name in seen:
            raise ModelError(
                f"two different {what} are named {thing.name!r}: give each its own name"
            )
        seen.add(thing.name)
