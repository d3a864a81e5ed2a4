"""The language of cause and effect: variables without a cause, and the do operator.

A causal model is an ordinary problem. Each variable of the system is a call of a black box with
process noise, its *mechanism*; the arguments of the call are its causes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from grisaille.checks import check_name, real_numbers
from grisaille.errors import ModelError, shortened, text_of
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Algebra, Call, Expression, Operation, as_expression
from grisaille.language.operations import Atom
from grisaille.language.problem import Problem, rewritten
from grisaille.language.program import Program, substituted
from grisaille.language.text import labelled
from grisaille.language.variable import Variable


class _Unreached(Atom):
    """An atom that is unpickled as the one instance of its process."""

    __slots__ = ()

    def __reduce__(self) -> str:
        return "unreached"


unreached = _Unreached("natural", lambda value: value, lambda shape: shape)
"""The identity. Interventions replace nothing that it reads."""


@dataclass(frozen=True, slots=True, eq=False)
class Do:
    """A variable of the system that an intervention sets.

    Attributes:
        target: The call whose mechanism is switched off.
        variable: What stands in its place: a variable of the same name.
    """

    target: Call
    variable: Variable

    @property
    def name(self) -> str:
        """Name of the variable of the system."""
        return self.target.box.name


def exogenous(
    fn: Callable[[], Any] | None = None, *, name: str, noise: ArrayLike | None = None
) -> Expression:
    """A variable of the system that has no known cause and is not chosen.

    It is a black box without inputs whose noise belongs to the process: mean plus disturbance.

    Args:
        fn: Its mean, a function without arguments, for a system that is simulated; None when the
            real system is elsewhere.
        name: Its name.
        noise: Standard deviation of its disturbance; None to learn it.
    """
    check_name("an exogenous variable", name)
    if noise is not None and _has_zero(noise):
        raise ModelError(
            f"exogenous variable {name!r} has noise={shortened(noise)}: give the standard "
            "deviation of its disturbance, or None to learn it"
        )
    box = BlackBox(fn, name=name, noise=noise, process_noise=True)
    complaint = "" if fn is None else misfit(fn)
    if complaint:
        raise ModelError(
            f"exogenous variable {name!r} has the function {complaint}: nothing acts on it, so its "
            "function takes no arguments; declare one with causes as a gs.BlackBox of these"
        )
    return box.record(())


def _has_zero(noise: ArrayLike) -> bool:
    try:
        return not real_numbers(noise).all()
    except (TypeError, ValueError):  # `BlackBox` refuses what is not made of numbers
        return False


def natural(expression: Any) -> Expression:
    """The value that an expression would have had without an intervention.

    `intervene` does not reach through it. It is for hidden causes: where one acts on both b and
    y, the mechanism of y reads `natural(b)`, which tells about the hidden cause, and setting b
    leaves that as it was (Tian and Pearl 2002, "A general identification condition for causal
    effects").

    Args:
        expression: Any expression.
    """
    return Operation(unreached, (as_expression(expression),))


def do(target: Any, *, lower: float, upper: float) -> Do:
    """Let an intervention set a variable of the system, regardless of its causes.

    Args:
        target: The variable of the system, a call of a black box with one output.
        lower: Smallest value it can be set to.
        upper: Largest value it can be set to.
    """
    if not isinstance(target, Call):
        raise ModelError(
            f"do({shortened(target)}): only what a black box or gs.exogenous gives can be set; "
            "pass the expression of its call"
        )
    if target.shape != ():
        raise ModelError(
            f"do({target!r}): black box {target.box.name!r} has {target.box.outputs} outputs; an "
            "intervention sets one number, so declare a black box for each"
        )
    return Do(target, Variable(target.box.name, lower=lower, upper=upper))


def intervene(problem: Problem, *dos: Do) -> Problem:
    """The problem after interventions have set some variables of the system.

    Each target is replaced by its variable wherever it is read, except behind `natural`. Parts
    that are no longer read disappear.

    Args:
        problem: Any problem with black boxes.
        dos: What is set, from `do`.
    """
    if not isinstance(problem, Problem):
        raise ModelError(f"intervene({shortened(problem)}, ...): pass a gs.Problem")
    for given in dos:
        if not isinstance(given, Do):
            raise ModelError(f"intervene(..., {shortened(given)}): pass what gs.do(...) gives")
    parts = [problem.objective, *(c.body for c in problem.constraints)]
    inside = len(Program(parts).nodes)
    compiled = Program([*parts, *(d.target for d in dos)])
    positions = [compiled.position[d.target] for d in dos]
    for given, position in zip(dos, positions, strict=True):
        if position >= inside:  # it came after all that the problem has
            raise ModelError(
                f"intervene: {given.target!r} is not part of the problem, which calls "
                f"{', '.join(repr(b.name) for b in problem.boxes) or 'no black box'}"
            )
        if positions.count(position) > 1:
            raise ModelError(f"intervene: {given.name!r} is set twice; set it once")
    sides = [side for c in problem.constraints for side in (c.left, c.right)]
    replacement: dict[Expression, Expression] = {d.target: d.variable for d in dos}
    objective, *rest = substitute([problem.objective, *sides], replacement)
    pairs = zip(problem.constraints, rest[::2], rest[1::2], strict=True)
    constraints = [c.replaced(left=left, right=right) for c, left, right in pairs]
    return rewritten(problem, objective, constraints)


def substitute(
    expressions: Sequence[Expression], replacement: Mapping[Expression, Expression]
) -> list[Expression]:
    """Expressions in which others replace some that they read, except behind `natural`.

    Args:
        expressions: The expressions to rewrite.
        replacement: A new expression for an old one and for all that are equal to it.
    """
    program = Program([*expressions, *replacement])
    leaves: dict[Expression, Expression] = {o: o for o in program.operations if is_natural(o)}
    leaves |= {program.canonical(old): new for old, new in replacement.items()}
    written = substituted(program, leaves)
    # Equal expressions are one node, whatever they are called.
    return [labelled(written[program.position[e]], e.name, e.unit) for e in expressions]


def misfit(function: Callable[..., Any], *arguments: Any) -> str:
    """Why a function cannot be called with some arguments; "" if it can, or if it is unknown."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built-in functions may hide their signature
        return ""
    try:
        signature.bind(*arguments)
    except TypeError as error:
        name = getattr(function, "__name__", type(function).__name__)
        return f"{name}{signature}, {text_of(error)}"
    return ""


def is_natural(expression: Expression) -> bool:
    """Whether an expression is a natural value, which interventions do not change."""
    return isinstance(expression, Operation) and expression.atom is unreached


def natural_reads(parts: Sequence[Expression]) -> set[str]:
    """Names of the variables whose natural values expressions read, not counting calls' reads."""
    nothing = frozenset[str]()

    def operation(
        own: Operation, reads: Sequence[tuple[frozenset[str], frozenset[str]]]
    ) -> tuple[frozenset[str], frozenset[str]]:
        direct = nothing.union(*(names for names, _ in reads))
        behind = nothing.union(*(names for _, names in reads))
        return direct, direct if is_natural(own) else behind

    program = Program(parts)
    # By node, the variables that it reads, and those of which it reads the natural value.
    found = program.fold(
        Algebra(
            variable=lambda _: (nothing, nothing),
            constant=lambda _: (nothing, nothing),
            operation=operation,
            call=lambda call, _: (frozenset({call.box.name}), nothing),
        )
    )
    return set[str]().union(*(found[position][1] for position in program.outputs))
