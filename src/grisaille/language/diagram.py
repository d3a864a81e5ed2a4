"""The graph of a problem as text or drawing, and problems as HTML for notebooks.

Known operations between two black boxes are drawn as one white node that shows its formula, so
that the picture has as many nodes as a person would draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markupsafe import Markup

from grisaille.array_types import Array
from grisaille.checks import is_one_of
from grisaille.errors import ModelError, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.box_inputs import input_namings
from grisaille.language.expression import Algebra, Call, Expression, Operation, entries
from grisaille.language.problem import Problem, tolerance_text
from grisaille.language.text import definition, formula
from grisaille.language.units import unit_text
from grisaille.language.unknowns import solved_for
from grisaille.language.values import ValueKind, design_kinds
from grisaille.language.variable import Variable
from grisaille.markup import code, heading, joined, small, table

# --- diagram --------------------------------------------------------------------------------------
# The graph of a problem: variables, black boxes, and the known formulas between them.

Kind = Literal["variable", "unknown", "black", "white", "goal"]

_MERMAID_STYLES = """\
    classDef black fill:#222,color:#fff,stroke:#000
    classDef white fill:#fff,color:#000,stroke:#555
    classDef variable fill:#eee,color:#000,stroke:#555
    classDef unknown fill:#eee,color:#000,stroke:#000,stroke-dasharray:4
    classDef goal fill:#bbb,color:#000,stroke:#000"""


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node of the picture.

    Attributes:
        kind: What it is.
        label: Its text.
        reads: The positions of the nodes it reads.
        box: Name of the black box that is called; empty for other nodes.
    """

    kind: Kind
    label: str
    reads: tuple[int, ...]
    box: str = ""


def diagram(problem: Problem, format: Literal["text", "mermaid", "dot"]) -> str:
    """Draw the problem; see `Problem.diagram`."""
    writers = {"text": _text, "mermaid": _mermaid, "dot": _dot}
    if not is_one_of(format, writers):
        raise ModelError(f"diagram format {shortened(format)} is unknown: use text, mermaid or dot")
    return writers[format](draw(problem))


def draw(problem: Problem) -> list[DrawnNode]:
    """The nodes of the picture in topological order, goals last."""
    program = problem.program
    key_of = {e: program.nodes[p].key for e, p in program.position.items()}
    canonical = {n.key: n.expression for n in program.nodes}
    # Of equal expressions, one that has a name is drawn.
    canonical |= {key_of[e]: e for e in program.position if e.name is not None}
    nodes: list[DrawnNode] = []
    position: dict[bytes, int] = {}
    names: dict[Expression, str] = {}
    uses: dict[str, int] = {}

    def leaves(expression: Expression) -> tuple[int, ...]:
        """Positions of the variables and calls that a known formula reads."""
        found: dict[int, None] = {}
        seen: set[Expression] = set()
        stack = [expression]
        while stack:
            part = canonical[key_of[stack.pop()]]
            if part in seen:
                continue
            seen.add(part)
            if key_of[part] in position:
                found[position[key_of[part]]] = None
            else:
                stack.extend(reversed(part.arguments))
        return tuple(found)

    def add(
        expression: Expression, kind: Kind, label: str, reads: tuple[int, ...], box: str = ""
    ) -> None:
        position[key_of[expression]] = len(nodes)
        nodes.append(DrawnNode(kind, label, reads, box))

    def rename(key: bytes, name: str) -> None:
        names.update({e: name for e, k in key_of.items() if k == key})

    def variable(expression: Variable) -> None:
        size = f"[{expression.size}]" if expression.shape else ""
        range_text = f"{_span(expression)}{unit_text(expression.unit)}"
        kind: Kind = "unknown" if expression.is_unknown else "variable"
        add(expression, kind, f"{expression.name}{size} in {range_text}", ())

    def call(expression: Call, _reads: Sequence[None]) -> None:
        arguments = [canonical[key_of[a]] for a in expression.arguments]
        shown = zip(arguments, expression.box.argument_labels, strict=True)
        # Labels reach a black box as indicators, which no chart shows.
        for argument in (a for a, labels in shown if not labels):
            if _is_formula(argument) and key_of[argument] not in position:
                name = argument.name or f"w{1 + sum(n.kind == 'white' for n in nodes)}"
                text = definition(argument, names)
                label = text if argument.name is not None else f"{name} = {text}"
                add(argument, "white", label, leaves(argument))
                rename(key_of[argument], name)
        box = expression.box
        uses[box.name] = uses.get(box.name, 0) + 1
        label = box.name if uses[box.name] == 1 else f"{box.name} #{uses[box.name]}"
        reads = tuple(dict.fromkeys(p for a in arguments for p in leaves(a)))
        add(expression, "black", label, reads, box.name)
        rename(key_of[expression], label)

    program.fold(
        Algebra(
            variable=variable,
            constant=lambda _: None,
            operation=lambda _, _reads: None,
            call=call,
        )
    )
    verb = "minimize" if problem.sense == 1 else "maximize"
    label = f"{verb} {definition(problem.objective, names)}"
    nodes.append(DrawnNode("goal", label, leaves(problem.objective)))
    for equation in problem.equalities:  # what comes back of an unknown closes a loop
        unknown = solved_for(equation)
        if unknown is not None:
            source = equation.right if unknown is equation.left else equation.left
            for place in leaves(unknown):
                back = tuple(dict.fromkeys((*nodes[place].reads, *leaves(source))))
                nodes[place] = replace(nodes[place], reads=back)
    written = iter(problem.equalities)
    for part in problem.constraints:
        if part.is_half and part.flipped:
            continue  # the second half of an equality, which is drawn once
        constraint = next(written) if part.is_half else part
        name = "" if constraint.name is None else f"{constraint.name}: "
        relation = constraint.describe(lambda side: formula(side, names))
        label = f"subject to {name}{relation}{tolerance_text(constraint)}"
        nodes.append(DrawnNode("goal", label, leaves(part.body)))
    return _with_torn_streams(nodes)


def _with_torn_streams(nodes: list[DrawnNode]) -> list[DrawnNode]:
    """Say of each unknown whether it is torn: whether what comes back depends on what goes in."""
    drawn = list(nodes)
    for place, node in enumerate(nodes):
        if node.kind != "unknown":
            continue
        seen: set[int] = set()
        stack = [p for p in node.reads if nodes[p].kind != "goal"]
        while stack:
            other = stack.pop()
            if other not in seen:
                seen.add(other)
                stack.extend(nodes[other].reads)
        torn = place in seen
        word = "torn stream" if torn else "solved for"
        drawn[place] = replace(node, label=f"{node.label}, {word}")
    return drawn


def _is_formula(expression: Expression) -> bool:
    """Return True if an argument is worth a node: it is more than picks from variables or calls."""
    return any(isinstance(e.source, Operation) for e in entries(expression))


def _span(variable: Variable) -> str:
    low, high, step = variable.lower, variable.upper, variable.step
    members = design_kinds([variable])[0].members(low.min(), high.max())
    if members:
        return members
    same = low.min() == low.max() and high.min() == high.max()
    span = f"[{low.min():g}, {high.max():g}]" if same else f"[{low.min():g} .. {high.max():g}]"
    if step is not None:
        least, most = step.min(), step.max()
        span += f" in steps of {least:g}" + ("" if least == most else f" .. {most:g}")
    return span + (" in the logarithm" if variable.log else "")


def _text(nodes: list[DrawnNode]) -> str:
    marks = {"variable": "( )", "unknown": "(~)", "black": "███", "white": "[ ]", "goal": "==>"}
    numbers = [str(i + 1) for i in range(len(nodes))]
    width = len(numbers[-1])
    lines = []
    for number, node in zip(numbers, nodes, strict=True):
        reads = ", ".join(numbers[p] for p in node.reads)
        source = f"   <- {reads}" if reads else ""
        lines.append(f"{number:>{width}}  {marks[node.kind]}  {node.label}{source}")
    unknown = "(~) unknown   " if any(node.kind == "unknown" for node in nodes) else ""
    legend = f"( ) variable   {unknown}███ black box   [ ] white box   ==> goal   <- reads"
    return "\n".join([*lines, "", legend])


def _mermaid(nodes: list[DrawnNode]) -> str:
    shapes = {"variable": ("([", "])"), "unknown": ("([", "])"), "goal": ("{{", "}}")}
    lines = ["flowchart LR"]
    for i, node in enumerate(nodes):
        opening, closing = shapes.get(node.kind, ("[", "]"))
        label = node.label.replace('"', "'").replace("<", "&lt;").replace(">", "&gt;")
        lines.append(f'    n{i}{opening}"{label}"{closing}:::{node.kind}')
    lines += [f"    n{p} --> n{i}" for i, node in enumerate(nodes) for p in node.reads]
    used = {node.kind for node in nodes}
    styles = [s for s in _MERMAID_STYLES.splitlines() if "unknown" not in s or "unknown" in used]
    return "\n".join([*lines, *styles])


def _dot(nodes: list[DrawnNode]) -> str:
    styles = {
        "variable": 'shape=ellipse style=filled fillcolor="#eeeeee"',
        "unknown": 'shape=ellipse style="filled,dashed" fillcolor="#eeeeee"',
        "black": 'shape=box style=filled fillcolor="#222222" fontcolor=white',
        "white": "shape=box",
        "goal": 'shape=hexagon style=filled fillcolor="#bbbbbb"',
    }
    lines = ["digraph problem {", "    rankdir=LR;"]
    for i, node in enumerate(nodes):
        label = node.label.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'    n{i} [label="{label}" {styles[node.kind]}];')
    lines += [f"    n{p} -> n{i};" for i, node in enumerate(nodes) for p in node.reads]
    lines.append("}")
    return "\n".join(lines)


# --- problem html ---------------------------------------------------------------------------------
# Problems and expressions as HTML, for notebooks.

_MOST_ROWS = 24
_MOST_BOUNDS = 6


def problem_html(problem: Problem) -> str:
    """The formulas of a problem, and tables of its variables and black boxes."""
    verb = "minimize" if problem.sense == 1 else "maximize"
    parts = [joined([heading(verb), code(definition(problem.objective))])]
    written = [*(c for c in problem.constraints if not c.is_half), *problem.equalities]
    if written:
        constraints = [
            (c.name or "", code(c.describe()), small(tolerance_text(c).strip())) for c in written
        ]
        parts += [heading("subject to"), _shortened_table((), constraints)]
    if problem.variables:
        variables = [_variable_row(variable) for variable in problem.variables]
        headers = ("variable", "shape", "values", "unit", "")
        parts += [heading("variables"), _shortened_table(headers, variables)]
    if problem.boxes:
        boxes = [_box_row(problem, box) for box in problem.boxes]
        headers = ("black box", "inputs", "outputs", "noise", "cost")
        parts += [heading("black boxes"), _shortened_table(headers, boxes)]
    return joined(parts)


def expression_html(expression: Expression) -> str:
    """The formula of an expression, and its shape; of a variable, what it can be."""
    if isinstance(expression, Variable):
        name, shape, values, unit, remark = _variable_row(expression)
        parts: list[object] = [code(name), f": {values}{f' {unit}' if unit else ''}"]
        remarks = [f"shape {shape}" if shape else "", str(remark)]
    else:
        parts = [code(definition(expression))]
        remarks = [f"shape {expression.shape}" if expression.shape else ""]
    said = ", ".join(filter(None, remarks))
    return joined([*parts, " ", small(said)] if said else parts)


def _variable_row(variable: Variable) -> tuple[str, str, str, str, str]:
    lower, upper = _ends(variable.lower), _ends(variable.upper)
    kind = ValueKind(variable.labels, variable.is_whole and not variable.labels)
    remarks = ["unknown"] if variable.is_unknown else []
    if variable.log:
        remarks.append("logarithmic")
    if variable.step is not None and not variable.is_whole:
        steps = sorted(set(variable.step.ravel().tolist()))
        remarks.append(f"step {steps[0]:g}" if len(steps) == 1 else "steps")
    return (
        variable.name,
        " x ".join(map(str, variable.shape)),
        kind.members(float(variable.lower.min()), float(variable.upper.max()))
        or f"{lower} to {upper}",
        unit_text(variable.unit).strip(),
        ", ".join(remarks),
    )


def _ends(bounds: Array) -> str:
    """Bounds as text: one number if all are the same."""
    numbers = dict.fromkeys(f"{bound:.6g}" for bound in bounds.ravel().tolist())
    if len(numbers) == 1:
        return next(iter(numbers))
    shown = [f"{bound:.6g}" for bound in bounds.ravel().tolist()]
    few = shown if len(shown) <= _MOST_BOUNDS else [*shown[:3], "...", shown[-1]]
    return f"[{', '.join(few)}]"


def _box_row(problem: Problem, box: BlackBox) -> tuple[str, str, str, str, str]:
    namings = input_namings(problem, box)
    inputs = _listed(namings[0] if namings else [], box.inputs)
    outputs = _listed(box.output_names, box.outputs)
    if box.noise is None:
        noise = "learned"
    else:
        levels = sorted({f"{float(level):g}" for level in box.noise}, key=float)
        noise = levels[0] if len(levels) == 1 else f"{levels[0]} to {levels[-1]}"
    return box.name, inputs, outputs, noise, f"{box.cost:g}"


def _listed(names: Sequence[str], count: int) -> str:
    """All names if they are few, else how many there are."""
    return ", ".join(names) if 0 < len(names) <= _MOST_ROWS else str(count)


def _shortened_table(headers: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> Markup:
    """A table of the first rows, and how many more there are."""
    shown = table(headers, rows[:_MOST_ROWS])
    more = len(rows) - _MOST_ROWS
    return joined([shown, small(f"and {more} more")]) if more > 0 else shown
