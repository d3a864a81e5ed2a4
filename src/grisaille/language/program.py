"""Programs: expressions compiled to one topologically ordered list of nodes.

Running a program computes the white boxes and hands each black-box call to a *resolver*. The
resolver decides what the run means: the real functions give an experiment, posterior means a
prediction, points of the confidence bands a member of the plausible set.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.array_types import Array
from grisaille.errors import ModelError
from grisaille.language import operations as atoms
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Call, Constant, Expression, Operation
from grisaille.language.operations import Atom, join
from grisaille.language.variable import DesignSpace, Variable

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


# --- slopes ---------------------------------------------------------------------------------------
# Values of known operations with their slopes, carried forward in NumPy.
#
# A search needs the slopes of an objective and of all constraints at a few points. Carried
# forward with the values, they come in one pass of small NumPy operations; automatic
# differentiation takes several times as long on arrays this small. Operations without a rule
# here are left to it.


@dataclass(frozen=True, slots=True)
class Sloped:
    """A value and its slopes by D coordinates.

    Attributes:
        value: (batch, *shape), or (1, *shape) if it is the same at all points.
        slopes: (batch, D, *shape); None if they are all 0.
    """

    value: Array
    slopes: Array | None = None


Rule = Callable[..., Sloped]
ResolveSloped = Callable[[BoxCall, Sloped], Sloped]
"""The states (batch, inputs) of a call to its outputs (batch, outputs), with slopes."""


def has_rules(program: Program) -> bool:
    """Whether slopes can be carried through all operations of a program."""
    operations = (n.expression for n in program.nodes if isinstance(n.expression, Operation))
    return all(operation.atom in _RULES for operation in operations)


def run_sloped(program: Program, x: Sloped, resolve: ResolveSloped) -> list[Sloped]:
    """Evaluate a program that has rules at flat design points, x of shape (batch, size).

    Returns:
        One value of shape (batch or 1, *shape) per expression the program was made of.
    """
    assert x.slopes is not None
    values: list[Sloped] = []
    for position, node in enumerate(program.nodes):
        expression = node.expression
        if isinstance(expression, Operation):
            arguments = (values[a] for a in node.arguments)
            values.append(_RULES[expression.atom](*arguments, *expression.parameters))
        elif isinstance(expression, Variable):
            columns, shape = program.columns[expression], expression.shape
            slopes = x.slopes[:, :, columns]
            values.append(
                Sloped(
                    x.value[:, columns].reshape(-1, *shape),
                    slopes.reshape(*slopes.shape[:2], *shape),
                )
            )
        elif isinstance(expression, Constant):
            values.append(Sloped(program.constants[position].numpy()))
        else:
            assert isinstance(expression, Call)
            states = _join(*(values[a] for a in node.arguments))
            answer = resolve(program.call_of_node[position], states)
            assert answer.slopes is not None
            shape = expression.shape
            slopes = answer.slopes.reshape(*answer.slopes.shape[:2], *shape)
            values.append(Sloped(answer.value.reshape(-1, *shape), slopes))
    return [values[p] for p in program.outputs]


def _raised(array: Array, axes: int, rank: int) -> Array:
    """An array with new axes after the first ones, so that the others are `rank`."""
    shape = array.shape
    return array.reshape(shape[:axes] + (1,) * (rank - len(shape) + axes) + shape[axes:])


def _aligned(*sides: Sloped) -> tuple[Sloped, ...]:
    """The same with values of one rank, new axes after the batch, as in `atoms.align`."""
    ranks = [side.value.ndim - 1 for side in sides]
    rank = max(ranks)
    if min(ranks) == rank:
        return sides
    return tuple(
        Sloped(_raised(s.value, 1, rank), None if s.slopes is None else _raised(s.slopes, 2, rank))
        for s in sides
    )


def _sum(parts: list[Array]) -> Array | None:
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _elementwise(function: Callable[..., Array], *partials: Callable[..., Array | float]) -> Rule:
    """The rule of an operation entry by entry, from its partial derivatives.

    Each is a function of the arguments and of the value.
    """

    def rule(*arguments: Sloped) -> Sloped:
        sides = _aligned(*arguments)
        given = [side.value for side in sides]
        value = function(*given)
        parts = []
        for side, partial in zip(sides, partials, strict=True):
            if side.slopes is not None:
                factor = partial(*given, value)
                factor = factor[:, None] if isinstance(factor, np.ndarray) else factor
                parts.append(factor * side.slopes)
        slopes = _sum(parts)
        if slopes is not None and slopes.shape[2:] != value.shape[1:]:
            slopes = np.broadcast_to(slopes, slopes.shape[:2] + value.shape[1:])
        return Sloped(value, slopes)

    return rule


def _by_base(base: Array, exponent: Array, _value: Array) -> Array:
    return np.where(exponent == 0, 0.0, exponent * base ** (exponent - 1))


def _by_exponent(base: Array, exponent: Array, value: Array) -> Array:
    return np.where((base == 0) & (exponent >= 0), 0.0, value * np.log(base))


def _larger(one: Array, other: Array, _value: Array) -> Array:
    """1 where one is larger, 1/2 where both are equal."""
    return np.asarray((one > other) + 0.5 * (one == other))


def _smaller(one: Array, other: Array, _value: Array) -> Array:
    return np.asarray((one < other) + 0.5 * (one == other))


def _where(condition: Sloped, yes: Sloped, no: Sloped) -> Sloped:
    test, first, second = _aligned(condition, yes, no)
    taken, unknown = test.value <= 0, np.isnan(test.value)
    value = np.where(unknown, test.value, np.where(taken, first.value, second.value))
    parts = []
    for side, mask in ((first, taken & ~unknown), (second, ~taken & ~unknown)):
        if side.slopes is not None:
            parts.append(np.where(mask[:, None], side.slopes, 0.0))
    slopes = _sum(parts)
    if slopes is not None and slopes.shape[2:] != value.shape[1:]:
        slopes = np.broadcast_to(slopes, slopes.shape[:2] + value.shape[1:])
    return Sloped(value, slopes)


def _total(argument: Sloped, axes: tuple[int, ...]) -> Sloped:
    if not axes:
        return argument
    slopes = argument.slopes
    return Sloped(
        argument.value.sum(tuple(a + 1 for a in axes)),
        None if slopes is None else slopes.sum(tuple(a + 2 for a in axes)),
    )


def _extreme(reduce: Callable[..., Array]) -> Rule:
    """The rule of the largest or smallest entry; equal ones share the slope."""

    def rule(argument: Sloped, axes: tuple[int, ...]) -> Sloped:
        if not axes:
            return argument
        along = tuple(a + 1 for a in axes)
        kept = reduce(argument.value, along, keepdims=True)
        value = kept.reshape([n for i, n in enumerate(argument.value.shape) if i not in along])
        if argument.slopes is None:
            return Sloped(value)
        share = (argument.value == kept) / (argument.value == kept).sum(along, keepdims=True)
        return Sloped(value, (share[:, None] * argument.slopes).sum(tuple(a + 2 for a in axes)))

    return rule


def _product(argument: Sloped, axes: tuple[int, ...]) -> Sloped:
    for axis in sorted((a + 1 for a in axes), reverse=True):
        value, slopes = argument.value, argument.slopes
        if slopes is not None:
            # The product of all others, also where one of them is 0.
            ones = np.ones_like(np.take(value, [0], axis))
            inner = [slice(None)] * value.ndim
            inner[axis] = slice(None, -1)
            before = np.cumprod(np.concatenate([ones, value[tuple(inner)]], axis), axis)
            turned = np.flip(value, axis)
            after = np.cumprod(np.concatenate([ones, turned[tuple(inner)]], axis), axis)
            others = before * np.flip(after, axis)
            slopes = (others[:, None] * slopes).sum(axis + 1)
        argument = Sloped(value.prod(axis), slopes)
    return argument


def _norm(argument: Sloped, axes: tuple[int, ...]) -> Sloped:
    along = tuple(a + 1 for a in axes)
    kept = np.sqrt((argument.value * argument.value).sum(along, keepdims=True))
    value = kept.reshape([n for i, n in enumerate(argument.value.shape) if i not in along])
    if argument.slopes is None:
        return Sloped(value)
    share = np.where(kept > 0, argument.value / np.where(kept > 0, kept, 1.0), 0.0)
    return Sloped(value, (share[:, None] * argument.slopes).sum(tuple(a + 2 for a in axes)))


def _matmul(left: Sloped, right: Sloped) -> Sloped:
    vectors = left.value.ndim == 2, right.value.ndim == 2
    if vectors[0]:
        left = _with_axis(left, -2)
    if vectors[1]:
        right = _with_axis(right, -1)
    left, right = _aligned(left, right)
    value = left.value @ right.value
    parts = []
    if left.slopes is not None:
        parts.append(left.slopes @ right.value[:, None])
    if right.slopes is not None:
        parts.append(left.value[:, None] @ right.slopes)
    slopes = _sum(parts)
    dropped = tuple(axis for axis, vector in zip((-2, -1), vectors, strict=True) if vector)
    return Sloped(
        np.squeeze(value, dropped), None if slopes is None else np.squeeze(slopes, dropped)
    )


def _with_axis(side: Sloped, axis: int) -> Sloped:
    slopes = None if side.slopes is None else np.expand_dims(side.slopes, axis)
    return Sloped(np.expand_dims(side.value, axis), slopes)


def _take(argument: Sloped, positions: tuple[int, ...], shape: tuple[int, ...]) -> Sloped:
    value, slopes = argument.value, argument.slopes
    size = math.prod(value.shape[1:])
    taken = value.reshape(len(value), size)[:, positions].reshape(len(value), *shape)
    if slopes is None:
        return Sloped(taken)
    ends = slopes.shape[:2]
    return Sloped(taken, slopes.reshape(*ends, size)[:, :, positions].reshape(*ends, *shape))


def _join(*arguments: Sloped) -> Sloped:
    batch = max(len(a.value) for a in arguments)
    sizes = [math.prod(a.value.shape[1:]) for a in arguments]
    value, place = np.empty((batch, sum(sizes))), 0
    known = [a.slopes for a in arguments if a.slopes is not None]
    slopes = None
    if known:
        count = max(len(s) for s in known)
        slopes = np.zeros((count, known[0].shape[1], sum(sizes)))
    for argument, size in zip(arguments, sizes, strict=True):
        part = slice(place, place + size)
        value[:, part] = argument.value.reshape(len(argument.value), size)
        if slopes is not None and argument.slopes is not None:
            slopes[:, :, part] = argument.slopes.reshape(*argument.slopes.shape[:2], size)
        place += size
    return Sloped(value, slopes)


_RULES: dict[Atom, Rule] = {
    atoms.add: _elementwise(np.add, lambda a, b, v: 1.0, lambda a, b, v: 1.0),
    atoms.subtract: _elementwise(np.subtract, lambda a, b, v: 1.0, lambda a, b, v: -1.0),
    atoms.multiply: _elementwise(np.multiply, lambda a, b, v: b, lambda a, b, v: a),
    atoms.divide: _elementwise(np.divide, lambda a, b, v: 1 / b, lambda a, b, v: -v / b),
    atoms.power: _elementwise(np.power, _by_base, _by_exponent),
    atoms.minimum: _elementwise(np.minimum, _smaller, lambda a, b, v: _smaller(b, a, v)),
    atoms.maximum: _elementwise(np.maximum, _larger, lambda a, b, v: _larger(b, a, v)),
    atoms.where: _where,
    atoms.negative: _elementwise(np.negative, lambda a, v: -1.0),
    atoms.absolute: _elementwise(np.abs, lambda a, v: np.sign(a)),
    atoms.reciprocal: _elementwise(np.reciprocal, lambda a, v: -v * v),
    atoms.exp: _elementwise(np.exp, lambda a, v: v),
    atoms.expm1: _elementwise(np.expm1, lambda a, v: v + 1),
    atoms.log: _elementwise(np.log, lambda a, v: 1 / a),
    atoms.log1p: _elementwise(np.log1p, lambda a, v: 1 / (1 + a)),
    atoms.log2: _elementwise(np.log2, lambda a, v: 1 / (a * math.log(2))),
    atoms.log10: _elementwise(np.log10, lambda a, v: 1 / (a * math.log(10))),
    atoms.sqrt: _elementwise(np.sqrt, lambda a, v: 0.5 / v),
    atoms.square: _elementwise(np.square, lambda a, v: 2 * a),
    atoms.sin: _elementwise(np.sin, lambda a, v: np.cos(a)),
    atoms.cos: _elementwise(np.cos, lambda a, v: -np.sin(a)),
    atoms.tan: _elementwise(np.tan, lambda a, v: 1 + v * v),
    atoms.arcsin: _elementwise(np.arcsin, lambda a, v: 1 / np.sqrt(1 - a * a)),
    atoms.arccos: _elementwise(np.arccos, lambda a, v: -1 / np.sqrt(1 - a * a)),
    atoms.arctan: _elementwise(np.arctan, lambda a, v: 1 / (1 + a * a)),
    atoms.sinh: _elementwise(np.sinh, lambda a, v: np.cosh(a)),
    atoms.cosh: _elementwise(np.cosh, lambda a, v: np.sinh(a)),
    atoms.tanh: _elementwise(np.tanh, lambda a, v: 1 - v * v),
    atoms.total: _total,
    atoms.product: _product,
    atoms.largest: _extreme(np.max),
    atoms.smallest: _extreme(np.min),
    atoms.norm: _norm,
    atoms.matmul: _matmul,
    atoms.take: _take,
    atoms.join: _join,
}
