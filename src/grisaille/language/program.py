"""Programs: expressions compiled to one topologically ordered list of nodes.

Running a program computes the white boxes and hands each black-box call to a *resolver*. The
resolver decides what the run means: the real functions give an experiment, posterior means a
prediction, points of the confidence bands a member of the plausible set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.errors import ModelError
from grisaille.language import slopes
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Algebra, Call, Constant, Expression, Operation, V, entries
from grisaille.language.operations import join
from grisaille.language.slopes import Sloped
from grisaille.language.variable import DesignSpace, Unknown, Variable

# --- program --------------------------------------------------------------------------------------

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """One step of a program.

    Attributes:
        expression: What the step computes; of several equal expressions, the first.
        arguments: Positions of the nodes it reads.
        key: Equal for equal nodes, also of different programs: the same function of the same
            arguments.
    """

    expression: Expression
    arguments: tuple[int, ...]
    key: bytes


@dataclass(frozen=True, slots=True)
class BoxCall:
    """A black-box call of a program.

    Attributes:
        box: The black box.
        node: Position of the call among the program's nodes.
        key: Equal for equal calls in different programs.
        upstream: The calls whose outputs it reads, directly or not, by position among the calls.
        columns: Where its outputs stand among the outputs of all calls.
        arguments: The expressions it is called with.
    """

    box: BlackBox
    node: int
    key: bytes
    upstream: frozenset[int]
    columns: slice
    arguments: tuple[Expression, ...] = field(repr=False)

    @property
    def first_layer(self) -> bool:
        """Whether its inputs are known exactly once the variables are chosen."""
        return not self.upstream

    @property
    def sources(self) -> list[Expression]:
        """The expressions that the user called it with: choices where their indicators stand."""
        shown = zip(self.arguments, self.box.argument_labels, strict=True)
        return [next(iter(Program([a]).reads)) if labels else a for a, labels in shown]


Resolve = Callable[[BoxCall, Tensor], Tensor]
"""`(call, states of shape (batch, inputs)) -> outputs of shape (batch, outputs)`."""

ResolveSloped = Callable[[BoxCall, Sloped], Sloped]
"""The same with slopes."""


class Program:
    """Expressions as one forward pass, shared parts computed once.

    Args:
        expressions: What a run computes.
        variables: The variables and their order; by default those found, in order of appearance.
        equality_tolerances: (K,), by how much the sides of an equality may differ, for constraints
            that are one half of one; 0 for others. By default all are others.

    Attributes:
        nodes: The steps, each after those it reads.
        position: The node of every expression.
        outputs: The nodes of the expressions it was made of.
        constants: Their values, (1, *shape).
        reads: The variables that it really reads, in order of appearance.
        operations: The known operations.
        columns: The entries of each variable in a flat design point.
        space: The values that a flat design point may have, and its search coordinates.
        calls: The black-box calls.
        call_of: The same by their expressions.
    """

    def __init__(
        self,
        expressions: Sequence[Expression],
        variables: Sequence[Variable] | None = None,
        equality_tolerances: NDArray[np.float64] | None = None,
    ) -> None:
        self.nodes: list[Node] = []
        self.position: dict[Expression, int] = {}
        self.constants: dict[Expression, Tensor] = {}
        self.reads: list[Variable] = []
        self.operations: list[Operation] = []
        self._compile(expressions)
        self._steps = [(node.expression, node.arguments) for node in self.nodes]
        self.outputs = tuple(self.position[e] for e in expressions)
        self.variables = tuple(self.reads if variables is None else variables)
        self.columns = self._lay_out_variables()
        self.space = DesignSpace(self.variables)
        self.call_of = self._find_calls()
        self.calls = tuple(self.call_of.values())
        rows = sum(e.size for e in expressions[1:])
        self.equality_tolerances = (
            np.zeros(rows) if equality_tolerances is None else equality_tolerances
        )

    @property
    def decisions(self) -> list[Variable]:
        """The variables that are chosen, not determined by equations."""
        return [v for v in self.variables if not v.is_unknown]

    @property
    def unknowns(self) -> list[Unknown]:
        """The variables that equations determine."""
        return [v for v in self.variables if isinstance(v, Unknown)]

    @property
    def size(self) -> int:
        """Number of entries of all variables: the length of a flat design point."""
        return sum(v.size for v in self.variables)

    @property
    def lower(self) -> NDArray[np.float64]:
        """Lower bounds of a flat design point."""
        return np.concatenate([np.zeros(0), *(v.lower.ravel() for v in self.variables)])

    @property
    def upper(self) -> NDArray[np.float64]:
        """Upper bounds of a flat design point."""
        return np.concatenate([np.zeros(0), *(v.upper.ravel() for v in self.variables)])

    @property
    def boxes(self) -> tuple[BlackBox, ...]:
        """The black boxes, in order of first use."""
        return tuple({id(call.box): call.box for call in self.calls}.values())

    @property
    def box_outputs(self) -> int:
        """Number of outputs of all calls."""
        return sum(call.box.outputs for call in self.calls)

    @property
    def process_noise(self) -> bool:
        """Whether a black box has process noise, so that outputs are expected values."""
        return any(call.box.process_noise for call in self.calls)

    @property
    def continuous(self) -> bool:
        """Whether all known operations are continuous."""
        return all(operation.atom.continuous for operation in self.operations)

    @property
    def has_slopes(self) -> bool:
        """Return True if slopes can be carried through all operations."""
        return all(operation.atom.slope is not slopes.unknown for operation in self.operations)

    def fold(self, algebra: Algebra[V, V]) -> list[V]:
        """Return what each node becomes in an algebra, arguments before what reads them."""
        values: list[V] = []
        for expression, arguments in self._steps:
            values.append(expression._become(algebra, [values[a] for a in arguments]))
        return values

    def canonical(self, expression: Expression) -> Expression:
        """Return the expression of the node of an expression: of equal ones, the first."""
        return self.nodes[self.position[expression]].expression

    def run(self, x: Tensor, resolve: Resolve) -> list[Tensor]:
        """Evaluate the program at a batch of flat design points, x of shape (batch, size).

        Returns:
            One tensor of shape (batch, *shape) per expression the program was made of.
        """

        def answer(call: Call, arguments: Sequence[Tensor]) -> Tensor:
            # An exogenous variable has no argument.
            states = join.evaluate(*arguments) if arguments else x[:, :0]
            return resolve(self.call_of[call], states).reshape(-1, *call.shape)

        values = self.fold(
            Algebra(
                variable=lambda v: x[:, self.columns[v]].reshape(-1, *v.shape),
                constant=self.constants.__getitem__,
                operation=lambda o, arguments: o.atom.evaluate(*arguments, *o.parameters),
                call=answer,
            )
        )
        batch = x.shape[0]
        return [values[p].expand(batch, *values[p].shape[1:]) for p in self.outputs]

    def run_sloped(self, x: Sloped, resolve: ResolveSloped) -> list[Sloped]:
        """Evaluate the program with slopes at flat design points, x of shape (batch, size).

        All its operations have slopes (`has_slopes`).

        Returns:
            One value of shape (batch or 1, *shape) per expression the program was made of.
        """

        def answer(call: Call, arguments: Sequence[Sloped]) -> Sloped:
            answered = resolve(self.call_of[call], join.slope(*arguments))
            return answered.picked(slice(None), call.shape)

        values = self.fold(
            Algebra(
                variable=lambda v: x.picked(self.columns[v], v.shape),
                constant=lambda c: Sloped(self.constants[c].numpy()),
                operation=lambda o, arguments: o.atom.slope(*arguments, *o.parameters),
                call=answer,
            )
        )
        return [values[p] for p in self.outputs]

    def design_entries(self, expression: Expression) -> list[int | None]:
        """Return the flat position in a design point of each entry; None if it is computed."""
        starts = {variable: columns.start for variable, columns in self.columns.items()}
        found = ((starts.get(source), place) for source, place in entries(expression))  # type: ignore[call-overload]
        return [None if start is None else start + place for start, place in found]

    def first_states(self, x: NDArray[np.float64]) -> dict[int, NDArray[np.float64]]:
        """Inputs at x of the calls that read no other call, by call."""
        point = torch.tensor(x).unsqueeze(0)
        states = {}
        for number, call in enumerate(self.calls):
            if call.first_layer:
                parts = Program(call.arguments, self.variables).run(point, _no_answer)
                flat = (p[0].numpy().ravel() for p in parts)
                states[number] = np.concatenate([np.zeros(0), *flat])
        return states

    def _compile(self, expressions: Iterable[Expression]) -> None:
        position_of_key: dict[Key, int] = {}
        unfinished: set[Expression] = set()

        def enter(constant: Constant) -> None:
            self.constants[constant] = torch.tensor(constant.value).unsqueeze(0)

        entering: Algebra[Any, None] = Algebra(
            self.reads.append,
            enter,
            lambda operation, _: self.operations.append(operation),
            lambda _call, _: None,
        )
        stack = [(e, False) for e in reversed(list(expressions))]
        while stack:  # depth first without recursion: models may be thousands of steps deep
            expression, arguments_done = stack.pop()
            if expression in self.position:
                continue
            if not arguments_done:
                if expression in unfinished:
                    raise ModelError(
                        f"the model has a cycle: {type(expression).__name__} reads its own value"
                    )
                unfinished.add(expression)
                stack.append((expression, True))
                stack.extend((a, False) for a in reversed(expression.arguments))
                continue
            unfinished.discard(expression)
            arguments = tuple(self.position[a] for a in expression.arguments)
            local_key = (expression._become(_IDENTITY, ()), arguments)
            if local_key not in position_of_key:
                key = _digest(local_key[0], (self.nodes[a].key for a in arguments))
                position_of_key[local_key] = len(self.nodes)
                self.nodes.append(Node(expression, arguments, key))
                expression._become(entering, ())
            self.position[expression] = position_of_key[local_key]

    def _lay_out_variables(self) -> dict[Variable, slice]:
        slices: dict[Variable, slice] = {}
        start = 0
        for variable in self.variables:
            slices[variable] = slice(start, start + variable.size)
            start += variable.size
        for variable in self.reads:
            if variable not in slices:
                known = ", ".join(repr(v.name) for v in self.variables)
                raise ModelError(
                    f"the expression reads variable {variable.name!r}, which is not part "
                    f"of this problem (it has {known}): use the problem's own variables"
                )
        return slices

    def _find_calls(self) -> dict[Call, BoxCall]:
        calls: dict[Call, BoxCall] = {}
        nothing = frozenset[int]()
        start = 0

        def entered(call: Call, reads: Sequence[frozenset[int]]) -> frozenset[int]:
            nonlocal start
            columns = slice(start, start + call.box.outputs)
            start = columns.stop
            node, upstream = self.position[call], nothing.union(*reads)
            key = self.nodes[node].key
            calls[call] = BoxCall(call.box, node, key, upstream, columns, call.arguments)
            return upstream | {len(calls) - 1}

        # By node, the calls that it depends on.
        self.fold(
            Algebra(
                variable=lambda _: nothing,
                constant=lambda _: nothing,
                operation=lambda _, reads: nothing.union(*reads),
                call=entered,
            )
        )
        return calls


class Dependence(NamedTuple):
    """The dependence of a node on the variables that count and on the outputs of black boxes.

    Attributes:
        reads: True if it depends on any of them.
        is_constant: True if it is the same for all values of all variables.
        is_linear: True if it is affine in them, given its arguments, with constant slopes.
    """

    reads: bool
    is_constant: bool
    is_linear: bool


def linear_nodes(program: Program, counts: Callable[[Variable], bool]) -> list[Dependence]:
    """Return how each node depends on the variables that count and on the black boxes."""

    def operation(own: Operation, parts: Sequence[Dependence]) -> Dependence:
        reads, constants = any(p.reads for p in parts), [p.is_constant for p in parts]
        slopes_are_constant = {
            "jointly": True,
            "separately": any(constants),
            "in the first": constants[-1:] == [True],
            "": False,
        }
        linear = slopes_are_constant[own.atom.linear] and all(p.is_linear for p in parts)
        return Dependence(reads, all(constants), linear or not reads)

    return program.fold(
        Algebra(
            variable=lambda variable: Dependence(counts(variable), False, True),
            constant=lambda _: Dependence(False, True, True),
            operation=operation,
            call=lambda _, _arguments: Dependence(True, False, True),
        )
    )


def substituted(
    program: Program,
    leaves: Mapping[Expression, Expression],
    recalled: Callable[[Call, Sequence[Expression]], Expression] | None = None,
) -> list[Expression]:
    """Return the expressions of the nodes with others in place of some; names and units stay.

    Args:
        program: The program.
        leaves: The new expressions, by the expressions of nodes.
        recalled: Rewrites the calls that are not replaced, from their new arguments.
    """

    def rebuilt(old: Operation | Call, arguments: Sequence[Expression]) -> Expression:
        if old in leaves:
            return leaves[old]
        kept = map(program.canonical, old.arguments)
        same = all(a is b for a, b in zip(arguments, kept, strict=True))
        return old if same else old.of(arguments)

    def called(old: Call, arguments: Sequence[Expression]) -> Expression:
        return rebuilt(old, arguments) if recalled is None else recalled(old, arguments)

    return program.fold(
        Algebra(
            variable=lambda v: leaves.get(v, v),
            constant=lambda c: leaves.get(c, c),
            operation=rebuilt,
            call=called,
        )
    )


def split_outputs(outputs: list[Tensor]) -> tuple[Tensor, Tensor]:
    """What a problem's program returns as objective (batch,) and constraints (batch, K)."""
    objective, *bodies = outputs
    batch = len(objective)
    flat = [b.reshape(batch, -1) for b in bodies]
    return objective, torch.cat(flat, 1) if flat else objective.new_zeros(batch, 0)


def _no_answer(call: BoxCall, _states: Tensor) -> Tensor:
    raise AssertionError(f"{call.box!r} is of the first layer, so nothing before it is asked")


def _digest(identity: Key, arguments: Iterable[bytes]) -> bytes:
    """A digest of an expression and everything it reads, however deep."""
    return hashlib.blake2b(b"".join([repr(identity).encode(), *arguments]), digest_size=16).digest()


# What identifies an expression apart from its arguments.
_IDENTITY: Algebra[Any, Key] = Algebra(
    variable=lambda variable: ("variable", id(variable)),
    constant=lambda constant: ("constant", constant.shape, constant.value.tobytes()),
    operation=lambda operation, _: ("operation", id(operation.atom), operation.parameters),
    call=lambda call, _: ("call", id(call.box)),
)
