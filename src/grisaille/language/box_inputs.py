"""The inputs and outputs of a black box: their names, and the variables they are."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from grisaille.language.black_box import BlackBox, value_count, value_names
from grisaille.language.expression import Algebra, Expression, entries
from grisaille.language.problem import Problem
from grisaille.language.unit_check import shown_units
from grisaille.language.values import entry_names
from grisaille.language.variable import Variable

# --- input names ----------------------------------------------------------------------------------
# Names of the inputs and outputs of a black box, and all names they are known by.


def input_names(problem: Problem, box: BlackBox) -> list[str]:
    """What the inputs of a black box are called, in tables and on paper."""
    namings = distinct_namings(problem, box)
    return namings[-1] if namings else names_by_source(problem, box)


def distinct_namings(problem: Problem, box: BlackBox) -> list[list[str]]:
    """Return the lists of `input_namings` in which no name could mean two inputs."""
    known = known_inputs(problem, box)
    return [n for n in input_namings(problem, box) if all(len(known[name]) == 1 for name in n)]


def known_inputs(problem: Problem, box: BlackBox) -> dict[str, set[int]]:
    """The places of every name that an input of a black box may be called by.

    These are the arguments of the function, the variables and outputs that the black box is called
    with, and `input[1]`. Each may have the name of the black box in front, as on sheets. A name
    that means several places could mean each of them.
    """
    namings: list[Sequence[str | None]] = [*input_namings(problem, box), *_sources(problem, box)]
    known: dict[str, set[int]] = defaultdict(set)
    for naming in [*namings, _plain_names(box)]:
        for place, name in enumerate(naming):
            if name is not None:
                known[name].add(place)
                known[f"{box.name}.{name}"].add(place)
    return dict(known)


def input_units(problem: Problem, box: BlackBox) -> list[str | None]:
    """The unit of each input, as variables and outputs declare it; None where calls differ."""
    calls = [call for call in problem.program.calls if call.box is box]
    sources = [call.sources for call in calls]
    found = [[unit for source in own for unit in shown_units(source)] for own in sources]
    units = zip(*found, strict=True) if found else [(None,)] * value_count(box)
    return [own[0] if len(set(own)) == 1 else None for own in units]


def names_by_source(problem: Problem, box: BlackBox) -> list[str]:
    """Names of inputs after the variables and outputs that they are, `input[1]` for others."""
    sources, plain = _sources(problem, box), _plain_names(box)
    if any(source != sources[0] for source in sources[1:]):
        return plain
    found = [name or plain[place] for place, name in enumerate(sources[0] if sources else plain)]
    return found if len(set(found)) == len(found) else plain


def _sources(problem: Problem, box: BlackBox) -> list[list[str | None]]:
    """For each call, the variables and outputs that the inputs are; None for what is computed."""
    calls = [call for call in problem.program.calls if call.box is box]
    called = [call.sources for call in calls]
    return [[n for a in arguments for n in _source_names(a)] for arguments in called]


def _plain_names(box: BlackBox) -> list[str]:
    return entry_names("input", (value_count(box),))


def _source_names(expression: Expression) -> list[str | None]:
    """For each entry, the variable or the output that it is; None if it is computed."""
    naming: Algebra[Any, Sequence[str | None]] = Algebra(
        variable=lambda variable: entry_names(variable.name, variable.shape),
        constant=lambda constant: [None] * constant.size,
        operation=lambda operation, _: [None] * operation.size,
        call=lambda call, _: call.box.output_names or entry_names(call.box.name, call.shape),
    )
    return [e.source._become(naming, ())[e.position] for e in entries(expression)]


def input_namings(problem: Problem, box: BlackBox) -> list[list[str]]:
    """What the inputs of a black box may be called: one list of names per way of naming them."""
    shapes = box.argument_shapes or ()
    namings = []
    try:
        arguments = [] if box.fn is None else list(inspect.signature(box.fn).parameters.values())
    except (TypeError, ValueError):  # built-in functions may hide their signature
        arguments = []
    plain = [a.name for a in arguments if a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD)]
    if len(plain) >= len(shapes):
        namings.append(value_names(box, plain))
    for call in problem.program.calls:
        if call.box is not box:
            continue
        variables = [a for a in call.sources if isinstance(a, Variable)]
        if len(variables) == len(call.arguments):
            namings.append(value_names(box, [v.name for v in variables]))
    return [naming for naming in namings if len(set(naming)) == value_count(box)]
