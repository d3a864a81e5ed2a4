"""The actions of people on a study: on the command line, in forms of a page and on sheets.

An action makes values of what was written, calls the method of `Study` that Python calls, and says
what came of it. Command line and sheets have lines, pages have sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.errors import ModelError, counted, shortened
from grisaille.language.black_box import input_kinds
from grisaille.language.box_inputs import input_names
from grisaille.language.design_points import names_of_entries
from grisaille.language.values import (
    ValueKind,
    design_kinds,
    entry_names,
    named_columns,
    table_of,
    typed_number,
)
from grisaille.language.variable import Variable
from grisaille.study.answers import answer_places
from grisaille.study.state import TrialState
from grisaille.study.trial_tables import outcome_text

if TYPE_CHECKING:
    import pandas

    from grisaille.study.study import Study

# --- answers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Told:
    """The consequence of an answer.

    Attributes:
        trial: Number of its trial.
        outcome: The outcome of the trial, if the answer completes it.
        broken: Why the trial broke off, if it did.
    """

    trial: int
    outcome: str
    broken: str

    @property
    def ending(self) -> str:
        """The end of a line about the answer."""
        if self.outcome:
            return f", and trial {self.trial} complete: {self.outcome}"
        return f", but trial {self.trial} breaks off: {self.broken}" if self.broken else ""


def tell(
    study: Study, name: str, value: Any, *, inputs: Any = None, seconds: float | None = None
) -> Told:
    """Record the answer to a query."""
    trial = study.tell(name, value, inputs=inputs, seconds=seconds)
    entry = study.state.trials[study.state.queries[name].trial]
    outcome = "" if trial is None else outcome_text(study.problem, trial)
    broken = entry.reason if entry.state is TrialState.BROKEN else ""
    return Told(entry.number, outcome, broken)


def failed_words(name: str, again: bool) -> str:
    """A line about a failure; `again` if the query will be asked again."""
    return f"query {name} failed, and {'will be asked again' if again else 'is given up'}"


# --- lines ----------------------------------------------------------------------------------------
# What the command line does.


def record_line(study: Study, answer: Mapping[str, Any]) -> str:
    """Record an answer, which has a `value`, or a failure, which has a `failed`."""
    name = answer["id"]
    if "failed" in answer:
        return failed_words(name, study.fail(name, answer["failed"]))
    told = {key: answer.get(key) for key in ("inputs", "seconds")}
    return f"query {name} is answered{tell(study, name, answer['value'], **told).ending}"


def release_line(study: Study, name: str) -> str:
    """Give a query back."""
    study.release(name)
    return f"query {name} is given back: the next one who asks gets it"


def correct_line(study: Study, name: str, value: Any, inputs: Any) -> str:
    """Put the right answer in place of a wrong one."""
    before = study.state.answer(name)
    study.correct(name, value, inputs=inputs)
    now = study.state.answer(name)
    assert before is not None  # else there was nothing to correct
    assert now is not None
    moved = not np.array_equal(before.inputs, now.inputs)
    place = f" at {study.state.readable_inputs(now.box, now.inputs)}" if moved else ""
    return (
        f"{name} is corrected: {before.outputs.tolist()} was recorded, "
        f"{now.outputs.tolist()}{place} counts from now on{_trial_of(study, name)}"
    )


def retract_line(study: Study, name: str, reason: str) -> str:
    """Take an answer back."""
    study.retract(name, reason)
    return (
        f"{name} is retracted: it stays in the log, but nothing is learned from it"
        f"{_trial_of(study, name)}"
    )


def enqueue_lines(study: Study, points: Any) -> list[str]:
    """Have points tried: a table, or words such as `T=350`."""
    given = _point(points, study.problem.variables) if isinstance(points, list) else points
    numbers = study.enqueue(given)
    wanted, made = study.state.settings.get("trials"), study.state.made()
    which = f"trial {numbers[0]}" if len(numbers) == 1 else f"trials {numbers[0]} to {numbers[-1]}"
    many = counted(len(numbers), "point")
    lines = [f"{many} of your own, {which}: grisaille ask begins with that"]
    if wanted is not None and made > wanted:
        lines.append(
            f"The study is to have {wanted} trials: ask with --trials {made} to have them all."
        )
    return lines


def observe_lines(study: Study, name: str, frame: pandas.DataFrame) -> list[str]:
    """Add answers that were made elsewhere; the lines say which columns were taken for what."""
    made = _made_elsewhere(study)
    many = study.observe(name, frame)
    box = study.box(name)
    places = answer_places(study.problem, box)
    columns = places.columns(named_columns(frame, "observe") or (), "observe")
    trials = _made_elsewhere(study) - made
    taken = [
        column if column == shown else f"{shown} from {column!r}"
        for column, shown in zip(columns, places.shown, strict=True)
    ]
    first = len(taken) - box.outputs
    return [
        f"{counted(many, 'answer')} of {name} added to study {study.name!r}",
        f"  {'inputs':<8} {', '.join(taken[:first])}",
        f"  {'outputs':<8} {', '.join(taken[first:])}",
        f"  {'trials':<8} {trials} made of them{_why_no_trials(name, trials, many)}",
    ]


def _made_elsewhere(study: Study) -> int:
    return sum(entry.is_data for entry in study.state.trials.values())


def _why_no_trials(box: str, trials: int, answers: int) -> str:
    """Say why some rows became no trials."""
    if trials >= answers:
        return ", and the best of them can be the best point"
    return (
        f"; rows without answers of all black boxes, or outside the bounds, teach what {box} does"
    )


def _trial_of(study: Study, name: str) -> str:
    """What became of the trial that an answer belongs to."""
    state = study.state
    query = state.queries.get(name)
    rows = (n for n, entry in state.trials.items() if name in entry.rows)
    number = next(rows, None) if query is None else query.trial
    if number is None:
        return ""
    entry = state.trials[number]
    if entry.record is not None:
        return f"; trial {number}: {outcome_text(study.problem, entry.record)}"
    if entry.state is TrialState.PENDING:
        asked = ", ".join(f"{q.id} ({q.box})" for q in entry.queries if q.is_open)
        return f"; trial {number} waits for {asked}"
    return f"; trial {number} has no objective any more"


def _point(words: list[str], variables: Sequence[Variable]) -> dict[str, Any]:
    """A point, from words such as `T=350`; a label may stand without quotes, `catalyst=B`."""
    point: dict[str, Any] = {}
    kinds = {v.name: kind for v in variables for kind in design_kinds([v])}
    scalars = {name for v in variables for name in entry_names(v.name, v.shape)}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name.strip():
            raise ModelError(f"enqueue: {shortened(word)} is not NAME=VALUE, such as T=350")
        if name.strip() in point:
            raise ModelError(f"enqueue: {shortened(name.strip())} has two values: give one")
        what = f"the value of {shortened(name.strip())}"
        kind = kinds.get(name.strip(), ValueKind())
        point[name.strip()] = value = kind.parsed(text, what)
        if isinstance(value, list) and name.strip() in scalars:
            raise ModelError(
                f"enqueue: {shortened(word)} has several values, but {name.strip()} is one: give "
                "one, or pass --csv FILE for several points"
            )
    return point


# --- forms ----------------------------------------------------------------------------------------
# What pages do.

Form = Mapping[str, str]
"""What was typed, by the names of the fields."""

_MOST_QUESTIONS = 50


def _tell(study: Study, form: Form) -> str:
    name = _wanted(form, "id")
    entry = study.state.queries.get(name)
    if entry is None:
        raise ModelError(f"there is no question {shortened(name)}: reload the page")
    value = _outputs(study, entry.box, form)
    inputs = _inputs(study, entry.box, form)
    told = tell(study, name, value, inputs=inputs or None)
    if told.outcome:
        return f"Question {name} is answered, and trial {told.trial} is complete: {told.outcome}."
    broken = f", but its trial breaks off: {told.broken}" if told.broken else ""
    return f"Question {name} is answered{broken}."


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
    many = int(text) if text.isascii() and text.isdigit() and len(text) < 3 else 0
    if not 1 <= many <= _MOST_QUESTIONS:
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
    variables = study.problem.program.decisions
    names, kinds = names_of_entries(variables), design_kinds(variables)
    point = {
        name: kind.typed(form.get(f"x:{name}", ""), name)
        for name, kind in zip(names, kinds, strict=True)
    }
    numbers = study.enqueue([point] if len(point) > 1 else point)
    return f"Trial {numbers[0]} will be tried at your point before anything else."


FORMS: dict[str, Callable[[Study, Form], str]] = {
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
    values = [typed_number(text, name) for text, name in zip(texts, shown, strict=True)]
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
            found[name] = kind.typed(text, name)
    return found
