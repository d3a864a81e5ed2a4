"""What people type into a page, recorded as Python would record it."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grisaille.errors import GrisailleError, GrisailleWarning, ModelError, counted, shortened
from grisaille.language.box_inputs import input_kinds
from grisaille.language.input_names import input_names
from grisaille.pages.addresses import whole_number
from grisaille.reporting.tables import outcome_text
from grisaille.study.csv_files import table_of
from grisaille.study.study import Study

Form = Mapping[str, str]
"""What was typed, by the names of the fields."""

_MOST_QUESTIONS = 50
_CATCHING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of a form.

    Attributes:
        sentence: What was recorded, or why nothing was.
        remarks: What looks like a mistake, although it was recorded.
        is_refused: Whether nothing was recorded.
    """

    sentence: str
    remarks: tuple[str, ...] = ()
    is_refused: bool = False


def record(study: Study, action: str, form: Form) -> Recorded:
    """Record what a form says.

    Args:
        study: The study.
        action: What to do, a key of `ACTIONS`.
        form: What was typed.
    """
    # Only one thread at a time can catch warnings; asking takes long, and nobody must wait for it.
    if action == "ask":
        try:
            return Recorded(_ask(study, form))
        except GrisailleError as error:
            return Recorded(str(error), is_refused=True)
    with _CATCHING, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GrisailleWarning)
        try:
            sentence = ACTIONS[action](study, form)
        except GrisailleError as error:
            return Recorded(str(error), is_refused=True)
    remarks = [str(w.message) for w in caught if issubclass(w.category, GrisailleWarning)]
    return Recorded(sentence, tuple(remarks))


def _tell(study: Study, form: Form) -> str:
    name = _wanted(form, "id")
    entry = study.state.queries.get(name)
    if entry is None:
        raise ModelError(f"there is no question {shortened(name)}: reload the page")
    value = _outputs(study, entry.box, form)
    inputs = _inputs(study, entry.box, form)
    trial = study.tell(name, value, inputs=inputs or None)
    if trial is not None:
        outcome = outcome_text(study.problem, trial)
        return f"Question {name} is answered, and trial {trial.number} is complete: {outcome}."
    broken = study.state.trials[entry.trial].reason
    return f"Question {name} is answered" + (
        f", but its trial breaks off: {broken}." if broken else "."
    )


def _fail(study: Study, form: Form) -> str:
    name = _wanted(form, "id")
    again = study.fail(name, form.get("reason", ""))
    ending = "it will be asked again" if again else "it is given up, and its inputs are avoided"
    return f"Question {name} has no answer: {ending}."


def _skip(study: Study, form: Form) -> str:
    name = _wanted(form, "id")
    study.fail(name, "this cannot be made", retry=False)
    return f"Question {name} is skipped: it is not asked again, and its inputs are avoided."


def _release(study: Study, form: Form) -> str:
    name = _wanted(form, "id")
    study.release(name)
    return f"Question {name} is given back: whoever asks next gets it."


def _correct(study: Study, form: Form) -> str:
    name = _wanted(form, "id")
    seen = study.state.answer(name)
    if seen is None:
        raise ModelError(f"there is no answer {shortened(name)}: reload the page")
    trial = study.correct(name, _outputs(study, seen.box, form))
    complete = "" if trial is None else f" Trial {trial.number} was computed again."
    return f"The answer to {name} is corrected; the wrong one stays in the log.{complete}"


def _retract(study: Study, form: Form) -> str:
    name = _wanted(form, "id")
    study.retract(name, form.get("reason", "").strip() or "retracted in the page")
    return f"The answer to {name} is taken back; it stays in the log."


def _ask(study: Study, form: Form) -> str:
    text = form.get("n", "1").strip() or "1"
    many = whole_number(text)
    if many is None or not 1 <= many <= _MOST_QUESTIONS:
        raise ModelError(f"{shortened(text)} questions: ask for 1 to {_MOST_QUESTIONS} at a time")
    queries = study.ask(many)
    if not queries:
        return "There is nothing to ask: all trials are made, or what is open must come first."
    names = ", ".join(query.id for query in queries)
    return f"{counted(len(queries), 'question')} to answer: {names}."


def _observe(study: Study, form: Form) -> str:
    text = form.get("table", "")
    if not text.strip():
        raise ModelError("paste a table, or choose a file: a line of names, then a line per answer")
    box = _wanted(form, "box")
    many = study.observe(box, table_of(text, "the table"))
    return f"{counted(many, 'answer')} of {box} {'is' if many == 1 else 'are'} recorded."


def _enqueue(study: Study, form: Form) -> str:
    from grisaille.language.design_points import names_of_entries
    from grisaille.language.value_kinds import design_kinds

    variables = [v for v in study.problem.variables if not v.is_unknown]
    names, kinds = names_of_entries(variables), design_kinds(variables)
    point = {
        name: _typed(form.get(f"x:{name}", ""), name, bool(kind.labels))
        for name, kind in zip(names, kinds, strict=True)
    }
    numbers = study.enqueue([point] if len(point) > 1 else point)
    return f"Trial {numbers[0]} will be tried at your point before anything else."


ACTIONS: dict[str, Callable[[Study, Form], str]] = {
    "tell": _tell,
    "fail": _fail,
    "skip": _skip,
    "release": _release,
    "correct": _correct,
    "retract": _retract,
    "ask": _ask,
    "observe": _observe,
    "enqueue": _enqueue,
}
"""What a form can do, by the last word of its address."""


def _wanted(form: Form, field: str) -> str:
    text = form.get(field, "").strip()
    if not text:
        raise ModelError(f"the form lacks {field!r}: reload the page")
    return text


def _outputs(study: Study, box: str, form: Form) -> list[float] | float:
    """The answer that was typed, one field per output."""
    declared = study.box(box)
    names = list(declared.output_names) or [str(k + 1) for k in range(declared.outputs)]
    if "values" in form:  # many outputs are pasted into one field
        texts = form["values"].replace(",", " ").replace(";", " ").split()
        if len(texts) != len(names):
            raise ModelError(
                f"black box {box!r} has {counted(len(names), 'output')}, and "
                f"{counted(len(texts), 'number')} were pasted: paste one number per output"
            )
    else:
        texts = [form.get(f"y:{k}", "") for k in range(len(names))]
    shown = [box] if len(names) == 1 else names
    values = [_number(text, name) for text, name in zip(texts, shown, strict=True)]
    return values[0] if len(values) == 1 else values


def _inputs(study: Study, box: str, form: Form) -> dict[str, float | str]:
    """The inputs that were really set, where they were typed."""
    declared = study.box(box)
    kinds = input_kinds(declared)
    found = {}
    for place, (name, kind) in enumerate(
        zip(input_names(study.problem, declared), kinds, strict=True)
    ):
        text = form.get(f"s:{place}", "").strip()
        if text:
            found[name] = _typed(text, name, bool(kind.labels))
    return found


def _typed(text: str, name: str, is_label: bool) -> float | str:
    return text.strip() if is_label else _number(text, name)


def _number(text: str, name: str) -> float:
    """A number as people type it; a decimal comma is a point."""
    plain = text.strip().replace("−", "-").replace("\u202f", "").replace(" ", "")
    if "," in plain and "." not in plain:
        plain = plain.replace(",", ".")
    try:
        value = float(plain)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        what = "nothing was typed" if not plain else f"{shortened(text.strip())} is not a number"
        raise ModelError(f"{name}: {what}; type a number such as 0.25, and send again")
    return value
