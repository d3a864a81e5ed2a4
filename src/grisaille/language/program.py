"""Programs: expressions compiled to one topologically ordered list of nodes.

Running a program computes the white boxes and hands each black-box call to a *resolver*. The
resolver decides what the run means: the real functions give an experiment, posterior means a
prediction, points of the confidence bands a member of the plausible set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.errors import ModelError
from grisaille.language.atoms import join
from grisaille.language.black_box import BlackBox
from grisaille.language.design_space import DesignSpace
from grisaille.language.expression import Call, Constant, Expression, Operation
from grisaille.language.variable import Variable

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


Resolve = Callable[[BoxCall, Tensor], Tensor]
"""`(call, states of shape (batch, inputs)) -> outputs of shape (batch, outputs)`."""


class Program:
    """Expressions as one forward pass, shared parts computed once.

    Args:
        expressions: What a run computes.
        variables: The variables and their order; by default those found, in order of appearance.
        equality_tolerances: (K,), by how much the sides of an equality may differ, for constraints
            that are one half of one; 0 for others. By default all are others.

    Attributes:
        space: The values that a flat design point may have, and its search coordinates.
    """

    def __init__(
        self,
        expressions: Sequence[Expression],
        variables: Sequence[Variable] | None = None,
        equality_tolerances: NDArray[np.float64] | None = None,
    ) -> None:
        self.nodes: list[Node] = []
        self.position: dict[Expression, int] = {}
        self.constants: dict[int, Tensor] = {}
        self._compile(expressions)
        self.outputs = tuple(self.position[e] for e in expressions)
        found = [n.expression for n in self.nodes if isinstance(n.expression, Variable)]
        self.variables = tuple(found if variables is None else variables)
        self.columns = self._lay_out_variables()
        self.space = DesignSpace(self.variables)
        self.calls = self._find_calls()
        rows = sum(e.size for e in expressions[1:])
        self.equality_tolerances = (
            np.zeros(rows) if equality_tolerances is None else equality_tolerances
        )
        self.call_of_node = {call.node: call for call in self.calls}

    @property
    def reads(self) -> tuple[Variable, ...]:
        """The variables that it really reads, in order of appearance."""
        return tuple(n.expression for n in self.nodes if isinstance(n.expression, Variable))

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
        return all(
            n.expression.atom.continuous for n in self.nodes if isinstance(n.expression, Operation)
        )

    def run(self, x: Tensor, resolve: Resolve) -> list[Tensor]:
        """Evaluate the program at a batch of flat design points, x of shape (batch, size).

        Returns:
            One tensor of shape (batch, *shape) per expression the program was made of.
        """
        values: list[Tensor] = []
        for position, node in enumerate(self.nodes):
            expression = node.expression
            if isinstance(expression, Operation):
                arguments = (values[a] for a in node.arguments)
                values.append(expression.atom.evaluate(*arguments, *expression.parameters))
            elif isinstance(expression, Variable):
                values.append(x[:, self.columns[expression]].reshape(-1, *expression.shape))
            elif isinstance(expression, Constant):
                values.append(self.constants[position])
            else:
                # An exogenous variable has no argument.
                parts = [values[a] for a in node.arguments]
                states = join.evaluate(*parts) if parts else x[:, :0]
                answer = resolve(self.call_of_node[position], states)
                values.append(answer.reshape(-1, *expression.shape))
        batch = x.shape[0]
        return [values[p].expand(batch, *values[p].shape[1:]) for p in self.outputs]

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
            local_key = (_identity(expression), arguments)
            if local_key not in position_of_key:
                key = _digest(local_key[0], (self.nodes[a].key for a in arguments))
                position_of_key[local_key] = len(self.nodes)
                if isinstance(expression, Constant):
                    self.constants[len(self.nodes)] = torch.tensor(expression.value).unsqueeze(0)
                self.nodes.append(Node(expression, arguments, key))
            self.position[expression] = position_of_key[local_key]

    def _lay_out_variables(self) -> dict[Variable, slice]:
        slices: dict[Variable, slice] = {}
        start = 0
        for variable in self.variables:
            slices[variable] = slice(start, start + variable.size)
            start += variable.size
        for node in self.nodes:
            if isinstance(node.expression, Variable) and node.expression not in slices:
                known = ", ".join(repr(v.name) for v in self.variables)
                raise ModelError(
                    f"the expression reads variable {node.expression.name!r}, which is not part "
                    f"of this problem (it has {known}): use the problem's own variables"
                )
        return slices

    def _find_calls(self) -> tuple[BoxCall, ...]:
        calls: list[BoxCall] = []
        reads: list[frozenset[int]] = []  # by node: the calls it depends on
        start = 0
        for position, node in enumerate(self.nodes):
            upstream = frozenset[int]().union(*(reads[a] for a in node.arguments))
            expression = node.expression
            if isinstance(expression, Call):
                box = expression.box
                columns = slice(start, start + box.outputs)
                start += box.outputs
                call = BoxCall(box, position, node.key, upstream, columns, expression.arguments)
                upstream = upstream | {len(calls)}
                calls.append(call)
            reads.append(upstream)
        return tuple(calls)


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


def _identity(expression: Expression) -> Key:
    """What identifies an expression apart from its arguments."""
    if isinstance(expression, Operation):
        return ("operation", id(expression.atom), expression.parameters)
    if isinstance(expression, Call):
        return ("call", id(expression.box))
    if isinstance(expression, Constant):
        return ("constant", expression.shape, expression.value.tobytes())
    return ("variable", id(expression))
