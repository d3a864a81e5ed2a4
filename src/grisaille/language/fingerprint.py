"""Fingerprints: a problem as lines of text, to recognize it in another process or another year.

Options at their default are left out, so that a new option does not change the fingerprints of
existing problems. Fingerprints are stored: changing a text makes stored studies unrecognizable.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import itertools
import json
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grisaille.language.black_box import BlackBox
from grisaille.language.causal.model import CausalModel
from grisaille.language.expression import Algebra, Constant, Operation
from grisaille.language.problem import Problem
from grisaille.language.program import Program
from grisaille.language.variable import Unknown, Variable
from grisaille.language.white_box import WhiteBox

_LONGEST = 16
"""How many numbers are written in full; longer arrays as the first ones and a digest."""

_PER_ENTRY = (
    "noise",
    "norm_bound",
    "lower",
    "upper",
    "input_lower",
    "input_upper",
    "lipschitz",
    "monotone",
)
"""Options of a black box that are one number or several; None by default."""


def fingerprint(problem: Problem) -> list[str]:
    """The problem as text: one line per variable, box, step and output.

    Two problems have equal lines exactly when they are the same problem, up to a collision of
    64-bit digests of long arrays, and up to the functions: the code behind a black box, a white
    box, `model=` or `interval=` is not compared, only that there is one. Nothing depends on the
    process. Scalar constants and variables stand where they are read; every other step has a
    number. A constraint counts by its body, so `a <= b` and `b >= a` are one, and one number
    declared for all entries is the same as that number for each.
    """
    # Not problem.program, which negates an objective to maximize: here, the verb says so.
    program = Program([problem.objective, *(c.body for c in problem.constraints)])
    white_boxes = _white_boxes(program)
    steps: list[str] = []

    def numbered(text: str) -> str:
        steps.append(f"#{len(steps) + 1} = {text}")
        return f"#{len(steps)}"

    def operation(expression: Operation, reads: Sequence[str]) -> str:
        white_box = _white_box_of(expression)
        name = expression.atom.name if white_box is None else white_boxes[white_box]
        parameters = map(_parameter, expression.parameters)
        return numbered(f"{name}({', '.join([*reads, *parameters])})")

    def constant(expression: Constant) -> str:
        text = _numbers(expression.value)
        return numbered(text) if expression.shape else text

    # What each node is called where it is read.
    texts = program.fold(
        Algebra(
            variable=lambda variable: _name(variable.name),
            constant=constant,
            operation=operation,
            call=lambda call, reads: numbered(
                f"black box {_name(call.box.name)}({', '.join(reads)})"
            ),
        )
    )
    objective, *bodies = (texts[position] for position in program.outputs)
    return [
        *(_variable(v) for v in program.variables),
        *(_black_box(b) for b in program.boxes),
        *(_white_box(b, label) for b, label in white_boxes.items()),
        *steps,
        f"{'minimize' if problem.sense == 1 else 'maximize'} {objective}",
        *(f"subject to {body} <= 0" for body in bodies),
        *([] if problem.causal is None else _causal(problem.causal)),
    ]


def learned_boxes(lines: Sequence[str]) -> list[str]:
    """Return the black boxes of a fingerprint whose hyper-parameters are learned.

    A kernel says in all its parts that it has length-scales, or in none. One of a user's own class
    does not say it, and counts as learned.
    """
    found = []
    for line in lines:
        declared = _DECLARATION.match(line)
        if declared is not None and declared[1].startswith("black box "):
            name = declared[1].removeprefix("black box ")
            if "lengthscale " not in re.sub(_QUOTED, "", line[declared.end() :]):
                found.append(json.loads(name) if name.startswith('"') else name)
    return found


def difference(old: Sequence[str], new: Sequence[str], longest: int = 20) -> str:
    """What changed from one fingerprint to another, for a person; "" if they are equal.

    Steps that only got another number are left out. Lines with - are the old ones, with their old
    numbers, lines with + the new ones.

    Args:
        old: The fingerprint before.
        new: The fingerprint now.
        longest: How many lines to show; the rest is counted.
    """
    if list(old) == list(new):
        return ""
    renumbered = _renumbered(old, new)
    shown: list[str] = []
    for i, j in _pairs(renumbered, new):
        if i is not None and j is not None:
            shown += _change(old[i], new[j]) if renumbered[i] != new[j] else []
        else:
            shown += [f"- {old[i]}"] if i is not None else []
            shown += [f"+ {new[j]}"] if j is not None else []
    more = len(shown) - longest
    return "\n".join(shown[:longest] + ([f"... and {more} more"] if more > 0 else []))


# --- causal models -----------------------------------------------------------------------------
def _causal(causal: CausalModel) -> list[str]:
    """Sets, observational data and mechanisms of a problem over interventions."""
    sets = [", ".join(_name(d.name) for d in dos) or "nothing" for dos in causal.sets]
    data = [f"{_name(name)} {_numbers(column)}" for name, column in causal.observations.items()]
    return [
        *(f"intervention {number}: {members}" for number, members in enumerate(sets)),
        *(f"observed {column}" for column in data),
        # Their steps are numbered separately, with @ in place of #.
        *(f"model: {line.replace('#', '@')}" for line in fingerprint(causal.model)),
    ]


# --- declarations ------------------------------------------------------------------------------
def _variable(variable: Variable) -> str:
    fields = {"shape": str(variable.shape)} if variable.shape else {}
    fields |= {"lower": _declared(variable.lower), "upper": _declared(variable.upper)}
    if variable.step is not None:
        fields["step"] = _declared(variable.step)
    if variable.log:
        fields["log"] = "True"
    if variable.labels:
        fields["labels"] = f"[{', '.join(map(_name, variable.labels))}]"
    elif variable.is_whole:
        fields["whole"] = "True"
    if isinstance(variable, Unknown):
        fields["unknown"] = "True"
        if variable.contraction is not None:
            fields["contraction"] = _declared(variable.contraction)
    return _declaration(f"variable {_name(variable.name)}", fields)


def _black_box(box: BlackBox) -> str:
    fields = {"arguments": str(list(box.argument_shapes or ()))}
    if box.output_names:
        fields["outputs"] = f"[{', '.join(map(_name, box.output_names))}]"
    elif box.outputs != 1:
        fields["outputs"] = str(box.outputs)
    for option in _PER_ENTRY:
        if getattr(box, option) is not None:
            fields[option] = _declared(getattr(box, option))
    if box.kernel is not None:
        fields["kernel"] = _kernel(box.kernel)
    if box.model is not None:
        fields["model"] = "given"
    if box.declared_separable is False:
        fields["separable"] = "no"
    cost = _declared(getattr(box, "cost", 1.0))
    if cost != "1.0":
        fields["cost"] = cost
    if box.process_noise:
        fields["process_noise"] = "yes"
    if box.shared_kernel:
        fields["shared_kernel"] = "yes"
    return _declaration(f"black box {_name(box.name)}", fields)


def _white_box(box: WhiteBox, label: str) -> str:
    fields = {} if box.outputs == 1 else {"outputs": str(box.outputs)}
    if box.lipschitz is not None:
        fields["lipschitz"] = _declared(box.lipschitz)
    if box.interval is not None:
        fields["interval"] = "given"
    return _declaration(label, fields)


def _white_boxes(program: Program) -> dict[WhiteBox, str]:
    """The white boxes in order of first use; those that share a name are numbered."""
    uses: dict[str, int] = {}
    labels: dict[WhiteBox, str] = {}
    for operation in program.operations:
        box = _white_box_of(operation)
        if box is not None and box not in labels:
            uses[box.name] = uses.get(box.name, 0) + 1
            again = f" ({uses[box.name]})" if uses[box.name] > 1 else ""
            labels[box] = f"white box {_name(box.name)}{again}"
    return labels


def _white_box_of(expression: Operation) -> WhiteBox | None:
    """Return the white box of an operation: its atom evaluates by one of the box's methods."""
    owner = getattr(expression.atom.evaluate, "__self__", None)
    return owner if isinstance(owner, WhiteBox) else None


