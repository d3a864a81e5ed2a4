"""Sheets: questions as a table that people fill in, and the outcome of each line.

A sheet can be told again: each line is compared with what was recorded, because people repeat
commands.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import (
    AssumptionError,
    EvaluationError,
    ModelError,
    ProtocolError,
    counted,
    shortened,
    warn,
)
from grisaille.language.black_box import input_kinds, shown_inputs
from grisaille.language.problem import Problem
from grisaille.language.values import (
    ValueKind,
    cell_numbers,
    cell_text,
    cell_value,
    condensed,
    expanded,
    readable,
    shown_value,
)
from grisaille.study.actions import failed_words, tell
from grisaille.study.answers import FAILED, FIRST, BoxColumns, settable, sheet_columns
from grisaille.study.events import Told
from grisaille.study.state import Query, QueryEntry, QueryState
from grisaille.study.trial_tables import design_names

if TYPE_CHECKING:
    import pandas

    from grisaille.study.study import Study


# --- sheets ---------------------------------------------------------------------------------------
# Sheets: questions as a table that people fill in, and what becomes of each line.

NOT_ASKED = "-"
"""Stands in the cells that do not belong to a question."""

_REFUSALS = (ModelError, ProtocolError, EvaluationError, AssumptionError)
_DATE = re.compile(r"\d+\W[A-Za-z]{3}|[A-Za-z]{3}\W\d+|\d+[./]\d+|\d{4}-\d\d-\d\d")


class LineOutcome(StrEnum):
    """What became of a line of a sheet."""

    RECORDED = "recorded"
    FAILED = "failed"
    OPEN = "open"
    KNOWN = "known"
    REFUSED = "refused"


def sheet_of(problem: Problem, queries: Iterable[Query]) -> pandas.DataFrame:
    """One row per query: its id, trial and box, rounded inputs, and empty cells for the outputs.

    A cell that does not belong to the black box of its row holds `-`.
    """
    import pandas

    columns = sheet_columns(problem)
    boxes = {box.name: box for box in problem.boxes}
    rows: list[dict[str, Any]] = []
    for query in queries:
        own = columns[query.box]
        asked = settable(problem, boxes[query.box], query.inputs)
        row: dict[str, Any] = {"id": query.id, "trial": query.trial, "box": query.box}
        values = readable(input_kinds(boxes[query.box]), asked)
        row.update(zip(own.inputs, values, strict=True))
        row.update(dict.fromkeys([*own.outputs, FAILED], ""))
        rows.append(row)
    used = [columns[name] for name in boxes if any(row["box"] == name for row in rows)]
    entries = set(design_names(problem))
    inputs = sorted((n for own in used for n in own.inputs), key=lambda name: name not in entries)
    outputs = [name for own in used for name in own.outputs]
    names = list(dict.fromkeys([*FIRST, *inputs, *outputs, FAILED]))
    cells = {name: [row.get(name, NOT_ASKED) for row in rows] for name in names}
    # Numbers will be written into the empty columns, so these must be able to hold anything.
    return pandas.DataFrame(
        {
            name: pandas.Series(
                values, dtype=object if any(v in ("", NOT_ASKED) for v in values) else None
            )
            for name, values in cells.items()
        }
    )


def tell_sheet(study: Study, sheet: Any) -> pandas.DataFrame:
    """Record what people wrote on a sheet, line by line; returns what became of each line.

    See `Study.tell_sheet`.
    """
    import pandas

    rows = _rows(sheet)
    teller = _Teller(study)
    _remark_unread(teller.known, list(rows[0][1]) if rows else [])
    names = [teller.id_of(cells) for _, cells in rows]
    clashes = _clashes(teller, rows, names)
    outcomes: list[dict[str, str]] = []
    for (where, cells), name in zip(rows, names, strict=True):
        if not any(cell_text(cell) for cell in cells.values()):
            outcome, message = LineOutcome.OPEN, f"{where} is blank"
        else:
            try:
                if name in clashes:
                    raise ModelError(clashes[name])
                outcome, message = teller.tell(name, cells)
            except _REFUSALS as error:
                outcome, message = LineOutcome.REFUSED, str(error)
            message = f"{where}: {message}"
        outcomes.append({"id": name, "outcome": str(outcome), "message": message})
    return pandas.DataFrame(outcomes, columns=["id", "outcome", "message"], index=sheet.index)


def unrecorded_lines(study: Study, sheet: Any) -> list[str]:
    """The lines of a sheet that have answers or failures which are not recorded."""
    teller = _Teller(study)
    return [
        where
        for where, cells in _rows(sheet)
        if teller.is_filled(cells) and not teller.is_recorded(cells)
    ]


def open_questions(study: Study, sheet: Any) -> list[str]:
    """The ids on a sheet that nobody else will get, and that have no answer yet."""
    asked = {query.id for query in study.state.asked()}
    names = [_Teller(study).id_of(cells) for _, cells in _rows(sheet)]
    return [name for name in names if name in asked]


@dataclass(frozen=True)
class _Teller:
    """Records the lines of one sheet."""

    study: Study

    @cached_property
    def columns(self) -> dict[str, BoxColumns]:
        """The columns of each black box."""
        return sheet_columns(self.study.problem)

    @cached_property
    def known(self) -> set[str]:
        """All columns that are read."""
        own = (name for c in self.columns.values() for name in (*c.inputs, *c.outputs))
        return {*FIRST, FAILED, *own}

    @cached_property
    def told_before(self) -> dict[str, list[Mapping[str, Any]]]:
        """What was told of each query when this sheet came, by its id; corrections apart."""
        told: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for event in self.study.events():
            if event.kind == Told.kind:
                told[event.data["query"]].append(event.data)
        return told

    def id_of(self, cells: Mapping[str, Any]) -> str:
        """The id on a line, which may have been written as `query 3-1`."""
        return re.sub(r"^query\s+", "", cell_text(cells["id"]), flags=re.IGNORECASE)

    def is_filled(self, cells: Mapping[str, Any]) -> bool:
        """Whether somebody wrote an answer or a failure on a line."""
        answers = [name for own in self.columns.values() for name in own.outputs]
        return any(cell_text(cells.get(name)) not in ("", NOT_ASKED) for name in [*answers, FAILED])

    def is_recorded(self, cells: Mapping[str, Any]) -> bool:
        """Whether what somebody wrote on a line is recorded already."""
        try:
            entry = self._entry(self.id_of(cells))
            own = self._own_columns(entry, cells)
            failed = cell_text(cells.get(FAILED))
            if failed not in ("", NOT_ASKED):
                return entry.reason == failed and entry.attempts > 0
            outputs, inputs = cell_numbers(cells, own.outputs), self._inputs(entry, own, cells)
            return entry.outputs is not None and bool(self._again(entry, inputs, outputs))
        except _REFUSALS:
            return False

    def tell(self, name: str, cells: Mapping[str, Any]) -> tuple[LineOutcome, str]:
        """Record one line; returns what became of it, and in words.

        Raises:
            GrisailleError: It does not fit: nothing is recorded of it.
        """
        entry = self._entry(name)
        own = self._own_columns(entry, cells)
        failed = cell_text(cells.get(FAILED))
        failed = "" if failed == NOT_ASKED else failed
        filled = [column for column in own.outputs if cell_text(cells.get(column))]
        if filled and failed:
            raise ModelError(
                f"query {name} has an answer in column {filled[0]!r}, and a reason in {FAILED!r}: "
                "leave one of them empty"
            )
        if failed:
            return self._fail(entry, failed)
        if not filled:
            if entry.is_open:
                return LineOutcome.OPEN, f"query {name} has no answer yet, and stays open"
            return LineOutcome.KNOWN, f"query {name} is closed already: it is {entry.state}"
        return self._answer(entry, own, cells)

    def _entry(self, name: str) -> QueryEntry:
        state = self.study.state
        if not name:
            raise ModelError("there is no id: write the one that was on the sheet")
        entry = state.queries.get(name)
        if entry is None:
            waiting = ", ".join(repr(query.id) for query in state.asked()[:5]) or "none"
            hint = ""
            if _DATE.search(name):
                hint = "; if a spreadsheet made a date of it, format the column as text"
            raise ModelError(
                f"the study has no query {shortened(name)}: those without an answer are "
                f"{waiting}{hint}"
            )
        return entry

    def _own_columns(self, entry: QueryEntry, cells: Mapping[str, Any]) -> BoxColumns:
        """The columns of a question; raises ModelError if the line is not about it."""
        own = self.columns.get(entry.box)
        if own is None:
            raise ModelError(
                f"query {entry.id} asks black box {entry.box!r}, which the problem no longer has"
            )
        for column, right in (("box", entry.box), ("trial", str(entry.trial))):
            written = cell_text(cells.get(column))
            if written.removesuffix(".0") not in ("", right):
                raise ModelError(
                    f"query {entry.id} belongs to {column} {right}, but column {column!r} says "
                    f"{shortened(written)}: is the id right?"
                )
        for column in (*own.inputs, *own.outputs):
            if column not in cells:
                raise ModelError(f"query {entry.id} needs a column {column!r}, which is missing")
        others = self.known - {*FIRST, FAILED, *own.inputs, *own.outputs}
        for column in sorted(others & set(cells)):
            if cell_text(cells[column]) not in ("", NOT_ASKED):
                raise ModelError(
                    f"query {entry.id} asks black box {entry.box!r}, which has no {column!r}, but "
                    f"this column says {shortened(cell_text(cells[column]))}"
                )
        return own

    def _kinds(self, entry: QueryEntry) -> list[ValueKind]:
        return input_kinds(self.study.box(entry.box))

    def _inputs(self, entry: QueryEntry, own: BoxColumns, cells: Mapping[str, Any]) -> Array:
        """The flat inputs on a line."""
        kinds = self._kinds(entry)
        values = [cell_value(cells, c, k) for c, k in zip(own.inputs, kinds, strict=True)]
        return expanded(kinds, np.array(values))

    def _fail(self, entry: QueryEntry, reason: str) -> tuple[LineOutcome, str]:
        # The same sheet may be read twice, and a second failure would give the query up.
        if entry.reason == reason and entry.attempts:
            return LineOutcome.KNOWN, (
                f"the failure of query {entry.id} is recorded already; if it failed once more, say "
                "so in other words"
            )
        return LineOutcome.FAILED, failed_words(entry.id, self.study.fail(entry.id, reason))

    def _answer(
        self, entry: QueryEntry, own: BoxColumns, cells: Mapping[str, Any]
    ) -> tuple[LineOutcome, str]:
        missing = [column for column in own.outputs if not cell_text(cells[column])]
        if missing:
            raise ModelError(
                f"query {entry.id} has no number in column {missing[0]!r}: fill in all of "
                f"{', '.join(map(repr, own.outputs))}, or write in {FAILED!r} why there is none"
            )
        outputs, inputs = cell_numbers(cells, own.outputs), self._inputs(entry, own, cells)
        if entry.outputs is not None:
            return self._again(entry, inputs, outputs)
        kinds = self._kinds(entry)
        asked = settable(self.study.problem, self.study.box(entry.box), entry.inputs)
        done = None if np.array_equal(inputs, entry.inputs) else inputs.tolist()
        ending = tell(self.study, entry.id, outputs.tolist(), inputs=done).ending
        changed = [
            f"{column} = {cell_text(cells[column])} instead of {shown_value(kind, value)}"
            for column, kind, value, number in zip(
                own.inputs, kinds, asked, condensed(kinds, inputs), strict=True
            )
            if value != number
        ]
        where = f", as done at {', '.join(changed)}" if changed else ""
        return LineOutcome.RECORDED, f"query {entry.id} is answered{where}{ending}"

    def _again(self, entry: QueryEntry, inputs: Array, outputs: Array) -> tuple[LineOutcome, str]:
        """A line of a query that has an answer: the same one, one that was mended, or another."""
        assert entry.outputs is not None
        asked = settable(self.study.problem, self.study.box(entry.box), entry.inputs)
        asked = expanded(self._kinds(entry), asked)
        same_inputs = np.array_equal(inputs, entry.inputs) or np.array_equal(inputs, asked)
        if (
            entry.state is QueryState.TOLD
            and same_inputs
            and np.array_equal(outputs, entry.outputs)
        ):
            return LineOutcome.KNOWN, f"query {entry.id} is recorded already"
        if any(
            told["outputs"] == outputs.tolist()
            and told.get("inputs", inputs.tolist()) == inputs.tolist()
            for told in self.told_before[entry.id]
        ):
            since = "retracted" if entry.state is QueryState.RETRACTED else "corrected"
            return LineOutcome.KNOWN, f"query {entry.id} is recorded already, and was {since} since"
        box = self.study.box(entry.box)
        recorded = f"{entry.outputs.tolist()} at {shown_inputs(box, entry.inputs)}"
        raise ModelError(
            f"query {entry.id} has another answer already, {recorded}, and the line says "
            f"{outputs.tolist()} at {shown_inputs(box, inputs)}: if the line is right, "
            f"study.correct({entry.id!r}, ...) records it"
        )


def _rows(sheet: Any) -> list[tuple[str, dict[str, Any]]]:
    """The lines of a sheet: what each is called in messages, and its cells by column."""
    import pandas

    if not isinstance(sheet, pandas.DataFrame):
        raise ModelError(
            f"tell_sheet({shortened(sheet)}): pass a DataFrame, such as ask_sheet gives"
        )
    names = [str(name).strip() for name in sheet.columns]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ModelError(f"tell_sheet: two columns are called {shortened(twice)}: rename one")
    if "id" not in names:
        listed = ", ".join(map(repr, names)) or "none"
        raise ModelError(
            f"tell_sheet: there is no column 'id' among the columns {listed}: pass a sheet such as "
            "ask_sheet gives"
        )
    what = str(sheet.index.name or "row")
    lines = sheet.itertuples(index=True, name=None)
    return [(f"{what} {label}", dict(zip(names, cells, strict=True))) for label, *cells in lines]


def _clashes(
    teller: _Teller, rows: Iterable[tuple[str, Mapping[str, Any]]], names: Iterable[str]
) -> dict[str, str]:
    """Ids that stand on several lines with different answers, and what to say of them."""
    written: dict[str, dict[tuple[tuple[str, str], ...], str]] = defaultdict(dict)
    for (where, cells), name in zip(rows, names, strict=True):
        if name and teller.is_filled(cells):
            content = tuple(
                (c, cell_text(v)) for c, v in cells.items() if c in teller.known - {"id"}
            )
            written[name].setdefault(content, where)
    return {
        name: f"query {name} has different answers in {' and '.join(lines.values())}: keep one"
        for name, lines in written.items()
        if len(lines) > 1
    }


def _remark_unread(known: set[str], names: Iterable[str]) -> None:
    """Warn of columns that mean nothing here: one may be misspelled."""
    unread = [name for name in names if name not in known]
    if not unread:
        return
    near = difflib.get_close_matches(unread[0], known, 1)
    hint = f"; did you mean {near[0]!r} by {unread[0]!r}?" if near else ""
    listed = ", ".join(map(repr, unread))
    text = f"{counted(len(unread), 'column')} of the sheet not read: {listed}{hint}"
    warn(text)
