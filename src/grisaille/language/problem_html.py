"""Problems and expressions as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.declared_unit import unit_text
from grisaille.language.expression import Expression
from grisaille.language.formula_text import definition
from grisaille.language.input_names import input_namings
from grisaille.language.problem import Problem
from grisaille.language.subject_to import tolerance_text
from grisaille.language.value_kinds import ValueKind
from grisaille.language.variable import Variable
from grisaille.markup import Html, code, heading, joined, small, table

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


def _shortened_table(headers: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> Html:
    """A table of the first rows, and how many more there are."""
    shown = table(headers, rows[:_MOST_ROWS])
    more = len(rows) - _MOST_ROWS
    return joined([shown, small(f"and {more} more")]) if more > 0 else shown