def _kernel(kernel: Any) -> str:
    """Family and fields, which may be kernels; of a class that is no dataclass, its name."""
    family = type(kernel).__name__
    if not dataclasses.is_dataclass(kernel):
        return family
    signature = inspect.signature(type(kernel)).parameters
    fields = []
    for field in dataclasses.fields(kernel):
        value = getattr(kernel, field.name)
        default = signature[field.name].default if field.name in signature else None
        if value is not None and value != default:
            fields.append(f"{field.name} {_kernel_field(value)}")
    return f"{family}({', '.join(fields)})" if fields else family


def _kernel_field(value: Any) -> str:
    """What a field of a kernel holds: kernels, a name, numbers; of all else, only that it is."""
    if hasattr(value, "correlation"):
        return _kernel(value)
    if isinstance(value, tuple) and value and all(hasattr(part, "correlation") for part in value):
        return f"[{', '.join(map(_kernel, value))}]"
    try:
        return _name(value) if isinstance(value, str) else _declared(value)
    except (TypeError, ValueError):
        return "given"


def _declaration(label: str, fields: Mapping[str, str]) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in fields.items())
    return f"{label}: {facts}" if facts else label


# --- steps -------------------------------------------------------------------------------------
def _parameter(parameter: Any) -> str:
    """Axes, a shape or flat positions; a parameter of any other kind is refused."""
    entries = tuple(operator.index(entry) for entry in parameter)
    if len(entries) <= _LONGEST:
        return str(entries)
    first = ", ".join(map(str, entries[:3]))
    return f"({first}, ... {len(entries)} in all, {_digest(np.array(entries, '<i8'))})"


# --- values ------------------------------------------------------------------------------------
def _declared(values: ArrayLike) -> str:
    """Numbers whose shape is known from elsewhere: an axis of equal entries is written once."""
    array = np.asarray(values, dtype=np.float64)
    bits = array.view(np.int64)  # compared to the last bit: 0.0 is not -0.0
    while array.ndim and array.size and (bits == bits[:1]).all():
        array, bits = array[0], bits[0]
    return _numbers(np.asarray(array))


