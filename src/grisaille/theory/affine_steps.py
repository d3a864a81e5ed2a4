"""Which steps of a program are affine, and which only pass values on."""

from __future__ import annotations

from grisaille.language import atoms
from grisaille.language.expression import Call, Constant, Operation
from grisaille.language.program import Program
from grisaille.language.variable import Variable

_LINEAR = (atoms.add, atoms.subtract, atoms.negative, atoms.total, atoms.take, atoms.join)
_BILINEAR = (atoms.multiply, atoms.matmul)


def affine_nodes(program: Program) -> list[bool]:
    """Whether each node is affine in the outputs of black boxes, with slopes that are constant."""
    constant: list[bool] = []
    affine: list[bool] = []
    downstream = _downstream(program)
    for position, node in enumerate(program.nodes):
        fixed = [constant[a] for a in node.arguments]
        straight = [affine[a] for a in node.arguments]
        expression = node.expression
        if isinstance(expression, Variable | Call):
            constant.append(False)
            affine.append(True)
            continue
        constant.append(isinstance(expression, Constant) or all(fixed))
        if not downstream[position]:  # whatever it does with the variables, boxes do not move it
            affine.append(True)
            continue
        assert isinstance(expression, Operation)
        if expression.atom in _LINEAR:
            affine.append(all(straight))
        elif expression.atom in _BILINEAR:
            affine.append(all(straight) and any(fixed))
        else:
            affine.append(expression.atom is atoms.divide and straight[0] and fixed[1])
    return affine


def jumping_nodes(program: Program) -> list[int]:
    """Positions of the nodes that read a black box and may jump with it."""
    downstream = _downstream(program)
    return [
        position
        for position, node in enumerate(program.nodes)
        if isinstance(node.expression, Operation)
        and not node.expression.atom.continuous
        and downstream[position]
    ]


def _downstream(program: Program) -> list[bool]:
    """Whether each node is, or reads, a black-box call."""
    found: list[bool] = []
    for node in program.nodes:
        reads = any(found[a] for a in node.arguments)
        found.append(reads or isinstance(node.expression, Call))
    return found


def passing_nodes(program: Program) -> list[bool]:
    """Whether each node only passes on, or turns the sign of, variables and black-box outputs."""
    passes: list[bool] = []
    for node in program.nodes:
        expression = node.expression
        idle = not isinstance(expression, Operation) or expression.atom in (
            atoms.take,
            atoms.join,
            atoms.negative,
        )
        inherits = isinstance(expression, Call) or all(passes[a] for a in node.arguments)
        passes.append(idle and inherits)
    return passes
