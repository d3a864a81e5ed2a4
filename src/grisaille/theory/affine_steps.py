"""Which steps of a program are affine, which may jump, and which only pass values on."""

from __future__ import annotations

from grisaille.language import atoms
from grisaille.language.expression import Call, Operation
from grisaille.language.program import Program
from grisaille.language.variable import Unknown, Variable

_LINEAR = (atoms.add, atoms.subtract, atoms.negative, atoms.total, atoms.take, atoms.join)
_BILINEAR = (atoms.multiply, atoms.matmul)
_PASSING = (atoms.take, atoms.join, atoms.negative)


def affine_nodes(program: Program) -> list[bool]:
    """Whether each node is affine in unknowns and outputs of black boxes, with constant slopes."""
    constant: list[bool] = []
    affine: list[bool] = []
    reads = _reading_nodes(program)
    for position, node in enumerate(program.nodes):
        constant_arguments = [constant[a] for a in node.arguments]
        affine_arguments = [affine[a] for a in node.arguments]
        expression = node.expression
        free = isinstance(expression, Variable | Call)
        constant.append(not free and all(constant_arguments))
        if free or not reads[position]:  # nothing that counts changes it, or it does
            affine.append(True)
            continue
        assert isinstance(expression, Operation)
        if expression.atom in _LINEAR:
            affine.append(all(affine_arguments))
        elif expression.atom in _BILINEAR:
            affine.append(all(affine_arguments) and any(constant_arguments))
        else:
            divides = expression.atom is atoms.divide
            affine.append(divides and affine_arguments[0] and constant_arguments[1])
    return affine


def jumping_nodes(program: Program) -> list[int]:
    """Positions of the nodes that read a black box or an unknown and may jump with it."""
    reads = _reading_nodes(program)
    return [
        position
        for position, node in enumerate(program.nodes)
        if isinstance(node.expression, Operation)
        and not node.expression.atom.continuous
        and reads[position]
    ]


def _reading_nodes(program: Program) -> list[bool]:
    """Whether each node is, or reads, a black-box call or an unknown."""
    reads: list[bool] = []
    for node in program.nodes:
        inherited = any(reads[a] for a in node.arguments)
        reads.append(inherited or isinstance(node.expression, Call | Unknown))
    return reads


def passing_nodes(program: Program) -> list[bool]:
    """Whether each node only passes on or negates variables and black-box outputs."""
    passes: list[bool] = []
    for node in program.nodes:
        expression = node.expression
        plain = not isinstance(expression, Operation) or expression.atom in _PASSING
        inherits = isinstance(expression, Call) or all(passes[a] for a in node.arguments)
        passes.append(plain and inherits)
    return passes