def _numbers(array: NDArray[np.float64]) -> str:
    if not array.size:
        return f"[shape {array.shape}]"
    if array.size <= _LONGEST:
        return str(array.tolist())  # Python's digits tell every two numbers apart
    first = ", ".join(map(repr, array.ravel()[:3].tolist()))
    plain = np.where(np.isnan(array), np.nan, array)  # the bits of a NaN depend on the machine
    return f"[{first}, ... shape {array.shape}, {_digest(plain.astype('<f8'))}]"


def _digest(array: NDArray[Any]) -> str:
    return f"blake2b {hashlib.blake2b(array.tobytes(), digest_size=8).hexdigest()}"


# What a name must not hold to stand without quotes: the characters of our own syntax, blanks, and
# those that end a line or cannot be stored. Spelled out, because Python's classes of characters
# change from version to version.
_UNSAFE = r"\x00-\x1f\x7f-\x9f#\u2028\u2029\ud800-\udfff"
_NEEDS_QUOTES = re.compile(rf"[{_UNSAFE}\x20-\x2f:-@\[-^`{{-~\xa0]|^[0-9]|^(inf|nan)$|^$")


def _name(name: str) -> str:
    """A name as it is if it is unambiguous, else in quotes."""
    if not _NEEDS_QUOTES.search(name):
        return name
    quoted = json.dumps(name, ensure_ascii=False)
    return re.sub(f"[{_UNSAFE}]", lambda match: f"\\u{ord(match[0]):04x}", quoted)


# --- differences -------------------------------------------------------------------------------
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_REFERENCE = re.compile(r"#\d+")
_DECLARATION = re.compile(
    rf"((?:variable|black box|white box) (?:{_QUOTED}|[^\s:]+)(?: \(\d+\))?)(?:: |$)"
)
_TOKEN = re.compile(rf"{_QUOTED}|.", re.DOTALL)


def _renumbered(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The old lines with the numbers that their steps have now; #? for a step that is gone."""
    without = [[_REFERENCE.sub("#", line) for line in lines] for lines in (old, new)]
    numbers: dict[str, str] = {}
    for i, j in _pairs(*without):
        was = _REFERENCE.match(old[i]) if i is not None else None
        now = _REFERENCE.match(new[j]) if j is not None else None
        if was and now:
            numbers[was[0]] = now[0]
    return [_REFERENCE.sub(lambda match: numbers.get(match[0], "#?"), line) for line in old]


def _pairs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """Positions of lines that correspond, in order; None for a line the other side lacks.

    Equal lines correspond, between these the ones that begin alike, and between these, where as
    many were taken out as put in, any others.
    """
    for same, i, j in _blocks(old, new):
        if same:
            yield from zip(i, j, strict=True)
            continue
        beginnings = ([_beginning(old[k]) for k in i], [_beginning(new[k]) for k in j])
        for alike, ii, jj in _blocks(*beginnings):
            if alike or len(ii) == len(jj):
                yield from zip((i[k] for k in ii), (j[k] for k in jj), strict=True)
            else:
                yield from ((i[k], None) for k in ii)
                yield from ((None, j[k]) for k in jj)


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, range, range]]:
    """Stretches that are equal or not, in order."""
    start = _equal_at_start(old, new)
    end = _equal_at_start(old[start:][::-1], new[start:][::-1])
    middle = (old[start : len(old) - end], new[start : len(new) - end])
    # Finding the best match takes as long as the product of the lengths; beyond this, a quick one.
    quick = len(middle[0]) * len(middle[1]) > 1_000_000
    yield True, range(start), range(start)
    for tag, i, ii, j, jj in SequenceMatcher(None, *middle, autojunk=quick).get_opcodes():
        yield tag == "equal", range(start + i, start + ii), range(start + j, start + jj)
    yield True, range(len(old) - end, len(old)), range(len(new) - end, len(new))


def _equal_at_start(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _beginning(line: str) -> str:
    """What a line is about: a variable or box by its name, a step by its operation."""
    declaration = _DECLARATION.match(line)
    if declaration:
        return declaration[1]
    if line.startswith("#"):
        return line.partition(" = ")[2].partition("(")[0]
    return line.partition(" ")[0]


def _change(before: str, after: str) -> list[str]:
    """A changed line: field by field if it declares the same variable or box, else both lines."""
    label = _DECLARATION.match(before)
    if label and _beginning(after) == label[1]:
        was, now = _fields(before[label.end() :]), _fields(after[len(label[1]) + 2 :])
        facts = [
            f"{name} {was.get(name, '(default)')} -> {now.get(name, '(default)')}"
            for name in dict.fromkeys([*was, *now])
            if was.get(name) != now.get(name)
        ]
        if facts:
            return [f"{label[1]}: {', '.join(facts)}"]
    return [f"- {before}", f"+ {after}"]


def _fields(text: str) -> dict[str, str]:
    """`name value` pairs, which commas outside brackets and quotes part."""
    parts, depth = [""], 0
    for token in _TOKEN.findall(text):
        depth += (token in "([") - (token in ")]")
        if token == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    named = (part.strip().partition(" ") for part in parts)
    return {name: value for name, _, value in named if name}
