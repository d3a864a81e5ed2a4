"""All answers of black boxes as a table, with the ids to correct or retract them by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.study.sheet_columns import answer_columns
from grisaille.study.state import StudyState
from grisaille.study.trials_and_queries import probe_of

if TYPE_CHECKING:
    import pandas


def answers_table(
    problem: Problem, boxes: Sequence[BlackBox], state: StudyState
) -> pandas.DataFrame:
    """One row per answer: id, box, trial, source, then inputs and outputs by name.

    The source is "chain", "probe" for an answer apart from the real chain, or "elsewhere".
    """
    import pandas

    columns = {box.name: answer_columns(problem, box) for box in boxes}
    rows: list[dict[str, Any]] = []

    def add(name: str, trial: int | None, source: str, seen: Any) -> None:
        if seen.box in columns:
            own = columns[seen.box]
            row = {"id": name, "box": seen.box, "trial": trial, "source": source}
            row.update(zip(own.inputs, state.readable_inputs(seen.box, seen.inputs), strict=True))
            row.update(zip(own.outputs, seen.outputs.tolist(), strict=True))
            rows.append(row)

    for entry in state.trials.values():
        for query in entry.told:
            source = "chain" if probe_of(query) is None else "probe"
            add(query.id, entry.number, source, query)
    made = {row: entry.number for entry in state.trials.values() for row in entry.rows}
    for name, seen in state.rows().items():
        add(name, made.get(name), "elsewhere", seen)
    table = pandas.DataFrame(rows, columns=None if rows else ["id", "box", "trial", "source"])
    return table.astype({"trial": "Int64"})
